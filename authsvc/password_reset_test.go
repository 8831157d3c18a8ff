package authsvc_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/mail"
	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// post is a server together with a mail server.
type post struct {
	*server
	mails *mailtest.Server
}

const base = "https://pbx.example.com"

func newPost(t *testing.T, db store.DB, o mailtest.Options, edit ...func(*authsvc.Settings)) *post {
	t.Helper()
	p := &post{newServer(t, db), mailtest.Start(t, o)}
	sender, err := mail.New(mail.Config{Host: p.mails.Host, Port: p.mails.Port, CAFile: p.mails.CAFile, From: "pbx@example.com", BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	settings := authsvc.Settings{
		Mailer: sender, SelfRegistration: true,
		Limits: authsvc.Limits{
			FreeGuesses: 1_000_000, NetworkGuesses: authsvc.Rate{Burst: 1_000_000, Every: time.Second}, Mails: authsvc.Rate{Burst: 1000, Every: time.Second},
			MailRequests: authsvc.Rate{Burst: 1000, Every: time.Second}, Registrations: authsvc.Rate{Burst: 1000, Every: time.Second},
		},
	}
	for _, e := range edit {
		e(&settings)
	}
	p.settle(settings)
	t.Cleanup(p.svc.Close)
	return p
}

// user creates a user with a password and the confirmed address <name>@example.com.
func (p *post) user(name, more string) string {
	p.t.Helper()
	return p.do("POST", "/users", p.admin(), `{"username":"`+name+`","password":"secret of `+name+`","email_address":"`+name+`@example.com"`+more+`}`).
		Want(200).Text("uuid")
}

// nothing fails the test if a mail was sent or is being sent. Nothing is sent afterwards.
func (p *post) nothing() {
	p.t.Helper()
	p.svc.Close()
	select {
	case m := <-p.mails.Messages:
		p.t.Errorf("a mail to %s:\n%s", m.To, m.Data)
	default:
	}
}

// reset asks for a mail, and returns the values in its link.
func (p *post) reset(query string) (user, token string) {
	p.t.Helper()
	p.do("GET", "/users/password/reset?"+query, "", "").Want(204)
	link := p.mails.Next(p.t).Link(p.t)
	values, err := url.ParseQuery(strings.TrimPrefix(link, base+"/console/reset.html#"))
	if err != nil || values.Get("token") == "" {
		p.t.Fatalf("the link is %s, %v", link, err)
	}
	return values.Get("user_uuid"), values.Get("token")
}

// choose sets a password with a token.
func (p *post) choose(user, token, password string) resttest.Answer {
	p.t.Helper()
	return p.do("POST", "/users/password/reset?user_uuid="+user+"&token="+token, "", `{"password":"`+password+`"}`)
}

func TestResetPassword(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		ada := p.user("ada", `,"firstname":"Ada"`)
		session, refresh := p.offline("ada", "secret of ada")

		user, token := p.reset("username=ada")
		_, unused := p.reset("login=ada")
		if user != ada {
			t.Fatalf("the link is for %s", user)
		}
		p.lives(session, true)
		p.choose(user, token, "chosen").Want(204)
		p.lives(session, false)
		p.do("POST", "/token", "", `{"refresh_token":"`+refresh+`","client_id":"phone"}`).Want(401)
		p.do("POST", "/token", "", "{}", resttest.Basic("ada", "secret of ada")).Want(401)
		p.login("ada", "chosen")
		p.choose(user, token, "again").Refused(401, "unauthorized")
		p.choose(user, unused, "again").Refused(401, "unauthorized") // the password has changed since

		// The token in its header, as existing clients send it; null removes the password.
		user, token = p.reset("email=ADA@example.com")
		p.do("POST", "/users/password/reset?user_uuid="+user, "", `{"password":null}`, func(r *http.Request) { r.Header.Set("X-Auth-Token", token) }).Want(204)
		p.do("POST", "/token", "", "{}", resttest.Basic("ada", "chosen")).Want(401)
		user, token = p.reset("login=ada@example.com")
		p.choose(user, token, "third").Want(204)
		p.login("ada@example.com", "third")

		entries := p.do("GET", "/audit?action=reset_password", p.admin(), "").List()
		if entries.Filtered != 3 || entries.Items[0]["object"] != ada || entries.Items[0]["actor_uuid"] != nil {
			t.Errorf("the audit has %v", entries.Items)
		}
	})
}

