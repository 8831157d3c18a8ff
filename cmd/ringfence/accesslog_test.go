package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// The default Caddyfile logs each request to a file in the data folder that only its owner can read, with the request ID that the
// client got. The file holds no token, and the terminal stays readable.
func TestAccessLog(t *testing.T) {
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	admin := p.Login(t, "admin", gatewaytest.Password)
	ids := map[string]int{}
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", authBase + "/users", 200},
		{"GET", authBase + "/token/" + admin, 200},
		{"GET", authBase + "/emails/00000000-0000-4000-8000-000000000000/confirm?token=" + admin, 404},
		{"GET", "/api/confd/1.1/nothing/" + admin, 404},
		{"GET", authBase + "/%2e%2e/users?token=" + admin, 400},
	} {
		a := p.Do(t, c.method, c.path, admin, "").Want(c.status)
		id := a.Header.Get("X-Request-Id")
		if id == "" {
			t.Fatalf("%s %s has no id", c.method, c.path)
		}
		ids[id] = c.status
	}
	file := filepath.Join(p.Data, "access.log")
	var text []byte
	gatewaytest.Eventually(t, patience, func() error { // the line is written after the response
		var err error
		if text, err = os.ReadFile(file); err != nil {
			return err
		}
		for id := range ids {
			if !strings.Contains(string(text), `"request_id":"`+id+`"`) {
				return fmt.Errorf("the request %s is not in %s", id, text)
			}
		}
		return nil
	})
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		var line struct {
			RequestID string  `json:"request_id"`
			Status    int     `json:"status"`
			Duration  float64 `json:"duration"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		if want, asked := ids[line.RequestID]; asked && line.Status != want {
			t.Errorf("the status is %d, want %d: %s", line.Status, want, lines.Text())
		}
	}
	if strings.Contains(string(text), strings.TrimPrefix(admin, "rft_")) || strings.Contains(string(text), gatewaytest.Password) {
		t.Errorf("a secret is in the access log:\n%s", text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the access log: %v, %v", info.Mode(), err)
	}
	if out := p.Output(); strings.Contains(out, "handled request") || strings.Contains(out, admin) {
		t.Errorf("requests are on the terminal:\n%s", out)
	}
}
