package authsvc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func mobile(r *http.Request) { r.Header.Set("Wazo-Session-Type", "Mobile") }

func TestRefreshTokens(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user, _, _ := s.account(admin, "client", "auth.users.me.tokens.#")
		in := resttest.Basic("client", "secret of client")
		offline := func(client string, edit ...func(*http.Request)) resttest.Answer {
			return s.do("POST", "/token", "", `{"access_type":"offline","client_id":"`+client+`"}`, append(edit, in)...).Want(200)
		}

		first := offline("phone").Text("data.refresh_token")
		if again := offline("phone").Text("data.refresh_token"); again != first {
			t.Error("the same client got another refresh token")
		}
		if other := offline("desk").Text("data.refresh_token"); other == first {
			t.Error("two clients share a refresh token")
		}

		byRefresh := s.do("POST", "/token", "", `{"refresh_token":"`+first+`","client_id":"phone"}`).Want(200)
		if byRefresh.Text("data.auth_id") != user {
			t.Error("the refresh token is somebody else's")
		}
		s.do("POST", "/token", "", `{"refresh_token":"`+first+`","client_id":"desk"}`).Want(401)
		s.do("POST", "/token", "", `{"refresh_token":"junk","client_id":"phone"}`).Want(401)
		s.do("POST", "/token", "", `{"refresh_token":"`+first+`"}`).Want(400)

		token := byRefresh.Text("data.token")
		list := s.do("GET", "/users/me/tokens?order=client_id", token, "").Want(200)
		if list.JSON("total") != 2.0 || strings.Contains(list.Body, first) {
			t.Errorf("own refresh tokens: %s", list.Body)
		}
		created, _ := list.List().Items[0]["created_at"].(string)
		if at, err := time.Parse("2006-01-02T15:04:05.000000+00:00", created); err != nil || at.IsZero() {
			t.Errorf("created_at is %q", created)
		}
		s.do("GET", "/users/"+user+"/tokens", admin, "").Want(200)
		s.do("GET", "/tokens?recurse=true", admin, "").Want(200)

		s.do("DELETE", "/users/me/tokens/desk", token, "").Want(204)
		s.do("DELETE", "/users/me/tokens/desk", token, "").Want(404)

		// A path cannot have every name. A refresh token with such a name is deleted by its UUID, and no other is.
		for _, client := range []string{"my app", "a/b", "..", "50%", "a#b", strings.ToUpper(uuid.NewString()), strings.Repeat("x", 129), "pål"} {
			body, err := json.Marshal(map[string]string{"access_type": "offline", "client_id": client})
			if err != nil {
				t.Fatal(err)
			}
			s.do("POST", "/token", "", string(body), in).Want(200)
			found := s.do("GET", "/users/me/tokens?search="+url.QueryEscape(client), token, "").Want(200).List()
			if len(found.Items) != 1 {
				t.Fatalf("%q: %v", client, found.Items)
			}
			path := "/users/" + user + "/tokens/" + found.Items[0].Text("uuid")
			s.do("DELETE", path, admin, "").Want(204)
			s.do("DELETE", path, admin, "").Want(404)
		}
		phone := s.do("GET", "/users/me/tokens?search=phone", token, "").Want(200).List()
		s.do("DELETE", "/users/me/tokens/"+phone.Items[0].Text("uuid"), token, "").Want(404)
		s.do("POST", "/token", "", `{"refresh_token":"`+first+`","client_id":"phone"}`).Want(200)

		// A mobile login replaces the client's refresh token, and ends the sessions made with it.
		m := offline("phone", mobile)
		if n := m.Header.Get("Wazo-Sessions-Revoked"); n == "0" || m.Text("data.refresh_token") == first {
			t.Errorf("the mobile login revoked %s sessions", n)
		}
		s.do("GET", "/token/"+token, "", "").Want(404)
		s.do("POST", "/token", "", `{"refresh_token":"`+first+`","client_id":"phone"}`).Want(401)
	})
}

// A session and a refresh token say when, from where and with what they were made, and which session asks.
// A refresh token or a session that is taken from a user is in the audit, and whether there is one learns only who may take it.
func TestWhatIsTakenFromAUserIsAudited(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user, _, token := s.account(admin, "mighty", "calld.#")
		_, _, clerk := s.account(admin, "clerk", "auth.#")
		s.do("POST", "/token", "", `{"access_type":"offline","client_id":"phone"}`, resttest.Basic("mighty", "secret of mighty")).Want(200)
		for _, client := range []string{"phone", "none"} {
			s.do("DELETE", "/users/"+user+"/tokens/"+client, clerk, "").Lacks("calld.#")
		}
		s.do("DELETE", "/users/"+uuid.NewString()+"/tokens/phone", clerk, "").Want(404)
		session := s.do("GET", "/token/"+token, "", "").Text("data.session_uuid")
		s.do("DELETE", "/users/"+user+"/tokens/phone", admin, "").Want(204)
		s.do("DELETE", "/users/"+user+"/tokens/phone", admin, "").Want(404)
		s.do("DELETE", "/sessions/"+session, admin, "").Want(204)
		s.do("DELETE", "/sessions/"+session, admin, "").Want(204) // which is no more
		taken := s.do("GET", "/audit?object="+user+"&order=id&direction=asc", admin, "").List()
		var got []string
		for _, entry := range taken.Items {
			if resource := entry.Text("resource"); resource == "users/tokens" || resource == "users/sessions" {
				got = append(got, resource+" "+fmt.Sprint(entry["before"]))
			}
		}
		want := []string{"users/tokens map[client_id:phone]", "users/sessions map[uuid:" + session + "]"}
		if !slices.Equal(got, want) {
			t.Errorf("the audit has %q, want %q", got, want)
		}
	})
}

