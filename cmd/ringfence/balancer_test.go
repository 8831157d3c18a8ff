package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// Nodes that share the files of the first one answer as one behind the load balancer, while one after the other is restarted.
func TestBehindALoadBalancer(t *testing.T) {
	t.Parallel()
	address, _ := emptyDatabase(t)
	first := gatewaytest.Start(t, gatewaytest.Settings{Database: address}).Ready(t)
	folder := t.TempDir()
	for _, name := range []string{"tls/key.pem", "tls/certificate.pem", "sealing-key"} { // as docs/operations.md says
		text, err := os.ReadFile(filepath.Join(first.Data, name))
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(folder, "data", name)
		if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	second := gatewaytest.Start(t, gatewaytest.Settings{Database: address, Folder: folder}).Ready(t)
	config, err := os.ReadFile(filepath.Join(gatewaytest.Repository(), "examples", "several-nodes", "Caddyfile"))
	if err != nil || !strings.Contains(string(config), "fail_duration 10s") {
		t.Fatalf("the load balancer's configuration: %v\n%s", err, config)
	}
	config = []byte(strings.Replace(string(config), "fail_duration 10s", "fail_duration 1s", 1)) // until which no node is asked that was restarted
	certificate := filepath.Join(first.Data, "tls", "certificate.pem")
	balancer := gatewaytest.Start(t, gatewaytest.Settings{
		Config: written(t, t.TempDir(), "Caddyfile", string(config)),
		Env: []string{
			"NODE_1=localhost:" + first.HTTPSPort, "NODE_1_CERTIFICATE=" + certificate,
			"NODE_2=localhost:" + second.HTTPSPort, "NODE_2_CERTIFICATE=" + certificate,
		},
	}).Ready(t)
	balancer.Undeclared(t, "the load balancer answers 502 itself while it finds out that a node is gone")

	token := balancer.Login(t, "admin", gatewaytest.Password)
	first.Stop(t)
	for range 20 {
		balancer.Do(t, "GET", "/api/confd/1.1/users", token, "").Want(200)
	}
	first.Run(t)
	first.Ready(t)
	second.Stop(t)
	gatewaytest.Eventually(t, patience, balancer.Status(t.Context(), "GET", "/api/confd/1.1/users", token, 200))
}
