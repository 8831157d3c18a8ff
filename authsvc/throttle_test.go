package authsvc_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
	"github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// settle replaces the tests' default settings. Unless the new ones say otherwise, passwords stay cheap and may be short.
func (s *server) settle(settings authsvc.Settings) {
	s.t.Helper()
	if settings.Passwords.Params == (password.Params{}) {
		settings.Passwords.Params = cheap
	}
	if settings.Passwords.Shortest == 0 {
		settings.Passwords.Shortest = 1
	}
	settings.Directories = *ldaptest.Reach
	if err := s.svc.UseSettings(settings); err != nil {
		s.t.Fatal(err)
	}
}

// freeze makes time pass only through [server.pass], for everything that is limited: a slow machine gives nothing back.
func (s *server) freeze() {
	now := time.Now()
	s.svc.UseClock(func() time.Time { return now })
}

// pass lets time pass for everything that is limited.
func (s *server) pass(d time.Duration) {
	s.t.Helper()
	if _, err := s.db.Exec(s.t.Context(), `UPDATE auth_limit SET open_at = open_at - $1, expires_at = expires_at - $1`, d.Microseconds()); err != nil {
		s.t.Fatal(err)
	}
}

// from makes a request come from an address.
func from(address string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = address }
}

// guess logs in from an address.
func (s *server) guess(address, login, password string) resttest.Answer {
	s.t.Helper()
	return s.do("POST", "/token", "", "{}", resttest.Basic(login, password), from(address))
}

// seen returns everything that a response reveals, except the time.
func seen(a resttest.Answer) string {
	body, _, _ := strings.Cut(a.Body, `"timestamp"`)
	return fmt.Sprint(a.Status, a.Header.Get("Retry-After"), len(a.Header), body)
}

const home, elsewhere = "198.51.100.7:4711", "203.0.113.9:1024"

// After ten wrong passwords a login must wait, twice as long each time, whether it exists or not.
func TestGuessingIsSlowed(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		s.account(s.admin(), "bob", "confd.#")
		s.freeze()
		s.settle(authsvc.Settings{})
		attack := func(login string) (got []string) {
			for range 10 {
				got = append(got, seen(s.guess(elsewhere, login, "wrong").Want(401)))
			}
			for _, wait := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900} {
				a := s.guess(elsewhere, login, "wrong").Want(429)
				if got := a.Header.Get("Retry-After"); got != fmt.Sprint(wait) {
					t.Errorf("Retry-After %q, want %d", got, wait)
				}
				got = append(got, seen(a), seen(s.guess(elsewhere, login, "wrong").Want(429)))
				s.pass(time.Duration(wait) * time.Second)
				got = append(got, seen(s.guess(elsewhere, login, "wrong").Want(401)))
			}
			return got
		}
		if known, unknown := attack("bob"), attack("nobody at all"); !slices.Equal(known, unknown) {
			t.Errorf("a login that exists answers\n%q\none that does not\n%q", known, unknown)
		}
		s.guess(elsewhere, "bob", "wrong").Want(401)
		s.guess(elsewhere, "bob", "secret of bob").Refused(429, "too-many-attempts")

		s.pass(15 * time.Minute)
		s.guess(elsewhere, "bob", "secret of bob").Want(200)
		for range 10 {
			s.guess("203.0.113.10:1", "bob", "wrong").Want(401) // from another network, which is not trusted: a new count
		}
		s.guess("203.0.113.10:1", "bob", "wrong").Want(429)
		s.pass(2*time.Hour + 16*time.Minute)
		if _, err := s.svc.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			s.guess("203.0.113.10:1", "bob", "wrong").Want(401)
		}
	})
}

