package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// summary returns what the served definition of the telephony says that an operation does.
func summary(t *testing.T, g *gatewaytest.Inside, id string) string {
	t.Helper()
	var definition struct {
		Paths map[string]map[string]json.RawMessage
	}
	body := g.Do(t, http.MethodGet, "/api/confd/1.1/api/openapi.json", "", "").Want(200).Body
	if err := json.Unmarshal([]byte(body), &definition); err != nil {
		t.Fatal(err)
	}
	for _, path := range definition.Paths {
		for _, raw := range path {
			var operation struct{ OperationID, Summary string }
			if json.Unmarshal(raw, &operation) == nil && operation.OperationID == id {
				return operation.Summary
			}
		}
	}
	t.Fatalf("no operation is called %s", id)
	return ""
}

// What a field names is picked by the name that it has for people, among the objects of the tenant to which it belongs.
func TestConsolePicksWhatFieldsName(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const confd, auth = "/api/confd/1.1", "/api/auth/0.1"
	template := g.Do(t, "POST", confd+"/funckeys/templates", admin, `{"name":"Reception"}`).Want(201).JSON("id")
	moh := g.Do(t, "POST", confd+"/moh", admin, `{"label":"Jazz","mode":"files"}`).Want(201).Text("name")
	user := confd + "/users/" + g.Do(t, "POST", confd+"/users", admin, `{"firstname":"Ada","lastname":"Lovelace"}`).Want(201).Text("uuid")
	west := g.Do(t, "POST", auth+"/tenants", admin, `{"name":"West","slug":"west"}`).Want(200).Text("uuid")
	contact := g.Do(t, "POST", auth+"/users", admin, `{"username":"westerner"}`, resttest.Header("Wazo-Tenant", west)).Want(200).Text("uuid")
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)
	pick := func(label, text string) {
		t.Helper()
		o.enter(label, text)
		o.until(fmt.Sprintf(`[...document.activeElement.list.options].some((o) => o.value === %q)`, text), "%s is not suggested", text)
	}
	hasValue := func(label, text string) {
		t.Helper()
		o.until(fmt.Sprintf(`[...document.querySelectorAll('main label')].some((l) => l.textContent === %q && document.getElementById(l.htmlFor).value === %q)`, label, text), "%s does not read %s", label, text)
	}
	save := func() {
		t.Helper()
		o.script(t, `document.getElementById('state').textContent = ''`)
		o.click("section.whole button.primary")
		o.reads("Saved.")
	}
	o.goTo(strings.Replace(user, confd, "#/confd", 1), "Ada Lovelace")
	o.script(t, `document.querySelectorAll('main form details').forEach((d) => { d.open = true; }), ''`)
	pick("Function key template", "Reception")
	pick("Music on hold", "Jazz")
	save()
	if now := g.Do(t, "GET", user, admin, "").Want(200); fmt.Sprint(now.JSON("func_key_template_id")) != fmt.Sprint(template) || now.Text("music_on_hold") != moh {
		t.Errorf("the user is %s", now.Body)
	}
	hasValue("Function key template", "Reception")
	hasValue("Music on hold", "Jazz")

	// A name that is none of theirs may be sent where the service knows more, and is refused beside its field where it does not.
	o.enter("Music on hold", "default")
	o.enter("Function key template", "nothing of the kind")
	o.click("section.whole button.primary")
	o.until(`[...document.querySelectorAll('.field .error')].some((e) => e.textContent.includes('choose one of the list'))`, "a name that no template has is sent")
	o.enter("Function key template", "Reception")
	save()
	if now := g.Do(t, "GET", user, admin, "").Want(200); now.Text("music_on_hold") != "default" {
		t.Errorf("the user is %s", now.Body)
	}

	// Who a tenant turns to is one of its own users, whatever tenant the page acts in.
	o.goTo("#/auth/tenants/"+west, "West")
	o.until(`[...document.querySelectorAll('details.facts dt')].some((dt) => dt.textContent === 'Tenant above' && dt.nextSibling.textContent === 'master')`, "the tenant above is not named")
	pick("Contact", "westerner")
	save()
	if now := g.Do(t, "GET", auth+"/tenants/"+west, admin, "").Want(200); now.Text("contact") != contact {
		t.Errorf("the tenant is %s", now.Body)
	}
	hasValue("Contact", "westerner")

	// One asks about another user by the name, too.
	o.goTo("#/why?method=GET&path=/api/confd/1.1/users", "Why was I refused?")
	o.reads("Allowed")
	pick("Another user", "admin")
	o.press("Ask")
	o.until(`location.hash.includes('user_uuid=') && document.querySelector('.verdict.good')`, "the user is not asked about")
	o.enter("Another user", "nobody")
	o.press("Ask")
	o.reads(`There is no "nobody" here`)
	o.clean(t, "while fields were filled in")
}

