package caddymodule_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The console shows the definitions that gates were given, at the paths of the gateway, beside those of the services.
func TestConsoleShowsDaemons(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agentd.yml")
	if err := os.WriteFile(file, []byte("swagger: \"2.0\"\nhost: agentd.internal:9493\nschemes: [http]\nbasePath: /1.0\npaths:\n  /agents:\n    get:\n      x-required-acl: agentd.agents.read\n      responses:\n        200: {description: all agents}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := newGateway(t)
	g.Routes = "handle /console/* {\nringfence_console\n}\nhandle /api/agentd/* {\nringfence_gate agentd {\nprefix /api/agentd/1.0\ndefinition " + file + "\n}\n" + daemon(t) + "\n}\n"
	g.Load(t)
	services := g.Do(t, "GET", "/console/services.json", "", "").Want(200).Body
	for _, want := range []string{`"definition":"/api/auth/0.1/api/openapi.json"`, `"name":"agentd","title":"agentd","prefix":"/api/agentd/1.0","definition":"/console/definitions/agentd.json"`} {
		if !strings.Contains(services, want) {
			t.Errorf("the services have no %s: %s", want, services)
		}
	}
	want := `{"basePath":"/api/agentd/1.0","paths":{"/agents":{"get":{"responses":{"200":{"description":"all agents"}},"x-required-acl":"agentd.agents.read"}}},"swagger":"2.0"}`
	if got := g.Do(t, "GET", "/console/definitions/agentd.json", "", "").Want(200).Body; got != want {
		t.Errorf("the definition is %s", got)
	}
	g.Do(t, "GET", "/console/definitions/other.json", "", "").Want(404)
}
