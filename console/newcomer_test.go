package console_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// desk is a gateway with a context for numbers and a group, and an administrator at its console.
func desk(t *testing.T) (g *gatewaytest.Inside, o *operator, admin, in string) {
	t.Helper()
	g = gatewaytest.LoadDefault(t, "")
	o = &operator{newBrowser(t), t, g.URL}
	admin = g.Admin(t)
	const confd = "/api/confd/1.1"
	in = g.Do(t, "POST", confd+"/contexts", admin, `{"label":"Inside","user_ranges":[{"start":"1000","end":"1499"}],"group_ranges":[{"start":"1500","end":"1999"}]}`).Want(201).Text("name")
	g.Do(t, "POST", confd+"/groups", admin, `{"label":"Sales"}`).Want(201)
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)
	return g, o, admin, in
}

// A lamp is offered for those keys alone that can have one, and is on by default for these.
func TestConsoleOffersLampsOfKeys(t *testing.T) {
	g, o, admin, _ := desk(t)
	user := "/api/confd/1.1/users/" + g.Do(t, "POST", "/api/confd/1.1/users", admin, `{"firstname":"Ada"}`).Want(201).Text("uuid")
	g.Do(t, "PUT", user+"/funckeys", admin, `{"keys":{"1":{"blf":false,"destination":{"type":"custom","exten":"12"}},"2":{"destination":{"type":"transfer","transfer":"blind"}}}}`).Want(204)
	o.goTo("#/confd/users/"+strings.TrimPrefix(user, "/api/confd/1.1/users/"), "Ada")
	o.part("Function keys")
	o.see("table.keyed tbody tr")
	o.press("Add a position")
	lamps := func(want string) {
		t.Helper()
		o.until(fmt.Sprintf(`[...document.querySelectorAll('table.keyed tbody tr')].map((tr) => ((b) => (b.disabled ? 'none' : b.checked ? 'on' : 'off'))(tr.querySelector('input[type=checkbox]'))).join() === %q`, want), "the lamps are not %s", want)
	}
	// kind chooses what a key leads to, as the keyboard does.
	kind := func(row int, name, value string) {
		t.Helper()
		o.script(t, fmt.Sprintf(`((s) => { s.value = %q; s.dispatchEvent(new Event('input', { bubbles: true })); s.dispatchEvent(new Event('change', { bubbles: true })); })(document.querySelectorAll('table.keyed tbody tr')[%d].querySelector('[data-name=%s]')), ''`, value, row, name))
	}
	lamps("off,none,none") // as one has chosen, as there is none, and of no kind yet
	kind(2, "type", "group")
	lamps("off,none,none")
	kind(2, "type", "service")
	kind(2, "service", "enablednd")
	lamps("off,none,on")
	kind(2, "service", "pickup")
	lamps("off,none,none")
	kind(1, "type", "onlinerec")
	lamps("off,none,none")
	kind(1, "type", "forward")
	lamps("off,on,none")
	o.click("details.part[open] form > .actions button")
	o.reads("Function keys saved.")
	lamps("off,on,none")
	keys := g.Do(t, "GET", user+"/funckeys", admin, "").Want(200)
	if keys.JSON("keys.1.blf") != false || keys.JSON("keys.2.blf") != true || keys.JSON("keys.3.blf") != false {
		t.Errorf("the keys are %s", keys.Body)
	}
	o.clean(t, "while keys were chosen")
}

