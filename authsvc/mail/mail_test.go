package mail_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	netmail "net/mail"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ringfence/ringfence/authsvc/mail"
	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
)

var update = flag.Bool("update", false, "rewrite the mails in testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	id    = "0f2b3a9e-5d4c-4b7a-8f6e-1a2b3c4d5e6f"
	token = "rf_3nQz/+&=?#% öXyZ-0123456789.:user_uuid"
	// encodedToken is the token as it appears in every link.
	encodedToken = "rf_3nQz%2F%2B%26%3D%3F%23%25%20%C3%B6XyZ-0123456789.%3Auser_uuid"
	password     = "the mail server's passw0rd, 100% secret"
)

var ada = mail.Recipient{Address: "ada@example.com", Firstname: "Ada", Lastname: "Lovelace", Username: "ada.l"}

// config returns a configuration that satisfies the server: encrypted, verified, and authenticated if it asks for that.
func config(s *mailtest.Server) mail.Config {
	return mail.Config{
		Host: s.Host, Port: s.Port, CAFile: s.CAFile,
		From: "Example PBX <pbx@example.com>", BaseURL: "https://pbx.example.com", Timeout: 20 * time.Second,
	}
}

func newSender(t *testing.T, c mail.Config) *mail.Sender {
	t.Helper()
	s, err := mail.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConfirmation(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	before := time.Now().Truncate(time.Second)
	if err := newSender(t, config(server)).Confirmation(t.Context(), ada, id, token); err != nil {
		t.Fatal(err)
	}
	m := server.Next(t)
	if m.From != "pbx@example.com" || fmt.Sprint(m.To) != "[ada@example.com]" {
		t.Errorf("envelope from %s to %s", m.From, m.To)
	}
	if m.TLS < tls.VersionTLS12 || m.Hello != "pbx.example.com" {
		t.Errorf("TLS %x, hello %q", m.TLS, m.Hello)
	}
	h := m.Header(t)
	want := map[string]string{
		"From":           `"Example PBX" <pbx@example.com>`,
		"To":             `"Ada Lovelace" <ada@example.com>`,
		"Auto-Submitted": "auto-generated",
		"Mime-Version":   "1.0",
		"Subject":        "Please confirm your e-mail address",
	}
	for name, value := range want {
		if h.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, h.Get(name), value)
		}
	}
	if date, err := h.Date(); err != nil || date.Before(before) || date.After(time.Now()) {
		t.Errorf("date %v, %v", date, err)
	}
	if got := h.Get("Message-Id"); !regexp.MustCompile(`^<[0-9a-f-]{36}@example\.com>$`).MatchString(got) {
		t.Errorf("message id %q", got)
	}
	for name := range h {
		switch name {
		case "From", "To", "Subject", "Date", "Message-Id", "Mime-Version", "Auto-Submitted", "Content-Type":
		default:
			t.Errorf("unexpected header %s: %v", name, h[name])
		}
	}
	link := "https://pbx.example.com/api/auth/0.1/emails/" + id + "/confirm?token=" + encodedToken
	wantText := `Hello Ada Lovelace,

ada@example.com was entered as the e-mail address of an account at pbx.example.com.
To confirm that it is yours, open this link:

` + link + `

The link is valid for 1 hour and works once.

If it was not you who asked for this, there is nothing to do. Delete this
message, and the address stays unconfirmed.
`
	if got := m.Text(t); got != wantText {
		t.Errorf("text:\n%s\nwant:\n%s", got, wantText)
	}
	html := m.HTML(t)
	for _, part := range []string{
		`<p>Hello Ada Lovelace,</p>`, `<a href="` + link + `"`, `>` + link + `</a>`, "valid for 1 hour", "If it was not you",
	} {
		if !strings.Contains(html, part) {
			t.Errorf("no %s in\n%s", part, html)
		}
	}
	u, err := url.Parse(m.Link(t))
	if err != nil || u.Query().Get("token") != token {
		t.Errorf("link %s gives the token %q, %v", m.Link(t), u.Query().Get("token"), err)
	}
}

func TestPasswordReset(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	tests := []struct {
		name string
		base string
		want string
	}{
		{
			"the console's page", "https://pbx.example.com",
			"https://pbx.example.com/console/reset.html#user_uuid=" + id + "&token=" + encodedToken,
		},
		{
			"below a path and on a port", "https://10.0.0.7:8080/ringfence/",
			"https://10.0.0.7:8080/ringfence/console/reset.html#user_uuid=" + id + "&token=" + encodedToken,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := config(server)
			c.BaseURL = tt.base
			if err := newSender(t, c).PasswordReset(t.Context(), ada, id, token); err != nil {
				t.Fatal(err)
			}
			m := server.Next(t)
			if got := m.Link(t); got != tt.want {
				t.Errorf("link\n%s, want\n%s", got, tt.want)
			}
			if got := m.Subject(t); got != "Choose a new password" {
				t.Errorf("subject %q", got)
			}
			for _, part := range []string{`the account "ada.l" at`, "valid for 1 hour and works once", "If it was not you"} {
				if !strings.Contains(m.Text(t), part) {
					t.Errorf("no %s in\n%s", part, m.Text(t))
				}
			}
			escaped := strings.ReplaceAll(tt.want, "&", "&amp;")
			for _, part := range []string{`the account “ada.l” at`, `href="` + escaped + `"`, ">" + escaped + "<"} {
				if !strings.Contains(m.HTML(t), part) {
					t.Errorf("no %s in\n%s", part, m.HTML(t))
				}
			}
		})
	}
}

