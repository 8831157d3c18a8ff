package authsvc_test

import (
	"context"
	"encoding/base32"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/hotp"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// ownFactor are the accesses with which users manage their second factor.
const ownFactor = "auth.users.me.second_factor.*"

// codeAt returns the code of a secret so many steps from now.
func codeAt(t *testing.T, secret string, steps int64) string {
	t.Helper()
	code, err := hotp.GenerateCode(secret, uint64(time.Now().Unix()/30+steps))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// unused lets the codes of a user that have counted count again: tests need more of them than pass by.
func (s *server) unused(user string) {
	s.t.Helper()
	if _, err := s.db.Exec(s.t.Context(), `UPDATE auth_second_factor SET used_step = 0 WHERE user_uuid = $1`, user); err != nil {
		s.t.Fatal(err)
	}
}

// enrol puts a second factor of a user in force, by a session of theirs.
func (s *server) enrol(user, token, password string) (secret string, recovery []string) {
	s.t.Helper()
	at := "/users/" + user + "/second_factor"
	secret = s.do("POST", at, token, fmt.Sprintf(`{"password":%q}`, password)).Want(200).Text("secret")
	for _, code := range s.do("PUT", at, token, `{"otp":"`+codeAt(s.t, secret, 0)+`"}`).Want(200).JSON("recovery_codes").([]any) {
		recovery = append(recovery, code.(string))
	}
	s.unused(user)
	return secret, recovery
}

// asked is a login that was refused for want of a code, after the right password.
func (s *server) asked(a resttest.Answer) {
	s.t.Helper()
	if a.Want(401).Text("error_id") != "second-factor-required" || a.JSON("status_code") != 401.0 {
		s.t.Errorf("it is refused by %s", a.Body)
	}
}

func withCode(code string) string { return `{"otp":"` + code + `"}` }

func TestSecondFactor(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user, _, mine := s.account(admin, "bob", ownFactor, "auth.users.me.password.update")
		at := "/users/" + user + "/second_factor"
		login := func(body string) resttest.Answer {
			return s.do("POST", "/token", "", body, resttest.Basic("bob", "secret of bob"))
		}
		state := func(enabled bool, left float64) {
			t.Helper()
			if a := s.do("GET", at, mine, "").Want(200); a.JSON("enabled") != enabled || a.JSON("recovery_codes_left") != left {
				t.Errorf("it is %s", a.Body)
			}
		}
		_, refresh := s.offline("bob", "secret of bob")

		// It counts once a code has confirmed it.
		state(false, 0)
		s.do("PUT", at, mine, withCode("123456")).Want(404)
		s.do("POST", at, mine, `{"password":"another"}`).Want(400)
		s.do("POST", at, mine, `{}`).Want(400)
		made := s.do("POST", at, mine, `{"password":"secret of bob"}`).Want(200)
		secret := made.Text("secret")
		uri, err := url.Parse(made.Text("uri"))
		if err != nil || uri.Scheme != "otpauth" || uri.Host != "totp" || uri.Path != "/Ringfence:bob" || uri.Query().Get("secret") != secret || uri.Query().Get("issuer") != "Ringfence" {
			t.Errorf("the URI is %s", made.Text("uri"))
		}
		login("{}").Want(200)
		secret = s.do("POST", at, mine, `{"password":"secret of bob"}`).Want(200).Text("secret") // the first was lost
		if a := s.do("PUT", at, mine, withCode("000000")); a.Status != 400 || !strings.Contains(a.Body, "otp") {
			t.Errorf("a wrong code confirms: %s", a.Body)
		}
		state(false, 0)
		recovery := s.do("PUT", at, mine, withCode(codeAt(t, secret, -1))).Want(200).JSON("recovery_codes").([]any)
		if len(recovery) != 10 || len(recovery[0].(string)) != 19 || recovery[0] == recovery[1] {
			t.Errorf("the recovery codes are %v", recovery)
		}
		state(true, 10)
		s.do("POST", at, mine, `{"password":"secret of bob"}`).Want(409)
		s.do("PUT", at, mine, withCode(codeAt(t, secret, 0))).Want(409)

		// From now on a login needs a code, which counts once. What the password has not let in learns nothing.
		s.asked(login("{}"))
		s.asked(login(`{"access_type":"offline","client_id":"phone"}`))
		s.asked(login(withCode("000000")))
		if a := s.do("POST", "/token", "", withCode(codeAt(t, secret, 0)), resttest.Basic("bob", "another")).Want(401); a.Text("error_id") == "second-factor-required" {
			t.Errorf("a wrong password is told: %s", a.Body)
		}
		code := codeAt(t, secret, 0)
		login(withCode(code[:3] + " " + code[3:])).Want(200)
		s.asked(login(withCode(code)))
		s.asked(login(withCode(codeAt(t, secret, -1)))) // of a step before
		login(withCode(codeAt(t, secret, 1))).Want(200)
		s.unused(user)
		s.asked(login(withCode(codeAt(t, secret, 4))))
		s.asked(login(withCode(codeAt(t, secret, -4))))

		// A refresh token goes on, and so do sessions.
		s.do("POST", "/token", "", `{"refresh_token":"`+refresh+`","client_id":"phone"}`).Want(200)
		s.lives(mine, true)

		// A recovery code counts once, however it is typed.
		typed := strings.ToLower(strings.ReplaceAll(recovery[3].(string), "-", " "))
		login(withCode(typed)).Want(200)
		s.asked(login(withCode(typed)))
		state(true, 9)

		// A new password needs it too, and leaves it in force.
		s.do("PUT", "/users/"+user+"/password", mine, change("secret of bob", "new")).Want(401)
		s.asked(s.do("PUT", "/users/"+user+"/password", admin, change("secret of bob", "new")))
		with := strings.TrimSuffix(change("secret of bob", "new"), "}") + `,"otp":"` + codeAt(t, secret, 0) + `"}`
		s.do("PUT", "/users/"+user+"/password", mine, with).Want(204)
		s.asked(s.do("POST", "/token", "", "{}", resttest.Basic("bob", "new")))

		// It ends by a code.
		s.do("PUT", at, mine, `{"enabled":false,"otp":"000000"}`).Want(400)
		s.do("DELETE", at, mine, "").Want(403)
		state(true, 9)
		s.do("PUT", at, mine, `{"enabled":false,"otp":"`+recovery[0].(string)+`"}`).Want(200)
		state(false, 0)
		s.login("bob", "new")

		entries := s.do("GET", "/audit?resource=users/second_factor&object="+user+"&order=id", admin, "").List().Items
		var acts []any
		for _, e := range entries {
			acts = append(acts, e["action"])
		}
		if fmt.Sprint(acts) != "[update_second_factor create_token update_second_factor update_second_factor]" {
			t.Errorf("the audit has %v", acts)
		}
		if all := fmt.Sprint(entries); strings.Contains(all, secret) || strings.Contains(all, recovery[0].(string)) {
			t.Errorf("a secret is in the audit: %s", all)
		}
	})
}

