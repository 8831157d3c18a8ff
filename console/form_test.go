package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// A form sends what was changed in it, all of that, and nothing else; a double click makes a link once.
func TestConsoleSendsWhatWasTyped(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const confd = "/api/confd/1.1"
	ada := confd + "/users/" + g.Do(t, "POST", confd+"/users", admin, `{"firstname":"Ada","description":"of two\r\nlines","userfield":""}`).Want(201).Text("uuid")
	in := g.Do(t, "POST", confd+"/contexts", admin, `{"label":"Inside","user_ranges":[{"start":"1000","end":"1999"}]}`).Want(201).Text("name")
	g.Do(t, "POST", confd+"/voicemails", admin, `{"name":"Box","number":"1042","context":"`+in+`"}`).Want(201)
	page := func(path string) string { return "#" + strings.Replace(path, confd, "/confd", 1) }
	save := `section.whole form > .actions button`
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)

	// An incoming call that leads to a user, of whom the service tells more than it takes.
	id := g.Do(t, "GET", confd+"/users", admin, "").List().Items[0]["id"]
	g.Do(t, "POST", confd+"/incalls", admin, fmt.Sprintf(`{"destination":{"type":"user","user_id":%v}}`, id)).Want(201)
	incall := fmt.Sprintf("%s/incalls/%v", confd, g.Do(t, "GET", confd+"/incalls", admin, "").List().Items[0]["id"])
	o.open(page(incall))
	o.see(save)
	o.click(save)
	o.reads("Nothing was changed.")

	o.open(page(ada))
	o.until(`document.querySelector('main h1')?.textContent === 'Ada'`, "the user's page does not open")
	o.click(save)
	o.reads("Nothing was changed.")
	o.script(t, `document.querySelectorAll('section.whole details').forEach((d) => { d.open = true; }), ''`)
	o.enter("Ring seconds", "")
	o.hit("1e")
	o.click(save)
	o.reads("This is no number.")
	o.enter("Ring seconds", "")
	o.click(save)
	o.reads("May not be null")
	o.enter("Ring seconds", "20")
	o.enter("Last name", "")
	long := strings.Repeat("x", 129)
	o.script(t, `navigator.clipboard, ''`)
	o.script(t, fmt.Sprintf(`document.activeElement.focus(), String(document.execCommand('insertText', false, %q))`, long))
	o.click(save)
	o.reads("Must have at most 128 characters")
	o.enter("Last name", "Lovelace")
	o.click(save)
	o.reads("Saved.")
	if user := g.Do(t, "GET", ada, admin, "").Want(200); user.Text("description") != "of two\r\nlines" || user.Text("lastname") != "Lovelace" || !strings.Contains(user.Body, `"ring_seconds":20`) {
		t.Errorf("the user is %s", user.Body)
	}

	// A double click on the button of a link.
	o.part("Voicemails")
	o.see("details.part[open] form.add input")
	o.script(t, `document.querySelector('details.part[open] form.add input').focus(), ''`)
	o.hit("Box")
	o.until(`[...document.querySelectorAll('details.part[open] datalist option')].some((o) => o.value.startsWith('Box'))`, "the voicemail is not suggested")
	o.script(t, `((b) => { b.click(); b.click(); })(document.querySelector('details.part[open] form.add button[type=submit]')), ''`)
	o.reads("The link was made.")
	o.see(`[aria-label="Remove Box"]`)
	o.script(t, `((b) => { b.click(); b.click(); })(document.querySelector('[aria-label="Remove Box"]')), ''`)
	o.reads("The link was removed.")
	o.clean(t, "after forms", "400")

	// A map of names takes each name once.
	o.open("#/confd/asterisk/voicemail/general")
	o.until(`document.querySelector('main h1')?.textContent === 'General settings of voicemails' && document.querySelector('main textarea')`, "the settings do not open")
	o.run(t, chromedp.SendKeys(chromedp.CSS("main textarea"), "\nmaxmsg = 5\nmaxmsg = 6"))
	o.click("main form button[type=submit]")
	o.reads(`There is another "maxmsg".`)
}

