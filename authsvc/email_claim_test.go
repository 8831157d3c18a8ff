package authsvc_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// register registers a stranger's account, and returns it and the link in its mail.
func (p *post) register(name, address string) (user, tenant, link string) {
	p.t.Helper()
	if name != "" {
		name = `"username":"` + name + `",`
	}
	a := p.do("POST", "/users/register", "", `{`+name+`"password":"a stranger's","email_address":"`+address+`"}`).Want(200)
	return a.Text("uuid"), a.Text("tenant_uuid"), strings.TrimPrefix(p.mails.Next(p.t).Link(p.t), base+"/api/auth/0.1")
}

// An unconfirmed address does not keep others from using it.
func TestAnUnconfirmedAddressReservesNothing(t *testing.T) {
	const boss = `"email_address":"boss@example.com"}`
	for name, take := range map[string]func(p *post, admin string){
		"a user whom the administrator makes": func(p *post, admin string) {
			p.do("POST", "/users", admin, `{"password":"the boss's own",`+boss).Want(200)
		},
		"a username": func(p *post, admin string) {
			p.do("POST", "/users", admin, `{"password":"the boss's own","username":"Boss@example.com"}`).Want(200)
		},
		"an address that the administrator confirms": func(p *post, admin string) {
			user := p.do("POST", "/users", admin, `{"password":"the boss's own"}`).Want(200).Text("uuid")
			p.do("PUT", "/admin/users/"+user+"/emails", admin, `{"emails":[{"address":"BOSS@example.com","main":true,"confirmed":true}]}`).Want(200)
		},
		"an address that its owner confirms": func(p *post, admin string) {
			user := p.do("POST", "/users", admin, `{"password":"the boss's own"}`).Want(200).Text("uuid")
			_, uuids := addresses(p.do("PUT", "/users/"+user+"/emails", admin, `{"emails":[{"address":"boss@example.com","main":true}]}`).Want(200))
			p.do("GET", "/users/"+user+"/emails/"+uuids["boss@example.com"]+"/confirm", admin, "").Want(204)
			p.do("GET", strings.TrimPrefix(p.mails.Next(p.t).Link(p.t), base+"/api/auth/0.1"), "", "").Want(200)
		},
		"another registration": func(p *post, _ string) {
			a := p.do("POST", "/users/register", "", `{"password":"the boss's own",`+boss).Want(200)
			p.do("POST", "/token", "", "{}", resttest.Basic("boss@example.com", "the boss's own")).Want(401)
			p.do("GET", strings.TrimPrefix(p.mails.Next(p.t).Link(p.t), base+"/api/auth/0.1"), "", "").Want(200)
			if a.JSON("username") != nil {
				p.t.Errorf("the user is %s", a.Body)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, db store.DB) {
				p := newPost(t, db, mailtest.Options{})
				admin := p.admin()
				mallory, tenant, link := p.register("mallory", "Boss@Example.com")
				p.do("PUT", "/users/"+mallory+"/emails", admin, `{"emails":[{"address":"boss@example.com","main":true},{"address":"mallory@example.com"}]}`, resttest.In(tenant)).Want(200)
				_, _, second := p.register("", "BOSS@example.com")
				p.do("POST", "/token", "", "{}", resttest.Basic("boss@example.com", "a stranger's")).Want(401)

				take(p, admin)
				p.login("boss@example.com", "the boss's own")
				p.do("POST", "/token", "", "{}", resttest.Basic("boss@example.com", "a stranger's")).Want(401)
				for _, late := range []string{link, second} {
					p.do("GET", late, "", "").Refused(404, "unknown-email")
				}
				p.login("boss@example.com", "the boss's own")
				p.do("POST", "/token", "", "{}", resttest.Basic("boss@example.com", "a stranger's")).Want(401)
				// A confirmed address, or a name, is taken.
				p.do("POST", "/users/register", "", `{"password":"a stranger's",`+boss).Refused(409, "conflict")
				p.do("PUT", "/users/"+mallory+"/emails", admin, `{"emails":[{"address":"mallory@example.com","main":true}]}`, resttest.In(tenant)).Want(200)
				p.do("PUT", "/users/"+mallory+"/emails", admin, `{"emails":[{"address":"boss@example.com","main":true}]}`, resttest.In(tenant)).Refused(409, "conflict")
			})
		})
	}
}

