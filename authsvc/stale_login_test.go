package authsvc_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// interrupted is a server on whose database something happens, once, before a statement that contains a text.
type interrupted struct {
	*server
	before string
	happen func()
}

func newInterrupted(t *testing.T, db store.DB) *interrupted {
	t.Helper()
	i := new(interrupted)
	i.server = newServer(t, storetest.Watch(db, func(sql string, _ []any) {
		if happen := i.happen; happen != nil && strings.Contains(sql, i.before) {
			i.happen = nil
			happen()
		}
	}))
	return i
}

// A password that is changed, reset or removed between its check and the token lets nobody in.
func TestALoginIsTooLateForAChangedPassword(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newInterrupted(t, db)
		admin := s.admin()
		for name, body := range map[string]string{"changed": `{"password":"new"}`, "removed": `{"password":null}`} {
			user, _, _ := s.account(admin, name, "auth.users.me.password.update")
			s.before, s.happen = "u.tenant_uuid WHERE u.uuid = $1", func() {
				s.do("POST", "/users/password/reset?user_uuid="+user, "", body, resttest.Header("X-Auth-Token", admin)).Want(204)
			}
			s.do("POST", "/token", "", `{"access_type":"offline","client_id":"c"}`, resttest.Basic(name, "secret of "+name)).Refused(401, "unauthorized")
			for _, table := range []string{"auth_token", "auth_refresh_token"} {
				if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM `+table+` WHERE user_uuid = $1`, user); err != nil || n != 0 {
					t.Errorf("%s: %d rows in %s, %v", name, n, table, err)
				}
			}
		}
	})
}

// Two logins that replace an outdated hash at once both succeed.
func TestLoginsThatReplaceAHashAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newInterrupted(t, db)
		user, _, _ := s.account(s.admin(), "ann", "auth.users.me.read")
		const outdated = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4" // of "password", by the reference implementation
		if _, err := db.Exec(t.Context(), `UPDATE auth_user SET password_hash = $2 WHERE uuid = $1`, user, outdated); err != nil {
			t.Fatal(err)
		}
		s.before, s.happen = "UPDATE auth_user SET password_hash = $3", func() { s.login("ann", "password") }
		s.login("ann", "password")
		if s.happen != nil {
			t.Error("no hash was replaced")
		}
	})
}

// A refresh token that is deleted while it is used gives no token.
func TestARefreshTokenDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newInterrupted(t, db)
		_, refresh := s.offline("admin", adminPassword)
		s.before, s.happen = "u.tenant_uuid WHERE u.uuid = $1", func() {
			if _, err := db.Exec(t.Context(), `DELETE FROM auth_refresh_token`); err != nil {
				t.Error(err)
			}
		}
		s.do("POST", "/token", "", `{"client_id":"phone","refresh_token":"`+refresh+`"}`).Refused(401, "unauthorized")
	})
}

// forgetful is a database that cannot say which logins a user has.
type forgetful struct{ store.DB }

func (d forgetful) Query(ctx context.Context, sql string, args ...any) (store.Rows, error) {
	if strings.HasPrefix(sql, "SELECT login FROM auth_login WHERE user_uuid") {
		return nil, store.ErrUnavailable
	}
	return d.DB.Query(ctx, sql, args...)
}

// A password that was set is not reported as a failure because earlier guesses are not forgiven.
func TestAResetThatForgivesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, forgetful{db}, mailtest.Options{})
		p.user("bob", "")
		user, token := p.reset("username=bob")
		p.choose(user, token, "new").Want(204)
		p.login("bob", "new")
		if _, err := p.svc.Recover(t.Context(), authsvc.Recovery{Username: "bob", Password: "recovered"}); err != nil {
			t.Error(err)
		}
		p.login("bob", "recovered")
	})
}