// Of many logins at once with one code, on two nodes, one begins a session.
func TestACodeCountsOnce(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		user, _, mine := s.account(s.admin(), "bob", ownFactor)
		secret, recovery := s.enrol(user, mine, "secret of bob")
		other := newNode(t, db, s.box)
		for _, code := range []string{codeAt(t, secret, 0), recovery[0]} {
			var began sync.WaitGroup
			statuses := make([]int, 8)
			for i := range statuses {
				node := s
				if i%2 == 1 {
					node = other
				}
				began.Go(func() {
					statuses[i] = node.do("POST", "/token", "", withCode(code), resttest.Basic("bob", "secret of bob")).Status
				})
			}
			began.Wait()
			won := 0
			for _, status := range statuses {
				if status == 200 {
					won++
				} else if status != 401 {
					t.Errorf("one is answered %d", status)
				}
			}
			if won != 1 {
				t.Errorf("%d of %v logins with one code began a session", won, statuses)
			}
		}
	})
}

// Guesses at a code are counted for the user, whichever of the user's names was typed, and on all nodes.
func TestGuessesAtACodeAreBounded(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user, _, mine := s.account(admin, "bob", ownFactor)
		s.do("PUT", "/admin/users/"+user+"/emails", admin, `{"emails":[{"address":"bob@example.org","main":true,"confirmed":true}]}`).Want(200)
		secret, _ := s.enrol(user, mine, "secret of bob")
		s.settle(authsvc.Settings{Limits: authsvc.Limits{FreeGuesses: 3, NetworkGuesses: lenient.NetworkGuesses}})
		s.freeze()
		other := newNode(t, db, s.box)
		other.settle(authsvc.Settings{Limits: authsvc.Limits{FreeGuesses: 3, NetworkGuesses: lenient.NetworkGuesses}})
		other.freeze()
		guess := func(name, code, address string) int {
			t.Helper()
			s, other = other, s
			return s.do("POST", "/token", "", withCode(code), resttest.Basic(name, "secret of bob"), at(address)).Status
		}
		for i, want := range []int{401, 401, 401, 429} {
			name := []string{"bob", "bob@example.org"}[i%2]
			if got := guess(name, "000000", fmt.Sprintf("198.51.100.%d", i)); got != want {
				t.Errorf("guess %d is answered %d, want %d", i, got, want)
			}
		}
		if got := guess("bob@example.org", codeAt(t, secret, 0), "198.51.100.9"); got != 429 {
			t.Errorf("after too many guesses the right code is answered %d", got)
		}
		s.pass(time.Minute)
		if got := guess("bob", codeAt(t, secret, 0), "198.51.100.9"); got != 200 {
			t.Errorf("after a minute the right code is answered %d", got)
		}
	})
}

