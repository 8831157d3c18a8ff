package caddymodule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// desk is a gateway with a context for numbers and a group, and an administrator at its console.
func desk(t *testing.T) (g *gateway, o *operator, admin, in string) {
	t.Helper()
	g = loadDefault(t, "")
	o = &operator{newBrowser(t), t, g.URL}
	admin = g.admin(t)
	const confd = "/api/confd/1.1"
	in = g.Do(t, "POST", confd+"/contexts", admin, `{"label":"Inside","user_ranges":[{"start":"1000","end":"1499"}],"group_ranges":[{"start":"1500","end":"1999"}]}`).Want(201).Text("name")
	g.Do(t, "POST", confd+"/groups", admin, `{"label":"Sales"}`).Want(201)
	o.goTo("", "Sign in")
	o.signIn("admin", adminPassword)
	return g, o, admin, in
}

// A lamp is offered for those keys alone that can have one, and is on by default for these.
func TestConsoleOffersLampsOfKeys(t *testing.T) {
	g, o, admin, _ := desk(t)
	user := "/api/confd/1.1/users/" + g.Do(t, "POST", "/api/confd/1.1/users", admin, `{"firstname":"Ada"}`).Want(201).Text("uuid")
	g.Do(t, "PUT", user+"/funckeys", admin, `{"keys":{"1":{"blf":false,"destination":{"type":"custom","exten":"12"}},"2":{"destination":{"type":"transfer","transfer":"blind"}}}}`).Want(204)
	o.goTo("#/confd/users/"+strings.TrimPrefix(user, "/api/confd/1.1/users/"), "Ada")
	o.press("Function keys")
	o.see("table.keyed tbody tr")
	o.press("Add a position")
	lamps := func(want string) {
		t.Helper()
		o.until(fmt.Sprintf(`[...document.querySelectorAll('table.keyed tbody tr')].map((tr) => ((b) => (b.disabled ? 'none' : b.checked ? 'on' : 'off'))(tr.querySelector('input[type=checkbox]'))).join() === %q`, want), "the lamps are not %s", want)
	}
	// kind chooses what a key leads to, as the keyboard does.
	kind := func(row int, name, value string) {
		t.Helper()
		o.script(t, fmt.Sprintf(`((s) => { s.value = %q; s.dispatchEvent(new Event('input', { bubbles: true })); s.dispatchEvent(new Event('change', { bubbles: true })); })(document.querySelectorAll('table.keyed tbody tr')[%d].querySelector('[data-name=%s]')), ''`, value, row, name))
	}
	lamps("off,none,none") // as one has chosen, as there is none, and of no kind yet
	kind(2, "type", "group")
	lamps("off,none,none")
	kind(2, "type", "service")
	kind(2, "service", "enablednd")
	lamps("off,none,on")
	kind(2, "service", "pickup")
	lamps("off,none,none")
	kind(1, "type", "onlinerec")
	lamps("off,none,none")
	kind(1, "type", "forward")
	lamps("off,on,none")
	o.click("details.part[open] form > .actions button")
	o.reads("Function keys saved.")
	lamps("off,on,none")
	keys := g.Do(t, "GET", user+"/funckeys", admin, "").Want(200)
	if keys.JSON("keys.1.blf") != false || keys.JSON("keys.2.blf") != true || keys.JSON("keys.3.blf") != false {
		t.Errorf("the keys are %s", keys.Body)
	}
	o.clean(t, "while keys were chosen")
}

