package caddymodule_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/ringfence/ringfence/authsvc/external"
)

// externalPlugin returns the plugin that Caddy makes of a Caddyfile, and its JSON.
func externalPlugin(t *testing.T, text string) (external.Plugin, string, error) {
	t.Helper()
	d := caddyfile.NewTestDispenser(text)
	d.Next()
	d.NextArg()
	module, err := caddyfile.UnmarshalModule(d, "ringfence.auth.external."+d.Val())
	if err != nil {
		return nil, "", err
	}
	config, err := json.Marshal(module)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := module.(caddy.Provisioner); ok {
		ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
		defer cancel()
		if err := p.Provision(ctx); err != nil {
			return nil, string(config), err
		}
	}
	return module.(external.Plugin), string(config), nil
}

func TestExternalPlugins(t *testing.T) {
	t.Setenv("EXTERNAL_TEST_HOST", "gitlab.example.com")
	for _, c := range []struct{ name, text, authType, config string }{
		{"google", `external google`, "google", `{}`},
		{"google with scopes", "external google {\n scopes a b\n}", "google", `{"scopes":["a","b"]}`},
		{"microsoft", "external microsoft {\n directory contoso.com\n scopes User.Read\n}", "microsoft", `{"directory":"contoso.com","scopes":["User.Read"]}`},
		{"mobile", `external mobile`, "mobile", `{}`},
		{
			"any service", "external oauth2 gitlab {\n auth_url https://{env.EXTERNAL_TEST_HOST}/oauth/authorize\n token_url https://gitlab.example.com/oauth/token\n" +
				" scopes read_user\n parameter a b\n client_authentication header\n}", "gitlab",
			`{"type":"gitlab","auth_url":"https://{env.EXTERNAL_TEST_HOST}/oauth/authorize","token_url":"https://gitlab.example.com/oauth/token",` +
				`"scopes":["read_user"],"parameters":{"a":"b"},"client_authentication":"header"}`,
		},
		{
			"without a name", "external oauth2 {\n auth_url https://a.example.com\n token_url http://localhost/token\n}", "oauth2",
			`{"auth_url":"https://a.example.com","token_url":"http://localhost/token"}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			plugin, config, err := externalPlugin(t, c.text)
			if err != nil {
				t.Fatal(err)
			}
			if plugin.Type() != c.authType || config != c.config {
				t.Errorf("type %s, configuration %s", plugin.Type(), config)
			}
		})
	}
}

// Plugins that send users back to the gateway need its public URL; others do not.
func TestExternalPluginsNeedThePublicURL(t *testing.T) {
	t.Setenv("RINGFENCE_PUBLIC_URL", "")
	g := newGateway(t)
	for _, plugin := range []string{"google", "microsoft", "oauth2 {\nauth_url https://a.example.com\ntoken_url https://a.example.com/token\n}"} {
		g.App = "external " + plugin
		if err := caddyLoad(g); err == nil || !strings.Contains(err.Error(), "needs public_url (RINGFENCE_PUBLIC_URL)") {
			t.Errorf("%s: %v", plugin, err)
		}
	}
	g.App = "external google\npublic_url http://pbx.example.com"
	if err := caddyLoad(g); err == nil || !strings.Contains(err.Error(), "must begin with https://") {
		t.Errorf("in the clear: %v", err)
	}
	g.App = "external mobile"
	g.Load(t)
	t.Setenv("RINGFENCE_PUBLIC_URL", "https://pbx.example.com")
	g.App = "external google"
	if err := g.Reload(t); err != nil {
		t.Errorf("with the variable: %v", err)
	}
}

func TestExternalPluginsThatAreRefused(t *testing.T) {
	const urls = "auth_url https://a.example.com\n token_url https://a.example.com/token\n"
	for name, text := range map[string]string{
		"no such plugin":           "external nothing",
		"an argument":              "external google x",
		"an option":                "external mobile {\n x y\n}",
		"no scope":                 "external google {\n scopes\n}",
		"two quoted scopes in one": "external google {\n scopes \"a b\"\n}",
		"a directory with a path":  "external microsoft {\n directory a/b\n}",
		"no addresses":             "external oauth2",
		"an address without TLS":   "external oauth2 {\n auth_url https://a.example.com\n token_url http://a.example.com/token\n}",
		"an address with a secret": "external oauth2 {\n auth_url https://a:b@a.example.com\n token_url https://a.example.com/token\n}",
		"a type of two words":      "external oauth2 a.b {\n " + urls + "}",
		"two types":                "external oauth2 a b {\n " + urls + "}",
		"a reserved parameter":     "external oauth2 {\n " + urls + " parameter code_challenge_method plain\n}",
		"half a parameter":         "external oauth2 {\n " + urls + " parameter a\n}",
		"some place else":          "external oauth2 {\n " + urls + " client_authentication query\n}",
	} {
		if _, config, err := externalPlugin(t, text); err == nil {
			t.Errorf("%s was taken: %s", name, config)
		}
	}
}