// Of thousands of members a page is shown: those of a group that the console sends as a whole, and those that the server has pages of.
func TestConsolePagesMembers(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const confd, auth, n = "/api/confd/1.1", "/api/auth/0.1", 60
	in := g.Do(t, "POST", confd+"/contexts", admin, `{"label":"Inside"}`).Want(201).Text("name")
	group := confd + "/groups/" + g.Do(t, "POST", confd+"/groups", admin, `{"label":"Sales"}`).Want(201).Text("uuid")
	team := auth + "/groups/" + g.Do(t, "POST", auth+"/groups", admin, `{"name":"team"}`).Want(200).Text("uuid")
	var members []map[string]string
	for i := range n {
		user := g.Do(t, "POST", confd+"/users", admin, fmt.Sprintf(`{"firstname":"Member","lastname":"%03d","lines":[{"context":%q,"endpoint_sip":{}}]}`, i, in)).Want(201)
		members = append(members, map[string]string{"uuid": user.Text("uuid")})
		login := g.Do(t, "POST", auth+"/users", admin, fmt.Sprintf(`{"username":"member-%03d"}`, i)).Want(200).Text("uuid")
		g.Do(t, "PUT", team+"/users/"+login, admin, "").Want(204)
	}
	body, _ := json.Marshal(map[string]any{"users": members})
	g.Do(t, "PUT", group+"/members/users", admin, string(body)).Want(204)
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)

	o.goTo(strings.Replace(group, confd, "#/confd", 1), "Sales")
	o.until(`document.querySelector('.glance dd') && [...document.querySelectorAll('details.part[open]')].every((d) => d.querySelector('form'))`, "the page is not whole")
	before := len(o.requested())
	o.part("Users who are members")
	o.reads("60 in all, page 1 of 3")
	o.until(`document.querySelectorAll('details.part[open] .row').length === 25 && document.querySelector('details.part[open] .row input').value === 'Member 000'`, "the first page is not shown")
	o.press("Next")
	o.reads("60 in all, page 2 of 3")
	o.until(`document.querySelector('details.part[open] .row input').value === 'Member 025'`, "the second page is not shown")
	if asked := len(o.requested()) - before; asked > 3 {
		t.Errorf("two pages of members ask for %d things: %q", asked, o.requested()[before:])
	}
	o.enter("Search Users", "058")
	o.reads("1 found")
	o.click(`[aria-label="Remove Member 058"]`)
	o.reads("0 found")
	o.press("Add one")
	o.reads("60 in all, page 3 of 3") // with the new one, which has the focus
	o.until(`document.activeElement.value === '' && document.activeElement.closest('.row') === [...document.querySelectorAll('details.part[open] .row')].at(-1)`, "the new row has not the focus")

	// What is wrong in a row is shown there, from whatever page one saves.
	o.script(t, `document.activeElement.value = 'nobody', [...document.querySelectorAll('details.part[open] nav button')].find((b) => b.textContent === 'Previous').click(), ''`)
	o.reads("60 in all, page 2 of 3")
	o.click("details.part[open] form button.primary")
	o.reads("60 in all, page 3 of 3")
	o.reads(`There is no "nobody" here`)
	o.script(t, fmt.Sprintf(`[...document.querySelectorAll('details.part[open] .row')].at(-1).querySelector('input').value = %q, ''`, members[58]["uuid"]))
	o.click("details.part[open] form button.primary")
	o.reads("Users who are members saved.")
	var now struct {
		Members struct{ Users []struct{ UUID string } }
	}
	if err := json.Unmarshal([]byte(g.Do(t, "GET", group, admin, "").Want(200).Body), &now); err != nil {
		t.Fatal(err)
	}
	saved := map[string]bool{}
	for _, user := range now.Members.Users {
		saved[user.UUID] = true
	}
	for _, member := range members {
		if !saved[member["uuid"]] {
			t.Errorf("%s is no member any more", member["uuid"])
		}
	}
	if len(now.Members.Users) != n || now.Members.Users[0].UUID != members[0]["uuid"] {
		t.Errorf("the members are %+v", now.Members.Users)
	}

	// The server has the pages of those of a group of logins.
	o.goTo(strings.Replace(team, auth, "#/auth", 1), "team")
	o.part("Users")
	o.reads("60 in all, page 1 of 3")
	o.until(`document.querySelectorAll('details.part[open] ul.links li, details.part[open] tbody tr').length === 25`, "the first page of logins is not shown")
	o.press("Next")
	o.reads("60 in all, page 2 of 3")
	o.enter("Search Users", "member-047")
	o.reads("1 found")
	o.reads("member-047")
	o.clean(t, "while members were paged")
}