// What is typed too fast for a suggestion is looked up before it is sent: it is the name for people, and not an id. Where any name may be
// sent, one that nobody has is sent as it is.
func TestConsoleLooksUpWhatWasTypedFast(t *testing.T) {
	g, o, admin, in := desk(t)
	const confd = "/api/confd/1.1"
	group := fmt.Sprint("/groups/", g.Do(t, "GET", confd+"/groups", admin, "").List().Items[0]["uuid"])
	// atOnce sets a field and sends its form, before anything can have been suggested.
	atOnce := func(name, text string) {
		t.Helper()
		o.until(fmt.Sprintf(`((i) => i && (i.value = %q, i.form.requestSubmit(), true))([...document.querySelectorAll('main form input')].find((i) => i.id.startsWith(%q)))`, text, name), "there is no field %s", name)
	}
	o.goTo("#/confd/extensions/+new", "Create an extension")
	o.enter("Number", "1501")
	atOnce("context", "Outside")
	o.until(`document.querySelector('main [aria-invalid=true]')?.id.startsWith('context')`, "a context that is not there is not refused beside its field")
	atOnce("context", "Inside")
	o.reads("1501 was created.")
	if made := g.Do(t, "GET", confd+"/extensions?exten=1501", admin, "").List().Items[0]; made["context"] != in {
		t.Errorf("the extension is %v", made)
	}
	made := g.Do(t, "GET", confd+"/extensions?exten=1501", admin, "").List().Items[0]

	o.goTo("#/confd"+group, "Sales")
	o.script(t, `document.querySelector('details.part[data-path$="/extensions/{extension_id}"]').open = true, ''`)
	o.see("details.part[open] form.add input")
	link := func(text string) {
		t.Helper()
		o.script(t, fmt.Sprintf(`((i) => { i.value = %q; i.form.requestSubmit(); })(document.querySelector('details.part[open] form.add input')), ''`, text))
	}
	link(fmt.Sprint(made["id"])) // no extension has this number
	o.reads(fmt.Sprintf(`There is no "%v" here`, made["id"]))
	link("1501")
	o.reads("The link was made.")
	if linked := g.Do(t, "GET", confd+group, admin, "").Want(200); !strings.Contains(linked.Body, `"exten":"1501"`) {
		t.Errorf("the group is %s", linked.Body)
	}

	o.goTo("#/confd/incalls/+new", "Create an incoming call")
	o.script(t, `((s) => { s.value = 'extension'; s.dispatchEvent(new Event('change')); })(document.querySelector('main select[data-name=type]')), ''`)
	o.enter("Number", "1042")
	atOnce("context", "of-another-system")
	o.until(`/incalls\/\d+$/.test(location.hash)`, "the call is not made")
	if calls := g.Do(t, "GET", confd+"/incalls", admin, "").Want(200).Body; !strings.Contains(calls, `"context":"of-another-system"`) {
		t.Errorf("the calls are %s", calls)
	}
	o.clean(t, "after fast typing", "400")
}

// What is refused is said once, in words, beside the field that it is about, which has the focus; and nothing is said of the time before.
func TestConsoleSaysWhatIsWrongOnce(t *testing.T) {
	g, o, admin, _ := desk(t)
	o.goTo("#/confd/incalls/+new", "Create an incoming call")
	o.script(t, `((s) => { s.value = 'user'; s.dispatchEvent(new Event('change')); })(document.querySelector('main select[data-name=type]')), ''`)
	o.enter("User", "Nobody")
	o.hit(kb.Enter)
	o.until(`((all) => all.length === 1 && all[0].textContent.startsWith('There is no "Nobody" here') && document.activeElement.getAttribute('aria-describedby').includes(all[0].id))([...document.querySelectorAll('main .error')].filter((e) => e.textContent))`, "it is not said once, where the focus is")

	o.goTo("#/confd/groups/+new", "Create a group")
	o.enter("Label", `Front "desk"`)
	o.press("Create")
	o.reads("Only letters, digits, spaces and - _ .")

	o.goTo("#/telephone", "New telephone user")
	o.enter("First name", "Ada")
	o.enter("E-mail address", "nobody")
	o.press("Create")
	o.until(`document.activeElement.id.startsWith('email') && document.activeElement.getAttribute('aria-invalid') === 'true' && document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent === 'Not a valid email address.'`, "the address is not refused beside its field, in words")

	team := g.Do(t, "POST", "/api/auth/0.1/groups", admin, `{"name":"team"}`).Want(200).Text("uuid")
	o.goTo("#/auth/groups/"+team, "team")
	o.enter("Name", "reception")
	o.click("section.whole button.primary")
	o.reads("Saved.")
	o.enter("Name", strings.Repeat("x", 1000))
	o.click("section.whole button.primary")
	o.until(`[...document.querySelectorAll('main .field .error')].some((e) => e.textContent.startsWith('Must have')) && document.getElementById('state').textContent === ''`, "it still says that it was saved")
	o.clean(t, "after refusals", "400")
}