// A request for a reset always gets the same response; a mail is sent only to a confirmed address.
func TestResetTellsNothing(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		admin := p.admin()
		p.user("ada", "")
		p.user("disabled", `,"enabled":false`)
		p.user("directory", `,"authentication_method":"ldap"`)
		p.user("unconfirmed", "")
		p.do("POST", "/users", admin, `{"username":"without","password":"x"}`).Want(200)
		if _, err := db.Exec(t.Context(), `UPDATE auth_email SET confirmed = $1 WHERE address LIKE 'unconfirmed%'`, false); err != nil {
			t.Fatal(err)
		}
		known := seen(p.do("GET", "/users/password/reset?login=ada", "", "").Want(204))
		if to := p.mails.Next(t).To; len(to) != 1 || to[0] != "ada@example.com" {
			t.Errorf("a mail to %q", to)
		}
		for _, query := range []string{
			"username=nobody", "login=nobody", "email=nobody@example.com", "email=unconfirmed@example.com", "login=unconfirmed@example.com",
			"username=unconfirmed", "username=disabled", "email=disabled@example.com", "username=directory", "login=directory@example.com",
			"username=without", "username=ada@example.com", "login=a%E2%80%8Bda", "username=%F0%9F%92%A9",
		} {
			if got := seen(p.do("GET", "/users/password/reset?"+query, "", "")); got != known {
				t.Errorf("%s answers %s, a known user %s", query, got, known)
			}
		}
		for _, query := range []string{
			"", "?username=", "?username=ada&email=ada@example.com", "?username=ada&login=ada", "?email=ada", "?email=", "?x=ada", "?login=" + strings.Repeat("x", 257),
		} {
			p.do("GET", "/users/password/reset"+query, "", "").Refused(400, "invalid-data")
		}
		p.do("HEAD", "/users/password/reset?login=ada", "", "").Want(204)
		p.nothing()
	})
}

// The response does not wait for the mail server, which would reveal that there is a mail.
func TestResetDoesNotWait(t *testing.T) {
	t.Parallel()
	hung := make(chan struct{})
	p := newPost(t, storetest.SQLite(t), mailtest.Options{Rcpt: func(s *mailtest.Server, _ string) error {
		close(hung)
		return s.Hang()
	}})
	p.user("ada", "")
	p.do("GET", "/users/password/reset?username=ada", "", "").Want(204)
	<-hung
}

// A client that keeps asking is stopped; a recipient gets a limited number of mails, and nobody is told.
func TestResetsAreLimited(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{}, func(s *authsvc.Settings) {
			s.Limits.MailRequests = authsvc.Rate{Burst: 5, Every: time.Minute}
			s.Limits.Mails = authsvc.Rate{Burst: 2, Every: time.Minute}
		})
		p.freeze()
		p.user("ada", "")
		ask := func(address, login string) resttest.Answer {
			return p.do("GET", "/users/password/reset?login="+login, "", "", from(address))
		}
		for range 2 {
			ask(home, "ada").Want(204)
			p.mails.Next(t)
		}
		for range 3 {
			ask(home, "ada").Want(204)
		}
		known, unknown := ask(home, "ada"), ask(home, "nobody")
		if known.Status != 429 || known.Header.Get("Retry-After") != "60" || seen(known) != seen(unknown) {
			t.Errorf("%s, %s", seen(known), seen(unknown))
		}
		ask(elsewhere, "ada").Want(204)
		p.nothing()
	})
}

