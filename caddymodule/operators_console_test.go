package caddymodule_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ringfence/ringfence/acl"
)

// operator is a person at the console.
type operator struct {
	*browser
	t   *testing.T
	url string
}

// goTo opens a page, which has this title.
func (o *operator) goTo(page, title string) {
	o.t.Helper()
	o.run(o.t, chromedp.Navigate(o.url+"/console/"+page))
	o.until(fmt.Sprintf(`document.querySelector('main h1')?.textContent === %q`, title), "the page %s does not open", page)
}

func (o *operator) see(selector string) {
	o.t.Helper()
	o.run(o.t, chromedp.WaitVisible(chromedp.CSS(selector)))
}

func (o *operator) click(selector string) {
	o.t.Helper()
	o.run(o.t, chromedp.Click(chromedp.CSS(selector)))
}

// enter replaces what a field with this label has.
func (o *operator) enter(label, text string) {
	o.t.Helper()
	id := o.script(o.t, fmt.Sprintf(`((asked) => {
		const label = [...document.querySelectorAll('label')].find((l) => l.textContent.trim().replace(/ \*$/, '') === asked && l.offsetParent);
		const field = label ? document.getElementById(label.htmlFor) : document.querySelector('[aria-label="' + asked + '"]');
		if (!field) return '';
		field.value = '';
		return field.id ||= 'entered-' + Math.random().toString(36).slice(2);
	})(%q)`, label))
	if id == "" {
		o.shoot(o.t, "failed")
		o.t.Fatalf("no field is called %q", label)
	}
	o.run(o.t, chromedp.SendKeys(chromedp.CSS("#"+id), text))
}

// press clicks the button or the link with this text.
func (o *operator) press(text string) {
	o.t.Helper()
	o.until(fmt.Sprintf(`(() => {
		const all = ['dialog[open] button', 'main button, main a, main summary', '#top button', 'nav a'].flatMap((s) => [...document.querySelectorAll(s)]);
		const found = all.find((b) => b.textContent.trim() === %q && b.offsetParent && !b.disabled);
		found?.click();
		return Boolean(found);
	})()`, text), "there is no %q to press", text)
}

// hit presses keys, which go to the element that has the focus.
func (o *operator) hit(keys ...string) {
	o.t.Helper()
	o.run(o.t, chromedp.KeyEvent(strings.Join(keys, "")))
}

// until waits for a condition.
func (o *operator) until(condition, problem string, args ...any) {
	o.t.Helper()
	if _, err := chromedp.Run(o, chromedp.Poll[bool]("Boolean("+condition+")")); err != nil {
		o.shoot(o.t, "failed")
		o.t.Fatalf(problem+": %v; the page says %q and complained %q", append(args, err, o.script(o.t, `document.body.innerText`), o.complained())...)
	}
}

// reads waits until the page has this text.
func (o *operator) reads(text string) {
	o.t.Helper()
	o.until(fmt.Sprintf(`document.body.innerText.includes(%q)`, text), "the page does not have %q", text)
}

func (o *operator) signIn(username, password string) {
	o.t.Helper()
	o.see("#login")
	o.run(o.t, chromedp.SendKeys(chromedp.CSS("#username"), username), chromedp.SendKeys(chromedp.CSS("#password"), password+"\r"), chromedp.WaitVisible(chromedp.CSS("#logout")))
	o.reads("Welcome, " + username)
}

