package caddymodule_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/internal/tokens"
)

// from returns a client with its own address on this machine.
func from(t *testing.T, address string) *http.Client {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext(ctx, network, to)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Random tokens from one address use up only that address's allowance: live tokens that this node has not seen are accepted from
// elsewhere. No header changes the address.
func TestUnknownTokensAreRationedByAddress(t *testing.T) {
	g := newGateway(t)
	g.Load(t)
	if l, err := net.Listen("tcp", "127.0.0.2:0"); err != nil {
		t.Skip("this machine has one loopback address: ", err)
	} else {
		_ = l.Close()
	}
	live := make([]string, 20)
	for i := range live {
		live[i] = g.Admin(t)
	}
	flooding, other := from(t, "127.0.0.2"), from(t, "127.0.0.1")
	ask := func(client *http.Client, token, forwarded string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", g.URL+"/api/confd/1.1/users?limit=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Auth-Token", token)
		r.Header.Set("Accept", "application/json")
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
			r.Header.Set("X-Real-Ip", forwarded)
			r.Header.Set("Forwarded", "for="+forwarded)
		}
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		_, _ = io.Copy(io.Discard, res.Body)
		if res.StatusCode == http.StatusTooManyRequests && res.Header.Get("Retry-After") == "" {
			t.Error("a 429 without Retry-After")
		}
		return res.StatusCode
	}
	flood := func() {
		t.Helper()
		for i := 0; ; i++ {
			if status := ask(flooding, tokens.New(), ""); status == http.StatusTooManyRequests {
				return
			} else if status != http.StatusUnauthorized {
				t.Fatalf("a random token is answered with %d", status)
			}
			if i > 5000 {
				t.Fatalf("%d random tokens are looked up", i)
			}
		}
	}
	for _, token := range live {
		flood()
		if status := ask(other, token, "127.0.0.2"); status != http.StatusOK {
			t.Errorf("a live token from elsewhere is answered with %d", status)
		}
		if status := ask(other, tokens.New(), ""); status != http.StatusUnauthorized {
			t.Errorf("a random token from elsewhere is answered with %d", status)
		}
	}
	flood()
	refused := 0
	for range 20 { // the allowance comes back over time, for the address and not for the header
		if ask(flooding, tokens.New(), "192.0.2.77") == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused == 0 {
		t.Error("who is rationed names another address, and is rationed no more")
	}
}