// Who may create users is offered that first. A user is deleted with the line, the number and the voicemail in one step, alone or among others.
func TestConsoleDeletesAUserAsAWhole(t *testing.T) {
	g, o, admin, in := desk(t)
	const users = "/api/confd/1.1/users"
	for _, exten := range []string{"1001", "1002", "1003"} {
		g.Do(t, "POST", users, admin, `{"firstname":"User `+exten+`","lines":[{"context":"`+in+`","endpoint_sip":{},"extensions":[{"exten":"`+exten+`","context":"`+in+`"}]}],
			"voicemail":{"name":"Box","number":"`+exten+`","context":"`+in+`"}}`).Want(201)
	}
	o.press("Start")
	o.press("Add a telephone user")
	o.until(`document.querySelector('main h1')?.textContent === 'New telephone user'`, "the form does not open")
	o.goTo("#/confd/users", "Users")
	o.press("User 1001")
	o.until(`document.querySelector('main h1')?.textContent === 'User 1001'`, "the user does not open")
	o.press("Delete")
	o.press("Delete") // in the dialog
	o.reads("User is associated with a Voicemail")
	o.press("Delete")
	o.run(t, chromedp.Click(chromedp.CSS("dialog[open] input")))
	o.press("Delete")
	o.reads("User 1001 was deleted.")
	o.run(t, chromedp.Click(chromedp.CSS("th.pick input")))
	o.press("Delete")
	o.run(t, chromedp.Click(chromedp.CSS("dialog[open] input")))
	o.press("Delete")
	o.reads("2 were deleted.")
	for _, path := range []string{"/users", "/lines", "/extensions", "/voicemails"} {
		if left := g.Do(t, "GET", "/api/confd/1.1"+path, admin, "").List().Total; left != 0 {
			t.Errorf("%d are left at %s", left, path)
		}
	}
	o.clean(t, "while users were deleted", "400")
}

// An operator ends one session of a user on the user's page.
func TestConsoleEndsASessionOfAUser(t *testing.T) {
	g, o, admin, _ := desk(t)
	olga := g.Do(t, "POST", "/api/auth/0.1/users", admin, `{"username":"olga","password":"a-long-password"}`).Want(200).Text("uuid")
	token := g.Login(t, "olga", "a-long-password")
	o.goTo("#/auth/users/"+olga, "olga")
	o.press("Sessions")
	o.see("details.part[open] td.pick button")
	o.click("details.part[open] td.pick button")
	o.reads("End a session of a user?")
	o.press("Delete")
	o.reads("Sessions: one was deleted.")
	o.reads("There are none.")
	g.Do(t, "GET", "/api/auth/0.1/users/"+olga, token, "").Want(401)
	o.clean(t, "while a session was ended")
}

// The pages beside the console are as light and as dark as it is.
func TestPagesBesideTheConsoleHaveItsLooks(t *testing.T) {
	g := loadDefault(t, "")
	b := newBrowser(t)
	for _, look := range []string{"light", "dark"} {
		b.run(t, emulate(1000, 800, look))
		ground := func(page string) string {
			t.Helper()
			b.run(t, chromedp.Navigate(g.URL+page), chromedp.WaitVisible(chromedp.CSS("header")))
			return b.script(t, `((s) => s.backgroundColor + ' ' + s.color)(getComputedStyle(document.querySelector('header')))`)
		}
		want := ground("/console/")
		for _, page := range []string{"/console/reset.html", "/console/api/"} {
			if got := ground(page); got != want {
				t.Errorf("the head of %s is %s in the %s look, of the console %s", page, got, look, want)
			}
		}
	}
}