// Other reasons for which a link is not valid, and events that end it.
func TestVoidLinks(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		admin := p.admin()
		exec := func(sql string, args ...any) {
			t.Helper()
			if _, err := db.Exec(t.Context(), sql, args...); err != nil {
				t.Fatal(err)
			}
		}
		for i, c := range []struct {
			name  string
			spoil func(user, token string) (string, string)
		}{
			{"untouched", nil},
			{"expired", func(user, token string) (string, string) {
				exec(`UPDATE auth_single_use SET expires_at = now_utc()`)
				return user, token
			}},
			{"another user's", func(_, token string) (string, string) { return p.user("other", ""), token }},
			{"no user", func(_, token string) (string, string) { return "00000000-0000-4000-8000-000000000000", token }},
			{"no UUID", func(_, token string) (string, string) { return "x", token }},
			{"no token", func(user, _ string) (string, string) { return user, "" }},
			{"another token", func(user, token string) (string, string) { return user, token[:len(token)-1] }},
			{"a session's token", func(user, _ string) (string, string) { return user, admin }},
			{"the address is gone", func(user, token string) (string, string) {
				p.do("PUT", "/users/"+user+"/emails", admin, `{"emails":[]}`).Want(200)
				return user, token
			}},
			{"the address is another", func(user, token string) (string, string) {
				p.do("PUT", "/admin/users/"+user+"/emails", admin, `{"emails":[{"address":"new@example.com","main":true,"confirmed":true}]}`).Want(200)
				return user, token
			}},
			{"the address is not confirmed", func(user, token string) (string, string) {
				address := fmt.Sprint(p.do("GET", "/users/"+user, admin, "").JSON("username"), "@example.com")
				p.do("PUT", "/admin/users/"+user+"/emails", admin, `{"emails":[{"address":"`+address+`","main":true,"confirmed":false}]}`).Want(200)
				return user, token
			}},
			{"disabled", func(user, token string) (string, string) {
				p.do("PUT", "/users/"+user, admin, `{"enabled":false}`).Want(200)
				return user, token
			}},
			{"deleted", func(user, token string) (string, string) {
				p.do("DELETE", "/users/"+user, admin, "").Want(204)
				return user, token
			}},
		} {
			t.Run(c.name, func(t *testing.T) {
				name := fmt.Sprint("user", i)
				p.user(name, "")
				user, token := p.reset("login=" + name)
				if c.spoil == nil {
					p.choose(user, token, "chosen").For(t).Want(204)
					return
				}
				user, token = c.spoil(user, token)
				p.choose(user, token, "chosen").For(t).Refused(401, "unauthorized")
			})
		}
		t.Run("not for this any longer", func(t *testing.T) {
			user := p.user("moved", "")
			_, token := p.reset("login=moved")
			p.do("PUT", "/users/"+user, admin, `{"authentication_method":"ldap"}`).For(t).Want(200)
			p.choose(user, token, "chosen").For(t).Refused(405, "password-managed-externally")
		})
		t.Run("bad passwords do not use it up", func(t *testing.T) {
			user := p.user("slow", "")
			_, token := p.reset("login=slow")
			path := "/users/password/reset?user_uuid=" + user + "&token=" + token
			for _, body := range []string{`{}`, `{"password":""}`, `{"password":1}`, `{"password":"` + strings.Repeat("é", 1000) + `"}`, `[]`} {
				p.do("POST", path, "", body).For(t).Want(400)
			}
			p.choose(user, token, "chosen").For(t).Want(204)
		})
		t.Run("no address but the configured one", func(t *testing.T) {
			p.do("GET", "/users/password/reset?username=user0", "", "", func(r *http.Request) {
				r.Host = "evil.example"
				r.Header.Set("X-Forwarded-Host", "evil.example")
			}).For(t).Want(204)
			if m := p.mails.Next(t); bytes.Contains(m.Data, []byte("evil")) || !strings.HasPrefix(m.Link(t), base+"/") {
				t.Errorf("a mail says\n%s", m.Data)
			}
		})
		if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_single_use WHERE expires_at <= now_utc()`); err != nil || n == 0 {
			t.Fatalf("%d links are left over, %v", n, err)
		}
		if _, err := p.svc.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_single_use WHERE expires_at <= now_utc()`); err != nil || n != 0 {
			t.Errorf("%d links are left over, %v", n, err)
		}
	})
}

// Of two who use a link concurrently, one succeeds.
func TestLinkIsGoodOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		p.user("ada", "")
		user, token := p.reset("login=ada")
		answers := make([]resttest.Answer, 8)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = p.choose(user, token, fmt.Sprint("chosen ", i)) })
		}
		all.Wait()
		won := -1
		for i, a := range answers {
			switch {
			case a.Status == 204 && won < 0:
				won = i
			case a.Status != 401:
				t.Errorf("%d: %s", a.Status, a.Body)
			}
		}
		p.login("ada", fmt.Sprint("chosen ", won))
	})
}