// otherKey seals with a key of its own, and has none of what was sealed before.
type otherKey struct{}

func (otherKey) Seal(plain, _ []byte) ([]byte, error) { return plain, nil }

func (otherKey) Open([]byte, []byte) ([]byte, error) { return nil, sealed.ErrKey }

// While a node lacks the key of a refresh token, another may have it.
func TestARefreshTokenWhoseKeyIsMissing(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		s.account(s.admin(), "client", "auth.users.read")
		const offline = `{"access_type":"offline","client_id":"phone"}`
		client := resttest.Basic("client", "secret of client")
		s.do("POST", "/token", "", offline, client).Want(200)
		node := newNode(t, db, otherKey{})
		node.do("POST", "/token", "", offline, client).Want(503)
		node.do("POST", "/token", "", `{}`, client).Want(200)
		s.do("POST", "/token", "", offline, client).Want(200)
	})
}

func TestSessionsSayWhenFromWhereAndWithWhat(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user, _, own := s.account(admin, "client", "auth.#")
		from := func(r *http.Request) { r.RemoteAddr = "203.0.113.7:4711" }
		token := s.do("POST", "/token", "", `{"expiration":600,"access_type":"offline","client_id":"phone"}`, resttest.Basic("client", "secret of client"),
			resttest.Header("User-Agent", "telephone/3 \x01"), from).Want(200)
		session := token.Text("data.session_uuid")
		for _, path := range []string{"/sessions?user_uuid=" + user, "/users/" + user + "/sessions"} {
			for asking, current := range map[string]bool{token.Text("data.token"): true, own: false, admin: false} {
				l := s.do("GET", path, asking, "").List()
				i := slices.Index(l.Column("uuid"), session)
				if len(l.Items) != 2 || i < 0 {
					t.Fatalf("%s: %+v", path, l)
				}
				shown := l.Items[i]
				for name, want := range map[string]any{"username": "client", "remote_addr": "203.0.113.7", "user_agent": "telephone/3 ", "current": current} {
					if !shown.Same(name, want) {
						t.Errorf("%s: %s is %s, want %v", path, name, shown.Text(name), want)
					}
				}
				created, err := time.Parse(time.RFC3339, shown.Text("created_at"))
				expires, wrong := time.Parse(time.RFC3339, shown.Text("expires_at"))
				if err != nil || wrong != nil || expires.Sub(created) != 10*time.Minute || created.UTC().Format("2006-01-02T15:04:05.000000") != token.Text("data.utc_issued_at") {
					t.Errorf("%s: %+v", path, shown)
				}
				if current != (shown["current"] == true) || asking == own && l.Items[1-i]["current"] != true {
					t.Errorf("%s: the asking session is marked wrongly: %+v", path, l.Items)
				}
			}
		}
		newest := s.do("GET", "/sessions?order=created_at&direction=desc&limit=1", admin, "").List()
		if newest.Items[0].Text("uuid") != session {
			t.Errorf("the newest session is %+v", newest.Items)
		}
		for _, term := range []string{"203.0.113", "Telephone"} {
			if l := s.do("GET", "/sessions?search="+term, admin, "").List(); l.Filtered != 1 || l.Items[0].Text("uuid") != session {
				t.Errorf("%s finds %+v", term, l)
			}
		}
		for _, path := range []string{"/tokens", "/users/" + user + "/tokens"} {
			l := s.do("GET", path, admin, "").List()
			if len(l.Items) != 1 || l.Items[0].Text("remote_addr") != "203.0.113.7" || l.Items[0].Text("user_agent") != "telephone/3 " || l.Items[0].Text("username") != "client" {
				t.Errorf("%s: %+v", path, l.Items)
			}
		}
		s.do("PUT", "/users/"+user, admin, `{"username":null}`).Want(200)
		if l := s.do("GET", "/users/"+user+"/sessions", admin, "").List(); len(l.Items) != 2 || l.Items[0]["username"] != nil {
			t.Errorf("sessions of a user without a name: %+v", l.Items)
		}
	})
}

func TestSessions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user, _, token := s.account(admin, "client", "confd.#")
		second := s.login("client", "secret of client")

		list := s.do("GET", "/users/"+user+"/sessions", admin, "").Want(200)
		if list.JSON("total") != 2.0 || list.JSON("filtered") != 2.0 {
			t.Errorf("sessions: %s", list.Body)
		}
		if all := s.do("GET", "/sessions", admin, "").Want(200); all.JSON("total") != 3.0 {
			t.Errorf("all sessions: %s", all.Body)
		}
		session := s.do("GET", "/token/"+token, "", "").Want(200).Text("data.session_uuid")
		other := s.do("GET", "/token/"+second, "", "").Want(200).Text("data.session_uuid")
		s.do("DELETE", "/sessions/"+session, admin, "").Want(204)
		s.do("GET", "/token/"+token, "", "").Want(404)
		s.do("GET", "/token/"+second, "", "").Want(200)
		s.do("DELETE", "/users/"+user+"/sessions/"+other, admin, "").Want(204)
		s.do("GET", "/token/"+second, "", "").Want(404)

		for range 100 {
			s.login("client", "secret of client")
		}
		refused := s.do("POST", "/token", "", "{}", resttest.Basic("client", "secret of client")).Want(429)
		if refused.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		for range 2 { // the administrator is internal: no limit
			s.admin()
		}
	})
}
