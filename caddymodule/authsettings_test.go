package caddymodule_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// The Caddyfile's settings of passwords and sessions apply at once, and another configuration changes them without a
// restart.
func TestSettingsOfTheAuthenticationService(t *testing.T) {
	g := newGateway(t)
	g.App = "passwords {\nmemory 8MiB\npasses 3\nshortest 4\n}\nsessions {\nlifetime 10m\nmax_lifetime 1h\nper_user 3\n}"
	g.Load(t)
	admin := g.Admin(t)
	config := func(name, want string) {
		t.Helper()
		if a := g.Do(t, "GET", api+"/config", admin, "").Want(200); !strings.Contains(a.Body, `"`+name+`":`+want) {
			t.Errorf("%s is not %s: %s", name, want, a.Body)
		}
	}
	config("password_hash", `"m=8192,t=3,p=1"`)
	config("default_token_lifetime", "600")
	login := func(user, password, body string) resttest.Answer {
		t.Helper()
		return g.Do(t, "POST", api+"/token", "", body, resttest.Basic(user, password))
	}
	g.Account(t, admin, "ada", "confd.users.me.read") // the administrator's own sessions are not limited
	login("ada", "secret of ada", `{"expiration":3601}`).Want(400)
	login("ada", "secret of ada", `{"expiration":3600}`).Want(200)
	login("ada", "secret of ada", `{}`).Want(200)
	login("ada", "secret of ada", `{}`).Want(429)
	g.Do(t, "POST", api+"/users", admin, `{"username":"short","password":"1234"}`).Want(200)
	g.Do(t, "POST", api+"/users", admin, `{"username":"shorter","password":"123"}`).Want(400)

	g.App = ""
	if err := g.Reload(t); err != nil {
		t.Fatal(err)
	}
	g.Do(t, "POST", api+"/users", admin, `{"username":"shorter","password":"1234567"}`).Want(400)
	config("password_hash", `"`+password.DefaultParams.String()+`"`)
	config("default_token_lifetime", "7200")
	login("ada", "secret of ada", `{}`).Want(http.StatusOK)
}

func TestSettingsOfTheAuthenticationServiceAreChecked(t *testing.T) {
	for _, tt := range []struct{ name, app, want string }{
		{"an argument", "sessions 5", "wrong argument count"},
		{"no directory", "directories {\nallow\n}", "allow of directories: it takes at least one"},
		{"directories twice", "directories {\n}\ndirectories {\n}", "directories is given twice"},
		{"a directory's port", "directories {\nallow 10.0.0.1:389\n}", `"10.0.0.1:389" is neither a network`},
		{"half an address", "directories {\nonly 127.1\n}", `"127.1" is neither a network`},
		{"passwords twice", "passwords {\n}\npasswords {\n}", "passwords is given twice"},
		{"sessions twice", "sessions {\n}\nsessions {\n}", "sessions is given twice"},
		{"an unknown option", "sessions {\nlength 5\n}", `unknown option "length" of sessions: it is one of lifetime, max_lifetime, per_user`},
		{"no session", "sessions {\nper_user 0\n}", `per_user of sessions: "0" is not a number from 1 on`},
		{"no number", "sessions {\nper_user -3\n}", `"-3" is not a number`},
		{"no duration", "sessions {\nlifetime ever\n}", `"ever" is not a positive duration`},
		{"no time", "sessions {\nlifetime 0s\n}", `"0s" is not a positive duration`},
		{"memory without a unit", "passwords {\nmemory 19456\n}", `"19456" is not a size`},
		{"too little memory", "passwords {\nmemory 19KiB\n}", "must be at least 7168"},
		{"too much memory", "passwords {\nmemory 1024MiB\n}", "are outside of"},
		{"memory beyond all bounds", "passwords {\nmemory 2000000000MiB\n}", "is not a size"},
		{"too many lanes", "passwords {\nlanes 257\n}", "too large"},
		{"no shortest password", "passwords {\nshortest 0\n}", `"0" is not a number from 1 on`},
		{"passwords too long for anybody", "passwords {\nshortest 129\n}", "from 1 to 128 characters"},
		{"lifetimes in the wrong order", "sessions {\nlifetime 2h\nmax_lifetime 1h\n}", "no longer than the longest"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGateway(t)
			g.App = tt.app
			if err := caddyLoad(g); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
