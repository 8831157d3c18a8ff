package authsvc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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

// addresses returns a list of addresses, as "address main confirmed".
func addresses(a resttest.Answer) (out []string, uuids map[string]string) {
	a.T.Helper()
	var list []authsvc.Email
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil || list == nil {
		a.T.Fatalf("no list, %v: %s", err, a.Body)
	}
	uuids = map[string]string{}
	for _, e := range list {
		text := e.Address
		if e.Main {
			text += " main"
		}
		if e.Confirmed {
			text += " confirmed"
		}
		out, uuids[e.Address] = append(out, text), e.UUID
	}
	return out, uuids
}

// Who has read a user's addresses before a colleague replaced them does not replace them once more unknowingly.
func TestReplaceEmailsAsRead(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user := s.do("POST", "/users", admin, `{"username":"ada","email_address":"ada@example.com"}`).Want(200).Text("uuid")
		tag := func() string { return s.do("GET", "/users/"+user, admin, "").Want(200).Header.Get("ETag") }
		stale := tag()
		const theirs = `{"emails":[{"address":"ada@example.com","main":true},{"address":"new@example.com"}]}`
		s.do("PUT", "/users/"+user+"/emails", admin, theirs, resttest.IfMatch(stale)).Want(200)
		for _, path := range []string{"/users/", "/admin/users/"} {
			s.do("PUT", path+user+"/emails", admin, `{"emails":[]}`, resttest.IfMatch(stale)).Refused(412, "precondition-failed")
			s.do("PUT", path+user+"/emails", admin, theirs, resttest.IfMatch(tag())).Want(200)
		}
		if kept := s.do("GET", "/users/"+user, admin, "").Want(200); !strings.Contains(kept.Body, "new@example.com") {
			t.Errorf("the user is %s", kept.Body)
		}
		s.do("PUT", "/users/"+user+"/emails", admin, `{"emails":[]}`, resttest.IfMatch("*")).Want(200)
	})
}

func TestReplaceEmails(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user := s.do("POST", "/users", admin, `{"username":"ada","password":"x","email_address":"ada@example.com"}`).Want(200).Text("uuid")
		put := func(path, emails string) ([]string, map[string]string) {
			t.Helper()
			return addresses(s.do("PUT", path+"users/"+user+"/emails", admin, `{"emails":[`+emails+`]}`).Want(200))
		}
		want := func(got []string, want string) {
			t.Helper()
			if strings.Join(got, ", ") != want {
				t.Errorf("the addresses are %q, want %s", got, want)
			}
		}
		first, uuids := put("/", `{"address":"ada@example.com"},{"address":"new@example.com","main":true}`)
		want(first, "new@example.com main, ada@example.com confirmed")
		s.do("POST", "/token", "", "{}", resttest.Basic("new@example.com", "x")).Want(401)
		s.login("ada@example.com", "x")

		again, same := put("/", `{"address":"Ada@Example.com","main":true},{"address":"new@example.com"}`)
		want(again, "Ada@Example.com main confirmed, new@example.com")
		if same["Ada@Example.com"] != uuids["ada@example.com"] || same["new@example.com"] != uuids["new@example.com"] {
			t.Errorf("addresses that stay have other UUIDs: %v, before %v", same, uuids)
		}

		kept, _ := put("/admin/", `{"address":"ada@example.com","main":true,"confirmed":null},{"address":"new@example.com","confirmed":true},{"address":"third@example.com"}`)
		want(kept, "ada@example.com main confirmed, new@example.com confirmed, third@example.com")
		s.login("NEW@example.com", "x")
		taken, _ := put("/admin/", `{"address":"ada@example.com","main":true,"confirmed":false}`)
		want(taken, "ada@example.com main")
		for _, login := range []string{"ada@example.com", "new@example.com"} {
			s.do("POST", "/token", "", "{}", resttest.Basic(login, "x")).Want(401)
		}
		none, _ := put("/", ``)
		want(none, "")
		s.login("ada", "x")
		s.do("POST", "/users", admin, `{"username":"new@example.com"}`).Want(200) // free again

		entries := s.do("GET", "/audit?resource=users/emails", admin, "").List()
		if entries.Filtered != 5 || entries.Items[0]["object"] != user || entries.Items[0]["before"] == nil {
			t.Errorf("the audit has %v", entries.Items)
		}
	})
}

