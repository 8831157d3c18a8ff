package console_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

const api = "/api/auth/0.1"

// A user who has forgotten the password asks for a mail, opens its link in a browser, and logs in with a new password.
func TestPasswordResetInABrowser(t *testing.T) {
	b := newBrowser(t)
	mails := mailtest.Start(t, mailtest.Options{})
	g := gatewaytest.NewInside(t)
	g.App, g.Routes = "public_url "+g.URL+"\n"+mails.Caddyfile(""), "ringfence_console"
	g.Load(t)
	user := g.Do(t, "POST", api+"/users", g.Admin(t), `{"username":"ada","password":"the first","email_address":"ada@example.org"}`).Want(200).Text("uuid")
	const (
		wrong = chromedp.CSS("#state.wrong")

		password, again, set = chromedp.CSS("#password"), chromedp.CSS("#again"), chromedp.CSS("#choose button")
		login, send          = chromedp.CSS("#login"), chromedp.CSS("#ask button")
	)
	// saying takes the steps, and waits until the page's message contains want.
	saying := func(want string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		b.run(t, steps...)
		if err := b.poll(`document.querySelector("#state").innerText.includes("` + want + `")`); err != nil {
			b.shoot(t, "failed")
			t.Fatalf("the page says %q, want %q: %v", b.said(t), want, err)
		}
	}

	saying("you need the link of a mail", chromedp.Navigate(g.URL+"/console/reset.html"), chromedp.WaitVisible(login))
	saying("is on its way", chromedp.SendKeys(login, "ada"), chromedp.Click(send), chromedp.WaitNotVisible(login))
	b.clean(t, "after asking for a link")
	link := mails.Next(t).Link(t)
	fragment, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	values, err := url.ParseQuery(fragment.Fragment)
	if err != nil || values.Get("user_uuid") != user {
		t.Fatalf("the link is %s, %v", link, err)
	}
	token := values.Get("token")

	b.run(t, chromedp.Navigate(link), chromedp.WaitVisible(password))
	if at := b.script(t, "location.href"); at != g.URL+"/console/reset.html" {
		t.Errorf("the address bar has %s", at)
	}
	if focused := b.script(t, "document.activeElement.id"); focused != "password" {
		t.Errorf("the focus is on %q", focused)
	}
	b.shoot(t, "reset-1-opened")
	saying("not the same", chromedp.SendKeys(password, "the second"), chromedp.SendKeys(again, "something else"), chromedp.Click(set), chromedp.WaitVisible(wrong))
	b.shoot(t, "reset-2-differ")
	b.clean(t, "when the passwords differ")

	long := strings.Repeat("x", 1025)
	saying("is refused", chromedp.SetValue(password, long), chromedp.SetValue(again, long), chromedp.Click(set))
	b.clean(t, "when the password is refused", "400")

	saying("cannot be reached", chromedp.SetValue(password, "the second"), chromedp.SetValue(again, "the second"), offline(true), chromedp.Click(set))
	b.shoot(t, "reset-3-offline")
	b.clean(t, "without a network", "ERR_INTERNET_DISCONNECTED")
	saying("is set", offline(false), chromedp.Click(set), chromedp.WaitNotVisible(password))
	b.shoot(t, "reset-4-done")
	b.clean(t, "after setting the password")
	g.Login(t, "ada", "the second")
	g.Do(t, "POST", api+"/token", "", "{}", resttest.Basic("ada", "the first")).Want(401)

	b.run(t, chromedp.Navigate("about:blank"), chromedp.Navigate(link), chromedp.WaitVisible(password))
	saying("was used already, or has expired", chromedp.SendKeys(password, "the third"), chromedp.SendKeys(again, "the third\r"), chromedp.WaitVisible(login))
	b.shoot(t, "reset-5-used")
	b.clean(t, "at the link's second use", "401")
	g.Login(t, "ada", "the second")

	for _, asked := range b.requested() {
		if strings.Contains(strings.TrimPrefix(asked, link), token) {
			t.Errorf("the token is in the address %s", asked)
		}
	}
	if kept := b.script(t, `JSON.stringify([location.href, {...localStorage}, {...sessionStorage}, document.cookie, document.documentElement.outerHTML])`); strings.Contains(kept, token) {
		t.Error("the page keeps the token")
	}
	if strings.Contains(g.Logged(t), token) {
		t.Error("the token is in the log")
	}
}

// The page that says that an address is confirmed is as dark as the other pages, for those who prefer it, and no wider than a telephone.
func TestConfirmingInABrowser(t *testing.T) {
	b := newBrowser(t)
	mails := mailtest.Start(t, mailtest.Options{})
	g := gatewaytest.NewInside(t)
	g.App = "public_url " + g.URL + "\n" + mails.Caddyfile("") + "self_registration"
	g.Load(t)
	g.Do(t, "POST", api+"/users/register", "", `{"username":"ada","password":"the first","email_address":"`+strings.Repeat("a", 60)+`@example.org"}`).Want(200)
	b.run(t, emulate(360, 800, "dark"), chromedp.Navigate(mails.Next(t).Link(t)), chromedp.WaitVisible(chromedp.CSS("p")))
	b.shoot(t, "confirmed")
	if seen := b.script(t, `[getComputedStyle(document.querySelector('p')).color, document.documentElement.scrollWidth].join(' ')`); seen != "rgb(255, 255, 255) 360" {
		t.Errorf("its colour and its width are %s", seen)
	}
	b.clean(t, "when the address is confirmed")
}
