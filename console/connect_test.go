package console_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/authsvc/external/oauth2/oauth2test"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// A user opens an authorization_url in a browser, reads for whom the link is, agrees, and comes back from the external service.
// Somebody who is sent to the service without having agreed gives nothing away.
func TestConnectingInABrowser(t *testing.T) {
	b := newBrowser(t)
	g := gatewaytest.NewInside(t)
	service := oauth2test.New(t, oauth2test.Options{RedirectURL: g.URL + api + "/external/calendar/authorize"})
	g.App = "public_url " + g.URL + "\nexternal oauth2 calendar {\nauth_url " + service.AuthURL + "\ntoken_url " + service.TokenURL + "\nscopes read\n}"
	g.Load(t)
	admin := g.Admin(t)
	g.Do(t, "POST", api+"/external/calendar/config", admin,
		`{"client_id":"`+oauth2test.ClientID+`","client_secret":"`+oauth2test.ClientSecret+`"}`).Want(201)
	user := g.Do(t, "POST", api+"/users", admin, `{"username":"mallory <b>of</b> acme"}`).Want(200).Text("uuid")
	link := api + "/users/" + user + "/external/calendar"
	begin := func() string {
		return g.Do(t, "POST", link, admin, "{}").Want(201).Text("authorization_url")
	}
	heading := func() string {
		t.Helper()
		b.run(t, chromedp.WaitVisible(chromedp.CSS("h1")))
		return b.script(t, `document.querySelector("h1").innerText`)
	}

	b.run(t, chromedp.Navigate(begin()))
	if got, want := heading(), "Connect your Calendar account to the user mallory <b>of</b> acme?"; got != want {
		t.Errorf("the page asks %q, want %q", got, want)
	}
	b.shoot(t, "connect-1-asked")
	b.clean(t, "when the page asks")
	if cookies := b.script(t, "document.cookie"); cookies != "" {
		t.Errorf("scripts read %s", cookies)
	}
	g.Do(t, "GET", link, admin, "").Want(404)
	b.run(t, chromedp.Click(chromedp.CSS("button")), chromedp.WaitNotPresent(chromedp.CSS("form")))
	if got := heading(); got != "Linked" {
		t.Errorf("then it says %q", got)
	}
	if said := b.script(t, `document.body.innerText`); !strings.Contains(said, "Your Calendar account may now be used for the user mallory <b>of</b> acme.") {
		t.Errorf("it says %q", said)
	}
	b.shoot(t, "connect-2-linked")
	b.clean(t, "after the person has agreed")
	if token := g.Do(t, "GET", link, admin, "").Want(200).Text("access_token"); !service.Alive(t.Context(), token) {
		t.Error("the access token is not the service's")
	}
	g.Do(t, "DELETE", link, admin, "").Want(204)

	// Mallory agrees herself, elsewhere, and sends the victim on to the service.
	at, _ := g.Connect(t, begin())
	b.run(t, chromedp.Navigate(at))
	if got := heading(); got != "Not linked" {
		t.Errorf("to somebody who was not asked it says %q", got)
	}
	b.clean(t, "when nobody was asked", "400")
	g.Do(t, "GET", link, admin, "").Want(404)
}
