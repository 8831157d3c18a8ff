package mail_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc/mail"
)

func TestConfig(t *testing.T) {
	folder := t.TempDir()
	empty := filepath.Join(folder, "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		edit func(c *mail.Config)
		want string // "": accepted
	}{
		{"the least", func(*mail.Config) {}, ""},
		{"IPv6", func(c *mail.Config) { c.Host = "2001:db8::25" }, ""},
		{"none on this host by name", func(c *mail.Config) { c.Host, c.TLS = "localhost", mail.NoTLS }, ""},
		{"none on this host by IPv6", func(c *mail.Config) { c.Host, c.TLS = "::1", mail.NoTLS }, ""},
		{"none on another host", func(c *mail.Config) { c.TLS = mail.NoTLS }, "is for a mail server on this host"},
		{"none on a host of this name", func(c *mail.Config) { c.Host, c.TLS = "localhost.example.com", mail.NoTLS }, "on this host"},
		{"none with a CA", func(c *mail.Config) { c.Host, c.TLS, c.CAFile = "::1", mail.NoTLS, empty }, "of no use"},
		{"unknown TLS", func(c *mail.Config) { c.TLS = "opportunistic" }, `mail TLS "opportunistic" is none of`},
		{"host with port", func(c *mail.Config) { c.Host = "mx.example.com:25" }, "neither a name nor an IP address"},
		{"host is a socket", func(c *mail.Config) { c.Host = "unix:///run/mail" }, "neither a name nor an IP address"},
		{"port", func(c *mail.Config) { c.Port = 70000 }, "mail port 70000"},
		{"negative port", func(c *mail.Config) { c.Port = -1 }, "mail port -1"},
		{"no password", func(c *mail.Config) { c.Username = "pbx" }, "go together"},
		{"no username", func(c *mail.Config) { c.Password = password }, "go together"},
		{"negative timeout", func(c *mail.Config) { c.Timeout = -time.Second }, "timeout -1s is negative"},
		{"no sender", func(c *mail.Config) { c.From = "" }, "set From"},
		{"sender is none", func(c *mail.Config) { c.From = "pbx" }, `reading the mail sender "pbx"`},
		{"sender with a header", func(c *mail.Config) { c.From = "pbx@example.com\r\nBcc: eve@example.com" }, "mail sender"},
		{"sender with a name", func(c *mail.Config) { c.From = `"Büro, PBX" <pbx@example.com>` }, ""},
		{"two senders", func(c *mail.Config) { c.From = "pbx@example.com, eve@example.com" }, "mail sender"},
		{"no CA file", func(c *mail.Config) { c.CAFile = filepath.Join(folder, "none") }, "reading the mail server's CA file"},
		{"CA file is none", func(c *mail.Config) { c.CAFile = empty }, "holds no certificate"},
		{"no base URL", func(c *mail.Config) { c.BaseURL = "" }, "a base URL is missing"},
		{"base URL with a path", func(c *mail.Config) { c.BaseURL = "https://example.com/pbx/" }, ""},
		{"relative base URL", func(c *mail.Config) { c.BaseURL = "/pbx" }, "begins with neither https:// nor http://"},
		{"base URL without scheme", func(c *mail.Config) { c.BaseURL = "pbx.example.com" }, "begins with neither"},
		{"base URL of another scheme", func(c *mail.Config) { c.BaseURL = "javascript:alert(1)" }, "begins with neither"},
		{"base URL in the clear", func(c *mail.Config) { c.BaseURL = "http://example.com" }, "for this host alone"},
		{"base URL in the clear on this host", func(c *mail.Config) { c.BaseURL = "http://localhost:8080" }, ""},
		{"base URL without host", func(c *mail.Config) { c.BaseURL = "https:///pbx" }, "has no host"},
		{"base URL with a query", func(c *mail.Config) { c.BaseURL = "https://example.com/?a=b" }, "has a query or a fragment"},
		{"base URL with an empty query", func(c *mail.Config) { c.BaseURL = "https://example.com/?" }, "has a query or a fragment"},
		{"base URL with a fragment", func(c *mail.Config) { c.BaseURL = "https://example.com/#" }, "has a query or a fragment"},
		{"base URL with a password", func(c *mail.Config) { c.BaseURL = "https://u:hush@example.com" }, "user information"},
		{"base URL with control characters", func(c *mail.Config) { c.BaseURL = "https://example.com/\n" }, "base URL"},
		{"base URL not in ASCII", func(c *mail.Config) { c.BaseURL = "https://büro.example" }, "no host in ASCII"},
		{"no host, no mail", func(c *mail.Config) { *c = mail.Config{} }, ""},
		{"no host", func(c *mail.Config) { c.Host = "" }, "a mail host is missing"},
		{"no host, bad base URL", func(c *mail.Config) { *c = mail.Config{BaseURL: "x"} }, "the base URL"},
		{"no templates", func(c *mail.Config) { c.Templates = filepath.Join(folder, "none") }, "reading the mail templates"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := mail.Config{Host: "mx.example.com", From: "pbx@example.com", BaseURL: "https://pbx.example.com"}
			tt.edit(&c)
			s, err := mail.New(c)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if s.Enabled() != (c.Host != "") {
					t.Errorf("enabled: %t", s.Enabled())
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			if s != nil || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), password) {
				t.Errorf("sender %v, error %v", s, err)
			}
		})
	}
}