// An operator opens the console, makes a policy, a telephone user and a login that has the policy, finds the user among many, sees why
// the login is refused something and who may do it, and signs out.
func TestOperatorsConsole(t *testing.T) {
	g := loadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	o.run(t, chromedp.Navigate(g.URL+"/"))
	o.see("#login")
	o.shoot(t, "1-sign-in")
	o.run(t, chromedp.SendKeys(chromedp.CSS("#username"), "admin"), chromedp.SendKeys(chromedp.CSS("#password"), "a wrong password\r"), chromedp.WaitVisible(chromedp.CSS("#state.wrong")))
	o.clean(t, "after a wrong password", "401")
	o.run(t, chromedp.Reload())
	o.signIn("admin", adminPassword)
	o.shoot(t, "2-start")

	// A policy, explained while it is typed.
	o.goTo("#/auth/policies/+new", "New policy")
	o.enter("Name", "reception")
	o.enter("Pattern", "confd.users.#.read")
	o.reads("May see users › anything inside in the service confd.")
	o.until(`/^\d+ operations?$/.test(document.querySelector('.patterns summary')?.textContent)`, "the operations of a pattern are not counted")
	o.shoot(t, "3-policy")
	o.press("Create")
	o.reads("The policy reception was created.")

	// A context, then a user with a telephone and a voicemail.
	o.goTo("#/confd/contexts/+new", "Create a context")
	o.enter("Label", "Inside")
	o.click("main form fieldset button")
	o.enter("Start", "1000")
	o.enter("End", "1999")
	o.press("Create")
	o.reads("Inside was created.")
	o.goTo("#/telephone", "New telephone user")
	o.enter("First name", "Ada")
	o.enter("Last name", "Lovelace")
	o.enter("Number", "7000")
	o.press("Create")
	o.reads("7000") // it is outside of the range: the refusal stands beside the field
	o.until(`[...document.querySelectorAll('.field .error')].some((e) => e.textContent.includes('7000'))`, "the refusal is not shown")
	o.shoot(t, "4-refused")
	o.clean(t, "after a refused number", "400")
	o.enter("Number", "1042")
	o.press("Create")
	o.reads("Ada was created with the number 1042.")
	o.shoot(t, "5-user")

	// Many users, of which a search finds one.
	addUsers(t, filepath.Join(g.dir, "data", "ringfence.db"), 10_000)
	o.goTo("#/confd/users", "Users")
	o.reads("10,001 in all, page 1 of 401")
	o.enter("Search Users", "1042")
	o.reads("Lovelace")
	o.shoot(t, "6-found")
	o.press("Ada")
	o.until(`document.querySelector('main h1')?.textContent === 'Ada Lovelace'`, "the user's page does not open")
	o.press("Forwards")
	o.until(`document.querySelector('details.part[open] form')`, "the forwards are not shown")

	// A function key, by the keyboard alone; the refusal of another stands in its row.
	o.press("Function keys")
	o.until(`document.querySelector('table.keyed')`, "the function keys are not shown")
	o.press("Add a position")
	o.hit("User")
	o.hit(kb.Tab, "Ada Love")
	o.until(`[...document.activeElement.list.options].some((o) => o.value === 'Ada Lovelace')`, "the user is not suggested")
	o.hit("lace", kb.Tab, "Desk", kb.Tab, kb.Tab, kb.Tab, kb.Enter)
	o.until(`document.activeElement.tagName === 'SELECT' && document.querySelectorAll('table.keyed tbody tr').length === 2`, "the keyboard adds no row")
	o.hit("Custom", kb.Tab, "not a number", kb.Enter)
	o.until(`[...document.querySelectorAll('table.keyed tr:nth-child(2) .error')].some((e) => e.textContent.includes('match')) && document.activeElement.value === 'not a number'`, "the refusal is not in its row")
	o.shoot(t, "6-keys-refused")
	o.clean(t, "after a refused key", "400")
	o.script(t, `document.activeElement.select(), ''`)
	o.hit("*21", kb.Enter)
	o.reads("Function keys saved.")
	o.shoot(t, "6-keys")
	if keys := g.Do(t, "GET", "/api/confd/1.1/users/"+o.script(t, `location.hash.split('/').at(-1)`)+"/funckeys", g.admin(t), "").Want(200); keys.Text("keys.1.destination.user_firstname") != "Ada" ||
		keys.Text("keys.1.label") != "Desk" || keys.Text("keys.2.destination.exten") != "*21" {
		t.Errorf("the function keys are %s", keys.Body)
	}

	// A login that may only read users.
	o.goTo("#/auth/users/+new", "Create a user")
	o.enter("User name", "reception")
	o.enter("Password", "a-long-password")
	o.press("Create")
	o.reads("reception was created.")
	reception := o.script(t, `location.hash.split('/').at(-1)`)
	o.see("details.part")
	o.press("Policies")
	o.until(`document.querySelector('details.part[open] form.add')`, "the policies are not shown")
	o.script(t, `document.querySelector('details.part[open] form.add input').focus(), ''`)
	o.hit("reception")
	o.until(`[...document.querySelectorAll('details.part[open] datalist option')].some((o) => o.value === 'reception')`, "the policy is not suggested")
	o.press("Add")
	o.reads("The link was made.")
	o.shoot(t, "7-login")
	o.press("Sign out")
	o.reads("Signed out.")
	o.clean(t, "while an operator worked")

	// What the token does not allow is shown as such; a refusal leads to its reason.
	o.goTo("", "Sign in")
	o.signIn("reception", "a-long-password")
	o.until(`[...document.querySelectorAll('nav a.denied')].some((a) => a.textContent === 'Policies')`, "what is not allowed is not shown as such")
	o.goTo("#/confd/users/"+g.Do(t, "GET", "/api/confd/1.1/users?search=Lovelace", g.admin(t), "").List().Items[0]["uuid"].(string), "Ada Lovelace")
	o.reads("You may see this, and not change it.")
	o.until(`((all) => all.length > 5 && all.every((c) => c.disabled))([...document.querySelectorAll('section.whole form :is(input, select, textarea, button)')])`, "what may not be changed can be written")
	o.goTo("#/confd/lines", "Lines")
	o.until(`((a) => a && getComputedStyle(a).color !== getComputedStyle(document.querySelector('nav a.denied:not([aria-current])')).color)(document.querySelector('nav a.denied[aria-current]'))`, "the page that one may not see is named as grey as others")
	o.reads("Why was I refused, and who may do it?")
	o.press("Why was I refused, and who may do it?")
	o.reads("No pattern of your token stands for it.")
	o.shoot(t, "8-refused")
	o.clean(t, "after a refusal", "403")
	o.press("Sign out")
	o.reads("Signed out.")
	o.goTo("#/why?method=GET&path=/api/confd/1.1/lines&user_uuid="+reception, "Sign in")
	o.run(t, chromedp.SendKeys(chromedp.CSS("#username"), "admin"), chromedp.SendKeys(chromedp.CSS("#password"), adminPassword+"\r"))
	o.reads("No pattern that the user holds matches it.")
	o.press("Who may do this?")
	o.reads("1 user may see lines in the service confd.")
	o.shoot(t, "9-who")
	o.goTo("#/auth/users/"+reception, "reception")

	// An edit that takes something away says from whom, before it does.
	o.see("details.part")
	o.press("Policies")
	o.see("details.part[open] ul.links a")
	o.press("reception")
	o.see(".patterns")
	o.enter("Pattern", "confd.users.me.read")
	o.press("Save")
	o.reads("This takes something away")
	o.reads("reception will not be able to do this any more.")
	o.shoot(t, "10-taken-away")
	o.press("Cancel")
	o.reads("Nothing was changed.")
	o.enter("Pattern", "confd.users.me.read")
	o.press("Save")
	o.see("dialog[open]")
	o.run(t, chromedp.Click(chromedp.CSS("dialog[open] .danger")))
	o.reads("Tokens that are in use have the new rights already.")
	if stored := o.script(t, `JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])`); strings.Contains(stored, "rft_") {
		t.Errorf("stored is %s", stored)
	}

	// A reload keeps the session; the end of the session is told.
	o.run(t, chromedp.Reload(), chromedp.WaitVisible(chromedp.CSS("#logout")))
	o.script(t, `import('/console/app/api.js').then((api) => { window.token = api.me.token; }), ''`)
	o.until(`window.token`, "there is no token")
	token := o.script(t, `window.token`)
	o.press("Sign out")
	o.reads("Signed out.")
	g.Do(t, http.MethodGet, "/api/auth/0.1/users/me", token, "").Want(http.StatusUnauthorized)
}

