package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// Behind the load balancer of deploy/, clients notice neither which node answers nor that one is gone: a token of one node is good on the
// other, and one that is revoked is dead on both.
func TestBehindALoadBalancer(t *testing.T) {
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
	certificate := filepath.Join(first.Data, "tls", "certificate.pem")
	port := gatewaytest.FreePort(t)
	balancer := gatewaytest.Start(t, gatewaytest.Settings{
		Config: filepath.Join(gatewaytest.Repository(), "deploy", "load-balancer.Caddyfile"),
		Env: []string{
			"BALANCER_PORT=" + port, "BALANCER_CERTIFICATE=" + certificate, "BALANCER_KEY=" + filepath.Join(first.Data, "tls", "key.pem"),
			"BALANCER_TRUST=" + certificate, fmt.Sprintf("BALANCER_NODES=localhost:%s localhost:%s", first.HTTPSPort, second.HTTPSPort),
		},
	})
	balancer.Gateway = gatewaytest.New(t, port, port)
	gatewaytest.Eventually(t, patience, balancer.Status(t.Context(), "GET", "/readyz", "", 200))

	token := balancer.Login(t, "admin", gatewaytest.Password)
	for range 20 { // both nodes answer some
		balancer.Do(t, "GET", "/api/confd/1.1/users", token, "").Want(200)
	}
	other := balancer.Login(t, "admin", gatewaytest.Password)
	balancer.Do(t, "DELETE", "/api/auth/0.1/token/"+other, "", "").Want(200)
	for _, node := range []*gatewaytest.Process{first, second} {
		gatewaytest.Eventually(t, heard, node.Status(t.Context(), "GET", "/api/confd/1.1/users", other, 401))
	}
	first.Stop(t)
	for range 20 {
		balancer.Do(t, "GET", "/api/confd/1.1/users", token, "").Want(200)
	}
	first.Run(t)
	first.Ready(t)
	second.Stop(t)
	gatewaytest.Eventually(t, patience, balancer.Status(t.Context(), "GET", "/api/confd/1.1/users", token, 200))
}
