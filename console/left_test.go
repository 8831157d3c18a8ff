package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// A session that ends while somebody works costs them nothing but the password: they come back to what they have typed, in the tenant that
// they had chosen. A chosen tenant that is deleted ends no session, and a reload brings the rights of now.
func TestConsoleAfterTheEndOfASession(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const auth = "/api/auth/0.1"
	tenant := g.Do(t, "POST", auth+"/tenants", admin, `{"name":"Berlin"}`).Want(200).Text("uuid")
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)
	o.see("#tenant")
	choose := func() {
		o.script(t, fmt.Sprintf(`((c) => { c.value = %q; c.dispatchEvent(new Event('change')); })(document.getElementById('tenant')), ''`, tenant))
	}
	die := func() {
		o.script(t, `import('/console/app/api.js').then((api) => { window.token = api.me.token; }), ''`)
		o.until(`window.token`, "there is no token")
		g.Do(t, "DELETE", auth+"/token/"+o.script(t, `window.token`), admin, "").Want(200)
	}
	again := func() {
		o.reads("Your session has ended.")
		o.run(t, chromedp.SendKeys(chromedp.CSS("#username"), "admin"), chromedp.SendKeys(chromedp.CSS("#password"), gatewaytest.Password+"\r"))
	}

	choose()
	o.goTo("#/auth/users/+new", "Create a user")
	o.enter("User name", "berta")
	die()
	o.press("Create")
	again()
	o.reads("What you have typed is as you left it.")
	o.until(`document.getElementById('tenant')?.value === `+fmt.Sprintf("%q", tenant), "the chosen tenant is forgotten")
	o.press("Create")
	o.reads("berta was created.")
	if in := g.Do(t, "GET", auth+"/users?recurse=true&username=berta", admin, "").Want(200).Body; !strings.Contains(in, `"tenant_uuid":"`+tenant) {
		t.Errorf("berta is not in the chosen tenant: %s", in)
	}

	// Where nothing was typed, the page is that of now.
	o.goTo("#/auth/users", "Logins")
	o.see("main tbody a")
	die()
	o.script(t, `((search) => { search.value = 'bert'; search.dispatchEvent(new Event('input')) })(document.getElementById('search')), ''`) // at once: key by key, it would go while one types
	again()
	o.until(`document.querySelector('main tbody a')?.textContent === 'berta'`, "the list is not shown again")
	o.clean(t, "after two sessions have ended", "401")

	// Another tab has signed in: signing out of this one leaves that one's half where it is.
	o.script(t, `fetch('/console/session', { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: '{"half":"other.abcd"}' }).then(() => { window.put = true; }), ''`)
	o.until(`window.put`, "the half of another tab is not kept")
	o.press("Sign out")
	o.reads("Signed out.")
	o.script(t, `fetch('/console/session', { headers: { 'Content-Type': 'application/json' } }).then((a) => a.json()).then((a) => { window.kept = a.half; }), ''`)
	o.until(`window.kept === 'other.abcd'`, "signing out has removed what is another tab's")

	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)
	o.see("#tenant")
	choose()
	o.goTo("#/auth/groups", "Groups of logins")
	g.Do(t, "DELETE", auth+"/users/"+g.Do(t, "GET", auth+"/users?recurse=true&username=berta", admin, "").List().Items[0]["uuid"].(string), admin, "").Want(204)
	g.Do(t, "DELETE", auth+"/tenants/"+tenant, admin, "").Want(204)
	o.goTo("#/auth/policies", "Welcome, admin")
	o.reads("The tenant that you have chosen is not there any more")
	o.clean(t, "after a tenant was deleted", "401")
	o.press("Sign out")
	o.reads("Signed out.")

	o.goTo("", "Sign in")
	user := g.Do(t, "POST", auth+"/users", admin, `{"username":"olga","password":"a-long-password"}`).Want(200).Text("uuid")
	o.signIn("olga", "a-long-password")
	o.until(`((all) => all.includes('Your account') && !all.includes('Policies'))([...document.querySelectorAll('nav a')].map((a) => a.textContent))`, "olga may see policies")
	policy := g.Do(t, "POST", auth+"/policies", admin, `{"name":"looks","acl":["auth.policies.read"]}`).Want(200).Text("uuid")
	g.Do(t, "PUT", auth+"/users/"+user+"/policies/"+policy, admin, "").Want(204)
	o.run(t, chromedp.Reload(), chromedp.WaitVisible(chromedp.CSS("#logout")))
	o.until(`[...document.querySelectorAll('nav a')].some((a) => a.textContent === 'Policies')`, "a reload does not bring the rights of now")
	o.clean(t, "with other rights than before")
}
