package principal_test

import (
	"math"
	"testing"
	"time"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/principal"
)

const (
	ann     = "0f6dd0c5-6ae3-44ab-9d44-7a63b8ab9e1c"
	bob     = "1a6dd0c5-6ae3-44ab-9d44-7a63b8ab9e1c"
	session = "2b6dd0c5-6ae3-44ab-9d44-7a63b8ab9e1c"
)

func annWith(t *testing.T, patterns ...string) *principal.Principal {
	t.Helper()
	set, err := acl.Compile(patterns)
	if err != nil {
		t.Fatal(err)
	}
	return &principal.Principal{UserUUID: ann, SessionUUID: session, ACL: set}
}

func TestAllows(t *testing.T) {
	p := annWith(t, "confd.users.me.#", "auth.sessions.my_session.delete", "!confd.users.me.delete")
	for access, want := range map[string]bool{
		"confd.users." + ann + ".read":           true,
		"confd.users.me.read":                    true,
		"confd.users." + bob + ".read":           false,
		"confd.users." + ann + ".delete":         false,
		"auth.sessions." + session + ".delete":   true,
		"auth.sessions." + ann + ".delete":       false,
		"confd.users":                            false,
		"confd.users." + session + ".lines.read": false,
	} {
		if got := p.Allows(access); got != want {
			t.Errorf("%s: %v", access, got)
		}
	}
}

func TestCovers(t *testing.T) {
	p := annWith(t, "confd.users.*.read", "confd.users.me.#")
	for pattern, want := range map[string]bool{
		"confd.users.*.read":           true,
		"confd.users.me.lines.*":       true,
		"confd.users." + ann + ".#":    true,
		"confd.users." + bob + ".#":    false,
		"confd.#":                      false,
		"confd.users." + bob + ".read": true,
	} {
		if got := p.Covers(pattern); got != want {
			t.Errorf("%s: %v", pattern, got)
		}
	}
}

func TestDenies(t *testing.T) {
	p := annWith(t, "confd.#", "!confd.users.me.delete")
	for access, want := range map[string]bool{
		"confd.users." + ann + ".delete": true,
		"confd.users.me.delete":          true,
		"confd.users." + bob + ".delete": false,
		"auth.users.read":                false, // not granted, but nothing denies it
	} {
		if got := p.Denies(access); got != want {
			t.Errorf("%s: %v", access, got)
		}
	}
}

func TestContext(t *testing.T) {
	if got := principal.FromContext(t.Context()); got != nil {
		t.Errorf("somebody is in an empty context: %v", got)
	}
	p := annWith(t)
	if got := principal.FromContext(principal.NewContext(t.Context(), p)); got != p {
		t.Errorf("%v", got)
	}
	if got := principal.FromContext(principal.NewContext(t.Context(), nil)); got != nil {
		t.Errorf("nobody is somebody: %v", got)
	}
}

func TestInstant(t *testing.T) {
	for name, tt := range map[string]struct {
		at   time.Time
		want principal.Instant
	}{
		"a moment":      {time.Unix(1_790_000_000, 17), 1_790_000_000_000_000_017},
		"1970":          {time.Unix(0, 0), 0},
		"no time":       {time.Time{}, 0},
		"the year 9999": {time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), math.MaxInt64},
	} {
		if got := principal.At(tt.at); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
	if at := time.Unix(1_790_000_000, 17); !principal.At(at).Time().Equal(at) {
		t.Error("an Instant is not the time that it was made of")
	}
}

func TestTokenID(t *testing.T) {
	if got := (principal.TokenID{0x01, 0xab, 0, 0xff}).String(); got != "01ab00ff" {
		t.Errorf("the id is %s", got)
	}
}