func TestReplaceEmailsIsRefused(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		adminUUID := s.do("GET", "/token/"+admin, "", "").Text("data.auth_id")
		ada, _, own := s.account(admin, "ada", "auth.users.#", "auth.admin.#")
		s.do("POST", "/users", admin, `{"username":"Bob@Example.com"}`).Want(200)
		s.do("POST", "/users", admin, `{"username":"rob","email_address":"rob@example.com"}`).Want(200)
		below := s.tenant(admin, "below")
		hidden := s.do("POST", "/users", admin, `{"username":"hidden"}`, resttest.In(below)).Want(200).Text("uuid")
		aside := s.tenant(admin, "aside")
		main := func(address string) string { return `{"address":"` + address + `","main":true}` }
		many := `{"address":"0@example.com","main":true}`
		for i := range 100 {
			many += fmt.Sprintf(`,{"address":"a%d@example.com"}`, i)
		}
		for name, c := range map[string]struct {
			user, token, emails string
			status              int
			id                  string
			edit                func(*http.Request)
		}{
			"no main one":               {ada, own, `{"address":"a@example.com"}`, 400, "invalid-data", nil},
			"two main ones":             {ada, own, main("a@example.com") + "," + main("b@example.com"), 400, "invalid-data", nil},
			"twice":                     {ada, own, main("a@example.com") + `,{"address":"A@EXAMPLE.com"}`, 400, "invalid-data", nil},
			"twice in another spelling": {ada, own, main("a@example.com") + `,{"address":"ａ@example.com"}`, 400, "invalid-data", nil},
			"no address":                {ada, own, main("example.com"), 400, "invalid-data", nil},
			"a name beside it":          {ada, own, main("Ada <a@example.com>"), 400, "invalid-data", nil},
			"a header":                  {ada, own, main(`a@example.com\r\nBcc: b@example.com`), 400, "invalid-data", nil},
			"too many":                  {ada, own, many, 400, "invalid-data", nil},
			"main is null":              {ada, own, `{"address":"a@example.com","main":null}`, 400, "invalid-data", nil},
			"another's address":         {ada, own, main("ROB@example.com"), 409, "conflict", nil},
			"another's username":        {ada, own, main("bob@example.com"), 409, "conflict", nil},
			"who holds more":            {adminUUID, own, main("a@example.com"), 403, "forbidden", nil},
			"no such user":              {"00000000-0000-4000-8000-000000000000", admin, main("a@example.com"), 404, "unknown-user", nil},
			"another tenant's":          {hidden, admin, main("a@example.com"), 404, "unknown-user", resttest.In(aside)},
		} {
			for _, path := range []string{"/users/", "/admin/users/"} {
				t.Run(name+path, func(t *testing.T) {
					s := s.in(t)
					edit := c.edit
					if edit == nil {
						edit = func(*http.Request) {}
					}
					s.do("PUT", path+c.user+"/emails", c.token, `{"emails":[`+c.emails+`]}`, edit).Refused(c.status, c.id)
				})
			}
		}
		for _, body := range []string{`{}`, `{"emails":null}`, `{"emails":{}}`, `[]`, `{"emails":[null]}`, `{"emails":["a@example.com"]}`} {
			s.do("PUT", "/users/"+ada+"/emails", own, body).Want(400)
		}
		if got, _ := addresses(s.do("PUT", "/users/"+ada+"/emails", own, `{"emails":[]}`).Want(200)); len(got) != 0 {
			t.Errorf("refused addresses are there: %q", got)
		}
	})
}

