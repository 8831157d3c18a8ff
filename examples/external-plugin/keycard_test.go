package main

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/external"
	"github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// The gateway that a test runs is this test's own program, which has the plugin.
func TestMain(m *testing.M) { gatewaytest.Main(m) }

// A whole gateway with the Caddyfile of the example: a user links a card, and reads and removes it.
func TestCaddyfile(t *testing.T) {
	t.Parallel()
	const public = "https://pbx.example.com:8443"
	config := filepath.Join(gatewaytest.Repository(), "examples", "external-plugin", "Caddyfile")
	p := gatewaytest.Start(t, gatewaytest.Settings{Config: config, Env: []string{"RINGFENCE_PUBLIC_URL=" + public}}).Ready(t)
	user, _, token := p.Account(t, p.Login(t, "admin", gatewaytest.Password), "ada", "auth.users.me.external.keycard.*")
	link := "/api/auth/0.1/users/" + user + "/external/keycard"

	at, cookies := p.Connect(t, p.Do(t, "POST", link, token, "{}").Want(201).Text("authorization_url"))
	page, err := url.Parse(at)
	if err != nil || page.Host != "cards.example.com" {
		t.Fatalf("the card service's page is %s, %v", at, err)
	}
	back, err := url.Parse(page.Query().Get("return_to"))
	if err != nil || !strings.HasPrefix(back.String(), public+"/") {
		t.Fatalf("the page is to send the user to %s, %v", back, err)
	}
	back.RawQuery = url.Values{"state": {page.Query().Get("state")}, "number": {"4711"}}.Encode()
	html := resttest.Header("Accept", "text/html")
	p.Do(t, "GET", back.RequestURI(), "", "", html).Want(400) // another browser
	p.Do(t, "GET", back.RequestURI(), "", "", html, cookies).Want(200)
	if number := p.Do(t, "GET", link, token, "").Want(200).Text("number"); number != "4711" {
		t.Errorf("the card is %s", number)
	}
	p.Do(t, "DELETE", link, token, "").Want(204)
	p.Do(t, "GET", link, token, "").Want(404)
}

// parse is the plugin as Caddy makes it of a Caddyfile.
func parse(t *testing.T, text string) (external.Plugin, error) {
	t.Helper()
	d := caddyfile.NewTestDispenser(text)
	d.Next()
	d.NextArg()
	module, err := caddyfile.UnmarshalModule(d, "ringfence.auth.external."+d.Val())
	if err != nil {
		return nil, err
	}
	k := module.(*Keycard)
	return k, k.Validate()
}

func TestThePluginNeedsNothingThatOthersCannotImport(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "keycard.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range file.Imports {
		if strings.Contains(i.Path.Value, "/internal/") {
			t.Errorf("it imports %s", i.Path.Value)
		}
	}
}

func TestTheConfiguration(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"external keycard {\n page https://cards.example.com/link\n}": true,
		"external keycard": false,
		"external keycard {\n page http://cards.example.com/link\n}": false,
		"external keycard {\n color blue\n}":                         false,
	} {
		if _, err := parse(t, text); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestLinkingACard(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		plugin, err := parse(t, "external keycard {\n page https://cards.example.com/link\n}")
		if err != nil {
			t.Fatal(err)
		}
		box := sealed.New(sealed.Options{File: filepath.Join(t.TempDir(), "sealing-key")})
		if err := box.Prepare(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		svc, err := authsvc.New(authsvc.Options{
			DB: db, Settings: authsvc.Settings{Passwords: password.Settings{Params: password.Params{Memory: 64, Time: 1, Threads: 1}}},
			Sealer: box, External: []external.Plugin{plugin}, PublicURL: "https://pbx.example.com:8443",
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := svc.Bootstrap(t.Context(), authsvc.Admin{Username: "admin", Password: "a password", File: filepath.Join(t.TempDir(), "admin")}); err != nil {
			t.Fatal(err)
		}
		everything, err := acl.Compile([]string{"#"})
		if err != nil {
			t.Fatal(err)
		}
		user, err := store.Get[string](t.Context(), db, `SELECT uuid FROM auth_user`)
		if err != nil {
			t.Fatal(err)
		}
		master, err := store.Get[string](t.Context(), db, `SELECT uuid FROM auth_tenant`)
		if err != nil {
			t.Fatal(err)
		}
		admin := &principal.Principal{UserUUID: user, Affiliation: &principal.Affiliation{TenantUUID: master}, ACL: everything}
		var last *httptest.ResponseRecorder
		body := "" // of a form
		do := func(method, path string, status int) map[string]any {
			t.Helper()
			r := httptest.NewRequestWithContext(principal.NewContext(t.Context(), admin), method, "/api/auth/0.1"+path, strings.NewReader(body))
			r.Header.Set("Accept", "application/json")
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if strings.HasPrefix(body, "{") {
				r.Header.Set("Content-Type", "application/json")
			}
			if last != nil {
				for _, c := range last.Result().Cookies() {
					r.AddCookie(c)
				}
			}
			w := httptest.NewRecorder()
			last = w
			svc.REST().ServeHTTP(w, r)
			if w.Code != status {
				t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
			answer := map[string]any{}
			_ = json.Unmarshal(w.Body.Bytes(), &answer)
			return answer
		}

		mine := "/users/" + user + "/external/keycard"
		// The gateway's own page comes first, and asks the person; the plugin does nothing for it.
		body = "{}"
		ask, err := url.Parse(do("POST", mine, 201)["authorization_url"].(string))
		body = ""
		if err != nil || ask.Host != "pbx.example.com:8443" {
			t.Fatalf("the gateway's page is %v, %v", ask, err)
		}
		do("GET", ask.RequestURI()[len("/api/auth/0.1"):], 200)
		form := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(last.Body.String())
		body = url.Values{"token": {form[1]}}.Encode()
		do("POST", ask.RequestURI()[len("/api/auth/0.1"):], 303)
		body = ""
		page, err := url.Parse(last.Header().Get("Location"))
		if err != nil || page.Host != "cards.example.com" {
			t.Fatalf("the page is %v, %v", page, err)
		}
		back, err := url.Parse(page.Query().Get("return_to"))
		if err != nil || back.Host != "pbx.example.com:8443" {
			t.Fatalf("the page is to send the user to %v, %v", back, err)
		}
		returned := strings.TrimPrefix(back.Path, "/api/auth/0.1") + "?" + url.Values{"state": {page.Query().Get("state")}, "number": {"4711"}}.Encode()
		do("GET", returned, 200)
		do("GET", returned, 400)
		if card := do("GET", mine, 200); card["number"] != "4711" {
			t.Errorf("the card is %v", card)
		}
		item := do("GET", "/users/"+admin.UserUUID+"/external", 200)["items"].([]any)[0].(map[string]any)
		data := item["data"].(map[string]any)
		if _, shown := data["number"]; shown || data["since"] == nil || item["enabled"] != true {
			t.Errorf("the list shows %v", item)
		}
		do("DELETE", mine, 204)
		do("GET", mine, 404)
	})
}
