package console_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// What pages show reads as people expect it: names in the place of keys, attributes in their usual order, and of a change what has changed.
func TestConsoleReadsWell(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const confd, auth = "/api/confd/1.1", "/api/auth/0.1"
	made := func(path, body string) resttest.Answer {
		t.Helper()
		return g.Do(t, "POST", confd+path, admin, body).Want(201)
	}
	in := made("/contexts", `{"label":"Inside","user_ranges":[{"start":"1000","end":"1999"}]}`).Text("name")
	ada := made("/users", `{"firstname":"Ada","lastname":"Lovelace","lines":[{"context":"`+in+`","endpoint_sip":{}}]}`)
	sales := made("/groups", `{"label":"Sales","ring_strategy":"linear"}`).Text("uuid")
	g.Do(t, "PUT", confd+"/groups/"+sales+"/members/users", admin, `{"users":[{"uuid":"`+ada.Text("uuid")+`"}]}`).Want(204)
	g.Do(t, "PUT", confd+"/groups/"+sales+"/members/extensions", admin, `{"extensions":[{"exten":"1015","context":"`+in+`"}]}`).Want(204)
	g.Do(t, "PUT", confd+"/groups/"+sales, admin, `{"ring_strategy":"all"}`).Want(204)
	template := made("/funckeys/templates", `{"name":"Desk","keys":{"1":{"destination":{"type":"service","service":"enablednd"}}}}`).JSON("id")
	g.Do(t, "PUT", fmt.Sprint(confd, "/users/", ada.Text("uuid"), "/funckeys/templates/", template), admin, "").Want(204)
	number := made("/phone-numbers", `{"number":"+49301234567"}`).Text("uuid")
	g.Do(t, "PUT", confd+"/phone-numbers/main", admin, `{"phone_number_uuid":"`+number+`"}`).Want(204)
	made("/incalls", fmt.Sprintf(`{"destination":{"type":"user","user_id":%v}}`, ada.JSON("id")))
	login := g.Do(t, "POST", auth+"/users", admin, `{"username":"josephine.von.und.zu.hohenlohe@a-rather-long-department-name.example.org","firstname":"Maria-Magdalena",
		"lastname":"Hohenlohe-Waldenburg-Schillingsfuerst","email_address":"josephine.von.und.zu.hohenlohe@a-rather-long-department-name.example.org"}`).Want(200).Text("uuid")
	west := g.Do(t, "POST", auth+"/tenants", admin, `{"name":"West","slug":"west"}`).Want(200).Text("uuid")
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)
	part := func(title, ready string) {
		t.Helper()
		o.part(title)
		o.until(fmt.Sprintf(`[...document.querySelectorAll('details.part[open]')].find((d) => d.querySelector('summary').textContent === %q)?.querySelector(%q)`, title, ready), "%s are not shown", title)
	}
	labels := func(want string) {
		t.Helper()
		o.until(fmt.Sprintf(`[...document.querySelectorAll('main label')].filter((l) => l.offsetParent).map((l) => l.textContent).join().includes(%q)`, want), "the fields are not %s", want)
	}
	values := func(label, want string) {
		t.Helper()
		o.until(fmt.Sprintf(`((all) => all.map((l) => document.getElementById(l.htmlFor).value).join() === %q)([...document.querySelectorAll('main label')].filter((l) => l.offsetParent && l.textContent.replace(/ \*$/, '') === %q))`, want, label), "%s is not %s", label, want)
	}

	// The menu marks one page, also where it was folded away, and a question goes with its page.
	o.goTo("#/confd/extensions/features", "Service codes")
	o.until(`((all) => all.length === 1 && all[0].textContent === 'Service codes' && all[0].offsetParent)([...document.querySelectorAll('nav [aria-current]')])`, "the menu does not mark the page alone")
	o.goTo("#/confd/groups/"+sales, "Sales")
	o.press("Delete")
	o.see("dialog[open]")
	o.script(t, `history.back(), ''`)
	o.until(`document.querySelector('main h1')?.textContent === 'Service codes' && !document.querySelector('dialog')`, "the question stays")

	// Names stand in the place of keys, and in no place twice.
	o.goTo("#/confd/groups", "Groups")
	o.until(`document.querySelector('td[data-label="Members"]')?.textContent === 'Ada Lovelace, 1015'`, "the members are not told")
	o.goTo("#/confd/groups/"+sales, "Sales")
	o.until(`[...document.querySelectorAll('details.part > summary[data-has]')].map((s) => s.textContent + ': ' + s.dataset.has).join().includes('Numbers that are members: 1015')`, "a folded part does not tell what it has")
	part("Numbers that are members", "input")
	values("Dialling area", "Inside")
	o.goTo("#/confd/users/"+ada.Text("uuid"), "Ada Lovelace")
	part("Groups", "input")
	values("Group", "Sales")
	part("Function keys", "table.keyed tbody td")
	o.until(`document.querySelector('table.keyed td[data-label="Destination"]').textContent === 'Service: Do not disturb'`, "a service has no name")
	o.goTo("#/confd/phone-numbers/main", "Main phone number")
	values("Phone number", "+49301234567")
	o.goTo("#/confd/tenants/"+west, "West")
	o.until(`[...document.querySelectorAll('dd a')].some((a) => a.textContent === 'webrtc')`, "the templates have no names")
	o.goTo("#/telephone", "New telephone user")
	o.enter("First name", "Bob")
	o.enter("Number", "7000")
	o.press("Create")
	o.until(`[...document.querySelectorAll('.field .error')].some((e) => e.textContent.startsWith('7000 is outside of the numbers that Inside has for this.'))`, "the refusal has no name for the context")

	// A row leads to its page wherever it is clicked, and what saves stands out once there is something to save.
	o.goTo("#/confd/groups", "Groups")
	o.click(`td[data-label="Members"]`)
	o.until(`document.querySelector('main h1').textContent === 'Sales'`, "the row does not lead to the group")
	saves := `getComputedStyle(document.querySelector('.whole button.primary')).backgroundColor === getComputedStyle(document.querySelector('.whole form')).backgroundColor`
	o.until(saves, "a button saves nothing, and stands out")
	o.enter("Name", "Sales and more")
	o.until("!("+saves+")", "what was typed is not saved, and no button says so")

	// What belongs together has its usual order.
	o.goTo("#/auth/users/"+login, "Maria-Magdalena Hohenlohe-Waldenburg-Schillingsfuerst")
	part("Password, with the old one", "input")
	labels("Old password *,New password *")
	o.goTo("#/auth/tenants/"+west, "West")
	o.script(t, `document.querySelectorAll('main form details').forEach((d) => { d.open = true; }), ''`)
	labels("First line,Second line,ZIP code,City,State,Country")
	o.goTo("#/confd/users/+new", "Create a user")
	o.script(t, `document.querySelectorAll('main form details').forEach((d) => { d.open = true; }), ''`)
	labels("Name,Number *,Dialling area *,E-mail,Password")

	o.goTo("#/sysconfd/exec_request_handlers/+new", "Execute commands of Asterisk, after those that wait already")
	labels("Commands")

	// The audit tells what a change has changed, in words.
	entry := func(action string) string {
		t.Helper()
		return fmt.Sprint("#/auth/audit/", g.Do(t, "GET", auth+"/audit?action="+action, admin, "").List().Items[0]["id"])
	}
	told := func(term, want string) {
		t.Helper()
		o.until(fmt.Sprintf(`[...document.querySelectorAll('main dt')].some((dt) => dt.textContent === %q && dt.nextSibling.innerText.replace(/\s+/g, ' ') === %q)`, term, want), "%s is not %s", term, want)
	}
	o.goTo(entry("update_group"), "Update a group")
	told("Before", "Ring strategy One after the other, in their order With what stayed the same")
	told("After", "Ring strategy All at once With what stayed the same")
	o.goTo(entry("update_group_member_users"), "Replace the users who are members of a group")
	told("After", "Users Ada Lovelace (priority 0)")
	o.goTo(entry("create_incall"), "Create an incoming number")
	told("Destination", "User: Ada Lovelace")

	// Long names leave the tables in their places, and buttons those in which they stand.
	o.run(t, emulate(1400, 900, "light"))
	o.goTo("#/auth/users", "Logins")
	o.reads("Schillingsfuerst")
	o.until(`((box) => box.scrollWidth <= box.clientWidth)(document.querySelector('.scroll'))`, "the table is wider than the page")
	o.run(t, emulate(360, 800, "dark"))
	o.goTo("#/auth/tenants/"+west, "West")
	part("Tenant above", "form button")
	o.until(`((part) => part.querySelector('form button').getBoundingClientRect().right < part.getBoundingClientRect().right - 8)([...document.querySelectorAll('details.part[open]')].at(-1))`, "the button leaves its box")
	policy := g.Do(t, "GET", auth+"/policies?search=ringfence_administrator", admin, "").List().Items[0]["uuid"]
	o.goTo(fmt.Sprint("#/auth/policies/", policy), "ringfence_administrator")
	o.until(`((style) => style('button.primary:disabled').backgroundColor === style('button.danger:disabled').backgroundColor)((s) => getComputedStyle(document.querySelector(s)))`, "a button that is off is unreadable")

	// A keyboard on a small screen shows by what it sorts.
	o.goTo("#/confd/users", "People")
	o.run(t, chromedp.Focus(chromedp.CSS("thead button")))
	o.until(`document.querySelector('thead button').getBoundingClientRect().width > 20 && getComputedStyle(document.querySelector('thead')).clipPath === 'none'`, "the focus is not seen")
	o.clean(t, "on all pages", "400") // of the refused number
}
