package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/pquerna/otp/hotp"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// Who holds nothing else has an account: where they are signed in, in words, and a new password, of which no line for curl tells.
func TestConsoleLeadsToOnesOwnAccount(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	g.Do(t, "POST", "/api/auth/0.1/users", g.Admin(t), `{"username":"grace","password":"a-long-password","email_address":"grace@example.com"}`).Want(200)
	elsewhere := g.Login(t, "grace", "a-long-password")
	stays := func(id string) {
		t.Helper()
		g.Do(t, "POST", "/api/auth/0.1/token", "", `{"access_type":"offline","client_id":"`+id+`"}`, resttest.Basic("grace", "a-long-password"), resttest.Header("User-Agent", "Desk/1.0")).Want(200)
	}
	stays("desk-phone")
	stays("lost-phone")
	o.goTo("", "Sign in")
	o.signIn("grace", "a-long-password")
	o.press("Your account")
	o.until(`document.querySelector('main h1')?.textContent === 'Your account'`, "the account is not shown")
	o.reads("grace@example.com")
	o.reads("this one")
	o.reads("on Linux")
	o.reads("desk-phone")
	if marked := o.script(t, `[...document.querySelectorAll('nav [aria-current]')].map((a) => a.textContent).join()`); marked != "Your account" {
		t.Errorf("the menu marks %q", marked)
	}
	if work := o.script(t, `[...document.querySelectorAll('nav .place > a')].map((a) => a.textContent).join()`); work != "" {
		t.Errorf("the menu of one who may nothing has %s", work)
	}
	o.accessible("account")
	end := func(label, gone string) {
		t.Helper()
		o.until(fmt.Sprintf(`((b) => { b?.click(); return b; })(document.querySelector('[aria-label=%q]'))`, label), "%s is not offered", label)
		o.press("End")
		o.reads("Ended.")
		o.until(fmt.Sprintf(`!document.querySelector('main').innerText.includes(%q)`, gone), "%s is still there", gone)
	}
	end("End what keeps lost-phone signed in", "lost-phone")

	// Who begins to type before the lists have come keeps the place, which is at the title until then.
	o.script(t, `((real) => {
		const held = new Promise((resolve) => { window.release = resolve; });
		window.fetch = async (...asked) => (/sessions/.test(asked[0]) && await held, real(...asked));
	})(window.fetch), dispatchEvent(new HashChangeEvent('hashchange')), ''`)
	o.until(`document.activeElement === document.querySelector('main h1') && !document.querySelector('main').innerText.includes('this one')`, "the focus waits for the lists")
	o.enter("Old password", "a-wrong-")
	o.script(t, `release(), ''`)
	o.reads("this one")
	o.hit("password")
	o.until(`[...document.querySelectorAll('main input')].some((i) => i.value === 'a-wrong-password')`, "who types has lost the place")
	o.enter("New password", "another-long-password")
	o.press("Change the password")
	o.reads("Authentication Failed") // and the session goes on
	o.enter("Old password", "a-long-password")
	o.press("Change the password")
	o.reads("You have a new password.")
	o.reads("No program does.")
	g.Login(t, "grace", "another-long-password")
	g.Do(t, "GET", "/api/auth/0.1/users/me", elsewhere, "").Want(401)
	o.press("curl")
	o.until(`[...document.querySelectorAll('dialog pre')].some((p) => p.textContent.includes('-X PUT') && p.textContent.includes('(secret)'))`, "the change is not among the lines")
	if all := o.script(t, `document.querySelector('dialog').textContent`); strings.Contains(all, "long-password") || strings.Contains(all, "rft_") {
		t.Errorf("a secret is in %s", all)
	}
	o.press("Close")
	o.clean(t, "while the password was changed", "404", "401") // she has no telephone, and typed a wrong password
}