// Nobody makes or confirms another's, whatever they hold; who may act on a user removes it.
func TestSecondFactorsOfOthers(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		bob, _, mine := s.account(admin, "bob", ownFactor, "confd.#")
		at := "/users/" + bob + "/second_factor"
		_, _, clerk := s.account(admin, "clerk", "auth.users.#")
		_, _, equal := s.account(admin, "equal", "auth.users.#", "confd.#")
		below := s.tenant(admin, "below")
		far := s.do("POST", "/users", admin, `{"username":"far","password":"secret of far"}`, resttest.In(below)).Want(200).Text("uuid")
		outside := s.login("far", "secret of far")

		for _, token := range []string{clerk, equal, admin} {
			s.do("POST", at, token, `{"password":"secret of bob"}`).Want(403)
		}
		s.do("POST", at, outside, `{"password":"secret of bob"}`).Want(404)
		secret, recovery := s.enrol(bob, mine, "secret of bob")
		for _, token := range []string{clerk, equal, admin} {
			s.do("PUT", at, token, `{"enabled":false,"otp":"`+codeAt(t, secret, 0)+`"}`).Want(403)
			if a := s.do("GET", at, token, "").Want(200); a.JSON("enabled") != true || strings.Contains(a.Body, secret) || strings.Contains(a.Body, recovery[0]) {
				t.Errorf("who looks after it reads %s", a.Body)
			}
		}
		s.do("DELETE", at, clerk, "").Want(403) // bob holds more
		s.do("DELETE", at, outside, "").Want(404)
		s.do("DELETE", "/users/"+far+"/second_factor", admin, "").Want(404) // there is none
		s.asked(s.do("POST", "/token", "", "{}", resttest.Basic("bob", "secret of bob")))

		// A new password that somebody else gives does not end it.
		s.do("POST", "/users/password/reset?user_uuid="+bob, "", `{"password":"given"}`, resttest.Header("X-Auth-Token", equal)).Want(204)
		s.asked(s.do("POST", "/token", "", "{}", resttest.Basic("bob", "given")))
		s.do("DELETE", at, equal, "").Want(204)
		s.do("DELETE", at, equal, "").Want(404)
		mine = s.login("bob", "given")

		// The user takes it along.
		s.enrol(bob, mine, "given")
		s.do("DELETE", "/users/"+bob, admin, "").Want(204)
		if n, err := store.Get[int](t.Context(), db, `SELECT (SELECT count(*) FROM auth_second_factor) + (SELECT count(*) FROM auth_recovery_code)`); err != nil || n != 0 {
			t.Errorf("%d rows are left: %v", n, err)
		}
	})
}

// Neither the link of a mail nor the operator's reset ends it, unless the operator says so.
func TestResetsKeepTheSecondFactor(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		admin, user := p.admin(), p.user("bob", "")
		p.enrol(user, p.login("bob", "secret of bob"), "secret of bob")
		_, token := p.reset("username=bob")
		p.choose(user, token, "chosen").Want(204)
		p.asked(p.do("POST", "/token", "", "{}", resttest.Basic("bob", "chosen")))
		for _, drop := range []bool{false, true} {
			if _, err := p.svc.Recover(t.Context(), authsvc.Recovery{Username: "bob", Password: "of the operator", DropSecondFactor: drop}); err != nil {
				t.Fatal(err)
			}
			a := p.do("POST", "/token", "", "{}", resttest.Basic("bob", "of the operator"))
			if drop {
				a.Want(200)
			} else {
				p.asked(a)
			}
		}
		if a := p.do("GET", "/audit?resource=users/second_factor&action=admin_reset_password", admin, "").List(); a.Filtered != 1 {
			t.Errorf("the audit has %v", a.Items)
		}
	})
}