// What is typed too fast for a suggestion is looked up before it is sent: it is the name for people, and not an id. Where any name may be
// sent, one that nobody has is sent as it is.
func TestConsoleLooksUpWhatWasTypedFast(t *testing.T) {
	g, o, admin, in := desk(t)
	const confd = "/api/confd/1.1"
	group := fmt.Sprint("/groups/", g.Do(t, "GET", confd+"/groups", admin, "").List().Items[0]["uuid"])
	// atOnce sets a field and sends its form, before anything can have been suggested.
	atOnce := func(name, text string) {
		t.Helper()
		o.until(fmt.Sprintf(`((i) => i && (i.value = %q, i.form.requestSubmit(), true))([...document.querySelectorAll('main form input')].find((i) => i.id.startsWith(%q)))`, text, name), "there is no field %s", name)
	}
	o.goTo("#/confd/extensions/+new", "Create a number")
	o.enter("Number", "1501")
	atOnce("context", "Outside")
	o.until(`document.querySelector('main [aria-invalid=true]')?.id.startsWith('context')`, "a context that is not there is not refused beside its field")
	atOnce("context", "Inside")
	o.reads("1501 was created.")
	if made := g.Do(t, "GET", confd+"/extensions?exten=1501", admin, "").List().Items[0]; made["context"] != in {
		t.Errorf("the extension is %v", made)
	}
	made := g.Do(t, "GET", confd+"/extensions?exten=1501", admin, "").List().Items[0]

	o.goTo("#/confd"+group, "Sales")
	o.script(t, `document.querySelector('details.part[data-path$="/extensions/{extension_id}"]').open = true, ''`)
	o.see("details.part[open] form.add input")
	link := func(text string) {
		t.Helper()
		o.script(t, fmt.Sprintf(`((i) => { i.value = %q; i.form.requestSubmit(); })(document.querySelector('details.part[open] form.add input')), ''`, text))
	}
	link(fmt.Sprint(made["id"])) // no extension has this number
	o.reads(fmt.Sprintf(`There is no "%v" here`, made["id"]))
	link("1501")
	o.reads("The link was made.")
	if linked := g.Do(t, "GET", confd+group, admin, "").Want(200); !strings.Contains(linked.Body, `"exten":"1501"`) {
		t.Errorf("the group is %s", linked.Body)
	}

	o.goTo("#/confd/incalls/+new", "Create an incoming number")
	o.script(t, `((s) => { s.value = 'extension'; s.dispatchEvent(new Event('change')); })(document.querySelector('main select[data-name=type]')), ''`)
	o.enter("Number", "1042")
	atOnce("context", "of-another-system")
	o.until(`/incalls\/\d+$/.test(location.hash)`, "the call is not made")
	if calls := g.Do(t, "GET", confd+"/incalls", admin, "").Want(200).Body; !strings.Contains(calls, `"context":"of-another-system"`) {
		t.Errorf("the calls are %s", calls)
	}
	o.clean(t, "after fast typing", "400")
}

// What is refused is said once, in words, beside the field that it is about, which has the focus; and nothing is said of the time before.
func TestConsoleSaysWhatIsWrongOnce(t *testing.T) {
	g, o, admin, _ := desk(t)
	o.goTo("#/confd/incalls/+new", "Create an incoming number")
	o.script(t, `((s) => { s.value = 'user'; s.dispatchEvent(new Event('change')); })(document.querySelector('main select[data-name=type]')), ''`)
	o.enter("User", "Nobody")
	o.hit(kb.Enter)
	o.until(`((all) => all.length === 1 && all[0].textContent.startsWith('There is no "Nobody" here') && document.activeElement.getAttribute('aria-describedby').includes(all[0].id))([...document.querySelectorAll('main .error')].filter((e) => e.textContent))`, "it is not said once, where the focus is")

	o.goTo("#/confd/groups/+new", "Create a group")
	o.enter("Name", `Front "desk"`)
	o.press("Create")
	o.reads("Only letters, digits, spaces and - _ .")

	o.goTo("#/telephone", "New telephone user")
	o.enter("First name", "Ada")
	o.enter("E-mail", "nobody")
	o.press("Create")
	o.until(`document.activeElement.id.startsWith('email') && document.activeElement.getAttribute('aria-invalid') === 'true' && document.getElementById(document.activeElement.getAttribute('aria-describedby').split(' ').at(-1)).textContent === 'Must be an e-mail address'`, "the address is not refused beside its field, in words")

	team := g.Do(t, "POST", "/api/auth/0.1/groups", admin, `{"name":"team"}`).Want(200).Text("uuid")
	o.goTo("#/auth/groups/"+team, "team")
	o.enter("Name", "reception")
	o.click("section.whole button.primary")
	o.reads("Saved.")
	o.enter("Name", strings.Repeat("x", 1000))
	o.click("section.whole button.primary")
	o.until(`[...document.querySelectorAll('main .field .error')].some((e) => e.textContent.startsWith('Must have')) && document.getElementById('state').textContent === ''`, "it still says that it was saved")
	o.clean(t, "after refusals", "400")
}

