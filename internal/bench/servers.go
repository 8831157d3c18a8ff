package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/tokens"
)

// upstream is the daemon behind the proxies.
func upstream(address string) error {
	body := []byte(`{"items": [` + strings.Repeat(`{"id": 17, "exten": "1001", "status": "up"}, `, 4) + `null], "total": 5}`)
	return serve(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}))
}

// authorize runs the authorization server that forward_auth and auth_request ask. It does the least possible: it has every token
// in a map, checks no access, and returns the identity headers that the gate adds.
func authorize(address, tokenFile string) error {
	all, err := readTokens(tokenFile)
	if err != nil {
		return err
	}
	known := make(map[string]string, len(all))
	for _, token := range all {
		known[token], _ = owner(tokens.DigestOf(token))
	}
	return serve(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, ok := known[r.Header.Get("X-Auth-Token")]
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h := w.Header()
		h["X-Ringfence-User"], h["X-Ringfence-Tenant"] = []string{who}, []string{benchTenant}
		w.WriteHeader(http.StatusOK)
	}))
}

const (
	benchTenant  = "0e5b6f04-1a2c-4d0f-9d7c-5c2b1f3a7e11"
	benchPurpose = "external_api"
)

// owner returns the user and the session of a token: every token has different ones, the worst case for the cache.
func owner(d tokens.Digest) (user, session string) {
	return uuid.UUID(d[:16]).String(), uuid.UUID(d[16:]).String()
}

func serve(address string, h http.Handler) error {
	s := &http.Server{Addr: address, Handler: h, ReadHeaderTimeout: time.Minute, IdleTimeout: 10 * time.Minute}
	return fmt.Errorf("serving: %w", s.ListenAndServe())
}

// benchPaths returns the targets of the load: several, so that no side profits from a repeated one.
func benchPaths() []string {
	paths := make([]string, 64)
	for i := range paths {
		var id uuid.UUID
		id[0], id[15] = byte(i), byte(7*i)
		paths[i] = prefix + "/users/" + id.String() + "/lines"
	}
	return paths
}

// benchPolicy returns the policy that all tokens share.
func benchPolicy() []string {
	forms := []string{"confd.resource%s.read", "confd.resource%s.#", "confd.resource%s.*.update", "confd.users.me.resource%s.#"}
	var patterns []string
	for i := range 46 {
		patterns = append(patterns, fmt.Sprintf(forms[i%len(forms)], hex.EncodeToString([]byte{byte(i)})))
	}
	return append(patterns, "bench.users.#", "confd.users.read", "sysconfd.status_check.read", "!bench.users.*.delete")
}

// writeCertificate writes path.pem and path.key, for servers that read files.
func writeCertificate(c *tls.Certificate, path string) error {
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return err
	}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})
	if err := os.WriteFile(path+".pem", chain, 0o600); err != nil {
		return err
	}
	return os.WriteFile(path+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600)
}

const nginxVariant = "nginx auth_request"

// serveNginx starts nginx. If it is not installed, there is no variant of it.
func (b *bench) serveNginx(s *stage, upstreamAddress, authAddress string, authorization *process) ([]variant, error) {
	program, err := exec.LookPath("nginx")
	if errors.Is(err, exec.ErrNotFound) { // root's programs are not in everybody's PATH
		program = "/usr/sbin/nginx"
		_, err = os.Stat(program)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ports, err := freeAddresses(1)
	if err != nil {
		return nil, err
	}
	config, err := write(b.folder, "nginx.conf", nginxConfig(b.folder, b.certificate, ports[0], upstreamAddress, authAddress))
	if err != nil {
		return nil, err
	}
	p, err := s.start(ports[0], "nginx", nil, program, "-c", config, "-p", b.folder)
	if err != nil {
		return nil, err
	}
	return []variant{{name: nginxVariant, address: ports[0], paths: benchPaths(), counted: []*process{p, authorization}}}, nil
}