// codeAt returns the code of a second factor so many steps from now.
func codeAt(t *testing.T, secret string, steps int64) string {
	t.Helper()
	code, err := hotp.GenerateCode(secret, uint64(time.Now().Unix()/30+steps))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// A user turns a second factor on, signs in with its code and with a recovery code, and turns it off; an administrator removes one that was lost.
func TestConsoleHasASecondFactor(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const auth, secretField = "/api/auth/0.1", `document.getElementById([...document.querySelectorAll('label')].find((l) => l.textContent === 'Secret')?.htmlFor)?.value ?? ''`
	grace := g.Do(t, "POST", auth+"/users", admin, `{"username":"grace","password":"a-long-password"}`).Want(200).Text("uuid")
	o.goTo("", "Sign in")
	o.signIn("grace", "a-long-password")
	account := func() {
		t.Helper()
		o.open("#/account")
		o.until(`document.activeElement.textContent === 'Your account' && document.activeElement.tagName === 'H1'`, "the account is not shown")
	}
	enter := func(username, password string) {
		t.Helper()
		o.see("#login")
		o.run(t, chromedp.SendKeys(chromedp.CSS("#username"), username), chromedp.SendKeys(chromedp.CSS("#password"), password+"\r"), chromedp.WaitVisible(chromedp.CSS("#logout")))
	}
	signOut := func() {
		t.Helper()
		o.press("Sign out")
		o.reads("Signed out.")
	}
	account()
	o.enter("Password", "a-wrong-password")
	o.press("Turn it on")
	o.reads("Is not your password")
	o.enter("Password", "a-long-password")
	o.press("Turn it on")
	o.see(`svg.code[aria-label="The secret as a QR code"]`)
	secret := o.script(t, secretField)
	o.enter("Code", "000000")
	o.press("Confirm")
	o.reads("Is not a code that counts now")
	o.script(t, `document.querySelector('svg.code').scrollIntoView(), ''`)
	o.shoot(t, "second-factor-made")
	o.accessible("second-factor-made")
	o.enter("Code", codeAt(t, secret, 0))
	o.press("Confirm")
	o.reads("It is on.")
	recovery := strings.Fields(o.script(t, `[...document.querySelectorAll('ul.code li')].map((l) => l.textContent).join(' ')`))
	if len(recovery) != 10 {
		t.Fatalf("the recovery codes are %v", recovery)
	}
	o.script(t, `document.querySelector('ul.code').scrollIntoView({ block: 'end' }), ''`)
	o.shoot(t, "second-factor-recovery")
	o.accessible("second-factor-recovery")
	o.press("I have saved them")
	o.reads("You have 10 recovery codes left.")
	o.accessible("second-factor-on")
	o.press("curl")
	o.see("dialog pre")
	if all := o.script(t, `document.querySelector('dialog').textContent`); strings.Contains(all, secret) || strings.Contains(all, codeAt(t, secret, 0)) {
		t.Errorf("a secret is in %s", all)
	}
	o.press("Close")

	// Signing in asks for a code, and takes none twice.
	asked := func() {
		t.Helper()
		o.see("#login")
		o.run(t, chromedp.SendKeys(chromedp.CSS("#username"), "grace"), chromedp.SendKeys(chromedp.CSS("#password"), "a-long-password\r"))
		o.reads("Type the code of your second factor, too.")
		o.until(`document.activeElement.id === 'otp'`, "the code is not where one types")
	}
	signOut()
	asked()
	o.accessible("sign-in-code")
	o.hit("000000", kb.Enter)
	o.reads("The code is wrong")
	o.hit(codeAt(t, secret, 1), kb.Enter)
	o.see("#logout")
	signOut()
	asked()
	o.hit(recovery[0], kb.Enter)
	o.see("#logout")
	account()
	o.reads("You have 9 recovery codes left.")
	o.script(t, `[...document.querySelectorAll('section')].find((s) => s.querySelector('h2')?.textContent === 'Second factor').querySelector('input').focus(), ''`)
	o.hit(recovery[1])
	o.press("Turn it off")
	o.reads("The second factor is off.")
	signOut()
	enter("grace", "a-long-password")

	// Who has lost it is helped.
	token := g.Login(t, "grace", "a-long-password")
	lost := g.Do(t, "POST", auth+"/users/"+grace+"/second_factor", token, `{"password":"a-long-password"}`).Want(200).Text("secret")
	g.Do(t, "PUT", auth+"/users/"+grace+"/second_factor", token, `{"otp":"`+codeAt(t, lost, 0)+`"}`).Want(200)
	signOut()
	enter("admin", gatewaytest.Password)
	o.open("#/auth/users/" + grace)
	o.see("details.part")
	o.part("Second factor")
	o.until(`((b) => { b?.click(); return b; })([...document.querySelectorAll('details.part[open] button.danger')].find((b) => b.textContent === 'Remove'))`, "it cannot be removed")
	o.until(`document.querySelector('dialog[open] button[value=yes]')`, "nothing is asked")
	o.accessible("second-factor-of-another")
	o.click("dialog[open] button[value=yes]")
	o.reads("Second factor: removed.")
	g.Login(t, "grace", "a-long-password")
	o.clean(t, "while there was a second factor", "400", "401", "404")
}

// An operator sets the password of somebody who has forgotten it.
func TestConsoleSetsAPassword(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const auth = "/api/auth/0.1"
	login := g.Do(t, "POST", auth+"/users", admin, `{"username":"grace","password":"a-long-password"}`).Want(200).Text("uuid")
	reader := g.Do(t, "POST", auth+"/policies", admin, `{"name":"reader","acl":["auth.users.#.read","auth.users.read"]}`).Want(200).Text("uuid")
	g.Do(t, "PUT", auth+"/users/"+login+"/policies/"+reader, admin, "").Want(204)
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)
	o.goTo("#/auth/users/"+login, "grace")
	o.press("New password")
	o.enter("Password", "another-long-password")
	o.click("details.part[open] button.primary")
	o.reads("New password: done.")
	g.Login(t, "grace", "another-long-password")
	o.press("Sign out")
	o.reads("Signed out.")

	// Who may not do so is not offered it.
	o.goTo("#/", "Sign in")
	o.signIn("grace", "another-long-password")
	o.goTo("#/auth/users/"+login, "grace")
	o.see("details.part")
	if titles := o.script(t, `[...document.querySelectorAll('details.part > summary')].map((s) => s.textContent).join()`); strings.Contains(titles, "New password") || !strings.Contains(titles, "Sessions") {
		t.Errorf("a reader is offered %s", titles)
	}
	o.clean(t, "while a password was set")
}