// What an operator has changed is what the console goes on with: the members that were saved, the rows that are left, and after a sign-out
// no longer the tenant that was chosen.
func TestOperatorsConsoleAfterAChange(t *testing.T) {
	g := loadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.admin(t)
	const users = "/api/confd/1.1/users"
	g.Do(t, "POST", users, admin, `{"firstname":"Ada"}`).Want(201)
	in := g.Do(t, "POST", "/api/confd/1.1/contexts", admin, `{"label":"Inside"}`).Want(201).Text("name")
	line := `"lines":[{"context":"` + in + `","endpoint_sip":{}}]`
	bob := g.Do(t, "POST", users, admin, `{"firstname":"Bob",`+line+`}`).Want(201).Text("uuid")
	carol := g.Do(t, "POST", users, admin, `{"firstname":"Carol",`+line+`}`).Want(201).Text("uuid")
	addUsers(t, filepath.Join(g.dir, "data", "ringfence.db"), 23)
	group := g.Do(t, "POST", "/api/confd/1.1/groups", admin, `{"label":"Sales"}`).Want(201).Text("uuid")
	west := g.Do(t, "POST", "/api/auth/0.1/tenants", admin, `{"name":"West","slug":"west"}`).Want(200).Text("uuid")
	o.goTo("", "Sign in")
	o.signIn("admin", adminPassword)

	// Bob becomes a member, then Carol: both are.
	o.goTo("#/confd/groups/"+group, "Sales")
	for _, user := range []string{bob, carol} {
		o.script(t, `document.getElementById('state').textContent = '', document.querySelectorAll('details.part[open]').forEach((d) => { d.open = false; }), ''`)
		o.press("Users who are members")
		o.press("Add one")
		o.script(t, fmt.Sprintf(`[...document.querySelectorAll('details.part[open] .row')].at(-1).querySelector('input').value = %q`, user))
		o.script(t, `document.querySelector('details.part[open] form button.primary').click(), ''`)
		o.reads("Users who are members saved.")
	}
	members := g.Do(t, "GET", "/api/confd/1.1/groups/"+group, admin, "").Want(200)
	if !strings.Contains(members.Body, bob) || !strings.Contains(members.Body, carol) {
		t.Errorf("the group is %s", members.Body)
	}

	// The only user of the last page is deleted: the page before is shown.
	o.goTo("#/confd/users?order=firstname", "Users")
	o.reads("26 in all, page 1 of 2")
	o.press("Next")
	o.reads("26 in all, page 2 of 2")
	o.script(t, `document.querySelector('tbody td.pick input').click(), ''`)
	o.press("Delete")
	o.press("Delete") // in the dialog
	o.reads("25 in all")
	o.until(`document.querySelectorAll('tbody tr').length === 25 && !location.hash.includes('page=')`, "the page before is not shown")

	// The tenant that was chosen is forgotten at the sign-out.
	o.script(t, fmt.Sprintf(`((chooser) => { chooser.value = %q; chooser.dispatchEvent(new Event('change')); return ''; })(document.getElementById('tenant'))`, west))
	o.reads("There is nothing here yet.")
	o.press("Start")
	o.reads("Welcome, admin")
	o.press("Sign out")
	o.reads("Signed out.")
	o.signIn("admin", adminPassword)
	o.goTo("#/confd/users", "Users")
	o.reads("25 in all")
	o.clean(t, "after changes")
}

