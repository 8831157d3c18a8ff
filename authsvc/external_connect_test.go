package authsvc_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc/external/oauth2/oauth2test"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// The page names the user who will have access, loads nothing from elsewhere, and cannot be framed.
func TestThePageNamesWhoWillHaveAccess(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		acme := g.node.tenant(g.admin, `Acme <b>&`)
		mallory := g.newUser(g.node, g.admin, `mallory\"><script>alert(1)</script>`, resttest.In(acme))
		g.node.do("POST", "/external/google/config", g.admin, clientConfig, resttest.In(acme)).Want(201)
		u := g.parse(g.begin(g.node, mallory))
		asked := g.visit(g.node, u).Want(200)
		for _, want := range []string{
			`Connect your Google account to the user <bdi>mallory&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;</bdi>?`, `<bdi>Acme &lt;b&gt;&amp;</bdi>`, `<form method="post">`,
		} {
			if !strings.Contains(asked.Body, want) {
				t.Errorf("no %s in %s", want, asked.Body)
			}
		}
		if strings.Contains(asked.Body, "<script") || strings.Contains(asked.Body, g.oauth.AuthURL) {
			t.Errorf("the page: %s", asked.Body)
		}
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff",
		} {
			if got := asked.Header.Get(name); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		csp := asked.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'; style-src 'sha256-", "base-uri 'none'", "frame-ancestors 'none'", "form-action 'self' https:"} {
			if !strings.Contains(csp, want) {
				t.Errorf("no %s in %s", want, csp)
			}
		}
		checkCookie(t, asked)
		next := g.send(g.node, u, "token="+url.QueryEscape(formToken(t, asked.Body))).Want(303)
		checkCookie(t, next)
		if next.Header.Get("Cache-Control") != "no-store" || next.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("the answer to the form: %v", next.Header)
		}
		back := g.oauth.Browse(t.Context(), next.Header.Get("Location"))
		g.visit(g.node, back).Want(200)
		if left := g.browser.jar.Cookies(back); len(left) != 0 {
			t.Errorf("cookies are left: %v", left)
		}
	})
}

func checkCookie(t *testing.T, a resttest.Answer) {
	t.Helper()
	cookie, ok := strings.CutPrefix(a.Header.Get("Set-Cookie"), "__Host-ringfence-connect-")
	if !ok || !strings.HasSuffix(cookie, "; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax") {
		t.Errorf("the cookie is %s", a.Header.Get("Set-Cookie"))
	}
}

func (g *gateways) parse(address string) *url.URL {
	g.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		g.t.Fatal(err)
	}
	return u
}

// A victim who is sent the service's link, or the way back from it, gives nothing to the user who began: the victim never saw
// the page.
func TestALinkThatWasSentCompletesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		mallory, victim := newBrowser(t), newBrowser(t)
		page := g.parse(g.begin(g.node, g.user))
		asked := mallory.open(g.node, "GET", page, "").Want(200)
		token := formToken(t, asked.Body)
		form := "token=" + url.QueryEscape(token)

		// The victim's browser sends mallory's form, without her cookie and with its own.
		victim.open(g.node, "POST", page, form).Want(400)
		theirs := formToken(t, victim.open(g.node, "GET", page, "").Want(200).Body)
		victim.open(g.node, "POST", page, form).Want(400)
		for _, bad := range []string{"token=", "", "token=" + url.QueryEscape(theirs) + "&token=" + url.QueryEscape(theirs), "other=x", "%zz"} {
			victim.open(g.node, "POST", page, bad, func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }).Want(400)
		}
		for _, kind := range []string{"application/json", "text/plain", ""} {
			victim.open(g.node, "POST", page, "token="+theirs, func(r *http.Request) {
				r.Header.Set("Accept", "*/*")
			}, contentType(kind)).Want(415)
		}

		service := mallory.open(g.node, "POST", page, form).Want(303).Header.Get("Location")
		back := g.oauth.Browse(t.Context(), service) // the victim consents there, and is sent back
		for name, b := range map[string]browser{"one that has opened the page": victim, "one that has seen nothing": newBrowser(t)} {
			if a := b.open(g.node, "GET", back, "").Want(400); !strings.Contains(a.Body, "not known in this browser") {
				t.Errorf("%s: %s", name, a.Body)
			}
		}
		if n := len(g.oauth.Requests("authorization_code")); n != 0 {
			t.Fatalf("%d codes were exchanged", n)
		}
		g.credentials(g.node, g.user).Want(404)
		two := func(r *http.Request) {
			for _, c := range mallory.jar.Cookies(back) {
				r.AddCookie(&http.Cookie{Name: c.Name, Value: "another"})
			}
		}
		mallory.open(g.node, "GET", back, "", two).Want(400) // a second cookie with the same name
		mallory.open(g.node, "GET", back, "").Want(200)      // and the state was not used up
	})
}

