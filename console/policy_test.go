package console_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// What the editor of policies says of a pattern is what the gateway does: which operations it is for, and who loses what by an edit.
func TestConsoleSaysWhatAPolicyDoes(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const auth = "/api/auth/0.1"
	policyOf := func(name, acl string, users ...string) string {
		t.Helper()
		policy := g.Do(t, "POST", auth+"/policies", admin, `{"name":"`+name+`","acl":`+acl+`}`).Want(200).Text("uuid")
		for _, user := range users {
			g.Do(t, "PUT", auth+"/users/"+user+"/policies/"+policy, admin, "").Want(204)
		}
		return policy
	}
	user := g.Do(t, "POST", auth+"/users", admin, `{"username":"probe"}`).Want(200).Text("uuid")
	policy := policyOf("tried", `["confd.users.read"]`, user)
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)

	for _, acl := range [][]string{
		{"confd.users.17.#"},
		{"confd.users.*.lines.#"},
		{"confd.users.me.#"},
		{"confd.#.read"},
		{"*.users.5.*"},
		{"confd.users.{user_uuid}.read"},
		{"auth.users." + user + ".#"},
		{"confd.users.#", "!confd.users.5.#"},
		{"confd.users.5.#", "!confd.#.read"},
		{"confd.users.me.#", "!confd.users.me.#"},
	} {
		list, _ := json.Marshal(acl)
		g.Do(t, "PUT", auth+"/policies/"+policy, admin, `{"acl":`+string(list)+`}`).Want(200)
		// each operation by an access that the console says is granted, or by one with words that nobody names
		o.script(t, fmt.Sprintf(`Promise.all([import('/console/app/acl.js'), import('/console/app/definitions.js')]).then(([{ instances, matches }, { operations }]) => {
			const [grant, denial] = %s;
			window.said = JSON.stringify(operations.filter((o) => o.access).map((o) => {
				const one = instances(grant, o.access).find((i) => !denial || !matches(denial.slice(1), i)), words = (one ?? o.access.replace(/\{\w+\}/g, 'x')).split('.');
				const values = Object.fromEntries(o.access.split('.').map((word, i) => [word, words[i] === 'me' ? %q : words[i]]));
				return { method: o.method, path: o.service.prefix + o.path.replace(/\{\w+\}/g, (name) => values[name] ?? 'x'), said: Boolean(one) };
			}));
		}), ''`, list, user))
		o.until(`window.said`, "the console says nothing of %q", acl)
		var said []struct {
			Method, Path string
			Said         bool
		}
		if err := json.Unmarshal([]byte(o.script(t, `window.said`)), &said); err != nil {
			t.Fatal(err)
		}
		o.script(t, `window.said = undefined, ''`)
		granted := 0
		for _, operation := range said {
			verdict := g.Do(t, "GET", auth+"/explain?"+url.Values{"method": {operation.Method}, "path": {operation.Path}, "user_uuid": {user}}.Encode(), admin, "").Want(200)
			if through := strings.Contains(verdict.Body, `"allowed":true`) && strings.Contains(verdict.Body, policy); through != operation.Said {
				t.Errorf("%q: the console says %v of %s %s, the gateway %s", acl, operation.Said, operation.Method, operation.Path, verdict.Body)
			}
			if operation.Said {
				granted++
			}
		}
		if none := acl[0] == "confd.users.{user_uuid}.read" || len(acl) > 1 && acl[1] == "!"+acl[0]; (granted == 0) != none {
			t.Errorf("%q grants %d operations", acl, granted)
		}
	}
	for pattern, fault := range map[string]string{"!!confd.#": "A ! stands only in front", "confd.!users.read": "A ! stands only in front"} {
		o.goTo("#/auth/policies/+new", "New policy")
		o.enter("Pattern", pattern)
		o.reads(fault)
		g.Do(t, "POST", auth+"/policies", admin, `{"name":"wrong","acl":["`+pattern+`"]}`).Want(400)
	}

	// What takes a whole service, because no operation is known there, is decided by no single pattern.
	o.goTo("#/why?method=PATCH&path=/api/confd/1.1/users/1", "Why was I refused?")
	o.reads("The patterns that the user holds stand for all of it, together.")

	// A denial takes from all who have the policy, whatever else they have; a narrower pattern from those who have no other.
	login := func(name string) string {
		return g.Do(t, "POST", auth+"/users", admin, `{"username":"`+name+`"}`).Want(200).Text("uuid")
	}
	both, one, outside := login("both"), login("one"), login("outside")
	edited := policyOf("edited", `["confd.users.*.read"]`, both, one)
	policyOf("other", `["confd.users.*.read","confd.lines.read"]`, both, outside)
	edit := func(pattern string) string {
		t.Helper()
		o.goTo("#/auth/policies/"+edited, "edited")
		o.see(".pattern input")
		o.press("Add a pattern")
		o.hit(pattern)
		o.press("Save")
		o.see("dialog[open]")
		text := o.script(t, `document.querySelector('dialog[open]').innerText`)
		o.click("dialog[open] button[value=no]")
		o.reads("Nothing was changed.")
		o.goTo("#/auth/policies", "Policies")
		return text
	}
	if text := edit("!confd.users.*.read"); !strings.Contains(text, "both, one will not be able to do this any more.") || !strings.Contains(text, "It takes away 6 operations,") {
		t.Errorf("before a denial it says %s", text)
	}
	if text := edit("!confd.lines.#"); !strings.Contains(text, "both will not be able to do some of this any more.") {
		t.Errorf("before a denial of what another policy grants it says %s", text)
	}
	o.goTo("#/auth/policies/"+edited, "edited")
	o.see(".pattern input")
	o.enter("Pattern", "confd.users.17.read")
	o.press("Save")
	o.see("dialog[open]")
	o.reads("one will not be able to do this any more.")
	o.reads("confd.users.{user_id}.read")
	o.clean(t, "after the editor of policies")
}