// addUsers writes users into the file of a gateway that runs.
func addUsers(t *testing.T, file string, n int) {
	t.Helper()
	db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const columns = `mobile_fallback_enabled, call_record_outgoing_external_enabled, call_record_outgoing_internal_enabled,
		call_record_incoming_internal_enabled, call_record_incoming_external_enabled, subscription_type, enabled`
	if _, err := db.ExecContext(t.Context(), `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		INSERT INTO confd_user (uuid, tenant_uuid, firstname, lastname, `+columns+`)
		SELECT '10000000-0000-4000-8000-' || printf('%012d', i), tenant_uuid, 'Member', printf('Number %05d', i), `+columns+`
		FROM n CROSS JOIN confd_user WHERE firstname = 'Ada'`, n); err != nil {
		t.Fatal(err)
	}
}

// The console explains patterns with a small copy of the language: it must agree with the gateway's own.
func TestConsoleKnowsTheLanguage(t *testing.T) {
	g := loadDefault(t, "")
	b := newBrowser(t)
	const user, session = "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "16fd2706-8baf-433b-82eb-8c7fada847da"
	words := []string{"confd", "users", "*", "#", "me", user, "my_session"}
	var patterns, accesses []string
	for _, a := range words {
		for _, b := range words {
			for _, c := range words {
				patterns = append(patterns, a+"."+b+"."+c, "!"+a+"."+b)
				if !strings.ContainsAny(a+b+c, "*#") {
					accesses = append(accesses, a+"."+b+"."+c, a+"."+b, a, a+"."+b+"."+c+".read")
				}
			}
		}
	}
	list, _ := json.Marshal([]any{patterns, accesses})
	b.run(t, chromedp.Navigate(g.URL+"/console/"), chromedp.WaitVisible(chromedp.CSS("#login")))
	b.script(t, fmt.Sprintf(`import('/console/app/acl.js').then(({ allows, fault }) => {
		const [patterns, accesses] = %s, who = { user: %q, session: %q };
		window.answers = JSON.stringify(patterns.map((p) => fault(p) ? 'fault' : accesses.map((a) => allows(['#', p], a, who) && (p.startsWith('!') || allows([p], a, who)) ? '1' : '0').join('')));
	}), ''`, list, user, session))
	if _, err := chromedp.Run(b, chromedp.Poll[bool](`window.answers !== undefined`)); err != nil {
		t.Fatal(err)
	}
	var answers []string
	if err := json.Unmarshal([]byte(b.script(t, `window.answers`)), &answers); err != nil {
		t.Fatal(err)
	}
	for i, p := range patterns {
		with := []string{p}
		if strings.HasPrefix(p, "!") {
			with = append(with, "#")
		}
		set, err := acl.Compile(with)
		if err != nil {
			t.Fatal(err)
		}
		for j, a := range accesses {
			if want := set.Allows(a, acl.Binding{User: user, Session: session}); (answers[i][j] == '1') != want {
				t.Errorf("pattern %q, access %q: the console says %c, the gateway %v", p, a, answers[i][j], want)
			}
		}
	}
}