func TestConfirmEmail(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		admin := p.admin()
		ada, _, own := p.account(admin, "ada", "auth.users.me.#")
		_, uuids := addresses(p.do("PUT", "/users/"+ada+"/emails", own, `{"emails":[{"address":"ada@example.com","main":true},{"address":"b@example.com"}]}`).Want(200))
		path := "/users/" + ada + "/emails/" + uuids["ada@example.com"] + "/confirm"
		ask := func() string {
			t.Helper()
			p.do("GET", path, own, "").Want(204)
			m := p.mails.Next(t)
			token, found := strings.CutPrefix(m.Link(t), base+"/api/auth/0.1/emails/"+uuids["ada@example.com"]+"/confirm?token=")
			if len(m.To) != 1 || m.To[0] != "ada@example.com" || !found {
				t.Fatalf("a mail to %s with %s", m.To, m.Link(t))
			}
			return token
		}
		link := "/emails/" + uuids["ada@example.com"] + "/confirm"
		token, second := ask(), ask()
		p.do("HEAD", link+"?token="+token, "", "").Want(200) // a mail scanner
		p.do("POST", "/token", "", "{}", resttest.Basic("ada@example.com", "secret of ada")).Want(401)

		a := p.do("GET", link+"?token="+token, "", "", func(r *http.Request) { r.Header.Set("Accept", "text/html") }).Want(200)
		if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") || !strings.Contains(a.Body, "ada@example.com") ||
			a.Header.Get("Referrer-Policy") != "no-referrer" || !strings.HasPrefix(a.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%v\n%s", a.Header, a.Body)
		}
		p.login("ada@example.com", "secret of ada")
		p.do("GET", link+"?token="+token, "", "").Refused(401, "unauthorized")
		a = p.do("GET", link+"?token="+token, "", "", func(r *http.Request) { r.Header.Set("Accept", "text/html,*/*;q=0.8") }).Want(401)
		if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") || !strings.Contains(a.Body, "used already") || strings.Contains(a.Body, token) ||
			a.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("a browser with a used link sees %v\n%s", a.Header, a.Body)
		}
		p.do("PUT", link, "", "", sends(second)).Want(204) // confirmed already, and the link is valid
		p.do("PUT", link, "", "", sends(second)).Refused(401, "unauthorized")
		p.do("GET", path, own, "").Refused(409, "conflict")
		p.do("GET", "/users/"+ada+"/emails/00000000-0000-4000-8000-000000000000/confirm", own, "").Refused(404, "unknown-email")
		p.do("GET", "/users/00000000-0000-4000-8000-000000000000/emails/"+uuids["b@example.com"]+"/confirm", admin, "").Refused(404, "unknown-user")
		adminUUID := p.do("GET", "/token/"+admin, "", "").Text("data.auth_id")
		p.do("GET", "/users/"+adminUUID+"/emails/"+uuids["b@example.com"]+"/confirm", admin, "").Refused(404, "unknown-email")
		p.do("HEAD", "/users/"+ada+"/emails/"+uuids["b@example.com"]+"/confirm", own, "").Want(204)
		p.nothing()
		entries := p.do("GET", "/audit?action=confirm_email_by_link", admin, "").List()
		if entries.Filtered != 1 || entries.Items[0]["object"] != ada {
			t.Errorf("the audit has %v", entries.Items)
		}
	})
}

// sends puts a token into its header.
func sends(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("X-Auth-Token", token) }
}

// A mail greets its reader with the first and last name, as far as they are known.
func TestConfirmationMailsHoldNames(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		admin := p.admin()
		for _, tt := range []struct{ user, name string }{
			{`"username":"ada","firstname":"Ada","lastname":"Lovelace"`, "Ada Lovelace"},
			{`"username":"jose","firstname":"José"`, "José"},
			{`"username":"grace","lastname":"Hopper"`, "Hopper"},
		} {
			user := p.do("POST", "/users", admin, `{`+tt.user+`}`).Want(200).Text("uuid")
			_, uuids := addresses(p.do("PUT", "/users/"+user+"/emails", admin, `{"emails":[{"address":"someone@example.com","main":true}]}`).Want(200))
			p.do("GET", "/users/"+user+"/emails/"+uuids["someone@example.com"]+"/confirm", admin, "").Want(204)
			m := p.mails.Next(t)
			if !strings.HasPrefix(m.Text(t), "Hello "+tt.name+",") || !strings.Contains(m.HTML(t), "Hello "+tt.name+",") {
				t.Errorf("%s reads\n%s\n%s", tt.name, m.Text(t), m.HTML(t))
			}
			to, err := m.Header(t).AddressList("To")
			if err != nil || len(to) != 1 || to[0].Name != tt.name || to[0].Address != "someone@example.com" {
				t.Errorf("it is to %v, %v", to, err)
			}
		}
	})
}

