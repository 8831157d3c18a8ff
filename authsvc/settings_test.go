package authsvc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

func TestSessionSettings(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		user, _, _ := s.account(s.admin(), "ada", "auth.users.me.#")
		lives := func(body string) time.Duration {
			t.Helper()
			a := s.do("POST", "/token", "", body, resttest.Basic("ada", "secret of ada")).Want(200)
			span := func(name string) time.Time {
				at, err := time.Parse("2006-01-02T15:04:05.999999", a.Text("data."+name))
				if err != nil {
					t.Fatal(err)
				}
				return at
			}
			return span("utc_expires_at").Sub(span("utc_issued_at"))
		}
		if d := lives(`{}`); d != 2*time.Hour {
			t.Errorf("by default a token lives %s", d)
		}
		s.settle(authsvc.Settings{Limits: lenient, Sessions: authsvc.Sessions{Lifetime: 10 * time.Minute, MaxLifetime: time.Hour, PerUser: 4}})
		if d := lives(`{}`); d != 10*time.Minute {
			t.Errorf("a token lives %s, and its configured lifetime is 10m", d)
		}
		if d := lives(`{"expiration":3600}`); d != time.Hour {
			t.Errorf("a token for which an hour was asked lives %s", d)
		}
		a := s.do("POST", "/token", "", `{"expiration":3601}`, resttest.Basic("ada", "secret of ada")).Refused(400, "invalid-data")
		if !strings.Contains(a.Body, "expiration") || !strings.Contains(a.Body, "3600") {
			t.Errorf("the refusal is %s", a.Body)
		}
		// Three of these and the one of the account: a fifth is too many.
		s.do("POST", "/token", "", `{}`, resttest.Basic("ada", "secret of ada")).Want(429)
		if shown := s.do("GET", "/config", s.admin(), "").Want(200); shown.JSON("default_token_lifetime") != 600.0 || shown.JSON("max_user_concurrent_sessions") != 4.0 {
			t.Errorf("shown is %s", shown.Body)
		}
		s.settle(authsvc.Settings{Limits: lenient, Sessions: authsvc.Sessions{MaxLifetime: time.Hour}})
		if d := lives(`{}`); d != time.Hour {
			t.Errorf("a token lives %s, and the longest lifetime is 1h", d)
		}
		s.do("GET", "/users/"+user+"/sessions", s.admin(), "").Want(200)
	})
}

// A change of the cost of passwords needs no restart, and takes effect for each user at the next login.
func TestPasswordCostSettings(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		user, _, _ := s.account(s.admin(), "ada", "auth.users.me.#")
		stored := func() string {
			t.Helper()
			hash, err := store.Get[string](t.Context(), db, `SELECT password_hash FROM auth_user WHERE uuid = $1`, user)
			if err != nil {
				t.Fatal(err)
			}
			return hash
		}
		if !strings.Contains(stored(), "$m=64,t=1,p=1$") {
			t.Fatalf("the hash is %s", stored())
		}
		s.settle(authsvc.Settings{Limits: lenient, Passwords: password.Settings{Params: password.Params{Memory: 128, Time: 2, Threads: 1}}})
		s.do("POST", "/token", "", `{}`, resttest.Basic("ada", "wrong")).Want(401)
		if !strings.Contains(stored(), "$m=64,t=1,p=1$") {
			t.Error("a wrong password made a new hash")
		}
		s.login("ada", "secret of ada")
		if !strings.Contains(stored(), "$m=128,t=2,p=1$") {
			t.Errorf("after a login the hash is %s", stored())
		}
		s.login("ada", "secret of ada")
	})
}

func TestSettingsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]authsvc.Settings{
		"a longer lifetime than the longest": {Sessions: authsvc.Sessions{Lifetime: 2 * time.Hour, MaxLifetime: time.Hour}},
		"half a second":                      {Sessions: authsvc.Sessions{Lifetime: 500 * time.Millisecond}},
		"a second and a half":                {Sessions: authsvc.Sessions{Lifetime: 1500 * time.Millisecond}},
		"more than ten years":                {Sessions: authsvc.Sessions{MaxLifetime: 87601 * time.Hour}},
		"a negative lifetime":                {Sessions: authsvc.Sessions{Lifetime: -time.Hour}},
		"no session":                         {Sessions: authsvc.Sessions{PerUser: -1}},
		"too many sessions":                  {Sessions: authsvc.Sessions{PerUser: 1_000_001}},
		"too much memory":                    {Passwords: password.Settings{Params: password.Params{Memory: 1 << 20, Time: 1, Threads: 1}}},
		"half of the parameters":             {Passwords: password.Settings{Params: password.Params{Memory: 64}}},
	} {
		if err := settings.Check(); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if err := (authsvc.Settings{}).Check(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}