func TestConnections(t *testing.T) {
	tests := []struct {
		name    string
		options mailtest.Options
		edit    func(c *mail.Config)
	}{
		{"STARTTLS", mailtest.Options{}, func(c *mail.Config) { c.TLS = mail.StartTLS }},
		{"STARTTLS and AUTH PLAIN", mailtest.Options{Username: "pbx", Password: password}, nil},
		{"STARTTLS and AUTH LOGIN", mailtest.Options{Username: "pbx", Password: password, Mechanism: "LOGIN"}, nil},
		{"implicit TLS", mailtest.Options{ImplicitTLS: true}, func(c *mail.Config) { c.TLS = mail.ImplicitTLS }},
		{
			"implicit TLS and AUTH",
			mailtest.Options{ImplicitTLS: true, Username: "pbx", Password: password},
			func(c *mail.Config) { c.TLS = mail.ImplicitTLS },
		},
		{"by name", mailtest.Options{}, func(c *mail.Config) { c.Host = "localhost" }},
		{"none", mailtest.Options{Clear: true}, func(c *mail.Config) { c.TLS, c.CAFile = mail.NoTLS, "" }},
		{
			"none and AUTH",
			mailtest.Options{Clear: true, Username: "pbx", Password: password},
			func(c *mail.Config) { c.TLS, c.CAFile = mail.NoTLS, "" },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := mailtest.Start(t, tt.options)
			c := config(server)
			c.Username, c.Password = tt.options.Username, tt.options.Password
			if tt.edit != nil {
				tt.edit(&c)
			}
			if err := newSender(t, c).Confirmation(t.Context(), ada, id, token); err != nil {
				t.Fatal(err)
			}
			m := server.Next(t)
			if m.Username != tt.options.Username || (m.TLS == 0) != tt.options.Clear {
				t.Errorf("from %q, TLS %x", m.Username, m.TLS)
			}
			inClear := bytes.Contains(server.Wire(), []byte("confirm?token"))
			if inClear = inClear || bytes.Contains(server.Wire(), []byte("ada@example.com")); inClear != tt.options.Clear {
				t.Errorf("readable on the wire: %t", inClear)
			}
		})
	}
}

