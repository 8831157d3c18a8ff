package authsvc_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/rest/resttest"
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
