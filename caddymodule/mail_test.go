package caddymodule_test

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
)

// public is the ringfence app's option for the public URL.
const public = "public_url https://pbx.example.com\n"

const api = "/api/auth/0.1"

// A stranger registers, confirms the address, forgets the password, and chooses another, on a whole gateway.
func TestMailsOfTheGateway(t *testing.T) {
	t.Setenv("SMTP_PASSWORD", "hush hush")
	mails := mailtest.Start(t, mailtest.Options{Username: "pbx", Password: "hush hush"})
	g := newGateway(t)
	g.App = public + mails.Caddyfile("username pbx\npassword {env.SMTP_PASSWORD}") + "self_registration"
	g.Load(t)
	body := `{"username":"ada","password":"the first","email_address":"ada@example.org"}`
	user := g.Do(t, "POST", api+"/users/register", "", body).Want(200).Text("uuid")
	link, found := strings.CutPrefix(mails.Next(t).Link(t), "https://pbx.example.com")
	if !found {
		t.Fatalf("the link is %s", link)
	}
	g.Do(t, "GET", link, "", "", func(r *http.Request) { r.Header.Set("Accept", "text/html") }).Want(200)
	session := g.Login(t, "ada@example.org", "the first")

	g.Do(t, "GET", api+"/users/password/reset?email=ada@example.org", "", "", func(r *http.Request) { r.Host = "evil.example" }).Want(204)
	m := mails.Next(t)
	_, fragment, _ := strings.Cut(m.Link(t), "#")
	values, err := url.ParseQuery(fragment)
	if err != nil || values.Get("user_uuid") != user || !strings.HasPrefix(m.Link(t), "https://pbx.example.com/console/") || !strings.Contains(m.Text(t), "1 hour") {
		t.Fatalf("the mail says\n%s", m.Text(t))
	}
	choose := api + "/users/password/reset?user_uuid=" + user + "&token=" + values.Get("token")
	g.Do(t, "POST", choose, "", `{"password":"the second"}`).Want(204)
	g.Do(t, "POST", choose, "", `{"password":"the third"}`).Want(401)
	g.Do(t, "GET", api+"/users/"+user, session, "").Want(401)
	g.Login(t, "ada", "the second")

	// A reload changes both without a restart, and a refused one changes nothing.
	g.App = "self_registration"
	if err := g.Reload(t); err == nil || !strings.Contains(err.Error(), "self_registration needs a mail server") {
		t.Errorf("a reload without a mail server: %v", err)
	}
	g.Do(t, "POST", api+"/users/register", "", body).Want(409)
	g.App = ""
	if err := g.Reload(t); err != nil {
		t.Fatal(err)
	}
	g.Do(t, "POST", api+"/users/register", "", body).Want(404)
	if log := g.Logged(t); strings.Contains(log, "hush hush") || strings.Contains(log, values.Get("token")) {
		t.Error("a secret is in the log")
	}
}

func TestMailOptionsAreChecked(t *testing.T) {
	mails := mailtest.Start(t, mailtest.Options{})
	for _, tt := range []struct{ name, app, want string }{
		{"no sender", public + "mail localhost", "preparing to send mails: a mail sender is missing"},
		{"no public URL", "mail localhost {\nfrom pbx@example.com\n}", "preparing to send mails: mail needs public_url (RINGFENCE_PUBLIC_URL)"},
		{"public URL in the clear", "public_url http://pbx.example.com", "reading public_url (RINGFENCE_PUBLIC_URL): the public URL must begin with https://"},
		{"no server", "mail {\nfrom pbx@example.com\n}", "a mail host is missing"},
		{"no port", public + "mail localhost:smtp {\nfrom pbx@example.com\n}", "is not a number"},
		{"no TLS", public + mails.Caddyfile("tls maybe"), `mail TLS "maybe"`},
		{"no templates", public + mails.Caddyfile("templates /nonexistent"), "reading the mail templates"},
		{"twice", mails.Caddyfile("") + mails.Caddyfile(""), "mail is given twice"},
		{"unknown option", mails.Caddyfile("bcc x@example.com"), `unknown option "bcc" of mail`},
		{"no duration", mails.Caddyfile("timeout soon"), `timeout of mail: "soon" is not a positive duration`},
		{"two values", public + mails.Caddyfile("tls none none"), "tls of mail: it takes one value"},
		{"an argument too many", "self_registration please", "wrong argument count"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGateway(t)
			g.App = tt.app
			if err := caddyLoad(g); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if found, _ := filepath.Glob(filepath.Join(g.Dir, "data", "*.db")); len(found) > 0 {
				t.Errorf("%q was made", found)
			}
		})
	}
}

// Behind a trusted proxy, a login counts for the proxy's client.
func TestClientBehindAProxy(t *testing.T) {
	for _, tt := range []struct {
		name    string
		trusted []string
		want    string
	}{{"trusted", []string{"127.0.0.0/8"}, "198.51.100.7"}, {"not trusted", []string{"192.0.2.1/32"}, "127.0.0.1"}} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGateway(t)
			g.Change = func(config map[string]any) {
				apps := config["apps"].(map[string]any)
				for _, server := range apps["http"].(map[string]any)["servers"].(map[string]any) {
					server.(map[string]any)["trusted_proxies"] = map[string]any{"source": "static", "ranges": tt.trusted}
				}
			}
			g.Load(t)
			a := g.Do(t, "POST", api+"/token", "", "{}", func(r *http.Request) {
				r.SetBasicAuth("admin", adminPassword)
				r.Header.Set("X-Forwarded-For", "198.51.100.7")
			}).Want(200)
			if got := a.Text("data.remote_addr"); got != tt.want {
				t.Errorf("remote_addr is %s, want %s", got, tt.want)
			}
		})
	}
}
