package authsvc_test

import (
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/tokens"
)

// However many sessions a user has, ending them all takes as many statements as ending one.
func TestAllSessionsEndWithOneStatement(t *testing.T) {
	ways := map[string]func(s *server, admin, user, name string) resttest.Answer{
		"user disabled": func(s *server, admin, user, _ string) resttest.Answer {
			return s.do("PUT", "/users/"+user, admin, `{"enabled":false}`)
		},
		"user deleted": func(s *server, admin, user, _ string) resttest.Answer {
			return s.do("DELETE", "/users/"+user, admin, "")
		},
		"password changed": func(s *server, admin, user, name string) resttest.Answer {
			return s.do("PUT", "/users/"+user+"/password", admin, change("secret of "+name, "new"))
		},
	}
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		statements := new(atomic.Int64)
		s := newServer(t, storetest.Watch(db, func(string, []any) { statements.Add(1) }))
		admin := s.admin()
		for way, end := range ways {
			t.Run(way, func(t *testing.T) {
				took := map[int]int64{}
				for name, sessions := range map[string]int{"one of " + way: 1, "many of " + way: 100} {
					user, _, last := s.account(admin, name, "auth.users.me.password.update")
					for range sessions - 1 {
						last = s.session(user)
					}
					before := statements.Load()
					if a := end(s, admin, user, name); a.Status >= 300 {
						t.Fatalf("%d: %s", a.Status, a.Body)
					}
					took[sessions] = statements.Load() - before
					s.lives(last, false)
				}
				if took[1] != took[100] {
					t.Errorf("%d statements for one session, %d for 100", took[1], took[100])
				}
			})
		}
	})
}

// session adds a session to a user, without a login.
func (s *server) session(user string) (token string) {
	s.t.Helper()
	token = tokens.New()
	d := tokens.DigestOf(token)
	if _, err := s.db.Exec(s.t.Context(), `
		INSERT INTO auth_token (digest, session_uuid, user_uuid, issued_at, expires_at, mobile, user_agent, remote_addr)
		SELECT $1, $2, user_uuid, issued_at, expires_at, false, '', '' FROM auth_token WHERE user_uuid = $3 LIMIT 1`,
		d[:], uuid.NewString(), user); err != nil {
		s.t.Fatal(err)
	}
	return token
}