// A reset ends the delay that somebody else's guesses have caused, and the last administrator keeps a password.
func TestResetLetsIn(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{}, func(s *authsvc.Settings) { s.Limits.FreeGuesses = 3 })
		p.freeze()
		admin := p.admin()
		p.user("ada", "")
		for range 4 {
			p.guess(home, "ada", "wrong")
			p.guess(home, "ada@example.com", "wrong")
		}
		p.guess(home, "ada", "secret of ada").Want(429)
		user, token := p.reset("login=ada")
		p.choose(user, token, "chosen").Want(204)
		p.guess(home, "ada", "chosen").Want(200)
		p.guess(home, "ada@example.com", "chosen").Want(200)

		uuid := p.do("GET", "/token/"+admin, "", "").Text("data.auth_id")
		p.do("PUT", "/admin/users/"+uuid+"/emails", admin, `{"emails":[{"address":"root@example.com","main":true,"confirmed":true}]}`).Want(200)
		user, token = p.reset("login=admin")
		path := "/users/password/reset?user_uuid=" + user + "&token=" + token
		p.do("POST", path, "", `{"password":null}`).Refused(409, "last-administrator")
		p.lives(admin, true)
		p.choose(user, token, "chosen").Want(204)
		p.lives(admin, false)
	})
}

// Without a mail server nobody learns whether a user exists, and the log says what is missing.
func TestResetWithoutMail(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	var log bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	s := newServer(t, storetest.SQLite(t))
	s.do("POST", "/users", s.admin(), `{"username":"ada","email_address":"ada@example.com"}`).Want(200)
	for _, login := range []string{"ada", "nobody"} {
		s.do("GET", "/users/password/reset?username="+login, "", "").Want(204)
	}
	s.svc.Close()
	if n := strings.Count(log.String(), "no mail server is configured"); n != 2 || strings.Contains(log.String(), "ada") {
		t.Errorf("the log says\n%s", log.String())
	}
	s.do("GET", "/users/password/reset?username=ada", "", "").Want(204) // after its end, too
}

// A mail server that refuses is the operator's problem, and no token is logged.
func TestResetThatCannotBeMailed(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	var log bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	p := newPost(t, storetest.SQLite(t), mailtest.Options{Data: func(_ *mailtest.Server, text []byte) error {
		return fmt.Errorf("refused: %s", text)
	}})
	p.user("ada", "")
	p.do("GET", "/users/password/reset?username=ada", "", "").Want(204)
	p.nothing()
	if !strings.Contains(log.String(), "could not be mailed") || strings.Contains(log.String(), "rft_") {
		t.Errorf("the log says\n%s", log.String())
	}
}

// An address that is its user's username too is one login. A mail for the address goes there, and not to another of the user's.
func TestResetByTheAddressThatIsTheUsername(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		admin := p.admin()
		user := p.do("POST", "/users", admin, `{"username":"Ada@Example.com","password":"x","email_address":"main@example.com"}`).Want(200).Text("uuid")
		confirmed := func(yes string) {
			t.Helper()
			p.do("PUT", "/admin/users/"+user+"/emails", admin,
				`{"emails":[{"address":"main@example.com","main":true},{"address":"ada@example.com","confirmed":`+yes+`}]}`).Want(200)
		}
		confirmed("true")
		for query, want := range map[string]string{
			"email=ada@example.com": "ada@example.com", "email=ADA@example.com": "ada@example.com", "login=ada@example.com": "ada@example.com",
			"username=ada@example.com": "ada@example.com", "email=main@example.com": "main@example.com", "login=main@example.com": "main@example.com",
		} {
			p.do("GET", "/users/password/reset?"+query, "", "").Want(204)
			if to := p.mails.Next(t).To; len(to) != 1 || to[0] != want {
				t.Errorf("%s: a mail to %q, want %s", query, to, want)
			}
		}
		got, token := p.reset("email=ada@example.com")
		p.choose(got, token, "chosen").Want(204)
		p.login("ada@example.com", "chosen")

		confirmed("false")
		p.do("GET", "/users/password/reset?email=ada@example.com", "", "").Want(204)
		p.nothing()
	})
}
