package caddymodule_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/ringfence/ringfence/authsvc/mail"
	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/callrecords"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/audio"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Faxes go to the address of a destination of their tenant, and stay until the mail server has them. Nothing else in the folder is sent.
func TestFaxes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		const acme, other, address = "0a0a0a0a-0000-4000-8000-000000000001", "0b0b0b0b-0000-4000-8000-000000000002", "office@example.org"
		exec := func(sql string, args ...any) {
			t.Helper()
			if _, err := db.Exec(t.Context(), sql, args...); err != nil {
				t.Fatal(err)
			}
		}
		for _, tenant := range []string{acme, other} {
			exec(`INSERT INTO auth_tenant (uuid, parent_uuid, name, slug) VALUES ($1, $2, $3, $3)`, tenant, acme, tenant[:8])
			exec(`INSERT INTO confd_incall (tenant_uuid) VALUES ($1)`, tenant)
		}
		exec(`INSERT INTO confd_destination (of_incall_id, slot, type, sub, keys) SELECT id, 'destination', 'application', 'fax_to_mail', $1
			FROM confd_incall WHERE tenant_uuid = $2`, `{"email": "`+address+`"}`, acme)
		var refusal error
		server := mailtest.Start(t, mailtest.Options{Data: func(*mailtest.Server, []byte) error { return refusal }})
		sender, err := mail.New(mail.Config{Host: server.Host, Port: server.Port, CAFile: server.CAFile, From: "pbx@example.com", BaseURL: "https://pbx.example.com"})
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		service, err := callrecords.New(callrecords.Options{
			DB: db, Recordings: func() audio.Folder { return audio.Folder(folder) }, FaxAddress: confdsvc.NewSnapshots(db).FaxAddress, SendFax: sender.Fax,
		})
		if err != nil {
			t.Fatal(err)
		}
		now, page := time.Now(), []byte("II*\x00\x08\x00\x00\x00 a page")
		put := func(name string, age time.Duration, content []byte) string {
			t.Helper()
			path := filepath.Join(folder, name)
			if err := errors.Join(os.WriteFile(path, content, 0o600), os.Chtimes(path, now.Add(-age), now.Add(-age))); err != nil {
				t.Fatal(err)
			}
			return path
		}
		named := func(tenant, call string) string {
			return "fax-" + tenant + "-" + (&confdsvc.ToMail{Email: address}).Key(tenant) + "-1700000000." + call + ".tif"
		}
		// pass looks at the folder once, and asserts how many mails come, and which files stay.
		pass := func(when string, later time.Duration, mails int, stay ...string) (last mailtest.Message) {
			t.Helper()
			if err := service.SendFaxes(t.Context(), now.Add(later)); err != nil {
				t.Errorf("%s: %v", when, err)
			}
			if got := len(server.Messages); got != mails {
				t.Errorf("%s: %d mails come, want %d", when, got, mails)
			}
			for len(server.Messages) > 0 {
				last = <-server.Messages
			}
			left, _ := os.ReadDir(folder)
			if len(left) != len(stay) {
				t.Errorf("%s: %v stay, want %v", when, left, stay)
			}
			for _, path := range stay {
				if _, err := os.Lstat(path); err != nil {
					t.Errorf("%s: %v", when, err)
				}
			}
			return last
		}

		put(named(acme, "1"), 0, page)
		pass("while a fax comes", 0, 0, filepath.Join(folder, named(acme, "1")))
		m := pass("once it is quiet", 20*time.Minute, 1)
		if len(m.To) != 1 || m.To[0] != address || !bytes.Contains(m.Data, []byte(base64.StdEncoding.EncodeToString(page))) ||
			!bytes.Contains(m.Data, []byte("image/tiff")) || !bytes.Contains(m.Data, []byte("may lack pages")) {
			t.Errorf("to %v: %s", m.To, m.Data)
		}

		half := put(named(acme, "2"), time.Hour, []byte("II*\x00\x00\x00\x00\x00 no page yet"))
		stranger := put(named(other, "3"), time.Hour, page) // whose tenant has no such destination
		large := put(named(acme, "4"), time.Hour, append(page, make([]byte, 20<<20)...))
		names := []string{"page.tif", strings.ToUpper(named(acme, "5")), named(acme, "6") + ".part", "call-1.wav"}
		stay := []string{half, stranger, large}
		for _, name := range names {
			stay = append(stay, put(name, time.Hour, page))
		}
		secret := filepath.Join(t.TempDir(), "secret")
		link := filepath.Join(folder, named(acme, "8"))
		if err := errors.Join(os.WriteFile(secret, page, 0o600), os.Symlink(secret, link)); err != nil {
			t.Fatal(err)
		}
		stay = append(stay, link)
		pass("of what is no fax, or nobody's", time.Hour, 0, stay...)

		refusal = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "nothing for " + address}
		good := put(named(acme, "9"), 0, page)
		pass("while another one comes", 0, 0, append(stay, good)...)
		if err := sender.Fax(t.Context(), address, "", "x.tif", bytes.NewReader(page)); err == nil || strings.Contains(err.Error(), address) {
			t.Errorf("the error is %v", err)
		}
		pass("refused", time.Hour, 0, append(stay, good)...)
		refusal = nil
		pass("before the pause is over", time.Hour+30*time.Second, 0, append(stay, good)...)
		pass("accepted", time.Hour+time.Minute, 1, stay...)

		// One that has waited before the process began is not sent at once, and rarely.
		old := put(named(acme, "10"), time.Hour, page)
		pass("after a restart", time.Hour, 0, append(stay, old)...)
		refusal = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "not now"}
		pass("refused a minute later", time.Hour+time.Minute, 0, append(stay, old)...)
		refusal = nil
		pass("before its pause is over", 3*time.Hour, 0, append(stay, old)...)
		pass("accepted after as long as it had waited", 3*time.Hour+time.Minute, 1, stay...)

		// Nobody gets those that wait for a week, of which one is of a tenant that has the destination too late.
		exec(`INSERT INTO confd_destination (of_incall_id, slot, type, sub, keys) SELECT id, 'destination', 'application', 'fax_to_mail', $1
			FROM confd_incall WHERE tenant_uuid = $2`, `{"email": "`+address+`"}`, other)
		pass("after a week", 8*24*time.Hour, 0, stay[3:]...)

		for i := range 205 {
			put(named(acme, "1"+string(rune('a'+i/26))+string(rune('a'+i%26))), 0, page)
		}
		if err := service.SendFaxes(t.Context(), now); err != nil { // while they come
			t.Fatal(err)
		}
		pass("more than may wait", 20*time.Minute, 200, stay[3:]...)
	})
}