func contentType(kind string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del("Content-Type")
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
	}
}

// The page does not get around the checks of a callback, and does not reveal states.
func TestAPageThatIsNotThere(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		page := g.parse(g.begin(g.node, g.user))
		g.visit(g.node, page, func(r *http.Request) { r.Method = http.MethodHead }).Want(200)
		form := "token=" + url.QueryEscape(formToken(t, g.visit(g.node, page).Want(200).Body))
		for name, edit := range map[string]func(u *url.URL){
			"no such state":  func(u *url.URL) { u.RawQuery = "state=" + strings.Repeat("A", 43) },
			"an empty one":   func(u *url.URL) { u.RawQuery = "state=" },
			"none":           func(u *url.URL) { u.RawQuery = "" },
			"two":            func(u *url.URL) { u.RawQuery += "&" + u.RawQuery },
			"another type's": func(u *url.URL) { u.Path = strings.Replace(u.Path, "google", "oauth2", 1) },
		} {
			u := *page
			edit(&u)
			if a := g.visit(g.node, &u); a.Status != 400 {
				t.Errorf("%s: GET %d %s", name, a.Status, a.Body)
			}
			if a := g.send(g.node, &u, form); a.Status != 400 {
				t.Errorf("%s: POST %d %s", name, a.Status, a.Body)
			}
		}
		g.node.do("PUT", "/users/"+g.user, g.admin, `{"enabled":false}`).Want(200)
		g.visit(g.node, page).Want(400)
		g.send(g.node, page, form).Want(400)
		g.node.do("PUT", "/users/"+g.user, g.admin, `{"enabled":true}`).Want(200)
		g.visit(g.node, page).Want(200)
		g.send(g.node, page, form).Want(303)
		g.send(g.node, page, form).Want(400) // the cookie has changed; the page has a new form
		g.oauth.Browse(t.Context(), g.connect(g.node, page.String()))
		if _, err := db.Exec(t.Context(), `UPDATE auth_external_pending SET expires_at = now_utc()`); err != nil {
			t.Fatal(err)
		}
		g.visit(g.node, page).Want(400)
	})
}

// A link for another user is not finished if the user who began it may no longer do so.
func TestALinkThatSomebodyElseBeganNeedsTheirRightsStill(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		_, policy, clerk := g.node.account(g.admin, "clerk", append([]string{"confd.#"}, externalOfAll...)...)
		more := g.node.do("POST", "/policies", g.admin, `{"name":"more","acl":["chatd.#"]}`).Want(200).Text("uuid")
		begin := func() *url.URL {
			return g.parse(g.node.do("POST", "/users/"+g.user+"/external/google", clerk, "{}").Want(201).Text("authorization_url"))
		}
		page, back := begin(), g.consent(begin().String())
		g.node.do("PUT", "/users/"+g.user+"/policies/"+more, g.admin, "").Want(204)
		g.visit(g.node, page).Want(400)
		g.visit(g.node, back).Want(400)
		g.credentials(g.node, g.user).Want(404)
		g.node.do("PUT", "/policies/"+policy, g.admin, `{"acl":["chatd.#","auth.#"]}`).Want(200)
		g.visit(g.node, page).Want(200)
		g.visit(g.node, back).Want(200)
	})
}

// A callback that is running when its link is removed, or its user disabled, stores nothing: whether a link was there or not.
func TestARemovedLinkStaysRemoved(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		remove := func(status int) { g.node.do("DELETE", "/users/"+g.user+"/external/google", g.admin, "").Want(status) }
		// during completes a link, with something that happens while the code is exchanged.
		during := func(what func()) resttest.Answer {
			t.Helper()
			back := g.consent(g.begin(g.node, g.user))
			g.oauth.Before(func(http.ResponseWriter, *http.Request) bool {
				what()
				return false
			})
			defer g.oauth.Before(nil)
			return g.visit(g.node, back)
		}
		removedMeanwhile := func(a resttest.Answer) {
			t.Helper()
			if a.Want(400); !strings.Contains(a.Body, "removed meanwhile") {
				t.Errorf("the page: %s", a.Body)
			}
		}
		enable := func(enabled string) { g.node.do("PUT", "/users/"+g.user, g.admin, `{"enabled":`+enabled+`}`).Want(200) }

		removedMeanwhile(during(func() { remove(404) }))
		g.credentials(g.node, g.user).Want(404)
		removedMeanwhile(during(func() { enable("false") }))
		enable("true")
		g.credentials(g.node, g.user).Want(404)

		// Another one that is begun meanwhile changes nothing.
		during(func() { g.begin(g.node, g.user) }).Want(200)
		removedMeanwhile(during(func() { remove(204) }))
		g.credentials(g.node, g.user).Want(404)
		remove(404)
		if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_external_pending`); err != nil || n != 0 {
			t.Errorf("%d states are kept, %v", n, err)
		}
	})
}
