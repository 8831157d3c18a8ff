package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// The menu names the work. What belongs to a part of it is one click away, what a token cannot use is not there, and every kind of object
// stays reachable by itself.
func TestConsoleMenuSpeaksOfTheWork(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const places = `[...document.querySelectorAll('nav .place > a')].map((a) => a.textContent).join()`
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)
	if got := o.script(t, places); got != "People,Numbers,Groups,Incoming,Outgoing,Menus and hours,Voicemail,Live,Rights,System" {
		t.Errorf("the work is %s", got)
	}
	if twice := o.script(t, `((all) => all.filter((text, i) => all.indexOf(text) !== i).join())([...document.querySelectorAll('nav details a')].map((a) => a.textContent))`); twice != "" {
		t.Errorf("there are twice: %s", twice)
	}
	for _, step := range []struct{ press, title, marked, beside string }{
		{"People", "People", "People", "Telephones"},
		{"Groups", "Groups", "Groups", "Paging groups"},
		{"Incoming", "Incoming numbers", "Incoming numbers", ""},
		{"Live", "Telephone system", "Telephone system", "Live reload"},
		{"Rights", "Logins", "Logins", "Policies"},
		{"Policies", "Policies", "Policies", "Sessions"},
		{"System", "System", "System", "Tenants"},
	} {
		o.press(step.press)
		o.until(fmt.Sprintf(`document.querySelector('main h1')?.textContent === %q`, step.title), "%s leads elsewhere", step.press)
		o.until(fmt.Sprintf(`((all) => all.length === 1 && all[0].textContent === %q && all[0].offsetParent)([...document.querySelectorAll('nav [aria-current]')])`, step.marked), "%s is not marked alone", step.marked)
		if twice := o.script(t, `((all) => all.filter((text, i) => all.indexOf(text) !== i).join())([...document.querySelectorAll('nav .place a')].map((a) => a.textContent))`); twice != "" {
			t.Errorf("the work has twice: %s", twice)
		}
		if step.beside != "" {
			o.until(fmt.Sprintf(`[...document.querySelectorAll('nav .place a')].some((a) => a.textContent === %q && a.offsetParent)`, step.beside), "%s is not beside %s", step.beside, step.marked)
		}
	}
	o.until(`[...document.querySelectorAll('nav .place > ul')].filter((ul) => ul.offsetParent).length === 1`, "more than one part of the work is unfolded")

	// Every kind of object that the definitions have is below.
	for _, key := range []string{"confd/users", "confd/groups", "confd/queues/skillrules", "confd/asterisk/rtp/general", "auth/users", "auth/groups", "auth/audit"} {
		o.until(fmt.Sprintf(`document.querySelector('nav details a[href="#/%s"]')`, key), "%s cannot be reached", key)
	}
	o.press("Sign out")
	o.reads("Signed out.")

	// Who may only see groups and incoming calls has these alone.
	user := g.Do(t, "POST", "/api/auth/0.1/users", admin, `{"username":"olga","password":"a-long-password"}`).Want(200).Text("uuid")
	policy := g.Do(t, "POST", "/api/auth/0.1/policies", admin, `{"name":"groups","acl":["confd.groups.read","confd.incalls.read"]}`).Want(200).Text("uuid")
	g.Do(t, "PUT", "/api/auth/0.1/users/"+user+"/policies/"+policy, admin, "").Want(204)
	o.goTo("", "Sign in")
	o.signIn("olga", "a-long-password")
	o.until(places+`.startsWith('Groups,Incoming')`, "the groups are not in the menu")
	if all := o.script(t, `[...document.querySelectorAll('nav a')].map((a) => a.textContent).join()`); strings.Contains(all, "People") || strings.Contains(all, "Logins") ||
		strings.Contains(all, "Policies") || strings.Contains(all, "Telephone system") || strings.Contains(all, "Who may do this?") {
		t.Errorf("the menu of one who may little has %s", all)
	}
	o.clean(t, "while the menu was used")
}
