package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// Before a tenant is deleted, the console tells what goes with it and who is logged in there, and has its name typed. Who may not do something
// reads whom to ask, as the operator has set it, and gets no link that is refused too.
func TestConsoleTellsWhatGoesAndWhomToAsk(t *testing.T) {
	g := gatewaytest.LoadEdited(t, "", func(caddyfile string) string {
		return strings.Replace(caddyfile, "ringfence {", "ringfence {\ncontact \"the helpdesk, number 99\"", 1)
	})
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const auth, confd = "/api/auth/0.1", "/api/confd/1.1"
	tenant := g.Do(t, "POST", auth+"/tenants", admin, `{"name":"Berlin"}`).Want(200).Text("uuid")
	in := resttest.In(tenant)
	g.Do(t, "POST", auth+"/users", admin, `{"username":"berta","password":"a-long-password"}`, in).Want(200)
	for range 2 {
		g.Do(t, "POST", confd+"/users", admin, `{"firstname":"Telephone"}`, in).Want(201)
	}
	g.Login(t, "berta", "a-long-password")

	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)
	o.goTo("#/auth/tenants/"+tenant, "Berlin")
	o.press("History")
	o.reads("Create a tenant")
	o.goTo("#/auth/tenants/"+tenant, "Berlin")
	o.press("Delete")
	o.until(`document.querySelector('dialog[open]')?.textContent.includes('2 × People (Telephony)') && document.querySelector('dialog').textContent.includes('1 × Logins (People and rights)')`, "what goes is not counted")
	o.until(`document.querySelector('dialog').textContent.includes('logged out by this: berta (1 session)')`, "who is logged in is not named")
	o.until(`document.querySelector('dialog button.danger').disabled`, "the name need not be typed")
	o.enter("To go on, type its name: Berlin", "berlin")
	o.hit(kb.Enter)
	o.until(`document.querySelector('dialog[open] button.danger').disabled`, "Enter answers for who has typed another name")
	o.enter("To go on, type its name: Berlin", "Berlin")
	o.until(`!document.querySelector('dialog button.danger').disabled`, "the typed name is not taken")
	g.Do(t, "GET", auth+"/tenants/"+tenant, admin, "").Want(200)
	o.press("Cancel")
	o.until(`!document.querySelector('dialog')`, "the question stays")
	g.Do(t, "GET", auth+"/tenants/"+tenant, admin, "").Want(200)
	o.goTo("#/auth/tenants", "Tenants")
	o.reads("2 in all")
	o.click("td.pick input")
	o.reads("1 chosen")
	o.until(`![...document.querySelectorAll('.bulk button')].some((b) => b.textContent === 'Delete')`, "tenants are deleted in the list, which does not tell what goes")
	o.goTo("#/auth/tenants/"+tenant, "Berlin")
	o.press("Delete")
	o.see("dialog[open]")
	o.enter("To go on, type its name: Berlin", "Berlin")
	o.hit(kb.Enter)
	o.reads("Berlin was deleted.")
	o.until(`!document.querySelector('#tenant')`, "a tenant that was deleted can be chosen")
	g.Do(t, "GET", auth+"/tenants/"+tenant, admin, "").Want(404)
	// A new one can be chosen at once; who has changed something in it, from the tenant above, has a name there.
	o.goTo("#/auth/tenants/+new", "Create a tenant")
	o.enter("Name", "Hamburg")
	o.press("Create")
	o.until(`[...document.querySelector('#tenant').options].some((one) => one.textContent === 'Hamburg')`, "a new tenant cannot be chosen")
	tenant = fmt.Sprint(g.Do(t, "GET", auth+"/tenants?name=Hamburg", admin, "").List().Items[0]["uuid"])
	g.Do(t, "POST", auth+"/groups", admin, `{"name":"Harbour"}`, resttest.In(tenant)).Want(200)
	o.script(t, fmt.Sprintf(`((c) => { c.value = %q; c.dispatchEvent(new Event('change')); })(document.getElementById('tenant')), ''`, tenant))
	o.goTo("#/auth/audit", "Audit")
	o.until(`[...document.querySelectorAll('main tbody tr')].some((tr) => tr.innerText.includes('Harbour') && [...tr.cells].some((td) => td.innerText.trim() === 'admin'))`, "who has made it has no name")
	o.clean(t, "while a tenant was deleted", "404") // who is of the tenant above is looked for in this one first
	o.press("Sign out")
	o.reads("Signed out.")

	g.Account(t, admin, "olga", "auth.groups.read", "auth.groups.*.read")
	group := g.Do(t, "POST", auth+"/groups", admin, `{"name":"Night shift"}`).Want(200).Text("uuid")
	if name := g.Do(t, "GET", auth+"/api/openapi.json", "", "").Want(200).Text("info.contact.name"); name != "the helpdesk, number 99" {
		t.Errorf("the definition names %q", name)
	}
	o.goTo("", "Sign in")
	o.signIn("olga", "secret of olga")
	o.goTo("#/why?method=DELETE&path="+auth+"/groups/"+group, "Why was I refused?")
	o.reads("To be allowed it, ask the helpdesk, number 99.")
	o.until(`![...document.querySelectorAll('main a')].some((a) => a.textContent === 'Who may do this?')`, "a link is shown that is refused too")
	// What her token allows may be refused by a rule that the page does not know.
	o.goTo("#/why?method=GET&path="+auth+"/groups", "Why was I refused?")
	o.reads("Your token allows it")
	o.reads("another rule decides, such as what only the master tenant may do: ask the helpdesk, number 99.")
	o.goTo(fmt.Sprint("#/auth/users/", group), "Not shown")
	o.reads("To be allowed this, ask the helpdesk, number 99.")
	o.until(`!document.querySelector('main').textContent.includes('Why was I refused, and who may do it?')`, "a link is shown that is refused too")
}