// What the service says about one of many stands beside that one, and a context is picked by its name for people wherever one is named.
func TestConsolePlacesRefusals(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const confd, auth = "/api/confd/1.1", "/api/auth/0.1"
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)
	// refused waits until this is said beside the only field of a form that is marked as wrong, which has this value
	refused := func(text, value string) {
		t.Helper()
		o.until(fmt.Sprintf(`((wrong) => wrong.length === 1 && wrong[0].value === %q && document.getElementById(wrong[0].getAttribute('aria-describedby').split(' ').at(-1)).textContent === %q)([...document.querySelectorAll('main [aria-invalid=true]')])`, value, text), "%q is not beside %q", text, value)
	}
	part := func(title string) {
		t.Helper()
		o.press(title)
		o.until(`document.querySelector('details.part[open] form button.primary')`, "%s are not shown", title)
	}

	name := g.Do(t, "POST", confd+"/contexts", admin, `{"label":"Inside","user_ranges":[{"start":"10","end":"19"},{"start":"20","end":"29"}]}`).Want(201).Text("name")
	id := g.Do(t, "GET", confd+"/contexts", admin, "").List().Items[0]["id"]
	o.open(fmt.Sprintf("#/confd/contexts/%v", id))
	o.until(`document.querySelector('main h1')?.textContent === 'Inside'`, "the context does not open")
	o.script(t, `((i) => { i.value = '299'; })([...document.querySelectorAll('main .row input')].find((i) => i.value === '29')), ''`)
	o.click(`section.whole form > .actions button`)
	refused("Must be as long as the start", "299")

	login := g.Do(t, "POST", auth+"/users", admin, `{"username":"ada"}`).Want(200).Text("uuid")
	o.open(fmt.Sprintf("#/auth/users/%s", login))
	o.until(`document.querySelector('main h1')?.textContent === 'ada'`, "the login does not open")
	part("E-mails")
	o.press("Add one")
	o.hit("ada@example.com")
	o.script(t, `document.querySelectorAll('details.part[open] input[type=checkbox]').forEach((box) => box.click()), ''`)
	o.press("Add one")
	o.hit("nobody")
	o.click("details.part[open] form > .actions button")
	refused("Must be an e-mail address", "nobody")

	// A call that leads to a number: its context is stored by the name that the telephone system knows.
	o.open("#/confd/incalls/+new")
	o.until(`document.querySelector('main select')`, "no call can be made")
	o.script(t, `((s) => { s.value = 'extension'; s.dispatchEvent(new Event('change')); })([...document.querySelectorAll('main select')].find((s) => [...s.options].some((o) => o.value === 'extension'))), ''`)
	o.enter("Number", "1042")
	o.enter("Dialling area", "Ins")
	o.until(`[...document.querySelectorAll('main datalist option')].some((o) => o.value === 'Inside')`, "the context is not suggested")
	o.hit("ide")
	o.press("Create")
	o.until(`/incalls\/\d+$/.test(location.hash)`, "the call is not made")
	if calls := g.Do(t, "GET", confd+"/incalls", admin, "").Want(200).Body; !strings.Contains(calls, `"context":"`+name+`"`) {
		t.Errorf("the call is %s", calls)
	}

	// Settings that exist once: what is said of one field names others, and they can be deleted.
	o.open("#/auth/backends/ldap")
	o.until(`document.querySelector('main h1')?.textContent === 'LDAP directory' && document.querySelector('main form')`, "the directory does not open")
	o.enter("Host", "ldap.example.com")
	o.press("Save")
	o.until(`['port', 'user_base_dn', 'user_login_attribute', 'user_email_attribute'].every((name) =>
		[...document.querySelectorAll('main [aria-invalid=true]')].some((i) => i.dataset.name === name && document.getElementById(i.id + '-error').textContent === 'Is required'))`, "what is missing is not said beside each field")
	if name := o.script(t, `document.activeElement.dataset.name ?? ''`); name != "port" {
		t.Errorf("the focus is at %q, and not at the first field that was refused", name)
	}
	ids := o.script(t, `JSON.stringify([...document.querySelectorAll('main label')].map((l) => l.textContent))`)
	for _, field := range [][2]string{{"Host", "ldap.example.com"}, {"Port", "389"}, {"DN of the users", "dc=x"}, {"User login attribute", "uid"}, {"User e-mail attribute", "mail"}, {"DN to search with", "cn=x"}, {"Bind password", "secret"}} {
		if !strings.Contains(ids, field[0]) {
			t.Fatalf("the directory has the fields %s", ids)
		}
		o.enter(field[0], field[1])
	}
	o.press("Save")
	o.reads("Saved.")
	o.enter("Port", "390")
	o.press("Save")
	o.until(`document.querySelector('main [aria-invalid=true]')?.type === 'password'`, "what is said of the password is not beside it")
	o.press("Delete")
	o.see("dialog[open]")
	o.click("dialog[open] .danger")
	o.reads("LDAP directory: deleted.")
	if left := g.Do(t, "GET", auth+"/backends/ldap", admin, "").Want(200).Body; strings.Contains(left, "ldap.example.com") {
		t.Errorf("the deleted directory is %s", left)
	}
	o.reads("Nothing is set yet.")

	// What somebody else has deleted meanwhile is not there any more, which is what one wanted.
	policy := g.Do(t, "POST", auth+"/policies", admin, `{"name":"Brief"}`).Want(200).Text("uuid")
	o.goTo("#/auth/policies/"+policy, "Brief")
	g.Do(t, "DELETE", auth+"/policies/"+policy, admin, "").Want(204)
	o.press("Delete")
	o.see("dialog[open]")
	o.click("dialog[open] .danger")
	o.reads("The policy Brief was already deleted.")
	o.clean(t, "after refusals", "400", "404")
}

