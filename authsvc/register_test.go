package authsvc_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestRegister(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		admin := p.admin()
		a := p.do("POST", "/users/register", "", `{"username":"Ada","password":"chosen","firstname":"Ada","email_address":"ada@example.com"}`).Want(200)
		user, tenant := a.Text("uuid"), a.Text("tenant_uuid")
		if strings.Contains(a.Body, "chosen") || a.Text("purpose") != "user" || a.Text("authentication_method") != "default" {
			t.Errorf("the user is %s", a.Body)
		}
		master := p.do("GET", "/token/"+admin, "", "").Text("data.metadata.tenant_uuid")
		made := p.do("GET", "/tenants/"+tenant, admin, "").Want(200)
		if made.Text("name") != "Ada" || made.Text("parent_uuid") != master || made.Text("slug") != "Ada" {
			t.Errorf("the tenant is %s", made.Body)
		}
		if got := p.do("GET", "/users/"+user, admin, "", resttest.In(tenant)).Want(200); got.Body != a.Body {
			t.Errorf("the user is %s, and was answered as %s", got.Body, a.Body)
		}
		if groups := p.do("GET", "/users/"+user+"/groups", admin, "", resttest.In(tenant)).List(); groups.Total != 1 {
			t.Errorf("the user is in %v", groups.Items)
		}
		if acl := fmt.Sprint(p.do("GET", "/token/"+p.login("ada", "chosen"), "", "").JSON("data.acl")); acl != "[]" {
			t.Errorf("the user holds %s", acl)
		}
		p.do("POST", "/token", "", "{}", resttest.Basic("ada@example.com", "chosen")).Want(401)
		m := p.mails.Next(t)
		p.do("GET", strings.TrimPrefix(m.Link(t), base+"/api/auth/0.1"), "", "").Want(200)
		p.login("ada@example.com", "chosen")

		// Only an address: it is not a name, but becomes a login once it is confirmed.
		b := p.do("POST", "/users/register", "", `{"password":"x","email_address":"bob@example.com"}`).Want(200)
		p.do("POST", "/users/register", "", `{"username":"ада","password":"x","email_address":"c@example.com"}`).Want(200)
		if b.JSON("username") != nil || p.do("GET", "/tenants/"+b.Text("tenant_uuid"), admin, "").Text("name") != "bob@example.com" {
			t.Errorf("the user is %s", b.Body)
		}
		p.do("DELETE", "/tenants/"+tenant, admin, "").Want(204)
	})
}

func TestRegisterIsRefused(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		admin := p.admin()
		p.user("ada", "")
		for name, c := range map[string]struct {
			body   string
			status int
			id     string
		}{
			"a name that is taken":         {`{"username":"ADA","password":"x","email_address":"new@example.com"}`, 409, "conflict"},
			"an address that is taken":     {`{"username":"new","password":"x","email_address":"Ada@example.com"}`, 409, "conflict"},
			"another's address for a name": {`{"username":"ada@example.com","password":"x","email_address":"new@example.com"}`, 400, "invalid-data"},
			"no password":                  {`{"username":"new","email_address":"new@example.com"}`, 400, "invalid-data"},
			"no address":                   {`{"username":"new","password":"x"}`, 400, "invalid-data"},
			"a bad address":                {`{"username":"new","password":"x","email_address":"new"}`, 400, "invalid-data"},
			"an empty name":                {`{"username":"","password":"x","email_address":"new@example.com"}`, 400, "invalid-data"},
			"a name of two alphabets":      {`{"username":"аda","password":"x","email_address":"new@example.com"}`, 400, "invalid-data"},
			"too long a password":          {`{"username":"new","password":"` + strings.Repeat("é", 1000) + `","email_address":"new@example.com"}`, 400, "invalid-data"},
			"an address without mail":      {`{"username":"new","password":"x","email_address":"é@example.com"}`, 400, "invalid-data"},
		} {
			t.Run(name, func(t *testing.T) {
				p.do("POST", "/users/register", "", c.body).For(t).Refused(c.status, c.id)
			})
		}
		// Fields that strangers may not set are ignored.
		a := p.do("POST", "/users/register", "", `{"username":"sly","password":"x","email_address":"sly@example.com","purpose":"internal","uuid":"00000000-0000-4000-8000-000000000000","tenant_uuid":"00000000-0000-4000-8000-000000000000","enabled":false}`).Want(200)
		if a.Text("purpose") != "user" || a.JSON("enabled") != true || strings.Contains(a.Body, "00000000-0000") {
			t.Errorf("the user is %s", a.Body)
		}
		if tenants := p.do("GET", "/tenants", admin, "").List(); tenants.Total != 2 {
			t.Errorf("refused accounts left tenants: %v", tenants.Items)
		}
		p.settle(authsvc.Settings{SelfRegistration: true})
		p.do("POST", "/users/register", "", `{"username":"new","password":"x","email_address":"new@example.com"}`).Refused(503, "mail-not-configured")
		p.settle(authsvc.Settings{})
		p.do("POST", "/users/register", "", `{"username":"new","password":"x","email_address":"new@example.com"}`).Refused(404, "not-found")
		p.do("POST", "/users/register", "", `nonsense`).Refused(404, "not-found")
	})
}

// An account that nobody can confirm is not kept.
func TestRegisterWithoutItsMail(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		var taken atomic.Bool
		meanwhile, done := make(chan func() string, 1), make(chan string, 1)
		p := newPost(t, db, mailtest.Options{Rcpt: func(*mailtest.Server, string) error {
			if taken.Load() {
				return nil
			}
			done <- (<-meanwhile)()
			return errors.New("no")
		}})
		meanwhile <- func() string {
			token := p.login("ada", "x")
			p.lives(token, true)
			return token
		}
		body := `{"username":"ada","password":"x","email_address":"ada@example.com"}`
		p.do("POST", "/users/register", "", body).Refused(503, "mail-not-sent")
		p.lives(<-done, false)
		if n := p.tenantChanges.Load(); n != 2 {
			t.Errorf("the tenant came and went, and %d changes were told", n)
		}
		for table, want := range map[string]int{"auth_user": 1, "auth_tenant": 1, "auth_group": 1, "auth_email": 0, "auth_login": 1, "auth_single_use": 0} {
			if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM `+table); err != nil || n != want {
				t.Errorf("%s has %d rows, want %d: %v", table, n, want, err)
			}
		}
		taken.Store(true)
		p.do("POST", "/users/register", "", body).Want(200)
	})
}

func TestRegistrationsAreLimited(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{}, func(s *authsvc.Settings) { s.Limits.Registrations = authsvc.Rate{Burst: 2, Every: time.Minute} })
		p.freeze()
		p.user("ada", "")
		register := func(address, name string) resttest.Answer {
			return p.do("POST", "/users/register", "", fmt.Sprintf(`{"username":%q,"password":"x","email_address":"%s@example.org"}`, name, name), from(address))
		}
		register(home, "one").Want(200)
		register(home, "ada").Want(409) // looking for taken names is as slow
		if a := register(home, "two").Refused(429, "too-many-attempts"); a.Header.Get("Retry-After") != "60" {
			t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
		}
		register(home, "ada").Want(429)
		register(elsewhere, "two").Want(200)
	})
}

func TestRegisterAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		answers := make([]resttest.Answer, 4)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				answers[i] = p.do("POST", "/users/register", "", fmt.Sprintf(`{"username":"ada","password":"x","email_address":"a%d@example.com"}`, i))
			})
		}
		all.Wait()
		if made := winners(t, answers); made != 1 {
			t.Errorf("%d accounts have one name", made)
		}
	})
}