// violations returns what axe-core (testdata/axe-core) finds on the page, for people with a screen reader, a keyboard or weak eyes,
// and whether the page is wider than the screen.
func (o *operator) violations() []string {
	o.t.Helper()
	if o.script(o.t, `typeof window.axe`) == "undefined" {
		text, err := os.ReadFile("testdata/axe-core/axe.min.js")
		if err != nil {
			o.t.Fatal(err)
		}
		o.script(o.t, string(text)+"; ''")
		o.script(o.t, `document.body.append(Object.assign(document.createElement('input'), { id: 'nameless' })), ''`)
		if found := o.violations(); !slices.ContainsFunc(found, func(v string) bool { return strings.HasPrefix(v, "label, ") }) {
			o.t.Fatalf("axe-core does not find a field without a label: %q", found)
		}
		o.script(o.t, `document.getElementById('nameless').remove(), ''`)
	}
	found, err := chromedp.Run(o, chromedp.Evaluate[[]string](`axe.run(document, {
		runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], resultTypes: ['violations'],
	}).then(({ violations }) => violations.flatMap((v) => v.nodes.map((n) => v.id + ', ' + n.failureSummary.replaceAll('\n', ' ') + ': ' + n.html.slice(0, 200)))
		.concat(document.documentElement.scrollWidth > innerWidth ? 'wider than the screen: ' + document.documentElement.scrollWidth : []))`, chromedp.EvalAwaitPromise))
	if err != nil {
		o.t.Fatal(err)
	}
	return found
}