// A gateway without a mail server says why faxes lead nowhere, and sends what waits as soon as it has one.
func TestFaxesOfTheGateway(t *testing.T) {
	mails, g, folder := mailtest.Start(t, mailtest.Options{}), newGateway(t), t.TempDir()
	asterisk := fmt.Sprintf("asterisk {\nmanager 127.0.0.1:%s\nsecret s\nrecordings %s\netc %s\n}\n", gatewaytest.FreePort(t), folder, t.TempDir())
	g.App, g.Routes = asterisk, "handle /api/sysconfd/* {\nringfence_gate\nringfence_helpers\n}"
	g.Load(t)
	admin := g.Admin(t)
	const address, why = "office@example.org", "faxes are not received: there is no mail server"
	tenant := g.Do(t, "POST", "/api/confd/1.1/incalls", admin, `{"destination": {"type": "application", "application": "fax_to_mail", "email": "`+address+`"}}`).
		Want(201).Text("tenant_uuid")
	if preview := g.Do(t, "GET", "/api/sysconfd/apply/preview", admin, "").Want(200).Body; !strings.Contains(preview, why) {
		t.Errorf("the preview does not say why: %s", preview)
	}
	path := filepath.Join(folder, "fax-"+tenant+"-"+(&confdsvc.ToMail{Email: address}).Key(tenant)+"-1.1.tif")
	old := time.Now().Add(-time.Hour)
	if err := errors.Join(os.WriteFile(path, []byte("II*\x00\x08\x00\x00\x00"), 0o600), os.Chtimes(path, old, old)); err != nil {
		t.Fatal(err)
	}
	g.App = public + mails.Caddyfile("") + asterisk
	if err := g.Reload(t); err != nil {
		t.Fatal(err)
	}
	if m := <-mails.Messages; len(m.To) != 1 || m.To[0] != address {
		t.Errorf("it goes to %v", m.To)
	}
	gatewaytest.Eventually(t, time.Minute, func() error {
		preview, err := g.Try(t.Context(), "GET", "/api/sysconfd/apply/preview", admin, "")
		if err != nil || preview.Status != 200 || strings.Contains(preview.Body, why) {
			return fmt.Errorf("the preview: %w %d %s", err, preview.Status, preview.Body)
		}
		if _, err := os.Lstat(path); err == nil {
			return errors.New("the file is there still")
		}
		return nil
	})
	if strings.Contains(g.Logged(t), address) {
		t.Error("the address is in the log")
	}
}
