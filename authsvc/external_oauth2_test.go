package authsvc_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc/external/oauth2/oauth2test"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestLinkingAUserFromEndToEnd(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		g.credentials(g.node, g.user).Want(404)

		begun := g.node.do("POST", "/users/"+g.user+"/external/google", g.admin, `{"scope":["contacts","profile"]}`).Want(201)
		ours := begun.Text("authorization_url")
		if want := publicURL + "/api/auth/0.1/external/google/connect?state=" + begun.Text("state"); ours != want {
			t.Errorf("authorization_url is %s, want %s", ours, want)
		}
		service := g.connect(g.node, ours)
		address, err := url.Parse(service)
		if err != nil {
			t.Fatal(err)
		}
		query := address.Query()
		for name, want := range map[string]string{
			"response_type": "code", "client_id": oauth2test.ClientID, "redirect_uri": redirectURL("google"), "scope": "contacts profile",
			"state": begun.Text("state"), "code_challenge_method": "S256", "access_type": "offline", "prompt": "consent",
		} {
			if got := query.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if len(query.Get("state")) != 43 || len(query.Get("code_challenge")) != 43 {
			t.Errorf("a state or a challenge that is not 256 bits: %s", address)
		}
		g.credentials(g.node, g.user).Want(404)

		page := g.visit(g.node, g.oauth.Browse(t.Context(), service)).Want(200)
		if !strings.Contains(page.Body, "someone") || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") ||
			!strings.HasPrefix(page.Header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-") ||
			page.Header.Get("Cache-Control") != "no-store" || page.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("the page: %v %s", page.Header, page.Body)
		}
		exchanges := g.oauth.Requests("authorization_code")
		if len(exchanges) != 1 || exchanges[0].Get("code_verifier") == "" || exchanges[0].Get("client_secret") != oauth2test.ClientSecret {
			t.Errorf("exchanges: %v", exchanges)
		}

		credentials := g.credentials(g.node, g.user).Want(200)
		if token := credentials.Text("access_token"); !g.oauth.Alive(t.Context(), token) {
			t.Error("the access token is not the server's")
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(credentials.Body), &got); err != nil {
			t.Fatal(err)
		}
		until := time.Until(time.Unix(int64(got["token_expiration"].(float64)), 0))
		if len(got) != 3 || until < 50*time.Minute || until > time.Hour || !slices.Equal(got["scope"].([]any), []any{"contacts", "profile"}) {
			t.Errorf("credentials: %v", got)
		}
		if credentials.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("credentials may be cached: %v", credentials.Header)
		}
		if len(g.oauth.Requests("refresh_token")) != 0 {
			t.Error("a good token was renewed")
		}
		if raw := rawRows(t, db, "auth_external"); raw == "" || strings.Contains(raw, credentials.Text("access_token")) {
			t.Error("the credentials are in the database as they are")
		}
		users := g.node.do("GET", "/external/google/users", g.admin, "").Want(200)
		if users.Body != `{"items":[{"uuid":"`+g.user+`"}],"total":1,"filtered":1}` {
			t.Errorf("linked users: %s", users.Body)
		}

		gone := g.node.do("DELETE", "/users/"+g.user+"/external/google", g.admin, "").Want(204)
		if gone.Body != "" {
			t.Errorf("DELETE answered %q", gone.Body)
		}
		again := g.credentials(g.node, g.user).Want(404)
		if again.Text("error_id") != "unknown-external-auth" || again.Text("message") != `No such external auth: "google"` {
			t.Errorf("after DELETE: %s", again.Body)
		}
		g.node.do("DELETE", "/users/"+g.user+"/external/google", g.admin, "").Want(404)
	})
}