// A policy begins with a role, gets what is found by its words, and tells who has it.
func TestConsoleMakesAPolicyOfARole(t *testing.T) {
	g, o, admin, _ := desk(t)
	const auth = "/api/auth/0.1"
	o.goTo("#/auth/policies/+new", "New policy")
	o.press("Receptionist")
	o.enter("Add what somebody may do", "delete VOICEMAIL")
	o.until(`[...document.querySelectorAll('.found code')].some((c) => c.textContent === 'confd.voicemails.{voicemail_id}.delete')`, "the operation is not found")
	o.script(t, `[...document.querySelectorAll('.found button')].find((b) => b.textContent.includes('confd.voicemails.{voicemail_id}.delete')).click(), ''`)
	o.until(`[...document.querySelectorAll('.patterns input')].at(-1).value === 'confd.voicemails.*.delete'`, "the pattern is not added")
	o.press("Create")
	o.until(`document.querySelector('main h1')?.textContent === 'Receptionist' && document.querySelectorAll('#used-by .empty').length === 2`, "the policy is not made")
	policy := g.Do(t, "GET", auth+"/policies?name=Receptionist", admin, "").List().Items[0]
	if acl := fmt.Sprint(policy["acl"]); !strings.HasPrefix(acl, "[confd.users.read confd.users.*.read ") || !strings.HasSuffix(acl, " confd.voicemails.*.delete]") {
		t.Errorf("its patterns are %s", acl)
	}

	user := g.Do(t, "POST", auth+"/users", admin, `{"username":"desk"}`).Want(200).Text("uuid")
	group := g.Do(t, "POST", auth+"/groups", admin, `{"name":"Front"}`).Want(200).Text("uuid")
	g.Do(t, "PUT", fmt.Sprint(auth, "/users/", user, "/policies/", policy["uuid"]), admin, "").Want(204)
	o.run(t, chromedp.Reload())
	told := func(who, problem string) {
		t.Helper()
		o.until(fmt.Sprintf(`[...document.querySelectorAll('#used-by li a')].map((a) => a.textContent).join() === %q`, who), "%s", problem)
	}
	told("desk", "who has it is not told")
	o.script(t, `((i) => { i.value = 'Front'; i.closest('form').requestSubmit() })(document.querySelector('#used-by [aria-label="Add to Groups of logins"]')), ''`)
	told("Front,desk", "the group is not given it")
	o.click(`#used-by [aria-label="Remove desk"]`)
	told("Front", "the login still has it")
	if held := g.Do(t, "GET", fmt.Sprint(auth, "/groups/", group, "/policies"), admin, "").List().Total; held != 1 {
		t.Errorf("the group has %d policies", held)
	}

	// Who has it sees the teams, and not the file of all users, and whom to ask for what they lack.
	front := g.Do(t, "POST", auth+"/users", admin, `{"username":"front","password":"a-long-password"}`).Want(200).Text("uuid")
	g.Do(t, "PUT", fmt.Sprint(auth, "/users/", front, "/policies/", policy["uuid"]), admin, "").Want(204)
	board := g.Do(t, "POST", "/api/confd/1.1/switchboards", admin, `{"name":"Reception"}`).Want(201).Text("uuid")
	o.press("Sign out")
	o.reads("Signed out.")
	o.goTo("", "Sign in")
	o.signIn("front", "a-long-password")
	if menu := o.script(t, `[...document.querySelectorAll('nav .place ul a')].map((a) => a.textContent).join()`); !strings.Contains(menu, "Queues,Skill rules,Switchboards,Call filters") || strings.Contains(menu, "Users by file") {
		t.Errorf("the menu of a receptionist has %s", menu)
	}
	o.goTo("#/confd/switchboards/"+board, "Reception")
	o.reads("You may see this, and not change it. To be allowed it, ask")
	o.reads("They dial *38")
	o.until(`!document.querySelector('details.part > summary[data-begin]')`, "one who may not is offered to begin something")
	o.clean(t, "while a policy was made of a role")
}