// Who may create users is offered that first. A user is deleted with the line, the number and the voicemail in one step, alone or among others.
func TestConsoleDeletesAUserAsAWhole(t *testing.T) {
	g, o, admin, in := desk(t)
	const users = "/api/confd/1.1/users"
	for _, exten := range []string{"1001", "1002", "1003"} {
		g.Do(t, "POST", users, admin, `{"firstname":"User `+exten+`","lines":[{"context":"`+in+`","endpoint_sip":{},"extensions":[{"exten":"`+exten+`","context":"`+in+`"}]}],
			"voicemail":{"name":"Box","number":"`+exten+`","context":"`+in+`"}}`).Want(201)
	}
	o.press("Start")
	o.press("Add a telephone user")
	o.until(`document.querySelector('main h1')?.textContent === 'New telephone user'`, "the form does not open")
	o.goTo("#/confd/users", "People")
	o.press("User 1001")
	o.until(`document.querySelector('main h1')?.textContent === 'User 1001'`, "the user does not open")
	o.press("Delete")
	o.see("dialog[open]")
	o.press("Delete")
	o.reads("User is associated with a Voicemail")
	o.press("Delete")
	o.click("dialog[open] input")
	o.press("Delete")
	o.reads("User 1001 was deleted.")
	o.click("th.pick input")
	o.press("Delete")
	o.click("dialog[open] input")
	o.press("Delete")
	o.reads("2 were deleted.")
	for _, path := range []string{"/users", "/lines", "/extensions", "/voicemails"} {
		if left := g.Do(t, "GET", "/api/confd/1.1"+path, admin, "").List().Total; left != 0 {
			t.Errorf("%d are left at %s", left, path)
		}
	}
	o.clean(t, "while users were deleted", "400")
}

// An operator ends one session of a user on the user's page.
func TestConsoleEndsASessionOfAUser(t *testing.T) {
	g, o, admin, _ := desk(t)
	olga := g.Do(t, "POST", "/api/auth/0.1/users", admin, `{"username":"olga","password":"a-long-password"}`).Want(200).Text("uuid")
	token := g.Login(t, "olga", "a-long-password")
	o.goTo("#/auth/users/"+olga, "olga")
	o.part("Sessions")
	o.see("details.part[open] td.pick button")
	o.click("details.part[open] td.pick button")
	o.reads("End a session of a user?")
	o.press("End") // in the dialog
	o.reads("Sessions: one was ended.")
	o.reads("There are none.")
	g.Do(t, "GET", "/api/auth/0.1/users/"+olga, token, "").Want(401)
	o.clean(t, "while a session was ended")
}

// The pages beside the console are as light and as dark as it is.
func TestPagesBesideTheConsoleHaveItsLooks(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	b := newBrowser(t)
	for _, look := range []string{"light", "dark"} {
		b.run(t, emulate(1000, 800, look))
		ground := func(page string) string {
			t.Helper()
			b.run(t, chromedp.Navigate(g.URL+page), chromedp.WaitVisible(chromedp.CSS("header")))
			return b.script(t, `((s) => s.backgroundColor + ' ' + s.color)(getComputedStyle(document.querySelector('header')))`)
		}
		want := ground("/console/")
		for _, page := range []string{"/console/reset.html", "/console/api/"} {
			if got := ground(page); got != want {
				t.Errorf("the head of %s is %s in the %s look, of the console %s", page, got, look, want)
			}
		}
	}
}