func TestManySendAtOnce(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{Username: "pbx", Password: password})
	c := config(server)
	c.Username, c.Password = "pbx", password
	sender := newSender(t, c)
	const n = 20
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			to := mail.Recipient{Address: fmt.Sprintf("u%d@example.com", i)}
			if err := sender.PasswordReset(t.Context(), to, id, fmt.Sprintf("token-%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	ids := make(map[string]bool)
	for range n {
		m := server.Next(t)
		number := strings.TrimSuffix(strings.TrimPrefix(m.To[0], "u"), "@example.com")
		if !strings.HasSuffix(m.Link(t), "=token-"+number) {
			t.Errorf("%s was sent %s", m.To, m.Link(t))
		}
		ids[m.Header(t).Get("Message-Id")] = true
	}
	if len(ids) != n {
		t.Errorf("%d message ids for %d mails", len(ids), n)
	}
}

// TestNames sends mails with names that people, and abusers of a registration form, enter.
func TestNames(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	sender := newSender(t, config(server))
	long := strings.Repeat("x", 200)
	tests := []struct {
		name     string
		to       mail.Recipient
		header   string // To, decoded
		greeting string
		account  string
	}{
		{"none", mail.Recipient{}, "", "Hello,", "your account"},
		{"first", mail.Recipient{Firstname: "Ada"}, "Ada", "Hello Ada,", "your account"},
		{"initials", mail.Recipient{Firstname: "J.R.", Lastname: "Ewing Jr."}, "J.R. Ewing Jr.", "Hello J.R. Ewing Jr.,", "your account"},
		{
			"not ASCII",
			mail.Recipient{Firstname: "Zoë", Lastname: "Øster 李", Username: "zoë"},
			"Zoë Øster 李", "Hello Zoë Øster 李,", `the account "zoë"`,
		},
		{
			"markup",
			mail.Recipient{Firstname: `"Bob" & 'Co'`, Lastname: "{{if}}"},
			`"Bob" & 'Co' {{if}}`, `Hello "Bob" & 'Co' {{if}},`, "your account",
		},
		{"a tag", mail.Recipient{Firstname: "<b>Bob</b>", Username: "<b>"}, "", "Hello,", "your account"},
		{"a link", mail.Recipient{Firstname: "Win at http://evil.example/", Username: "evil.example/x"}, "", "Hello,", "your account"},
		{"a bare domain", mail.Recipient{Firstname: "Open evil.example now"}, "", "Hello,", "your account"},
		{"another's address", mail.Recipient{Firstname: "bob@bank.example", Username: "b@x.example"}, "", "Hello,", `the account "b@x.example"`},
		{"backwards", mail.Recipient{Firstname: "\u202eada", Username: "\u202eada"}, "", "Hello,", "your account"},
		{"a sentence", mail.Recipient{Username: "you won, see evil.example"}, "", "Hello,", "your account"},
		{"too long", mail.Recipient{Firstname: long, Lastname: "Y", Username: long}, "", "Hello,", "your account"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.to.Address = "ada@example.com"
			if err := sender.PasswordReset(t.Context(), tt.to, id, token); err != nil {
				t.Fatal(err)
			}
			m := server.Next(t)
			to, err := netmail.ParseAddress(m.Header(t).Get("To"))
			if err != nil || to.Name != tt.header || to.Address != tt.to.Address {
				t.Errorf("to %v, %v, want %q", to, err, tt.header)
			}
			text := m.Text(t)
			if !strings.HasPrefix(text, tt.greeting+"\n") || !strings.Contains(text, "for "+tt.account+" at") {
				t.Errorf("want %q and %q in\n%s", tt.greeting, tt.account, text)
			}
			if tt.name == "markup" && !strings.Contains(m.HTML(t), "Hello &#34;Bob&#34; &amp; &#39;Co&#39; {{if}},") {
				t.Errorf("not escaped:\n%s", m.HTML(t))
			}
			for line := range bytes.SplitSeq(m.Data, []byte("\r\n")) {
				if len(line) > 998 || bytes.ContainsAny(line, "\r\n") {
					t.Errorf("line %q", line)
				}
			}
		})
	}
}

// TestWhole compares whole mails, byte by byte except for what differs each time. -update rewrites the files.
func TestWhole(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	sender := newSender(t, config(server))
	tests := []struct {
		file string
		send func(ctx context.Context, to mail.Recipient, id, token string) error
	}{
		{"confirmation.eml", sender.Confirmation},
		{"reset.eml", sender.PasswordReset},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			if err := tt.send(t.Context(), ada, id, "rf_0123456789"); err != nil {
				t.Fatal(err)
			}
			got := string(server.Next(t).Data)
			boundary := regexp.MustCompile(`boundary=(\w+)`).FindStringSubmatch(got)
			if boundary == nil {
				t.Fatalf("no boundary in\n%s", got)
			}
			got = strings.ReplaceAll(got, boundary[1], "BOUNDARY")
			got = regexp.MustCompile(`(?m)^Date: .*\r$`).ReplaceAllString(got, "Date: DATE\r")
			got = regexp.MustCompile(`(?m)^Message-ID: .*\r$`).ReplaceAllString(got, "Message-ID: ID\r")
			if n := strings.Count(got, "\n"); n != strings.Count(got, "\r\n") || n != strings.Count(got, "\r") {
				t.Errorf("lines end in other than CRLF: %q", got)
			}
			got = strings.ReplaceAll(got, "\r\n", "\n")
			file := filepath.Join("testdata", tt.file)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the mail is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestDotsArrive tests the transparency of RFC 5321, 4.5.2: a line that begins with a dot.
func TestDotsArrive(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	c := config(server)
	c.Templates = t.TempDir()
	const text = ".\n..\n.hidden\n{{.Link}}\n\nFrom here on\n"
	if err := os.WriteFile(filepath.Join(c.Templates, "reset.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := newSender(t, c).PasswordReset(t.Context(), ada, id, token); err != nil {
		t.Fatal(err)
	}
	m := server.Next(t)
	if got, want := m.Text(t), strings.ReplaceAll(text, "{{.Link}}", m.Link(t)); got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

func TestNotConfigured(t *testing.T) {
	tests := []struct {
		name   string
		sender *mail.Sender
	}{
		{"nil", nil},
		{"no host", newSender(t, mail.Config{BaseURL: "https://pbx.example.com"})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.sender.Enabled() {
				t.Error("enabled")
			}
			for _, err := range []error{
				tt.sender.Confirmation(t.Context(), ada, id, token), tt.sender.PasswordReset(t.Context(), ada, id, token),
			} {
				if err != mail.ErrNotConfigured { //nolint:errorlint // this very error: callers show it
					t.Errorf("error %v", err)
				}
			}
		})
	}
}
