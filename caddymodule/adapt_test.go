package caddymodule_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const separator = "\n----------\n"

// TestAdapt compares adapted Caddyfiles with testdata/adapt: each file holds a Caddyfile, a separator line, and the JSON. One of
// them is the repository's own Caddyfile, adapted in an empty environment.
func TestAdapt(t *testing.T) {
	for _, name := range []string{"HTTPS_PORT", "HELPERS_PORT", "DATA", "DATABASE", "ADMIN_USERNAME", "ADMIN_PASSWORD", "ADMIN_SOCKET", "PUBLIC_URL"} {
		t.Setenv("RINGFENCE_"+name, "") // so that the test restores it
		if err := os.Unsetenv("RINGFENCE_" + name); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("testdata/adapt/*.caddyfiletest")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".caddyfiletest"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			caddyfile, want, _ := strings.Cut(string(content), separator)
			if strings.HasPrefix(filepath.Base(file), "default.") {
				caddyfile = strings.TrimSuffix(gatewaytest.DefaultCaddyfile(t), "\n")
			}
			got := adapted(t, caddyfile)
			whole := caddyfile + separator + got + "\n"
			if *update {
				if err := os.WriteFile(file, []byte(whole), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if whole != string(content) {
				t.Errorf("%s is out of date: run `make generate` and look at what changes.\ngot:\n%s\nwant:\n%s", file, got, want)
			}
		})
	}
}

func adapted(t *testing.T, caddyfile string) string {
	t.Helper()
	config, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(caddyfile+"\n"), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range warnings {
		if !strings.Contains(w.Message, "Caddyfile input is not formatted") {
			t.Errorf("warning: %s", w)
		}
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, config, "", "\t"); err != nil {
		t.Fatal(err)
	}
	return indented.String()
}

// The default Caddyfile is formatted as `ringfence fmt` would.
func TestDefaultCaddyfileIsFormatted(t *testing.T) {
	text := gatewaytest.DefaultCaddyfile(t)
	_, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), nil)
	if err != nil || len(warnings) > 0 {
		t.Errorf("%v, %v", warnings, err)
	}
}

// What an import prints for the Caddyfile can be pasted there.
func TestImportedPoliciesAdapt(t *testing.T) {
	block, err := os.ReadFile("../moving/wazo/testdata/policies.caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	got := adapted(t, "{\nringfence {\n"+string(block)+"}\n}\n:80 {\n}")
	for _, want := range []string{`"slug": "wazo_default_admin_policy"`, `"!confd.wizard.#"`, `"all_users_policies": [`, `"slug": "wazo_default_admin_group"`} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s in %s", want, got)
		}
	}
}

