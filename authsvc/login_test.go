package authsvc_test

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// failures are the ways for a login to fail, which nobody may distinguish.
func failures(t *testing.T, s *server) map[string]func(*http.Request) {
	t.Helper()
	admin := s.admin()
	for name, body := range map[string]string{
		"known": `"password":"right"`, "disabled": `"password":"right","enabled":false`, "passwordless": `"firstname":"x"`,
		"elsewhere": `"password":"right","authentication_method":"ldap"`, "broken": `"password":"right"`, "greedy": `"password":"right"`,
		"unconfirmed": `"password":"right","email_address":"unconfirmed@example.org"`,
	} {
		s.do("POST", "/users", admin, `{"username":"`+name+`",`+body+`}`).Want(200)
	}
	for name, hash := range map[string]string{
		"broken": "$argon2id$v=19$m=64,t=1,p=1$AAAA", "greedy": "$argon2id$v=19$m=4194304,t=100,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	} {
		if _, err := s.db.Exec(t.Context(), `UPDATE auth_user SET password_hash = $2 WHERE username = $1`, name, hash); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.db.Exec(t.Context(), `UPDATE auth_email SET confirmed = $1`, false); err != nil {
		t.Fatal(err)
	}
	return map[string]func(*http.Request){
		"wrong password": resttest.Basic("known", "wrong"), "unknown user": resttest.Basic("unknown", "right"), "disabled": resttest.Basic("disabled", "right"),
		"no password": resttest.Basic("passwordless", "right"), "another backend's": resttest.Basic("elsewhere", "right"),
		"unreadable hash": resttest.Basic("broken", "right"), "hash that asks for too much": resttest.Basic("greedy", "right"),
		"unconfirmed address": resttest.Basic("unconfirmed@example.org", "right"), "name that nobody can have": resttest.Basic("kn\u200bown", "right"),
	}
}

// Every failed login gets the same response and costs one hash with the current parameters.
func TestFailedLoginsAreEqual(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		cases := failures(t, s)
		type work struct {
			time, memory uint32
			threads      uint8
		}
		var done []work
		s.svc.UseHash(func(password, salt []byte, time, memory uint32, threads uint8, keyLen uint32) []byte {
			done = append(done, work{time, memory, threads})
			return argon2.IDKey(password, salt, time, memory, threads, keyLen)
		})
		s.do("POST", "/token", "", "{}", resttest.Basic("known", "right")).Want(200)
		want := slices.Clone(done)
		var first string
		for name, edit := range cases {
			done = nil
			a := s.do("POST", "/token", "", "{}", edit).Refused(401, "unauthorized")
			if !slices.Equal(done, want) {
				t.Errorf("%s hashed %v, a success %v", name, done, want)
			}
			body := a.Body[:strings.Index(a.Body, `"timestamp"`)] + fmt.Sprint(len(a.Header), a.Header.Get("Retry-After"))
			if first == "" {
				first = body
			}
			if body != first {
				t.Errorf("%s answers %s, another %s", name, body, first)
			}
		}
	})
}

// As long as imported hashes are left, or such as were made with earlier parameters, a failed login costs those kinds too, whoever the
// user is. Logins replace them.
func TestFailedLoginsAreEqualWhileOldHashesAreLeft(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		cases := failures(t, s)
		for name, hash := range map[string]string{
			"imported": "$pbkdf2-sha512$i=7$" + strings.Repeat("00", 16) + "$", "earlier": "$argon2id$v=19$m=65,t=1,p=1$" + strings.Repeat("A", 22) + "$",
		} {
			if name == "imported" {
				key, err := pbkdf2.Key(sha512.New, "right", make([]byte, 16), 7, 64)
				if err != nil {
					t.Fatal(err)
				}
				hash += hex.EncodeToString(key)
			} else {
				hash += base64.RawStdEncoding.EncodeToString(argon2.IDKey([]byte("right"), make([]byte, 16), 1, 65, 1, 32))
			}
			s.do("POST", "/users", s.admin(), `{"username":"`+name+`","password":"x"}`).Want(200)
			if _, err := db.Exec(t.Context(), `UPDATE auth_user SET password_hash = $2 WHERE username = $1`, name, hash); err != nil {
				t.Fatal(err)
			}
			cases[name] = resttest.Basic(name, "wrong")
		}
		var done []string
		s.svc.UseHash(func(password, salt []byte, time, memory uint32, threads uint8, keyLen uint32) []byte {
			done = append(done, fmt.Sprint("argon2id ", memory, time, threads))
			return argon2.IDKey(password, salt, time, memory, threads, keyLen)
		})
		s.svc.UsePBKDF2(func(password string, salt []byte, rounds, keyLen int) ([]byte, error) {
			done = append(done, fmt.Sprint("PBKDF2 ", rounds))
			return pbkdf2.Key(sha512.New, password, salt, rounds, keyLen)
		})
		costs := func(want ...string) {
			t.Helper()
			if _, err := s.svc.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			for name, edit := range cases {
				done = nil
				s.do("POST", "/token", "", "{}", edit).Refused(401, "unauthorized")
				slices.Sort(done)
				if !slices.Equal(done, want) {
					t.Errorf("%s cost %v, want %v", name, done, want)
				}
			}
		}
		costs("PBKDF2 7", "argon2id 64 1 1", "argon2id 65 1 1")
		s.login("imported", "right")
		costs("argon2id 64 1 1", "argon2id 65 1 1")
		s.login("earlier", "right")
		costs("argon2id 64 1 1")
	})
}

