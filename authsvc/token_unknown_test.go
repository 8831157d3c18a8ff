package authsvc_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

func at(address string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = address + ":4711" }
}

// Look-ups of random refresh tokens, tokens of mails and tokens to revoke are limited by network: a client that sends many must
// wait, and nobody else.
func TestUnknownSecretsAreRationed(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user := s.do("GET", "/users", admin, "").List().Column("uuid")[0]
		now := time.Now()
		const asked = `{"access_type":"offline","client_id":"phone"}`
		refresh := s.do("POST", "/token", "", asked, resttest.Basic("admin", adminPassword)).Want(200).Text("data.refresh_token")
		revoked := s.admin()
		for name, try := range map[string]struct {
			unknown int
			do      func(secret, address string) resttest.Answer
		}{
			"refresh token": {401, func(secret, address string) resttest.Answer {
				return s.do("POST", "/token", "", `{"client_id":"phone","refresh_token":"`+secret+`"}`, at(address))
			}},
			"confirmation": {401, func(secret, address string) resttest.Answer {
				return s.do("GET", "/emails/"+user+"/confirm?token="+secret, "", "", at(address))
			}},
			"confirmation, PUT": {401, func(secret, address string) resttest.Answer {
				return s.do("PUT", "/emails/"+user+"/confirm", "", "", at(address), func(r *http.Request) { r.Header.Set("X-Auth-Token", secret) })
			}},
			"reset": {401, func(secret, address string) resttest.Answer {
				return s.do("POST", "/users/password/reset?user_uuid="+user+"&token="+secret, "", `{"password":"a new password"}`, at(address))
			}},
			"revocation": {200, func(secret, address string) resttest.Answer {
				return s.do("DELETE", "/token/"+secret, "", "", at(address))
			}},
		} {
			now = now.Add(time.Hour)
			s.svc.UseSecretsClock(func() time.Time { return now })
			for i := 0; ; i++ {
				a := try.do(tokens.New(), "192.0.2.1")
				if a.Status == 429 {
					if a.Header.Get("Retry-After") == "" {
						t.Errorf("%s: no Retry-After", name)
					}
					break
				}
				a.Want(try.unknown)
				if i > 1000 {
					t.Fatalf("%s: %d random ones are looked up", name, i)
				}
			}
			try.do("not-formed-as-one", "192.0.2.1").Want(try.unknown) // which costs nothing
			try.do(tokens.New(), "198.51.100.1").Want(try.unknown)
			s.do("POST", "/token", "", `{"client_id":"phone","refresh_token":"`+refresh+`"}`, at("198.51.100.1")).Want(200)
		}
		s.do("DELETE", "/token/"+revoked, "", "", at("198.51.100.1")).Want(200)
		s.do("HEAD", "/token/"+revoked, "", "").Want(404)
	})
}