// A telephone that is made in the console has a login, which its pages show to copy and to scan. A new one can be made, and one for a telephone
// that has none. No password is in an address.
func TestConsoleShowsTheLoginOfATelephone(t *testing.T) {
	g, o, admin, in := desk(t)
	const confd = "/api/confd/1.1"
	const fields = `[...document.querySelectorAll('details.part[data-path^="login/"][open] input')].map((i) => i.value)`
	stored := func(line map[string]any) (uuid, username, password string) {
		t.Helper()
		uuid = line["endpoint_sip"].(map[string]any)["uuid"].(string)
		for _, pair := range g.Do(t, "GET", confd+"/endpoints/sip/"+uuid, admin, "").Want(200).JSON("auth_section_options").([]any) {
			switch pair := pair.([]any); pair[0] {
			case "username":
				username = pair[1].(string)
			case "password":
				password = pair[1].(string)
			}
		}
		return uuid, username, password
	}
	shows := func(username, password string) {
		t.Helper()
		want := fmt.Sprintf("%s %s 127.0.0.1 sip:%[1]s:%[2]s@127.0.0.1", username, password)
		o.until(fmt.Sprintf(`%s.join(' ') === %q && document.querySelector('svg.code path')?.getAttribute('d').length > 1000`, fields, want), "the login is not shown")
	}
	o.goTo("#/telephone", "New telephone user")
	o.enter("First name", "Ada")
	o.enter("Number", "1042")
	o.press("Create")
	o.reads("Ada was created with the number 1042.")
	uuid, username, password := stored(g.Do(t, "GET", confd+"/lines", admin, "").List().Items[0])
	if username == "" || len(password) < 20 {
		t.Fatalf("the login is %q, %d letters", username, len(password))
	}
	shows(username, password)
	o.script(t, `navigator.clipboard.writeText = async (text) => { window.copied = text; }, ''`)
	o.click(`[aria-label="Copy: Password"]`)
	o.until(fmt.Sprintf(`window.copied === %q`, password), "the password is not copied")
	o.enter("Server", "pbx.example.org")
	o.until(fields+`.at(-1).endsWith('@pbx.example.org')`, "another server is not in the address")

	o.press("Make a new login")
	o.press("Make it")
	o.reads("The telephone has a new login.")
	_, _, renewed := stored(g.Do(t, "GET", confd+"/lines", admin, "").List().Items[0])
	if renewed == password || renewed == "" {
		t.Error("it is the old one")
	}
	shows(username, renewed)
	o.goTo("#/confd/endpoints/sip/"+uuid, username)
	o.part("Login of the telephone " + username)
	shows(username, renewed)

	bare := g.Do(t, "POST", confd+"/lines", admin, `{"context":"`+in+`","endpoint_sip":{"name":"bare"}}`).Want(201)
	o.goTo(fmt.Sprint("#/confd/lines/", bare.JSON("id")), "bare")
	o.part("Login of the telephone bare")
	o.reads("It has no login of its own")
	o.press("Make a login")
	o.reads("The telephone has a new login.")
	_, username, password = stored(g.Do(t, "GET", confd+"/lines?name=bare", admin, "").List().Items[0])
	shows(username, password)
	for _, address := range o.requested() {
		if strings.Contains(address, password) || strings.Contains(address, renewed) {
			t.Errorf("a password is in %s", address)
		}
	}
	o.clean(t, "while logins were made")
}

// The console tells what the telephone system does not have, and why, and applies what is stored.
func TestConsoleTellsWhatIsLeftOut(t *testing.T) {
	t.Setenv("RINGFENCE_ASTERISK_FOLDER", filepath.Join(t.TempDir(), "generated"))
	g, o, admin, in := desk(t)
	g.Do(t, "PUT", "/api/confd/1.1/configuration/live_reload", admin, `{"enabled":false}`).Want(204)
	g.Do(t, "POST", "/api/confd/1.1/users", admin, `{"firstname":"Ada","lines":[{"context":"`+in+`","endpoint_sip":{"name":"bare"}}]}`).Want(201)
	o.press("Live")
	o.until(`document.querySelector('main h1')?.textContent === 'Telephone system'`, "the page does not open")
	o.reads("its endpoint has no login")
	o.until(`document.querySelector('main td a')?.textContent === 'Telephone bare'`, "the line is not named")
	o.press("Apply")
	o.reads("It has what is stored.")
	o.reads("Done.")
	o.reads("its endpoint has no login")
	o.clean(t, "while it was applied")
}