// The time of a failure does not reveal its reason. The parameters are cheap, so that the work beside the hash would show.
func TestFailedLoginsTakeAsLong(t *testing.T) {
	s := newServer(t, storetest.SQLite(t))
	cases := failures(t, s)
	// Log lines are slow, and a name that nobody can have is no secret: neither reveals who exists.
	maps.DeleteFunc(cases, func(name string, _ func(*http.Request)) bool {
		return strings.Contains(name, "hash") || strings.Contains(name, "nobody")
	})
	// A busy machine only adds to the time of a login: with enough attempts, the shortest is the login's own. Without the hash it
	// would be far shorter at any real cost.
	least := map[string]time.Duration{}
	bounds := func() (low, high time.Duration) {
		all := slices.Sorted(maps.Values(least))
		return all[0], all[len(all)-1]
	}
	for round := range 2000 {
		for name, edit := range cases {
			began := time.Now()
			s.do("POST", "/token", "", "{}", edit).Want(401)
			if took := time.Since(began); round == 0 || took < least[name] {
				least[name] = took
			}
		}
		if low, high := bounds(); round >= 100 && high <= 2*low {
			break
		}
	}
	if low, high := bounds(); high > 2*low {
		t.Errorf("between %v and %v: %v", low, high, least)
	}
}

// A login that finds no place is told to retry; a client that leaves keeps its place until the hash is done.
func TestLoginsAreShed(t *testing.T) {
	t.Parallel()
	s := newServer(t, storetest.SQLite(t))
	places, queue := s.svc.Places()
	release := make(chan struct{})
	var running, most atomic.Int64
	s.svc.UseHash(func(_, _ []byte, _, _ uint32, _ uint8, keyLen uint32) []byte {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		<-release
		return make([]byte, keyLen)
	})
	const clients = 1000
	answers := make(chan resttest.Answer, clients)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() { answers <- s.do("POST", "/token", "", "{}", resttest.Basic("admin", "x")) })
	}
	throttled := 0
	for range clients - places - queue { // these return while every place is taken
		a := <-answers
		if a.Status == 503 { // it found a place, but was too late for the database's one writer: on a slow machine
			continue
		}
		if a.Status != 429 || a.Header.Get("Retry-After") != "2" || a.Text("error_id") != "too-many-requests" {
			t.Fatalf("%d, Retry-After %q: %s", a.Status, a.Header.Get("Retry-After"), a.Body)
		}
		throttled++
	}
	if throttled < clients/2 {
		t.Errorf("%d of %d were told to come again", throttled, clients)
	}
	// On a slow machine some may have been refused because they waited too long.
	for n, waiting := s.svc.Hashing(); n < places && len(answers) < places+queue; n, waiting = s.svc.Hashing() { // some may not have come to it yet
		if waiting > queue {
			t.Fatalf("%d hash, %d wait", n, waiting)
		}
		runtime.Gosched()
	}
	close(release)
	all.Wait()
	for range places + queue {
		if a := <-answers; a.Status != 401 && a.Status != 429 && a.Status != 503 {
			t.Errorf("%d: %s", a.Status, a.Body)
		}
	}
	if n := most.Load(); n == 0 || n > int64(places) {
		t.Errorf("%d hashes ran at once, in %d places", n, places)
	}
	if n, waiting := s.svc.Hashing(); n != 0 || waiting != 0 {
		t.Errorf("afterwards %d hash, %d wait", n, waiting)
	}
}

func TestAbandonedLoginKeepsItsPlace(t *testing.T) {
	t.Parallel()
	s := newServer(t, storetest.SQLite(t))
	places, _ := s.svc.Places()
	release, begun := make(chan struct{}), make(chan struct{})
	s.svc.UseHash(func(_, _ []byte, _, _ uint32, _ uint8, keyLen uint32) []byte {
		begun <- struct{}{}
		<-release
		return make([]byte, keyLen)
	})
	left := errors.New("the client has left")
	var gone sync.WaitGroup
	for range places {
		ctx, leave := context.WithCancelCause(t.Context())
		gone.Go(func() {
			s.do("POST", "/token", "", "{}", resttest.Basic("admin", "x"), func(r *http.Request) { *r = *r.WithContext(ctx) })
		})
		<-begun
		leave(left)
	}
	gone.Wait()
	if n, _ := s.svc.Hashing(); n != places {
		t.Errorf("%d hashes run, %d have begun", n, places)
	}
	// A login that leaves while it waits gives up its place in the queue.
	ctx, leave := context.WithCancel(t.Context())
	gone.Go(func() {
		s.do("POST", "/token", "", "{}", resttest.Basic("admin", "x"), func(r *http.Request) { *r = *r.WithContext(ctx) })
	})
	for {
		if _, waiting := s.svc.Hashing(); waiting == 1 {
			break
		}
		runtime.Gosched()
	}
	leave()
	gone.Wait()
	if _, waiting := s.svc.Hashing(); waiting != 0 {
		t.Errorf("%d wait", waiting)
	}
	close(release)
}
