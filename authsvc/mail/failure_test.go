package mail_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/ringfence/ringfence/authsvc/mail"
	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/internal/porttest"
)

func refuse(code int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 7, 1}, Message: text}
}

// secrets are the forms in which a password or a token could appear in an error.
func secrets() []string {
	var all []string
	for _, plain := range []string{password, token, "\x00pbx\x00" + password} {
		all = append(all, plain, url.QueryEscape(plain), url.PathEscape(plain), base64.StdEncoding.EncodeToString([]byte(plain)))
	}
	return append(all, encodedToken)
}

// reaching returns the error of sending a mail. If a wanted step takes longer than the time limit, the speed of the machine
// decides how long the steps before it take: so the limit is doubled until they fit.
func reaching(t *testing.T, c mail.Config, want string) error {
	t.Helper()
	for {
		err := newSender(t, c).Confirmation(t.Context(), ada, id, token)
		if c.Timeout *= 2; err == nil || strings.Contains(err.Error(), want) || !errors.Is(err, context.DeadlineExceeded) || c.Timeout > time.Minute {
			return err
		}
	}
}

func TestFailures(t *testing.T) {
	plain := base64.StdEncoding.EncodeToString([]byte("\x00pbx\x00" + password))
	other := mailtest.Start(t, mailtest.Options{})
	tests := []struct {
		name    string
		options mailtest.Options
		edit    func(c *mail.Config)
		is      error
		want    string
	}{
		{
			name:    "the recipient is refused",
			options: mailtest.Options{Rcpt: func(*mailtest.Server, string) error { return refuse(550, "no such user") }},
			want:    "giving the recipient to ADDR: the server answered 550 5.7.1 no such user",
		},
		{
			name:    "greylisted",
			options: mailtest.Options{Rcpt: func(*mailtest.Server, string) error { return refuse(451, "try again later") }},
			want:    "giving the recipient to ADDR: the server answered 451 4.7.1 try again later",
		},
		{
			name: "the text is refused, and quoted",
			options: mailtest.Options{Data: func(*mailtest.Server, []byte) error {
				return refuse(554, "listed link: https://x.example/c?token="+encodedToken+" "+token)
			}},
			want: "handing the text to ADDR: the server answered 554 5.7.1 listed link: ",
		},
		{
			name:    "the disk is full",
			options: mailtest.Options{Data: func(*mailtest.Server, []byte) error { return refuse(452, "disk full") }},
			want:    "handing the text to ADDR: the server answered 452 4.7.1 disk full",
		},
		{
			name: "the server goes away in the envelope",
			options: mailtest.Options{Rcpt: func(s *mailtest.Server, _ string) error {
				s.Drop()
				return nil
			}},
			want: "giving the recipient to ADDR: ",
		},
		{
			name: "the server goes away after the text",
			options: mailtest.Options{Data: func(s *mailtest.Server, _ []byte) error {
				s.Drop()
				return nil
			}},
			want: "handing the text to ADDR: ",
		},
		{
			name:    "the server hangs in the envelope",
			options: mailtest.Options{Rcpt: func(s *mailtest.Server, _ string) error { return s.Hang() }},
			edit:    func(c *mail.Config) { c.Timeout = 300 * time.Millisecond },
			is:      context.DeadlineExceeded,
			want:    "giving the recipient to ADDR: context deadline exceeded",
		},
		{
			name:    "the server hangs after the text",
			options: mailtest.Options{Data: func(s *mailtest.Server, _ []byte) error { return s.Hang() }},
			edit:    func(c *mail.Config) { c.Timeout = 300 * time.Millisecond },
			is:      context.DeadlineExceeded,
			want:    "handing the text to ADDR: context deadline exceeded",
		},
		{
			name:    "no STARTTLS",
			options: mailtest.Options{Clear: true, Username: "pbx", Password: password},
			edit:    func(c *mail.Config) { c.Username, c.Password = "pbx", password },
			want:    "does not support STARTTLS",
		},
		{
			name: "another authority's certificate",
			edit: func(c *mail.Config) { c.CAFile = other.CAFile },
			want: "certificate signed by unknown authority",
		},
		{
			name: "no authority of the system's",
			edit: func(c *mail.Config) { c.CAFile = "" },
			want: "certificate signed by unknown authority",
		},
		{
			name:    "another host's certificate",
			options: mailtest.Options{Names: []string{"mail.example.com"}},
			want:    "cannot validate certificate for 127.0.0.1",
		},
		{
			name:    "another host's certificate, implicit TLS",
			options: mailtest.Options{Names: []string{"mail.example.com"}, ImplicitTLS: true},
			edit:    func(c *mail.Config) { c.TLS, c.Host = mail.ImplicitTLS, "localhost" },
			want:    "certificate is valid for mail.example.com, not localhost",
		},
		{
			name: "implicit TLS with a server that begins in clear",
			edit: func(c *mail.Config) { c.TLS = mail.ImplicitTLS },
			want: "first record does not look like a TLS handshake",
		},
		{
			name:    "a wrong password",
			options: mailtest.Options{Username: "pbx", Password: "another"},
			edit:    func(c *mail.Config) { c.Username, c.Password = "pbx", password },
			want:    "authenticating with ADDR: the server answered 535 5.7.8 Authentication failed",
		},
		{
			name: "a wrong password, which the server repeats",
			options: mailtest.Options{Username: "pbx", Password: "another", Auth: func(*mailtest.Server, string) error {
				return refuse(535, "what is "+password+" or AUTH PLAIN "+plain+"\r\n535 5.7.1 to mean?")
			}},
			edit: func(c *mail.Config) { c.Username, c.Password = "pbx", password },
			want: "authenticating with ADDR: the server answered 535 what is ... or AUTH PLAIN ... ",
		},
		{
			name: "authentication is down",
			options: mailtest.Options{Username: "pbx", Password: password, Auth: func(*mailtest.Server, string) error {
				return refuse(454, "directory unreachable")
			}},
			edit: func(c *mail.Config) { c.Username, c.Password = "pbx", password },
			want: "authenticating with ADDR: the server answered 454 4.7.1 directory unreachable",
		},
		{
			name:    "no authentication that we speak",
			options: mailtest.Options{Username: "pbx", Password: password, Mechanism: "CRAM-MD5"},
			edit:    func(c *mail.Config) { c.Username, c.Password = "pbx", password },
			want:    `it offers neither AUTH PLAIN nor AUTH LOGIN, but ["CRAM-MD5"]`,
		},
		{
			name:    "an authentication that is wanted and not configured",
			options: mailtest.Options{Username: "pbx", Password: password},
			want:    "giving the sender to ADDR: the server answered 502 5.7.0 Please authenticate first",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := mailtest.Start(t, tt.options)
			c := config(server)
			if tt.edit != nil {
				tt.edit(&c)
			}
			want := strings.ReplaceAll(tt.want, "ADDR", fmt.Sprintf("%s:%d", c.Host, c.Port))
			err := reaching(t, c, want)
			if err == nil {
				t.Fatal("sent")
			}
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q, want %q", err, want)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v is no %v", err, tt.is)
			}
			if strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("error of several lines: %q", err)
			}
			for _, secret := range secrets() {
				for _, text := range []string{err.Error(), fmt.Sprintf("%+v %#v", err, err)} {
					if strings.Contains(text, secret) {
						t.Errorf("%q is in the error %q", secret, text)
					}
				}
				if bytes.Contains(server.Wire(), []byte(secret)) {
					t.Errorf("%q went over the wire in clear", secret)
				}
			}
			if wire := server.Wire(); bytes.Contains(wire, []byte("MAIL FROM")) || bytes.Contains(wire, []byte("AUTH ")) {
				t.Errorf("in clear: %q", wire)
			}
			select {
			case m := <-server.Messages:
				if tt.name != "the server goes away after the text" { // it has the mail
					t.Errorf("arrived all the same: %s", m.Data)
				}
			default:
			}
		})
	}
}

