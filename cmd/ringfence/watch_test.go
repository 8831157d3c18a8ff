package main_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// A WebSocket through one node is closed when its token is revoked on another.
func TestWebSocketEndsOnTheOtherNode(t *testing.T) {
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = buffered.Flush()
		_, _ = io.Copy(conn, buffered)
	}))
	t.Cleanup(daemon.Close)
	address, _ := emptyDatabase(t)
	settings := gatewaytest.Settings{
		Database: address, Config: filepath.Join(gatewaytest.Repository(), "examples", "reverse-proxy", "Caddyfile"),
		Env: []string{"CALLD=" + daemon.Listener.Addr().String(), "RINGFENCE_PUBLIC_URL="},
	}
	var nodes []*gatewaytest.Process
	for range 2 {
		settings.Folder = t.TempDir()
		// The example names its definition by its path in the repository.
		if err := os.Symlink(filepath.Join(gatewaytest.Repository(), "examples"), filepath.Join(settings.Folder, "examples")); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, gatewaytest.Start(t, settings).Ready(t))
	}
	a, b := nodes[0], nodes[1]
	_, _, token := a.Account(t, a.Login(t, "admin", gatewaytest.Password), "client", "calld.#")

	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}}
	conn, err := dialer.DialContext(t.Context(), "tcp", "127.0.0.1:"+b.HTTPSPort)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, "GET /api/calld/1.0/events HTTP/1.1\r\nHost: gw\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-Auth-Token: "+token+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	res, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("status %d", res.StatusCode)
	}
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := reader.ReadString('\n'); err != nil || line != "hello\n" {
		t.Fatalf("%q, %v", line, err)
	}
	a.Do(t, "DELETE", "/api/auth/0.1/token/"+token, "", "").Want(200)
	if _, err := reader.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is open: %v", err)
	}
}