// States that must not link anybody.
func TestAStateCountsOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		back := g.consent(g.begin(g.node, g.user))
		with := func(name, value string) *url.URL {
			u, query := *back, back.Query()
			query.Set(name, value)
			if value == "" {
				query.Del(name)
			}
			u.RawQuery = query.Encode()
			return &u
		}
		otherType := *back
		otherType.Path = strings.Replace(back.Path, "google", "oauth2", 1)
		unknownType := *back
		unknownType.Path = strings.Replace(back.Path, "google", "nothing", 1)
		state := back.Query().Get("state")
		for name, u := range map[string]*url.URL{
			"no state": with("state", ""), "a wrong one": with("state", strings.Repeat("A", 43)), "in other letters": with("state", strings.ToUpper(state)),
			"cut": with("state", state[:42]), "too long": with("state", strings.Repeat("A", 600)), "too short": with("state", "x"),
			"another type's": &otherType, "no type's": &unknownType,
		} {
			if a := g.visit(g.node, u); a.Status != 400 {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			}
		}
		g.visit(g.node, back, func(r *http.Request) { r.Method = http.MethodHead }).Want(200) // a client that only looks
		if n := len(g.oauth.Requests("authorization_code")); n != 0 {
			t.Fatalf("%d codes were exchanged", n)
		}
		g.visit(g.node, back).Want(200)
		replay := g.visit(g.node, back).Want(400)
		if !strings.Contains(replay.Body, "used already") || len(g.oauth.Requests("authorization_code")) != 1 {
			t.Errorf("replay: %s", replay.Body)
		}

		late := g.consent(g.begin(g.node, g.user))
		if n, err := db.Exec(t.Context(), `UPDATE auth_external_pending SET expires_at = now_utc()`); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		g.visit(g.node, late).Want(400)
		g.begin(g.node, g.user) // and the next one removes the expired one
		if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_external_pending`); err != nil || n != 1 {
			t.Errorf("%d states are kept, %v", n, err)
		}
	})
}

func TestAStateIsTakenByOneOfMany(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		back := g.consent(g.begin(g.node, g.user))
		nodes := []*server{g.node, g.newNode(g.plugins...)}
		var work sync.WaitGroup
		status := make([]int, 8)
		for i := range status {
			work.Go(func() { status[i] = g.visit(nodes[i%2], back).Status })
		}
		work.Wait()
		slices.Sort(status)
		if want := []int{200, 400, 400, 400, 400, 400, 400, 400}; !slices.Equal(status, want) {
			t.Errorf("statuses %v, want %v", status, want)
		}
	})
}

func TestAStateIsNotTheOtherUsers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		back := g.consent(g.begin(g.node, g.user))
		other := g.newUser(g.node, g.admin, "other")
		// An attacker with write access to the database moves the authorization, and then the credentials, to another user.
		if _, err := db.Exec(t.Context(), `UPDATE auth_external_pending SET user_uuid = $1`, other); err != nil {
			t.Fatal(err)
		}
		g.visit(g.node, back).Want(500)
		g.link(g.user)
		if _, err := db.Exec(t.Context(), `UPDATE auth_external SET user_uuid = $1`, other); err != nil {
			t.Fatal(err)
		}
		if a := g.credentials(g.node, other).Want(500); strings.Contains(a.Body, "access_token") {
			t.Errorf("credentials were moved: %s", a.Body)
		}
	})
}

func TestAnAuthorizationOutlivesARestartAndReachesAnotherNode(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		back := g.consent(g.begin(g.node, g.user))
		restarted := g.newNode(g.plugins...)
		g.visit(restarted, back).Want(200)
		for name, n := range map[string]*server{"the first node": g.node, "the second": restarted} {
			if token := g.credentials(n, g.user).Want(200).Text("access_token"); !g.oauth.Alive(t.Context(), token) {
				t.Errorf("%s: the access token is not the server's", name)
			}
		}
	})
}

func TestAPersonMayRefuse(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		g.oauth.Deny(true)
		back := g.consent(g.begin(g.node, g.user))
		if back.Query().Get("error") != "access_denied" {
			t.Fatalf("the server sends %s", back)
		}
		page := g.visit(g.node, back).Want(400)
		if !strings.Contains(page.Body, "access_denied") || strings.Contains(page.Body, "resource owner") {
			t.Errorf("the page: %s", page.Body)
		}
		query := back.Query()
		query.Del("error")
		query.Set("code", "guessed")
		back.RawQuery = query.Encode()
		g.visit(g.node, back).Want(400) // the state was used
		g.credentials(g.node, g.user).Want(404)

		forged := g.consent(g.begin(g.node, g.user))
		query = forged.Query()
		query.Set("error", `<script>alert(1)</script>`)
		forged.RawQuery = query.Encode()
		if page := g.visit(g.node, forged).Want(400); strings.Contains(page.Body, "script") {
			t.Errorf("the page repeats what the address says: %s", page.Body)
		}
	})
}

func TestCredentialsAreRenewed(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]bool{"with a new refresh token each time": false, "with one refresh token": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db store.DB) {
				g := newGateways(t, db, oauth2test.Options{AccessTokenLife: 20 * time.Second, KeepRefreshToken: keep})
				g.link(g.user)
				seen := map[string]bool{}
				for i := range 3 {
					token := g.credentials(g.node, g.user).Want(200).Text("access_token")
					if seen[token] || !g.oauth.Alive(t.Context(), token) {
						t.Errorf("GET %d answered an old token", i)
					}
					seen[token] = true
					if n := len(g.oauth.Requests("refresh_token")); n != i+1 {
						t.Errorf("%d renewals after %d GETs", n, i+1)
					}
				}
			})
		})
	}
}

// A service that rotates refresh tokens treats the second use of an old one as theft.
func TestOneNodeRenewsAtATime(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{AccessTokenLife: 20 * time.Second, RenewedTokenLife: time.Hour})
		g.link(g.user)
		nodes := []*server{g.node, g.newNode(g.plugins...)}
		begun, release := make(chan struct{}, 16), make(chan struct{})
		g.oauth.Before(func(http.ResponseWriter, *http.Request) bool {
			begun <- struct{}{}
			<-release
			return false
		})
		tokens := make([]string, 8)
		var work sync.WaitGroup
		for i := range tokens {
			work.Go(func() { tokens[i] = g.credentials(nodes[i%2], g.user).Want(200).Text("access_token") })
		}
		<-begun
		close(release)
		work.Wait()
		slices.Sort(tokens)
		if tokens = slices.Compact(tokens); len(tokens) != 1 || !g.oauth.Alive(t.Context(), tokens[0]) {
			t.Errorf("%d tokens were answered", len(tokens))
		}
		if n := len(g.oauth.Requests("refresh_token")); n != 1 {
			t.Errorf("%d renewals", n)
		}
		renewals := g.node.do("GET", "/audit?action=read_external_google", g.admin, "").List()
		if renewals.Filtered != 1 || renewals.Items[0]["object"] != g.user+"/google" {
			t.Errorf("the audit has %v", renewals.Items)
		}
	})
}

func TestTheOtherNodesWaitForARenewal(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{AccessTokenLife: 20 * time.Second, RenewedTokenLife: time.Hour})
		g.link(g.user)
		other := g.newNode(g.plugins...)
		asked := 0
		g.oauth.Before(func(http.ResponseWriter, *http.Request) bool {
			if asked++; asked > 1 {
				return false
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			impatient := other.do("GET", "/users/"+g.user+"/external/google", g.admin, "", func(r *http.Request) { *r = *r.WithContext(ctx) })
			if impatient.Status != 503 {
				t.Errorf("while the first node renews, the other answers %d %s", impatient.Status, impatient.Body)
			}
			return false
		})
		first := g.credentials(g.node, g.user).Want(200)
		if second := g.credentials(other, g.user).Want(200); second.Body != first.Body {
			t.Error("the other node answers another token")
		}
		if n := len(g.oauth.Requests("refresh_token")); n != 1 {
			t.Errorf("%d renewals", n)
		}
	})
}

func TestARenewalWhoseNodeDiedIsTakenOver(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{AccessTokenLife: 20 * time.Second})
		g.link(g.user)
		// Another node took the lease a while ago and has vanished; the lease ends at this moment.
		if _, err := db.Exec(t.Context(), `UPDATE auth_external SET renewing_until = now_utc()`); err != nil {
			t.Fatal(err)
		}
		g.credentials(g.node, g.user).Want(200)
		if n := len(g.oauth.Requests("refresh_token")); n != 1 {
			t.Errorf("%d renewals", n)
		}
	})
}

func TestARevokedGrantIsForgotten(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{AccessTokenLife: 20 * time.Second})
		g.link(g.user)
		g.oauth.Revoke(t.Context())
		revoked := g.credentials(g.node, g.user).Want(404)
		if revoked.Text("error_id") != "external-auth-revoked" || !strings.Contains(revoked.Text("message"), "authorize it again") {
			t.Errorf("revoked: %s", revoked.Body)
		}
		if lost := g.node.do("GET", "/audit?order=id&direction=desc&limit=1", g.admin, "").List(); lost.Items[0]["object"] != g.user+"/google" || lost.Items[0]["after"] != nil {
			t.Errorf("the audit ends with %v", lost.Items)
		}
		if id := g.credentials(g.node, g.user).Want(404).Text("error_id"); id != "unknown-external-auth" {
			t.Errorf("then: %s", id)
		}
		if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_external`); err != nil || n != 0 {
			t.Errorf("%d credentials are kept, %v", n, err)
		}
		g.link(g.user)
		g.credentials(g.node, g.user).Want(200)
	})
}

func TestAServiceThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{AccessTokenLife: 20 * time.Second})
		g.link(g.user)
		fail := func(status int, body string) {
			g.oauth.Before(func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Location", g.oauth.TokenURL)
				w.WriteHeader(status)
				_, _ = w.Write([]byte(body))
				return true
			})
		}
		fail(500, `{"secret":"of the service"}`)
		g.credentials(g.node, g.user).Want(200) // the token is still good for some seconds

		// The token has expired.
		first := g.credentials(g.node, g.user).Want(200)
		expireCredentials(t, g)
		for _, c := range []struct {
			name, body, says string
			status           int
		}{
			{"an error of its own", `{"secret":"of the service"}`, "does not answer", 500},
			{"a redirect", `{}`, "does not answer", 307},
			{"no JSON", `<html>`, "does not answer", 200},
			{"no token", `{}`, "does not answer", 200},
			{"another client", `{"error":"invalid_client","error_description":"of the service"}`, "client_id", 401},
		} {
			fail(c.status, c.body)
			a := g.credentials(g.node, g.user)
			if a.Status != 503 || !strings.Contains(a.Body, c.says) || strings.Contains(a.Body, "of the service") {
				t.Errorf("%s: %d %s", c.name, a.Status, a.Body)
			}
		}
		g.oauth.Before(nil)
		if token := g.credentials(g.node, g.user).Want(200).Text("access_token"); token == first.Text("access_token") {
			t.Error("the expired token was answered")
		}

		back := g.consent(g.begin(g.node, g.user))
		fail(500, `{"secret":"of the service"}`)
		if a := g.visit(g.node, back).Want(503); strings.Contains(a.Body, "of the service") {
			t.Errorf("the failed exchange: %s", a.Body)
		}
		fail(400, `{"error":"invalid_grant"}`)
		g.visit(g.node, g.consent(g.begin(g.node, g.user))).Want(400)
	})
}