// A stranger's username is never somebody else's address, however the at sign is written.
func TestRegisterWithAnAddressForAName(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		for _, name := range []string{"boss@example.com", "boss＠example.com", "boss﹫example.com", "@"} {
			p.do("POST", "/users/register", "", `{"username":"`+name+`","password":"a stranger's","email_address":"m@example.com"}`).Refused(400, "invalid-data")
		}
		user, _, link := p.register("M@example.com", "m@example.com")
		p.do("POST", "/token", "", "{}", resttest.Basic("m@example.com", "a stranger's")).Want(401)
		p.do("GET", link, "", "").Want(200)
		p.login("m@example.com", "a stranger's")
		if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_user WHERE uuid = $1 AND username IS NULL`, user); err != nil || n != 1 {
			t.Errorf("%d, %v", n, err)
		}
	})
}

// Of several users who claim an address, the first to confirm it gets it.
func TestOneConfirmsAnAddress(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		links := make([]string, 4)
		for i := range links {
			_, _, links[i] = p.register(fmt.Sprint("claimant", i), "boss@example.com")
		}
		answers := make([]resttest.Answer, len(links))
		var all sync.WaitGroup
		for i, link := range links {
			all.Go(func() { answers[i] = p.do("GET", link, "", "") })
		}
		all.Wait()
		won := 0
		for _, a := range answers {
			switch a.Status {
			case 200:
				won++
			case 401, 404, 409:
			default:
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
		if won != 1 {
			t.Errorf("%d have confirmed one address", won)
		}
		n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_email WHERE confirmed AND lower(address) = 'boss@example.com'`)
		if err != nil || n != 1 {
			t.Errorf("%d accounts have it, %v", n, err)
		}
	})
}

// However many accounts claim an address, it gets no more mails than one account's.
func TestMailsAreLimitedByAddress(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{}, func(s *authsvc.Settings) { s.Limits.Mails = authsvc.Rate{Burst: 2, Every: time.Hour} })
		p.freeze()
		p.register("one", "boss@example.com")
		p.register("two", "Boss@example.com")
		p.do("POST", "/users/register", "", `{"username":"three","password":"a stranger's","email_address":"boss@example.com"}`).Want(429)
		p.register("three", "other@example.com")
	})
}

// No password is shorter than the configured limit, whatever operation sets it.
func TestShortestPassword(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{}, func(s *authsvc.Settings) { s.Passwords.Shortest = 8 })
		admin := p.admin()
		ada := p.user("ada", "")
		own := p.login("ada", "secret of ada")
		_, token := p.reset("username=ada")
		const short = "1234567"
		const wide = "üüüüüüü" // seven characters in fourteen bytes
		for _, password := range []string{short, wide, "x"} {
			for name, a := range map[string]resttest.Answer{
				"create":   p.do("POST", "/users", admin, `{"username":"new","password":"`+password+`"}`),
				"change":   p.do("PUT", "/users/"+ada+"/password", own, change("secret of ada", password)),
				"reset":    p.choose(ada, token, password),
				"set":      p.do("POST", "/users/password/reset?user_uuid="+ada, "", `{"password":"`+password+`"}`, sends(admin)),
				"register": p.do("POST", "/users/register", "", `{"username":"new","password":"`+password+`","email_address":"new@example.com"}`),
			} {
				if a.Refused(400, "invalid-data"); !strings.Contains(a.Text("message"), "password: Must have at least 8 characters") {
					t.Errorf("%s: %s", name, a.Body)
				}
			}
			if _, err := p.svc.Recover(t.Context(), authsvc.Recovery{Username: "ada", Password: password}); err == nil || !strings.Contains(err.Error(), "at least 8 characters") {
				t.Errorf("recover: %v", err)
			}
		}
		p.choose(ada, token, "12345678").Want(204)
		p.login("ada", "12345678")
		p.do("POST", "/users", admin, `{"username":"new","password":"üüüüüüüü"}`).Want(200)
	})
}

// The limit also applies to the first administrator's password, and nothing is created if it is too short.
func TestShortestPasswordOfTheAdministrator(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		svc, err := authsvc.New(authsvc.Options{DB: db})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := svc.Bootstrap(t.Context(), authsvc.Admin{Username: "admin", Password: "1234567", File: t.TempDir() + "/f"}); err == nil ||
			!strings.Contains(err.Error(), "RINGFENCE_ADMIN_PASSWORD") || strings.Contains(err.Error(), "1234567") {
			t.Fatalf("%v", err)
		}
		if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_user`); err != nil || n != 0 {
			t.Errorf("%d users, %v", n, err)
		}
	})
}
