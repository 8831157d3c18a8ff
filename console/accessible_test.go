package console_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// The rules of axe-core: all of them, and those that look at colours, sizes and places.
const (
	allRules  = `['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']`
	lookRules = `{ type: 'rule', values: ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size'] }`
)

// violations are those of all rules.
func (o *operator) violations() []string { return o.violationsOf(allRules) }

// violationsOf returns what axe-core (testdata/axe-core) finds on the page by these rules, for people with a screen reader, a keyboard or weak eyes,
// and whether the page is wider than the screen. It looks from the top, where the head of the page covers nothing.
func (o *operator) violationsOf(rules string) []string {
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
	found, err := take(o.browser, chromedp.Evaluate[[]string](`scrollTo(0, 0), axe.run(location.hash.length > 2 ? { exclude: ['#nav'] } : document, { // the menu of the start is that of all pages
		preload: false, runOnly: `+rules+`, resultTypes: ['violations'],
	}).then(({ violations }) => violations.flatMap((v) => v.nodes.map((n) => v.id + ', ' + n.failureSummary.replaceAll('\n', ' ') + ': ' + n.html.slice(0, 200)))
		.concat(document.documentElement.scrollWidth > innerWidth ? 'wider than the screen: ' + document.documentElement.scrollWidth : []))`, chromedp.EvalAwaitPromise))
	if err != nil {
		o.t.Fatal(err)
	}
	return found
}

// accessible fails the test for what is wrong with the page on a telephone in the dark, and on a desk in the light: neither the look nor the width
// changes what the other does. What a page is made of is the same in both, but for its head, at which the start looks for all.
func (o *operator) accessible(name string) {
	o.t.Helper()
	small := lookRules
	if o.script(o.t, `location.hash.length > 2 ? '' : 'start'`) != "" {
		small = allRules
	}
	for _, look := range []struct {
		width         int
		scheme, rules string
	}{{360, "dark", small}, {1400, "light", allRules}} {
		o.run(o.t, emulate(look.width, 900, look.scheme))
		for _, violation := range o.violationsOf(look.rules) {
			o.t.Errorf("%s, %d pixels, %s: %s", name, look.width, look.scheme, violation)
		}
		o.shoot(o.t, fmt.Sprintf("look-%s-%d-%s", strings.NewReplacer("#/", "", "/", "-").Replace(name), look.width, look.scheme))
	}
}

// What is filled in, unfolded or refused on a page is as readable as the page itself, of which TestConsolePages knows all; and so are those beside the console.
func TestConsoleIsAccessible(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	in := g.Do(t, "POST", "/api/confd/1.1/contexts", admin, `{"label":"Inside","user_ranges":[{"start":"1000","end":"1999"}]}`).Want(201).Text("name")
	user := g.Do(t, "POST", "/api/confd/1.1/users", admin, `{"firstname":"Ada","lastname":"Lovelace","lines":[{"context":"`+in+`","endpoint_sip":{},"extensions":[{"exten":"1042","context":"`+in+`"}]}]}`).Want(201).Text("uuid")
	group := g.Do(t, "POST", "/api/confd/1.1/groups", admin, `{"label":"Sales"}`).Want(201)
	g.Do(t, "PUT", "/api/confd/1.1/groups/"+group.Text("uuid")+"/members/users", admin, `{"users":[{"uuid":"`+user+`"}]}`).Want(204)
	queue := fmt.Sprint(g.Do(t, "POST", "/api/confd/1.1/queues", admin, `{"name":"support","label":"Support"}`).Want(201).JSON("id"))
	agent := g.Do(t, "POST", "/api/confd/1.1/agents", admin, `{"number":"9001","firstname":"Ann","queues":[{"id":`+queue+`}]}`).Want(201)
	g.Do(t, "PUT", fmt.Sprint("/api/confd/1.1/users/", user, "/agents/", agent.JSON("id")), admin, "").Want(204)
	entry := g.Do(t, "GET", "/api/auth/0.1/audit?action=create_group&service=confd", admin, "").List().Items[0]["id"]
	o.goTo("", "Sign in")
	o.accessible("sign-in")
	o.signIn("admin", gatewaytest.Password)
	o.see(".plots")
	o.accessible("start")
	for _, page := range []struct{ name, hash, title, ready string }{
		{"ring-group", "#/ring-group", "New ring group", ".number input"},
		{"group", "#/confd/groups/" + group.Text("uuid"), "Sales", "details.part"},
		{"new-queue", "#/queue", "New queue", ".number input"},
		{"queue", "#/confd/queues/" + queue, "Support", ".glance a[href='#/confd/agents/" + fmt.Sprint(agent.JSON("id")) + "']"},
		{"entry", fmt.Sprint("#/auth/audit/", entry), "Create a group", "dl"},
		{"why", "#/why?method=GET&path=/api/confd/1.1/users", "Why was I refused?", ".verdict"},
		{"who", "#/who?access=confd.users.read", "Who may do this?", ".holder"},
	} {
		o.goTo(page.hash, page.title)
		o.see("main " + page.ready)
		if page.name == "ring-group" { // with a member, and with a number that is taken
			o.enter("Name", "Support")
			o.enter("Members", "Ada Lovelace")
			o.hit(kb.Enter)
			o.see(".several li")
			o.enter("Number", "1042")
			o.press("Create")
			o.reads("1042 is taken by")
		}
		if page.name == "group" {
			o.part("Users who are members")
			o.see(".many .row")
		}
		o.accessible(page.name)
	}
	g.Do(t, "PUT", "/api/confd/1.1/users/"+user+"/funckeys", admin, `{"keys":{"1":{"destination":{"type":"custom","exten":"*21"},"label":"Forward"},"2":{"destination":{"type":"service","service":"enablednd"}}}}`).Want(204)
	template := g.Do(t, "POST", "/api/confd/1.1/funckeys/templates", admin, `{"name":"All","keys":{"3":{"destination":{"type":"onlinerec"}}}}`).Want(201).JSON("id")
	g.Do(t, "PUT", "/api/confd/1.1/users/"+user+"/funckeys/templates/"+fmt.Sprint(template), admin, "").Want(204)
	o.goTo(fmt.Sprint("#/confd/funckeys/templates/", template), "All")
	o.see("table.keyed select")
	o.accessible("template")
	o.goTo("#/confd/users/"+user, "Ada Lovelace")
	o.see("main details.part")
	o.part("Function keys")
	o.see("table.keyed select")
	o.accessible("keys")
	o.part("Destinations of unanswered calls")
	o.until(`document.querySelector('[aria-label="When busy"]')`, "the fallbacks are not shown")
	o.accessible("fallbacks")

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
		o.accessible(page.name)
	}
	o.run(t, chromedp.Navigate(g.URL+"/console/api/?service=auth"))
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