// Each page is readable on a telephone and on a desk, in light and in dark, and by a screen reader.
func TestConsoleIsAccessible(t *testing.T) {
	g := loadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.admin(t)
	in := g.Do(t, "POST", "/api/confd/1.1/contexts", admin, `{"label":"Inside","user_ranges":[{"start":"1000","end":"1999"}]}`).Want(201).Text("name")
	west := g.Do(t, "POST", "/api/auth/0.1/tenants", admin, `{"name":"A customer with a long name","slug":"west"}`).Want(200).Text("uuid")
	user := g.Do(t, "POST", "/api/confd/1.1/users", admin, `{"firstname":"Ada","lastname":"Lovelace","lines":[{"context":"`+in+`","endpoint_sip":{},"extensions":[{"exten":"1042","context":"`+in+`"}]}]}`).Want(201).Text("uuid")
	group := g.Do(t, "POST", "/api/confd/1.1/groups", admin, `{"label":"Sales"}`).Want(201)
	g.Do(t, "POST", "/api/confd/1.1/incalls", admin, fmt.Sprintf(`{"destination":{"type":"group","group_id":%v}}`, group.JSON("id"))).Want(201)
	g.Do(t, "PUT", "/api/confd/1.1/groups/"+group.Text("uuid")+"/members/users", admin, `{"users":[{"uuid":"`+user+`"}]}`).Want(204)
	entry := g.Do(t, "GET", "/api/auth/0.1/audit?action=create_group&service=confd", admin, "").List().Items[0]["id"]
	o.goTo("", "Sign in")
	check := func(name string) {
		t.Helper()
		for _, look := range []struct {
			width  int
			scheme string
		}{{360, "dark"}, {1400, "light"}} { // each of both, once: neither changes what the other does
			o.run(t, emulate(look.width, 900, look.scheme))
			for _, violation := range o.violations() {
				t.Errorf("%s, %d pixels, %s: %s", name, look.width, look.scheme, violation)
			}
			o.shoot(t, fmt.Sprintf("look-%s-%d-%s", name, look.width, look.scheme))
		}
	}
	check("sign-in")
	o.signIn("admin", adminPassword)
	o.see(".plots")
	check("start")
	for _, page := range []struct{ name, hash, title, ready string }{
		{"users", "#/confd/users", "Users", "td a"},
		{"user", "#/confd/users/" + user, "Ada Lovelace", "details.part"},
		{"new", "#/confd/groups/+new", "Create a group", "form"},
		{"context", "#/confd/contexts/+new", "Create a context", "form"},
		{"telephone", "#/telephone", "New telephone user", "form"},
		{"policy", "#/auth/policies/+new", "New policy", ".patterns"},
		{"sessions", "#/auth/sessions", "Sessions", "td"},
		{"audit", "#/auth/audit", "Audit", "td"},
		{"settings", "#/confd/asterisk/voicemail/general", "General settings of voicemails", "form"},
		{"group", "#/confd/groups/" + group.Text("uuid"), "Sales", "details.part"},
		{"incalls", "#/confd/incalls", "Incoming calls", "td a"},
		{"tenant", "#/auth/tenants/" + west, "A customer with a long name", "details.part"},
		{"entry", fmt.Sprint("#/auth/audit/", entry), "Create a group", "dl"},
		{"why", "#/why?method=GET&path=/api/confd/1.1/users", "Why was I refused?", ".verdict"},
		{"who", "#/who?access=confd.users.read", "Who may do this?", ".holder"},
	} {
		o.goTo(page.hash, page.title)
		o.see("main " + page.ready)
		if page.name == "group" {
			o.press("Users who are members")
			o.see(".many .row")
		}
		check(page.name)
	}
	g.Do(t, "PUT", "/api/confd/1.1/users/"+user+"/funckeys", admin, `{"keys":{"1":{"destination":{"type":"custom","exten":"*21"},"label":"Forward"},"2":{"destination":{"type":"service","service":"enablednd"}}}}`).Want(204)
	template := g.Do(t, "POST", "/api/confd/1.1/funckeys/templates", admin, `{"name":"All","keys":{"3":{"destination":{"type":"onlinerec"}}}}`).Want(201).JSON("id")
	g.Do(t, "PUT", "/api/confd/1.1/users/"+user+"/funckeys/templates/"+fmt.Sprint(template), admin, "").Want(204)
	o.goTo(fmt.Sprint("#/confd/funckeys/templates/", template), "All")
	o.see("table.keyed select")
	o.script(t, `document.querySelector('table.keyed').scrollIntoView(), ''`)
	check("template")
	o.goTo("#/confd/users/"+user, "Ada Lovelace")
	o.see("main details.part")
	o.press("Function keys")
	o.see("table.keyed select")
	o.script(t, `document.querySelector('table.keyed').scrollIntoView(), ''`)
	check("keys")
	o.press("Fallbacks")
	o.until(`document.querySelector('[aria-label="Busy destination"]')`, "the fallbacks are not shown")
	check("fallbacks")

	// The menu of a small screen closes by the keyboard, and one is where one was.
	o.run(t, emulate(360, 900, "dark"))
	o.click("#menu")
	o.until(`document.getElementById('nav').offsetParent !== null || getComputedStyle(document.getElementById('nav')).display === 'block'`, "the menu does not open")
	o.script(t, `document.querySelector('nav a').focus(), ''`)
	o.hit(kb.Escape)
	o.until(`getComputedStyle(document.getElementById('nav')).display === 'none' && document.activeElement.id === 'menu' && document.activeElement.getAttribute('aria-expanded') === 'false'`, "the menu does not close")
	o.clean(t, "on all pages")

	// The pages beside the console.
	for _, page := range []struct{ name, path, ready string }{
		{"reset", "/console/reset.html", "#after"}, // the gateway sends no mails
		{"certificate", "/certificate", "#fingerprint"},
	} {
		o.run(t, chromedp.Navigate(g.URL+page.path))
		o.see(page.ready)
		check(page.name)
	}
	o.run(t, chromedp.Navigate(g.URL+"/console/api/?service=confd"))
	o.until(`document.querySelectorAll('.opblock').length > 50`, "the operations are not shown")
	for _, look := range []struct {
		width        int
		scheme, dark string
	}{{360, "dark", "true"}, {1400, "light", "false"}} { // what is inside of Swagger UI is its own
		o.run(t, emulate(look.width, 900, look.scheme))
		if seen := o.script(t, `[document.documentElement.scrollWidth > innerWidth, getComputedStyle(document.getElementById('swagger-ui')).filter !== 'none', document.querySelector('.operation-filter-input').offsetWidth > innerWidth * 0.8].join()`); seen != "false,"+look.dark+",true" {
			t.Errorf("the explorer at %d pixels, %s: too wide, dark, a wide search: %s", look.width, look.scheme, seen)
		}
	}
}