// TestStartTLSStripped plays the attacker who removes STARTTLS from the reply: only a greeting is sent.
func TestStartTLSStripped(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{Clear: true, Username: "pbx", Password: password})
	c := config(server)
	c.Username, c.Password = "pbx", password
	if err := newSender(t, c).Confirmation(t.Context(), ada, id, token); err == nil {
		t.Errorf("error %v", err)
	}
	if got := string(server.Wire()); got != "EHLO pbx.example.com\r\n" {
		t.Errorf("sent %q", got)
	}
}

func TestCancelled(t *testing.T) {
	asked := make(chan struct{})
	server := mailtest.Start(t, mailtest.Options{Rcpt: func(s *mailtest.Server, _ string) error {
		close(asked)
		return s.Hang()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	c := config(server)
	c.Timeout = 24 * time.Hour // only cancelling ends it
	err := newSender(t, c).Confirmation(ctx, ada, id, token)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := newSender(t, config(server)).Confirmation(ctx, ada, id, token); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	port, release, err := porttest.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	sender := newSender(t, mail.Config{Host: "127.0.0.1", Port: port, From: "pbx@example.com", BaseURL: "https://pbx.example.com"})
	if err := sender.Confirmation(t.Context(), ada, id, token); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("error %v", err)
	}
}

func TestUnfitRecipients(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	sender := newSender(t, config(server))
	tests := []struct {
		name string
		to   mail.Recipient
	}{
		{"no address", mail.Recipient{}},
		{"a header behind the address", mail.Recipient{Address: "ada@example.com\r\nBcc: eve@example.com"}},
		{"a line feed", mail.Recipient{Address: "ada@example.com\n"}},
		{"a command", mail.Recipient{Address: "ada@example.com>\r\nRCPT TO:<eve@example.com"}},
		{"a parameter", mail.Recipient{Address: "ada@example.com> NOTIFY=NEVER"}},
		{"two addresses", mail.Recipient{Address: "ada@example.com,eve@example.com"}},
		{"a display name", mail.Recipient{Address: "Ada <ada@example.com>"}},
		{"a comment", mail.Recipient{Address: "ada@example.com(eve)"}},
		{"angle brackets", mail.Recipient{Address: "<ada@example.com>"}},
		{"a name quoted for nothing", mail.Recipient{Address: `"ada"@example.com`}},
		{"a quoted name", mail.Recipient{Address: `"a@b"@example.com`}},
		{"a space", mail.Recipient{Address: " ada@example.com"}},
		{"no domain", mail.Recipient{Address: "ada"}},
		{"an IP address", mail.Recipient{Address: "ada@[10.0.0.1]"}},
		{"not ASCII", mail.Recipient{Address: "ada@ｅxample.com"}},
		{"too long", mail.Recipient{Address: strings.Repeat("a", 250) + "@x.co"}},
		{"a header in the first name", mail.Recipient{Address: "ada@example.com", Firstname: "Ada\r\nBcc: eve@example.com"}},
		{"a line feed in the last name", mail.Recipient{Address: "ada@example.com", Lastname: "Love\nlace"}},
		{"a bare return in the username", mail.Recipient{Address: "ada@example.com", Username: "ada\rl"}},
		{"NUL", mail.Recipient{Address: "ada@example.com", Firstname: "A\x00"}},
		{"a line separator", mail.Recipient{Address: "ada@example.com", Firstname: "A\u2028B"}},
		{"no UTF-8", mail.Recipient{Address: "ada@example.com", Firstname: "A\xff"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, send := range []func(context.Context, mail.Recipient, string, string) error{sender.Confirmation, sender.PasswordReset} {
				err := send(t.Context(), tt.to, id, token)
				if !errors.Is(err, mail.ErrRecipient) {
					t.Errorf("error %v", err)
				}
				if strings.Contains(err.Error(), "eve") {
					t.Errorf("the error repeats it: %v", err)
				}
			}
		})
	}
	if err := sender.Confirmation(t.Context(), ada, "../../evil", token); err == nil || strings.Contains(err.Error(), token) {
		t.Errorf("for no UUID: %v", err)
	}
	if err := sender.PasswordReset(t.Context(), ada, "?", token); err == nil {
		t.Error("sent for no UUID")
	}
	if wire := server.Wire(); len(wire) != 0 {
		t.Errorf("the server heard %q", wire)
	}
}