// Who telephones has the numbers that they block on the page of their account, and who looks after them sees these on the page of the person.
func TestConsoleHasBlockedNumbers(t *testing.T) {
	g, o, admin, _ := desk(t)
	const confd, auth = "/api/confd/1.1", "/api/auth/0.1"
	ada := g.Do(t, "POST", confd+"/users?recursive=true", admin, `{"firstname":"Ada","auth":{"username":"ada","password":"a-long-password"}}`).Want(201).Text("uuid")
	policy := g.Do(t, "POST", auth+"/policies", admin, `{"name":"own","acl":["confd.users.me.#"]}`).Want(200).Text("uuid")
	g.Do(t, "PUT", auth+"/users/"+ada+"/policies/"+policy, admin, "").Want(204)
	if all := o.script(t, `[...document.querySelectorAll('nav details a')].map((a) => a.textContent).join()`); !strings.Contains(all, "Blocked numbers") || strings.Contains(all, "Numbers that you block") {
		t.Errorf("all objects are %s", all)
	}
	o.press("Sign out")
	o.reads("Signed out.")
	o.goTo("", "Sign in")
	o.signIn("ada", "a-long-password")
	o.goTo("#/account", "Your account")
	o.reads("Numbers that you block")
	o.press("New")
	o.enter("Number", "not a number")
	o.press("Create")
	o.until(`document.activeElement.getAttribute('aria-invalid') === 'true'`, "the refusal is not beside its field")
	o.enter("Number", "+15551234")
	o.enter("Name", "Sells windows")
	o.press("Create")
	o.reads("was created.")
	o.enter("Name", "Sells doors")
	o.press("Save")
	o.reads("Saved.")
	o.goTo("#/account", "Your account")
	o.reads("Sells doors")
	o.accessible("account-blocked")
	o.press("Sign out")
	o.reads("Signed out.")
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)
	o.goTo("#/confd/users/"+ada, "Ada")
	o.part("Blocked numbers")
	o.until(`[...document.querySelectorAll('details.part[open] tbody td')].map((td) => td.textContent).join() === '+15551234,Sells doors'`, "what she blocks is not told")

	// One's own account is of one's own tenant, whichever is chosen.
	g.Do(t, "POST", auth+"/tenants", admin, `{"name":"West"}`).Want(200)
	o.run(t, chromedp.Reload())
	o.see("#tenant")
	o.script(t, `((c) => { c.selectedIndex = [...c.options].findIndex((one) => one.textContent === 'West'); c.dispatchEvent(new Event('change')) })(document.getElementById('tenant')), ''`)
	o.until(`document.querySelector('#head.elsewhere')`, "the tenant is not chosen")
	o.goTo("#/account", "Your account")
	o.reads("this one")
	o.clean(t, "while numbers were blocked", "400", "404") // one who looks after others does not telephone
}