// An error names its place and what would be right.
func TestCaddyfileErrors(t *testing.T) {
	app := func(options string) string { return "{\nringfence {\n" + options + "\n}\n}\n:80 {\n}\n" }
	site := func(directives string) string { return ":80 {\n" + directives + "\n}\n" }
	tests := []struct{ name, caddyfile, want string }{
		{"app: unknown option", app("databse x"), `unknown option "databse": it is one of data, database, admin, sealing_keys, tokens, backends, backend, origins, public_url, contact, mail, external, self_registration, passwords, sessions, directories, helpers, backups, asterisk, default_policies, all_users_policies, tenant_default_groups, default_user_policy, handover_delay, at Caddyfile:3`},
		{"app: argument", "{\nringfence x\n}\n:80 {\n}\n", "wrong argument count or unexpected line ending after 'x', at Caddyfile:2"},
		{"app: twice", "{\nringfence\nringfence\n}\n:80 {\n}\n", "the ringfence option may appear once"},
		{"app: two data folders", app("data a b"), "wrong argument count"},
		{"app: admin without a name", app("admin"), "wrong argument count"},
		{"app: admin with too much", app("admin a b c"), "wrong argument count"},
		{"app: no origin", app("origins"), "wrong argument count"},
		{"app: delay", app("handover_delay soon"), "handover_delay: time: invalid duration"},
		{"tokens: no source", app("tokens"), "wrong argument count"},
		{"tokens: unknown source", app("tokens elsewhere"), "ringfence.tokens.elsewhere"},
		{"tokens local: argument", app("tokens local x"), "wrong argument count"},
		{"tokens remote: no URL", app("tokens remote"), "wrong argument count"},
		{"tokens remote: unknown option", app("tokens remote https://h {\nttl 3s\n}"), `unknown option "ttl" of tokens remote: it is one of ca, master_tenant, plain_http, staleness, timeout, at Caddyfile:4`},
		{"tokens remote: plain_http with a value", app("tokens remote https://h {\nplain_http yes\n}"), "plain_http of tokens remote: it takes no value"},
		{"tokens remote: duration", app("tokens remote https://h {\nstaleness soon\n}"), `staleness of tokens remote: "soon" is not a positive duration`},
		{"gate: unknown option", site("ringfence_gate calld {\nprefx /x\n}"), `unknown option "prefx": it is one of prefix, definition, public, strip_prefix, forward_token, forward_headers, identity, at Caddyfile:3`},
		{"gate: unknown identity", site("ringfence_gate calld {\nprefix /x\nidentity user name\n}"), `a caller has no identity "name": it is one of user, tenant, session, purpose, at Caddyfile:`},
		{"gate: a header of ours", site("ringfence_gate calld {\nprefix /x\nforward_headers X-Api-Key x-ringfence-user\n}"), "the header X-Ringfence-User cannot be forwarded: only the gate may write it, at Caddyfile:"},
		{"gate: another method", site("ringfence_gate calld {\nprefix /x\nforward_headers X-HTTP-Method-Override\n}"), "the header X-Http-Method-Override cannot be forwarded: it would override the method that was checked, at Caddyfile:"},
		{"gate: no name", site("ringfence_gate calld {\nprefix /x\nforward_headers X_Api_Key\n}"), `"X_Api_Key" is no name of a header: it has letters, digits and hyphens, at Caddyfile:`},
		{"gate: no headers", site("ringfence_gate calld {\nprefix /x\nforward_headers\n}"), "wrong argument count"},
		{"gate: headers twice", site("ringfence_gate calld {\nprefix /x\nforward_headers A\nforward_headers B\n}"), "forward_headers is given twice"},
		{"gate: no identity", site("ringfence_gate calld {\nprefix /x\nidentity\n}"), "wrong argument count"},
		{"gate: two services", site("ringfence_gate a b"), "wrong argument count"},
		{"gate: no prefix", site("ringfence_gate calld {\nprefix\n}"), "wrong argument count"},
		{"gate: prefix twice", site("ringfence_gate calld {\nprefix /a\nprefix /b\n}"), "prefix is given twice"},
		{"gate: definition twice", site("ringfence_gate calld {\ndefinition a\ndefinition b\n}"), "definition is given twice"},
		{"gate: public without a path", site("ringfence_gate calld {\npublic GET\n}"), "wrong argument count"},
		{"gate: strip_prefix with a value", site("ringfence_gate calld {\nstrip_prefix yes\n}"), "wrong argument count"},
		{"gate: forward_token with a value", site("ringfence_gate calld {\nforward_token yes\n}"), "wrong argument count"},
		{"auth: argument", site("ringfence_auth x"), "wrong argument count"},
		{"auth: block", site("ringfence_auth {\nx\n}"), `unknown option "x": it is accept`},
		{"auth: accept of another kind", site("ringfence_auth {\naccept all\n}"), `accept is "all"; it must be lenient or left out, at Caddyfile:3`},
		{"auth: accept nothing", site("ringfence_auth {\naccept\n}"), "wrong argument count"},
		{"confd: accept twice", site("ringfence_confd {\naccept lenient\naccept lenient\n}"), "accept is given twice"},
		{"confd: argument", site("ringfence_confd x"), "wrong argument count"},
		{"console: argument", site("ringfence_console x"), "wrong argument count"},
		{"health: argument", site("ringfence_health x"), "wrong argument count"},
		{"certificate: argument", site("ringfence_certificate x"), "wrong argument count"},
		{"certificate: option", site("ringfence_certificate {\nx\n}"), "wrong argument count"},
		{"helpers: unknown file", app("helpers {\nspool /x\n}"), `unknown option "spool" of helpers: it is one of autoprov, moh, plain, sounds, voicemail`},
		{"helpers: two folders", app("helpers {\nmoh /x /y\n}"), "moh of helpers: it takes one value"},
		{"helpers: twice", app("helpers {\nplain on\n}\nhelpers {\nplain on\n}"), "helpers is given twice"},
		{"helpers: argument", site("ringfence_helpers closed"), "ringfence_helpers takes nothing, or the word open"},
		{"helpers: too much", site("ringfence_helpers open wide"), "wrong argument count"},
		{"helpers: block", site("ringfence_helpers open {\nx\n}"), `unknown option "x": it is accept`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(tt.caddyfile), map[string]any{"filename": "Caddyfile"})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

// A site may omit all options: defaults are filled in when it is loaded, not when it is adapted.
func TestBareDirectives(t *testing.T) {
	for _, directive := range []string{"ringfence_gate", "ringfence_auth", "ringfence_confd", "ringfence_helpers", "ringfence_console", "ringfence_health", "ringfence_certificate"} {
		if !strings.Contains(adapted(t, ":80 {\n"+directive+"\n}"), `"handler": "`+directive+`"`) {
			t.Errorf("%s is not adapted to its handler", directive)
		}
	}
}