// Whom a directory knows is asked for a code too, and for the directory's password when they make the second factor: a session is not enough.
func TestSecondFactorBehindADirectory(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		d := ldaptest.Start(t)
		s := newLDAPServer(t, db, d)
		admin := s.admin()
		body := `{"username":"al","email_address":"alice@example.test","authentication_method":"ldap"}`
		alice := s.do("POST", "/users", admin, body, resttest.In(s.acmeTenant(admin, d))).Want(200).Text("uuid")
		login := func(more string) resttest.Answer {
			return s.do("POST", "/token", "", `{"tenant_id":"acme"`+more+`}`, resttest.Basic("alice", ldaptest.Password("alice")))
		}
		mine, at := login("").Want(200).Text("data.token"), "/users/"+alice+"/second_factor"
		for _, body := range []string{
			`{}`, `{"password":""}`, `{"password":"another","login":"alice"}`, fmt.Sprintf(`{"password":%q}`, ldaptest.Password("alice")),
			fmt.Sprintf(`{"password":%q,"login":"bob"}`, ldaptest.Password("bob")), fmt.Sprintf(`{"password":%q,"login":"admin"}`, adminPassword),
		} {
			if a := s.do("POST", at, mine, body).Want(400); !strings.Contains(a.Body, "password") {
				t.Errorf("%s is refused by %s", body, a.Body)
			}
		}
		secret := s.do("POST", at, mine, fmt.Sprintf(`{"password":%q,"login":"alice"}`, ldaptest.Password("alice"))).Want(200).Text("secret")
		s.do("PUT", at, mine, withCode(codeAt(t, secret, -1))).Want(200)
		s.asked(login(""))
		login(`,"otp":"` + codeAt(t, secret, 0) + `"`).Want(200)
		s.fails(`{"tenant_id":"acme"}`, "alice", "another")
	})
}

// slowRegister is a register that is asked for a while whether its entry still exists: between the check of a login and its session.
type slowRegister struct {
	register

	asked, answer chan struct{}
}

func (r *slowRegister) Recheck(context.Context, authsvc.Identity) error {
	r.asked <- struct{}{}
	<-r.answer
	return nil
}

// A login that was checked before a second factor came in force begins no session after that.
func TestALoginIsOvertakenByASecondFactor(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		r := &slowRegister{asked: make(chan struct{}), answer: make(chan struct{})}
		s.svc.UseBackends([]authsvc.Backend{s.svc.DatabaseBackend(), r})
		eve, _, mine := s.account(s.admin(), "eve", ownFactor)
		login := func() resttest.Answer {
			return s.do("POST", "/token", "", `{"access_type":"offline","client_id":"c"}`, resttest.Basic("eve", "of the register"))
		}
		begun := make(chan resttest.Answer)
		for _, want := range []int{200, 401} {
			go func() { begun <- login() }()
			<-r.asked
			if want == 401 {
				s.enrol(eve, mine, "secret of eve")
			}
			r.answer <- struct{}{}
			if a := <-begun; a.Status != want {
				t.Errorf("it is answered %s", a.Body)
			} else if want == 401 {
				s.asked(a)
			}
		}
	})
}

// The secret is sealed, and of a recovery code only a digest is stored. A node without the key lets nobody in by the password alone.
func TestSecondFactorIsSealed(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		user, _, mine := s.account(s.admin(), "bob", ownFactor)
		secret, recovery := s.enrol(user, mine, "secret of bob")
		raw, err := base32.StdEncoding.DecodeString(secret)
		if err != nil || len(raw) != 20 {
			t.Fatalf("the secret has %d bytes: %v", len(raw), err)
		}
		for _, sql := range []string{`SELECT sealed FROM auth_second_factor`, `SELECT digest FROM auth_recovery_code`} {
			stored, err := store.Select[[]byte](t.Context(), db, sql)
			for _, blob := range stored {
				if text := string(blob); strings.Contains(text, string(raw)) || strings.Contains(text, secret) || strings.Contains(text, recovery[0]) {
					t.Errorf("%s has the secret itself", sql)
				}
			}
			if err != nil || len(stored) == 0 {
				t.Errorf("%s: %d, %v", sql, len(stored), err)
			}
		}
		keyless := newNode(t, db, sealed.New(sealed.Options{File: filepath.Join(t.TempDir(), "missing")}))
		keyless.asked(keyless.do("POST", "/token", "", "{}", resttest.Basic("bob", "secret of bob")))
		keyless.do("POST", "/token", "", withCode(codeAt(t, secret, 0)), resttest.Basic("bob", "secret of bob")).Want(503)
	})
}

// The codes are those of RFC 6238, appendix B, with six digits.
func TestCodesOfTheStandard(t *testing.T) {
	t.Parallel()
	s := newServer(t, storetest.SQLite(t))
	for at, code := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130",
	} {
		for steps, want := range map[int64]bool{-1: true, 0: true, 1: true, 2: false, 9: false} {
			step, err := s.svc.StepOf([]byte("12345678901234567890"), time.Unix(at+30*steps, 0), code)
			if err != nil || (step == at/30) != want || (step == 0) == want {
				t.Errorf("%s is of the step %d, %d steps after %d: %v", code, step, steps, at, err)
			}
		}
	}
}