// A person who keeps guessing does not lock out an owner who has logged in from home before.
func TestOwnerIsNotLockedOut(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		s.account(s.admin(), "bob", "confd.#")
		s.freeze()
		s.settle(authsvc.Settings{Limits: authsvc.Limits{NetworkGuesses: authsvc.Rate{Burst: 12, Every: time.Hour}}})
		s.guess(home, "bob", "secret of bob").Want(200)
		for range 11 {
			s.guess(elsewhere, "bob", "wrong")
		}
		s.guess(elsewhere, "bob", "secret of bob").Want(429)
		s.guess(home, "bob", "secret of bob").Want(200)
		s.guess(elsewhere, "bob", "secret of bob").Want(429) // the owner's success is not the attacker's

		for i := range 12 { // one at home who guesses at others
			s.guess(home, fmt.Sprint("user ", i), "wrong").Want(401)
		}
		s.guess(home, "user 13", "wrong").Want(429)
		for range 3 {
			s.guess(home, "bob", "secret of bob").Want(200)
		}
		for range 10 { // and at bob
			s.guess(home, "bob", "wrong").Want(401)
		}
		s.guess(home, "bob", "secret of bob").Want(429)

		s.pass(31 * 24 * time.Hour)
		if _, err := s.svc.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_limit`); err != nil || n != 0 {
			t.Errorf("%d counts are left, %v", n, err)
		}
	})
}

// The login and the network are counted in one form, however they are spelled.
func TestWhatIsCounted(t *testing.T) {
	logins := authsvc.Settings{Limits: authsvc.Limits{FreeGuesses: 4}}
	networks := authsvc.Settings{Limits: authsvc.Limits{NetworkGuesses: authsvc.Rate{Burst: 4, Every: time.Hour}}}
	type try struct{ address, login string }
	for name, c := range map[string]struct {
		settings authsvc.Settings
		tries    []try // the first four are free
		fifth    int
	}{
		"one user, many networks": {
			logins, []try{{"192.0.2.1:1", "bob"}, {"192.0.2.2:1", "bob"}, {"[2001:db8::1]:1", "bob"}, {"[2001:db8:1::1]:1", "bob"}, {"192.0.2.3:1", "bob"}}, 429,
		},
		"spellings": {logins, []try{{home, "Bob"}, {home, "bob "}, {home, "ＢＯＢ"}, {home, " BOB"}, {home, "bob"}}, 429},
		"spellings of nobody": {
			logins, []try{{home, "B\u200bob"}, {home, "b\u200bOb"}, {home, "b\u200bob"}, {home, "B\u200bOB"}, {home, "b\u200bob"}}, 429,
		},
		"other users": {logins, []try{{home, "bob"}, {home, "bob"}, {home, "bob"}, {home, "bob"}, {home, "rob"}}, 401},
		"one network, many users": {
			networks, []try{{"192.0.2.1:1", "a"}, {"192.0.2.1:2", "b"}, {"192.0.2.1:3", "c"}, {"[::ffff:192.0.2.1]:4", "d"}, {"192.0.2.1:5", "e"}}, 429,
		},
		"a /64": {
			networks, []try{{"[2001:db8::1]:1", "a"}, {"[2001:db8::2]:1", "b"}, {"[2001:db8::ffff:0:0:1]:1", "c"}, {"[2001:db8::4%eth0]:1", "d"}, {"[2001:db8::5]:1", "e"}}, 429,
		},
		"other networks": {
			networks, []try{{"192.0.2.1:1", "a"}, {"192.0.2.1:1", "b"}, {"192.0.2.1:1", "c"}, {"192.0.2.1:1", "d"}, {"192.0.2.2:1", "e"}}, 401,
		},
		"other /64s": {
			networks, []try{{"[2001:db8::1]:1", "a"}, {"[2001:db8::1]:1", "b"}, {"[2001:db8::1]:1", "c"}, {"[2001:db8::1]:1", "d"}, {"[2001:db8:0:1::1]:1", "e"}}, 401,
		},
		"a socket of this machine": {networks, []try{{"@", "a"}, {"@", "b"}, {"@", "c"}, {"@", "d"}, {"@", "e"}}, 429},
		"successes":                {networks, []try{{home, "bob"}, {home, "right"}, {home, "right"}, {home, "a"}, {home, "b"}}, 401},
		"failures around a success": {
			networks, []try{{home, "a"}, {home, "b"}, {home, "c"}, {home, "right"}, {home, "d"}}, 401,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db store.DB) {
				s := newServer(t, db)
				s.do("POST", "/users", s.admin(), `{"username":"right","password":"right"}`).Want(200)
				s.freeze()
				s.settle(c.settings)
				for i, try := range c.tries {
					want := 401
					if try.login == "right" {
						want = 200
					}
					if i == len(c.tries)-1 {
						want = c.fifth
					}
					s.guess(try.address, try.login, "right").Want(want)
				}
			})
		})
	}
}

// A network's allowance comes back over time, one by one, and a success gives back no more than it took.
func TestAllowance(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		s.do("POST", "/users", s.admin(), `{"username":"right","password":"right"}`).Want(200)
		s.freeze()
		s.settle(authsvc.Settings{Limits: authsvc.Limits{NetworkGuesses: authsvc.Rate{Burst: 3, Every: 10 * time.Minute}}})
		n := 0
		fail := func(status int) resttest.Answer {
			t.Helper()
			n++
			return s.guess(home, fmt.Sprint("login ", n), "x").Want(status)
		}
		fail(401)
		fail(401)
		s.guess(home, "right", "right").Want(200)
		fail(401)
		if a := fail(429); a.Header.Get("Retry-After") != "600" {
			t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
		}
		s.pass(9 * time.Minute)
		fail(429)
		s.pass(time.Minute)
		fail(401)
		fail(429)
		s.pass(time.Hour)
		for range 3 {
			fail(401)
		}
		fail(429)
	})
}

// Concurrent guesses are counted one by one, on all nodes together.
func TestGuessesAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		other := newNode(t, db, nil)
		for _, node := range []*server{s, other} {
			node.settle(authsvc.Settings{Limits: authsvc.Limits{FreeGuesses: 5, Delay: time.Hour, MaxDelay: time.Hour, NetworkGuesses: authsvc.Rate{Burst: 1000, Every: time.Hour}}})
		}
		answers := make(chan resttest.Answer, 60)
		var all sync.WaitGroup
		for i := range cap(answers) {
			node := []*server{s, other}[i%2]
			all.Go(func() { answers <- node.guess(fmt.Sprintf("192.0.2.%d:1", i), "admin", "wrong") })
		}
		all.Wait()
		close(answers)
		looked := 0
		for a := range answers {
			switch a.Status {
			case 401:
				looked++
			case 429:
			default:
				t.Errorf("%d: %s", a.Status, a.Body)
			}
		}
		if looked != 5 {
			t.Errorf("%d passwords were looked at", looked)
		}
	})
}

// Many clients of one network with correct passwords do not hinder each other, and neither do many clients of one user.
func TestLoginsAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		s.admin()
		s.settle(authsvc.Settings{})
		places, _ := s.svc.Places()
		var all sync.WaitGroup
		for range places + 30 {
			all.Go(func() {
				if a := s.guess("192.0.2.1:1", "admin", adminPassword); a.Status != 200 && a.Header.Get("Retry-After") == "" {
					t.Errorf("%d: %s", a.Status, a.Body)
				}
			})
		}
		all.Wait()
		s.guess("192.0.2.1:1", "admin", adminPassword).Want(200)
	})
}

// An attempt that found no place in time is not a failure.
func TestUnseenGuessesAreNotCounted(t *testing.T) {
	t.Parallel()
	s := newServer(t, storetest.SQLite(t))
	s.do("POST", "/users", s.admin(), `{"username":"bob","password":"right"}`).Want(200)
	s.settle(authsvc.Settings{Limits: authsvc.Limits{FreeGuesses: 1, Delay: time.Hour, MaxDelay: time.Hour, NetworkGuesses: authsvc.Rate{Burst: 1, Every: time.Hour}}})
	places, _ := s.svc.Places()
	release, begun := make(chan struct{}), make(chan struct{})
	s.svc.UseHash(func(_, _ []byte, _, _ uint32, _ uint8, keyLen uint32) []byte {
		begun <- struct{}{}
		<-release
		return make([]byte, keyLen)
	})
	var all sync.WaitGroup
	for i := range places {
		all.Go(func() { s.guess(fmt.Sprintf("192.0.2.%d:1", i+1), fmt.Sprint("login ", i), "x") })
		<-begun
	}
	s.guess(home, "bob", "right").Refused(429, "too-many-requests")
	close(release)
	all.Wait()
	if n, err := store.Get[int](t.Context(), s.db, `SELECT count(*) FROM auth_limit WHERE failures > 0`); err != nil || n != places {
		t.Errorf("%d logins have failures, want %d: %v", n, places, err)
	}
}

// Nothing that is stored reveals what was typed: people type passwords where the login belongs.
func TestCountsKeepNoLogins(t *testing.T) {
	t.Parallel()
	s := newServer(t, storetest.SQLite(t))
	s.guess(home, "hunter2", "bob")
	rows, err := store.Select[string](t.Context(), s.db, `SELECT hex(subject) || hex(place) FROM auth_limit`)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%q, %v", rows, err)
	}
	for _, row := range rows {
		if strings.Contains(strings.ToLower(row), fmt.Sprintf("%x", "hunter2")) || len(row) != 128 {
			t.Errorf("a count is found by %s", row)
		}
	}
}