// What a form has fields for, what it asks for and what it locks are marks of the definition, not words of its descriptions.
func TestConsoleFormsFollowTheDefinition(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	login := g.Do(t, "POST", "/api/auth/0.1/users", admin, `{"username":"grace","password":"a-long-password"}`).Want(200).Text("uuid")
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)
	form := func(page, title string) string {
		o.goTo(page, title)
		o.see("main form")
		return "," + o.script(t, `[...document.querySelectorAll('main form label')].map((l) => l.textContent + (document.getElementById(l.htmlFor)?.disabled ? ' locked' : '')).join()`) + ","
	}
	for _, c := range []struct {
		page, title   string
		with, without []string
	}{
		{"#/confd/contexts/+new", "Create a dialling area", []string{",Name *,"}, []string{"UUID", "Internal name"}},
		{"#/confd/extensions/+new", "Create a number", []string{",Number *,"}, []string{"Out of use"}},
		{"#/auth/users/+new", "Create a user", []string{",Password,", ",User name,"}, []string{"UUID"}},
		{"#/auth/users/" + login, "grace", []string{",User name,"}, []string{",Password", "E-mail address", "UUID"}},
		{"#/auth/groups/+new", "Create a group", []string{",Slug,"}, []string{"UUID"}},
	} {
		fields := form(c.page, c.title)
		for _, name := range c.with {
			if !strings.Contains(fields, name) {
				t.Errorf("%s has no field %s: %s", c.page, name, fields)
			}
		}
		for _, name := range c.without {
			if strings.Contains(fields, name) {
				t.Errorf("%s has a field %s: %s", c.page, name, fields)
			}
		}
	}
	hints := o.script(t, `document.querySelector('main form').textContent`)
	if !strings.Contains(hints, "Made from the name when it is left empty.") || strings.Contains(hints, "never changes") {
		t.Errorf("the hints are those for programs: %s", hints)
	}
	o.goTo("#/auth/users/+new", "Create a user")
	o.see("[data-name=authentication_method]")
	if offered := o.script(t, `[...document.querySelector('[data-name=authentication_method]').options].map((o) => o.value).join()`); offered != ",default,native,ldap" {
		t.Errorf("a login may be by %s", offered)
	}
	if menu := o.script(t, `document.querySelector('nav').textContent`); !strings.Contains(menu, "LDAP directory") || strings.Contains(menu, "SAML") {
		t.Errorf("the menu has %s", menu)
	}
	o.clean(t, "while forms were opened")
}
