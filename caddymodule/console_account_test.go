package caddymodule_test

import (
	"strings"
	"testing"
)

// Who holds nothing else has an account, and a new password, without knowing where that is.
func TestConsoleLeadsToOnesOwnAccount(t *testing.T) {
	g := loadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	g.Do(t, "POST", "/api/auth/0.1/users", g.admin(t), `{"username":"grace","password":"a-long-password"}`).Want(200)
	o.goTo("", "Sign in")
	o.signIn("grace", "a-long-password")
	o.press("Your account")
	o.until(`document.querySelector('main h1')?.textContent === 'grace'`, "the account is not shown")
	if marked := o.script(t, `[...document.querySelectorAll('nav [aria-current]')].map((a) => a.textContent).join()`); marked != "Your account" {
		t.Errorf("the menu marks %q", marked)
	}
	o.press("Password, with the old one")
	o.enter("Old password", "a-long-password")
	o.enter("New password", "another-long-password")
	o.click("details.part[open] button.primary")
	o.reads("Password, with the old one saved.")
	g.Login(t, "grace", "another-long-password")
	o.clean(t, "while the password was changed")
}

// An operator sets the password of somebody who has forgotten it.
func TestConsoleSetsAPassword(t *testing.T) {
	g := loadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.admin(t)
	const auth = "/api/auth/0.1"
	login := g.Do(t, "POST", auth+"/users", admin, `{"username":"grace","password":"a-long-password"}`).Want(200).Text("uuid")
	reader := g.Do(t, "POST", auth+"/policies", admin, `{"name":"reader","acl":["auth.users.#.read","auth.users.read"]}`).Want(200).Text("uuid")
	g.Do(t, "PUT", auth+"/users/"+login+"/policies/"+reader, admin, "").Want(204)
	o.goTo("", "Sign in")
	o.signIn("admin", adminPassword)
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