// A link confirms only the address that it was sent to; a caller who may confirm others' addresses needs no link.
func TestWhoConfirms(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		admin := p.admin()
		ada, _, own := p.account(admin, "ada", "auth.users.me.#", "confd.#")
		_, uuids := addresses(p.do("PUT", "/users/"+ada+"/emails", own, `{"emails":[{"address":"a@example.com","main":true},{"address":"b@example.com"}]}`).Want(200))
		link := "/emails/" + uuids["a@example.com"] + "/confirm"
		access := "auth.emails." + uuids["a@example.com"] + ".confirm.update"
		ask := func(address string) string {
			t.Helper()
			p.do("GET", "/users/"+ada+"/emails/"+uuids[address]+"/confirm", own, "").Want(204)
			_, token, _ := strings.Cut(p.mails.Next(t).Link(t), "?token=")
			return token
		}
		other := ask("b@example.com")
		expired := ask("a@example.com")
		if _, err := db.Exec(t.Context(), `UPDATE auth_single_use SET expires_at = now_utc() WHERE email_uuid = $1`, uuids["a@example.com"]); err != nil {
			t.Fatal(err)
		}
		void := ask("a@example.com")
		_, _, weak := p.account(admin, "weak", "auth.emails.#")
		_, _, strong := p.account(admin, "strong", "auth.emails.#", "auth.users.#", "confd.#")
		_, _, denied := p.account(admin, "denied", "auth.#", "confd.#", "!"+access)
		aside := p.tenant(admin, "aside")
		p.do("POST", "/users", admin, `{"username":"far","password":"x"}`, resttest.In(aside)).Want(200)
		far := p.do("GET", "/users?username=far&recurse=true", admin, "").List().Column("uuid")[0]
		policy := p.do("POST", "/policies", admin, `{"name":"far","acl":["auth.#","confd.#"]}`, resttest.In(aside)).Want(200).Text("uuid")
		p.do("PUT", "/users/"+far+"/policies/"+policy, admin, "", resttest.In(aside)).Want(204)

		for name, c := range map[string]struct {
			token  string
			status int
		}{
			"nobody": {"", 401}, "no token": {"x", 401}, "another address's": {other, 401}, "expired": {expired, 401},
			"a session without the access": {own, 403}, "a session with a denial": {denied, 403}, "who holds less than the user": {weak, 403},
			"another tenant's": {p.login("far", "x"), 404},
		} {
			for _, method := range []string{"GET", "PUT"} {
				t.Run(name+" "+method, func(t *testing.T) {
					p.do(method, link, "", "", sends(c.token)).For(t).Want(c.status)
				})
			}
		}
		p.do("PUT", link, "", "", sends(own)).Lacks(access)
		p.do("PUT", "/emails/00000000-0000-4000-8000-000000000000/confirm", "", "", sends(strong)).Refused(404, "unknown-email")
		p.do("PUT", "/emails/x/confirm", "", "", sends(strong)).Want(404)
		p.do("POST", "/token", "", "{}", resttest.Basic("a@example.com", "secret of ada")).Want(401)

		p.do("PUT", link, "", "", sends(strong)).Want(204)
		p.login("a@example.com", "secret of ada")
		strongUUID := p.do("GET", "/token/"+strong, "", "").Text("data.auth_id")
		if entries := p.do("GET", "/audit?action=confirm_email", admin, "").List(); entries.Filtered != 1 || entries.Items[0]["actor_uuid"] != strongUUID {
			t.Errorf("the audit has %v", entries.Items)
		}

		p.do("PUT", "/users/"+ada+"/emails", own, `{"emails":[{"address":"b@example.com","main":true}]}`).Want(200)
		p.do("GET", link+"?token="+void, "", "").Refused(401, "unauthorized") // gone with the address
		p.do("GET", "/emails/"+uuids["b@example.com"]+"/confirm?token="+other, "", "", sends("x")).Want(200)
	})
}

func TestConfirmationThatCannotBeMailed(t *testing.T) {
	t.Parallel()
	p := newPost(t, storetest.SQLite(t), mailtest.Options{Rcpt: func(_ *mailtest.Server, address string) error {
		if strings.HasPrefix(address, "bad") {
			return errors.New("no such mailbox")
		}
		return nil
	}}, func(s *authsvc.Settings) { s.Limits.Mails = authsvc.Rate{Burst: 3, Every: time.Minute} })
	p.freeze()
	admin := p.admin()
	ada := p.user("ada", "")
	_, uuids := addresses(p.do("PUT", "/users/"+ada+"/emails", admin, `{"emails":[{"address":"bad@example.com","main":true},{"address":"good@example.com"},{"address":"é@example.com"}]}`).
		Want(200))
	ask := func(address string) resttest.Answer {
		return p.do("GET", "/users/"+ada+"/emails/"+uuids[address]+"/confirm", admin, "")
	}
	ask("bad@example.com").Refused(503, "mail-not-sent")
	ask("é@example.com").Refused(400, "invalid-data")
	for range 3 {
		ask("good@example.com").Want(204)
	}
	if a := ask("good@example.com").Refused(429, "too-many-attempts"); a.Header.Get("Retry-After") != "60" {
		t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
	}
	p.settle(authsvc.Settings{})
	ask("good@example.com").Refused(503, "mail-not-configured")
}

// A confirmed address belongs to one user, even if two users confirm it concurrently.
func TestEmailsAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		answers := make([]resttest.Answer, 4)
		var all sync.WaitGroup
		for i := range answers {
			user := s.do("POST", "/users", admin, fmt.Sprintf(`{"username":"user %d"}`, i)).Want(200).Text("uuid")
			all.Go(func() {
				answers[i] = s.do("PUT", "/admin/users/"+user+"/emails", admin, `{"emails":[{"address":"one@example.com","main":true,"confirmed":true}]}`)
			})
		}
		all.Wait()
		if won := winners(t, answers); won != 1 {
			t.Errorf("%d users have the address", won)
		}
	})
}
