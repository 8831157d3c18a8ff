package authsvc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// An operator sees whether mails go out, and if not, what the mail server says; nobody sends more of them than of others.
func TestTestMail(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		refuse := mailtest.Options{Rcpt: func(_ *mailtest.Server, address string) error {
			if address == "nobody@example.com" {
				return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "no such user"}
			}
			return nil
		}}
		p := newPost(t, db, refuse, func(s *authsvc.Settings) { s.Limits.Mails = authsvc.Rate{Burst: 2, Every: time.Hour} })
		admin := p.admin()
		const test = "/mail/test"
		p.do("POST", test, admin, `{}`).Want(400).Says("you have no confirmed address")
		p.do("POST", test, admin, `{"address":"ada@example.com\r\nBcc: eve@example.com"}`).Want(400)
		p.do("POST", test, admin, `{"address":"ada@bücher.example"}`).Want(400)
		tenant := p.do("POST", "/tenants", admin, `{"name":"west"}`).Want(200).Text("uuid")
		p.do("POST", "/users", admin, `{"username":"wendy","password":"secret of wendy"}`, resttest.In(tenant)).Want(200)
		p.do("POST", test, p.login("wendy", "secret of wendy"), `{"address":"ada@example.com"}`).Refused(403, "unauthorized-tenant")
		if a := p.do("POST", test, admin, `{"address":"ada@example.com"}`).Want(200); a.JSON("accepted") != true || a.Text("message") != "" {
			t.Errorf("it is %s", a.Body)
		}
		if m := p.mails.Next(t); len(m.To) != 1 || m.To[0] != "ada@example.com" || !strings.Contains(string(m.Data), "test the mail server") {
			t.Errorf("a mail to %s:\n%s", m.To, m.Data)
		}
		if a := p.do("POST", test, admin, `{"address":"nobody@example.com"}`).Want(200); a.JSON("accepted") != false || !strings.Contains(a.Text("message"), "550 5.7.1 no such user") {
			t.Errorf("a refused one: %s", a.Body)
		}
		p.do("POST", test, admin, `{"address":"ada@example.com"}`).Want(200)
		p.do("POST", test, admin, `{"address":"Ada@example.com"}`).Want(429)
		mine := p.do("GET", "/token/"+admin, "", "").Text("data.auth_id")
		p.do("PUT", "/admin/users/"+mine+"/emails", admin, `{"emails":[{"address":"root@example.com","main":true,"confirmed":true}]}`).Want(200)
		if a := p.do("POST", test, admin, `{}`).Want(200); a.Text("address") != "root@example.com" {
			t.Errorf("without an address: %s", a.Body)
		}
		p.settle(authsvc.Settings{})
		p.do("POST", test, admin, `{"address":"ada@example.com"}`).Refused(503, "mail-not-configured")
	})
}
