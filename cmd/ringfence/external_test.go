package main_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc/external/oauth2/oauth2test"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// A user's program links the user to an external service: consent, callback, renewal, a revoked grant. Every request goes through
// the gate of a whole gateway, over TLS, and the link survives a restart in the middle.
func TestExternalThroughTheGate(t *testing.T) {
	const public = "https://pbx.example.com:8443"
	for name, address := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := oauth2test.New(t, oauth2test.Options{
				RedirectURL:     public + authBase + "/external/calendar/authorize",
				AccessTokenLife: 20 * time.Second, // less than the lead time of a renewal
			})
			p := withBackends(t, address(t), "\t\texternal oauth2 calendar {\n\t\t\tauth_url "+service.AuthURL+"\n\t\t\ttoken_url "+service.TokenURL+"\n\t\t\tscopes read\n\t\t}\n",
				"RINGFENCE_PUBLIC_URL="+public)
			admin := p.Login(t, "admin", gatewaytest.Password)
			user, _, own := p.Account(t, admin, "ada", "auth.users.me.external.calendar.*")
			_, _, other := p.Account(t, admin, "bob", "auth.users.me.external.calendar.*")
			link := authBase + "/users/" + user + "/external/calendar"
			p.Do(t, "POST", link, own, "{}").Want(http.StatusNotFound) // the tenant has no client yet
			p.Do(t, "POST", authBase+"/external/calendar/config", own, "{}").Want(http.StatusForbidden)
			p.Do(t, "POST", authBase+"/external/calendar/config", admin,
				`{"client_id":"`+oauth2test.ClientID+`","client_secret":"`+oauth2test.ClientSecret+`"}`).Want(http.StatusCreated)

			for method, action := range map[string]string{"POST": "create", "GET": "read", "DELETE": "delete"} {
				access := "auth.users." + user + ".external.calendar." + action
				if a := p.Do(t, method, link, other, "").Want(http.StatusForbidden); !strings.Contains(a.Body, access) {
					t.Errorf("the refusal does not name %s: %s", access, a.Body)
				}
				p.Do(t, method, link, "", "").Want(http.StatusUnauthorized)
			}

			begun := p.Do(t, "POST", link, own, "{}", func(r *http.Request) { r.Host = "evil.example" }).Want(http.StatusCreated)
			at, cookies := p.Connect(t, begun.Text("authorization_url"))
			back := service.Browse(t.Context(), at)
			if !strings.HasPrefix(back.String(), public+authBase+"/external/calendar/authorize?") {
				t.Fatalf("the browser is sent to %s", back)
			}
			visit := func(u *url.URL, status int, says string, edit ...func(*http.Request)) {
				t.Helper()
				a := p.Do(t, "GET", u.RequestURI(), "", "", append(edit, func(r *http.Request) { r.Header.Set("Accept", "text/html") })...).Want(status)
				if !strings.Contains(a.Body, says) || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
					t.Errorf("the page is %s %s", a.Header.Get("Content-Type"), a.Body)
				}
			}
			p.Stop(t)
			p.Run(t)
			p.Ready(t)
			visit(back, http.StatusBadRequest, "not known in this browser")
			visit(back, http.StatusOK, "ada", cookies)
			visit(back, http.StatusBadRequest, "used already", cookies)

			first := p.Do(t, "GET", link, own, "").Want(http.StatusOK).Text("access_token")
			second := p.Do(t, "GET", link, own, "").Want(http.StatusOK).Text("access_token")
			if first == second || !service.Alive(t.Context(), second) {
				t.Error("the access token was not renewed")
			}
			service.Revoke(t.Context())
			p.Do(t, "GET", link, own, "").Want(http.StatusNotFound)

			at, cookies = p.Connect(t, p.Do(t, "POST", link, own, "{}").Want(http.StatusCreated).Text("authorization_url"))
			visit(service.Browse(t.Context(), at), http.StatusOK, "ada", cookies)
			third := p.Do(t, "GET", link, own, "").Want(http.StatusOK).Text("access_token")
			p.Do(t, "DELETE", link, own, "").Want(http.StatusNoContent)
			p.Do(t, "GET", link, own, "").Want(http.StatusNotFound)
			for what, secret := range map[string]string{
				"an access token": third, "the client's secret": oauth2test.ClientSecret, "a state": back.Query().Get("state"), "a code": back.Query().Get("code"), "a token": own,
			} {
				if strings.Contains(p.Output(), secret) {
					t.Errorf("%s is in the log", what)
				}
			}
		})
	}
}
