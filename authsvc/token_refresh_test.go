package authsvc_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

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
		in := basic("client", "secret of client")
		offline := func(client string, edit ...func(*http.Request)) answer {
			return s.do("POST", "/token", "", `{"access_type":"offline","client_id":"`+client+`"}`, append(edit, in)...).want(t, 200)
		}

		first := offline("phone").text(t, "data.refresh_token")
		if again := offline("phone").text(t, "data.refresh_token"); again != first {
			t.Error("the same client got another refresh token")
		}
		if other := offline("desk").text(t, "data.refresh_token"); other == first {
			t.Error("two clients share a refresh token")
		}

		byRefresh := s.do("POST", "/token", "", `{"refresh_token":"`+first+`","client_id":"phone"}`).want(t, 200)
		if byRefresh.text(t, "data.auth_id") != user {
			t.Error("the refresh token is somebody else's")
		}
		s.do("POST", "/token", "", `{"refresh_token":"`+first+`","client_id":"desk"}`).want(t, 401)
		s.do("POST", "/token", "", `{"refresh_token":"junk","client_id":"phone"}`).want(t, 401)
		s.do("POST", "/token", "", `{"refresh_token":"`+first+`"}`).want(t, 400)

		token := byRefresh.text(t, "data.token")
		list := s.do("GET", "/users/me/tokens?order=client_id", token, "").want(t, 200)
		if list.json(t, "total") != 2.0 || strings.Contains(list.body, first) {
			t.Errorf("own refresh tokens: %s", list.body)
		}
		created, _ := list.list(t).Items[0]["created_at"].(string)
		if at, err := time.Parse("2006-01-02T15:04:05.000000+00:00", created); err != nil || at.IsZero() {
			t.Errorf("created_at is %q", created)
		}
		s.do("GET", "/users/"+user+"/tokens", admin, "").want(t, 200)
		s.do("GET", "/tokens?recurse=true", admin, "").want(t, 200)

		s.do("DELETE", "/users/me/tokens/desk", token, "").want(t, 204)
		s.do("DELETE", "/users/me/tokens/desk", token, "").want(t, 404)
		s.do("POST", "/token", "", `{"refresh_token":"`+first+`","client_id":"phone"}`).want(t, 200)

		// A mobile login replaces the client's refresh token, and ends the sessions made with it.
		m := offline("phone", mobile)
		if n := m.header.Get("Wazo-Sessions-Revoked"); n == "0" || m.text(t, "data.refresh_token") == first {
			t.Errorf("the mobile login revoked %s sessions", n)
		}
		s.do("GET", "/token/"+token, "", "").want(t, 404)
		s.do("POST", "/token", "", `{"refresh_token":"`+first+`","client_id":"phone"}`).want(t, 401)
	})
}

func TestSessions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user, _, token := s.account(admin, "client", "confd.#")
		second := s.login("client", "secret of client")

		list := s.do("GET", "/users/"+user+"/sessions", admin, "").want(t, 200)
		if list.json(t, "total") != 2.0 || list.json(t, "filtered") != 2.0 {
			t.Errorf("sessions: %s", list.body)
		}
		if all := s.do("GET", "/sessions", admin, "").want(t, 200); all.json(t, "total") != 3.0 {
			t.Errorf("all sessions: %s", all.body)
		}
		session := s.do("GET", "/token/"+token, "", "").want(t, 200).text(t, "data.session_uuid")
		other := s.do("GET", "/token/"+second, "", "").want(t, 200).text(t, "data.session_uuid")
		s.do("DELETE", "/sessions/"+session, admin, "").want(t, 204)
		s.do("GET", "/token/"+token, "", "").want(t, 404)
		s.do("GET", "/token/"+second, "", "").want(t, 200)
		s.do("DELETE", "/users/"+user+"/sessions/"+other, admin, "").want(t, 204)
		s.do("GET", "/token/"+second, "", "").want(t, 404)

		for range 100 {
			s.login("client", "secret of client")
		}
		refused := s.do("POST", "/token", "", "{}", basic("client", "secret of client")).want(t, 429)
		if refused.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		for range 2 { // the administrator is internal: no limit
			s.admin()
		}
	})
}
