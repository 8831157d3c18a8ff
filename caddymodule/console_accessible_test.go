package caddymodule_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

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
	found, err := take(o.browser, chromedp.Evaluate[[]string](`axe.run(document, {
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
	t.Setenv("RINGFENCE_ASTERISK_FOLDER", filepath.Join(t.TempDir(), "generated"))
	g := loadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.admin(t)
	g.Do(t, "PUT", "/api/confd/1.1/configuration/live_reload", admin, `{"enabled":false}`).Want(204)
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
		{"users", "#/confd/users", "People", "td a"},
		{"user", "#/confd/users/" + user, "Ada Lovelace", "details.part"},
		{"new", "#/confd/groups/+new", "Create a group", "form"},
		{"context", "#/confd/contexts/+new", "Create a context", "form"},
		{"telephone", "#/telephone", "New telephone user", "form"},
		{"csv", "#/csv", "Users by file", "#file"},
		{"ring-group", "#/ring-group", "New ring group", ".number input"},
		{"incoming", "#/incoming-number", "New incoming number", ".number"},
		{"conference", "#/conference-room", "New conference room", ".number input"},
		{"hours", "#/opening-hours", "New opening hours", ".hours"},
		{"menu", "#/voice-menu", "New menu", "form"},
		{"trunk", "#/trunk", "New trunk", "form"},
		{"route", "#/outgoing-route", "New outgoing route", ".number"},
		{"paging", "#/announcement", "New number to speak by", "form"},
		{"parking", "#/parking-place", "New parking place", ".number input"},
		{"policy", "#/auth/policies/+new", "New policy", ".patterns"},
		{"sessions", "#/auth/sessions", "Sessions", "td"},
		{"audit", "#/auth/audit", "Audit", "td"},
		{"settings", "#/confd/asterisk/voicemail/general", "General settings of voicemails", "form"},
		{"group", "#/confd/groups/" + group.Text("uuid"), "Sales", "details.part"},
		{"incalls", "#/confd/incalls", "Incoming calls", "td a"},
		{"tenant", "#/auth/tenants/" + west, "A customer with a long name", "details.part"},
		{"entry", fmt.Sprint("#/auth/audit/", entry), "Create a group", "dl"},
		{"why", "#/why?method=GET&path=/api/confd/1.1/users", "Why was I refused?", ".verdict"},
		{"apply", "#/apply", "Telephone system", ".objects"},
		{"who", "#/who?access=confd.users.read", "Who may do this?", ".holder"},
	} {
		o.goTo(page.hash, page.title)
		o.see("main " + page.ready)
		if page.name == "ring-group" { // with a member, and with a number that is taken
			o.enter("Label", "Support")
			o.enter("Members", "Ada Lovelace")
			o.hit(kb.Enter)
			o.see(".several li")
			o.enter("Number", "1042")
			o.press("Create")
			o.reads("1042 is taken by")
		}
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
	for _, violation := range o.violations() {
		if strings.HasPrefix(violation, "color-contrast") {
			t.Errorf("the explorer: %s", violation)
		}
	}
	for _, look := range []struct {
		width        int
		scheme, dark string
	}{{360, "dark", "true"}, {1400, "light", "false"}} { // what else is inside of Swagger UI is its own
		o.run(t, emulate(look.width, 900, look.scheme))
		if seen := o.script(t, `[document.documentElement.scrollWidth > innerWidth, getComputedStyle(document.getElementById('swagger-ui')).filter !== 'none', document.querySelector('.operation-filter-input').offsetWidth > innerWidth * 0.8].join()`); seen != "false,"+look.dark+",true" {
			t.Errorf("the explorer at %d pixels, %s: too wide, dark, a wide search: %s", look.width, look.scheme, seen)
		}
	}
}