// Of a list one sees what one chooses by the names of other objects, by kinds, and by times; its address keeps it.
func TestConsoleFiltersLists(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const confd, auth = "/api/confd/1.1", "/api/auth/0.1"
	g.Do(t, "POST", auth+"/users", admin, `{"username":"grace","password":"a-long-password"}`).Want(200)
	login := g.Do(t, "GET", auth+"/users?username=grace", admin, "").List().Items[0]["uuid"]
	policy := g.Do(t, "POST", auth+"/policies", admin, `{"name":"all","acl":["#"]}`).Want(200).Text("uuid")
	g.Do(t, "PUT", fmt.Sprint(auth, "/users/", login, "/policies/", policy), admin, "").Want(204)
	g.Do(t, "POST", confd+"/groups", g.Login(t, "grace", "a-long-password"), `{"label":"Hers"}`).Want(201)
	g.Do(t, "POST", confd+"/groups", admin, `{"label":"Mine"}`).Want(201)
	shows := func(what string, rows string) {
		t.Helper()
		o.until(fmt.Sprintf(`[...document.querySelectorAll('tbody td[data-label="Object"]')].map((td) => td.textContent).join() === %q`, rows), "%s does not show %s", what, rows)
	}
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)

	// While the audit is looked through, the page says so: at first in words, and later beside what it showed before.
	o.script(t, `window.ask = fetch, window.fetch = (path, options) => new Promise((done) => {
		const go = () => done(ask(path, options));
		String(path).includes('/audit') ? window.letGo = go : go();
	}), ''`)
	o.goTo("#/auth/audit", "Audit")
	const busy = `document.querySelector('main [aria-live][aria-busy="true"]')`
	o.until(busy+`?.textContent === 'Loading…'`, "the page does not say that it loads")
	o.script(t, `letGo(), ''`)
	o.until(`document.querySelector('main [aria-live][aria-busy="false"] tbody tr')`, "the page still says that it loads")
	o.script(t, `letGo = null, ''`)
	o.enter("Search Audit", "Mine")
	o.until(`letGo && `+busy+`?.querySelector('tbody tr') && Number(getComputedStyle(`+busy+`).opacity) < 1`, "what was there before looks like what was asked for")
	o.script(t, `letGo(), ''`)
	o.until(`document.querySelector('main [aria-live][aria-busy="false"]')`, "the page still says that it loads")
	shows("the search", "Mine")
	o.script(t, `window.fetch = ask, ''`)
	o.goTo("#/auth/users", "Logins")
	o.goTo("#/auth/audit", "Audit")
	o.press("Filters")
	choose := func(label, said string) {
		t.Helper()
		o.until(fmt.Sprintf(`((asked, said) => {
			const label = [...document.querySelectorAll('details.filters label')].find((l) => l.textContent === asked), input = label && document.getElementById(label.htmlFor);
			const option = input && [...(input.list ?? input).options].find((o) => (input.list ? o.value : o.textContent) === said);
			if (!option) {
				input?.dispatchEvent(new Event('focus'));
				return false;
			}
			input.value = option.value;
			input.dispatchEvent(new Event('change', { bubbles: true }));
			return true;
		})(%q, %q)`, label, said), "%s has no %s", label, said)
	}
	choose("Service", "Telephony")
	shows("the telephony", "Mine,Hers")
	choose("Who", "grace")
	shows("grace", "Hers")
	o.reads("1 found")
	o.run(t, chromedp.Reload())
	shows("the address", "Hers")
	o.until(`[...document.querySelectorAll('details.filters[open] input')].some((i) => i.value === 'grace')`, "the filters are not shown after a reload")
	o.script(t, `((input) => { input.value = '2001-01-01T00:00'; input.dispatchEvent(new Event('change', { bubbles: true })); return ''; })([...document.querySelectorAll('details.filters input[type="datetime-local"]')].at(-1))`)
	o.reads("Nothing is of this kind.")
	o.press("Show all")
	o.until(`document.querySelectorAll('tbody tr').length > 3 && !location.hash.includes('actor_uuid')`, "not all are shown again")
	o.goTo("#/auth/users?purpose=internal", "Logins")
	o.reads("1 found")
	o.clean(t, "while lists were filtered")
}
