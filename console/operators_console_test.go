package console_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// An operator opens the console, makes a policy, a telephone user and a login that has the policy, finds the user among many, sees why
// the login is refused something and who may do it, and signs out.
func TestOperatorsConsole(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	o.run(t, chromedp.Navigate(g.URL+"/"))
	o.see("#login")
	o.shoot(t, "1-sign-in")
	o.run(t, chromedp.SendKeys(chromedp.CSS("#username"), "admin"), chromedp.SendKeys(chromedp.CSS("#password"), "a wrong password\r"), chromedp.WaitVisible(chromedp.CSS("#state.wrong")))
	o.clean(t, "after a wrong password", "401")
	o.run(t, chromedp.Reload())
	o.signIn("admin", gatewaytest.Password)
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
	o.goTo("#/confd/contexts/+new", "Create a dialling area")
	o.enter("Name", "Inside")
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
	addUsers(t, filepath.Join(g.Dir, "data", "ringfence.db"), 10_000)
	o.goTo("#/confd/users", "People")
	o.reads("10,001 in all, page 1 of 401")
	o.enter("Search People", "1042")
	o.reads("Lovelace")
	o.shoot(t, "6-found")
	o.press("Ada")
	o.until(`document.querySelector('main h1')?.textContent === 'Ada Lovelace'`, "the user's page does not open")
	o.part("Forwards")
	o.until(`document.querySelector('details.part[open] form')`, "the forwards are not shown")

	// A function key, by the keyboard alone; the refusal of another stands in its row.
	o.part("Function keys")
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
	if keys := g.Do(t, "GET", "/api/confd/1.1/users/"+o.script(t, `location.hash.split('/').at(-1)`)+"/funckeys", g.Admin(t), "").Want(200); keys.Text("keys.1.destination.user_firstname") != "Ada" ||
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
	o.part("Policies")
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

	// What the token does not allow is not in the menu; a refusal says whom to ask.
	o.goTo("", "Sign in")
	o.signIn("reception", "a-long-password")
	o.until(`((all) => all.includes('Your account') && !all.includes('Policies') && !all.includes('Lines'))([...document.querySelectorAll('nav a')].map((a) => a.textContent))`, "the menu has what is not allowed")
	o.goTo("#/confd/users/"+g.Do(t, "GET", "/api/confd/1.1/users?search=Lovelace", g.Admin(t), "").List().Items[0]["uuid"].(string), "Ada Lovelace")
	o.reads("You may see this, and not change it.")
	o.until(`((all) => all.length > 5 && all.every((c) => c.disabled))([...document.querySelectorAll('section.whole form :is(input, select, textarea, button)')])`, "what may not be changed can be written")
	o.goTo("#/confd/lines", "Telephones")
	o.reads("To be allowed this, ask an administrator.")
	o.shoot(t, "8-refused")
	o.clean(t, "after a refusal", "403")
	o.press("Sign out")
	o.reads("Signed out.")
	o.goTo("#/why?method=GET&path=/api/confd/1.1/lines&user_uuid="+reception, "Sign in")
	o.run(t, chromedp.SendKeys(chromedp.CSS("#username"), "admin"), chromedp.SendKeys(chromedp.CSS("#password"), gatewaytest.Password+"\r"))
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
	o.reads("reception will not be able to do some of this any more.") // of the rest, such as one's own blocked numbers, they stay able
	o.shoot(t, "10-taken-away")
	o.press("Cancel")
	o.reads("Nothing was changed.")
	o.enter("Pattern", "confd.users.me.read")
	o.press("Save")
	o.see("dialog[open]")
	o.click("dialog[open] .danger")
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
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const users = "/api/confd/1.1/users"
	g.Do(t, "POST", users, admin, `{"firstname":"Ada"}`).Want(201)
	in := g.Do(t, "POST", "/api/confd/1.1/contexts", admin, `{"label":"Inside"}`).Want(201).Text("name")
	line := `"lines":[{"context":"` + in + `","endpoint_sip":{}}]`
	bob := g.Do(t, "POST", users, admin, `{"firstname":"Bob",`+line+`}`).Want(201).Text("uuid")
	carol := g.Do(t, "POST", users, admin, `{"firstname":"Carol",`+line+`}`).Want(201).Text("uuid")
	addUsers(t, filepath.Join(g.Dir, "data", "ringfence.db"), 23)
	group := g.Do(t, "POST", "/api/confd/1.1/groups", admin, `{"label":"Sales"}`).Want(201).Text("uuid")
	west := g.Do(t, "POST", "/api/auth/0.1/tenants", admin, `{"name":"West","slug":"west"}`).Want(200).Text("uuid")
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)

	// Bob becomes a member, then Carol: both are.
	o.goTo("#/confd/groups/"+group, "Sales")
	for _, user := range []string{bob, carol} {
		o.script(t, `document.getElementById('state').textContent = '', document.querySelectorAll('details.part[open]').forEach((d) => { d.open = false; }), ''`)
		o.part("Users who are members")
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
	o.goTo("#/confd/users?order=firstname", "People")
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
	o.signIn("admin", gatewaytest.Password)
	o.goTo("#/confd/users", "People")
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
