package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/tokens"
)

// The other proxies. None of them checks accesses.
const (
	nginxVariant = "nginx auth_request"
	// nginxCachedVariant keeps the authorization server's answers and asks nobody again.
	nginxCachedVariant = "nginx auth_request, cached"
	haproxyVariant     = "HAProxy"
	// haproxyMapVariant has the tokens and their users in a file that it reads at the start.
	haproxyMapVariant = "HAProxy, tokens in a map"
)

// find returns the path of an installed program. If there is none, it notes that these variants are missing and returns "".
func (s *stage) find(program, pkg string, variants ...string) (string, error) {
	path, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrNotFound) { // root's programs are not in everybody's PATH
		path = "/usr/sbin/" + program
		_, err = os.Stat(path)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return path, err
	}
	for _, name := range variants {
		s.missing[name] = program + " is not installed (apt-get install " + pkg + ")"
	}
	return "", nil
}

func (b *bench) serveNginx(s *stage, upstreamAddress, authAddress string, authorization *process) ([]variant, error) {
	program, err := s.find("nginx", "nginx-core", nginxVariant, nginxCachedVariant)
	if program == "" || err != nil {
		return nil, err
	}
	ports, err := freeAddresses(2)
	if err != nil {
		return nil, err
	}
	config, err := write(b.folder, "nginx.conf", nginxConfig(b.folder, b.certificate, ports[0], ports[1], upstreamAddress, authAddress))
	if err != nil {
		return nil, err
	}
	p, err := s.start(ports[0], "nginx", nil, program, "-c", config, "-p", b.folder)
	if err != nil {
		return nil, err
	}
	all := []variant{
		{name: nginxVariant, address: ports[0], paths: benchPaths(), counted: []*process{p, authorization}},
		{name: nginxCachedVariant, address: ports[1], paths: benchPaths(), counted: []*process{p, authorization}},
	}
	fill := job{Address: ports[1], Paths: all[1].paths, Requests: crowdSize, Connections: 16} // each token once
	if _, err := s.generator.run(fill); err != nil {
		return nil, fmt.Errorf("filling nginx's cache: %w\n%s", err, p.log)
	}
	return all, nil
}

func (b *bench) serveHAProxy(s *stage, upstreamAddress string) ([]variant, error) {
	program, err := s.find("haproxy", "haproxy", haproxyVariant, haproxyMapVariant)
	if program == "" || err != nil {
		return nil, err
	}
	known, err := b.haproxyMap()
	if err != nil {
		return nil, err
	}
	certificate, err := b.haproxyCertificate()
	if err != nil {
		return nil, err
	}
	ports, err := freeAddresses(2)
	if err != nil {
		return nil, err
	}
	config, err := write(b.folder, "haproxy.cfg", haproxyConfig(certificate, known, ports[0], ports[1], upstreamAddress))
	if err != nil {
		return nil, err
	}
	p, err := s.start(ports[1], "HAProxy", nil, program, "-db", "-f", config)
	if err != nil {
		return nil, err
	}
	return []variant{
		{name: haproxyVariant, address: ports[0], paths: benchPaths(), counted: []*process{p}},
		{name: haproxyMapVariant, address: ports[1], paths: benchPaths(), counted: []*process{p}},
	}, nil
}

// haproxyMap writes the file of all tokens, each with its user.
func (b *bench) haproxyMap() (path string, err error) {
	all, err := readTokens(b.tokenFile)
	if err != nil {
		return "", err
	}
	var lines strings.Builder
	for _, token := range all {
		user, _ := owner(tokens.DigestOf(token))
		lines.WriteString(token + " " + user + "\n")
	}
	return write(b.folder, "haproxy.map", lines.String())
}

// haproxyCertificate writes the certificate and its key into one file.
func (b *bench) haproxyCertificate() (path string, err error) {
	certificate, err := os.ReadFile(b.certificate + ".pem")
	if err != nil {
		return "", err
	}
	key, err := os.ReadFile(b.certificate + ".key")
	if err != nil {
		return "", err
	}
	path = filepath.Join(b.folder, "haproxy.pem")
	return path, os.WriteFile(path, slices.Concat(certificate, []byte("\n"), key), 0o600)
}

// haproxyConfig is HAProxy in front of the upstream: at one address without a check, at the other with one.
func haproxyConfig(certificate, known, address, checkedAddress, upstreamAddress string) string {
	front := func(name, address, check string) string {
		return `
frontend ` + name + `
	bind ` + address + ` ssl crt ` + certificate + ` ssl-min-ver TLSv1.3
` + check + `	http-request set-header X-Forwarded-Proto https
	http-request set-header X-Forwarded-Host %[req.hdr(Host)]
	default_backend daemon
`
	}
	return `defaults
	mode http
	timeout connect 10s
	timeout client 10m
	timeout server 10m
	timeout http-keep-alive 10m
	option forwardfor
	http-reuse always
` + front("ungated", address, "") + front("checked", checkedAddress, `	http-request set-var(txn.who) req.hdr(X-Auth-Token),map(`+known+`)
	http-request deny deny_status 401 unless { var(txn.who) -m found }
	http-request del-header X-Auth-Token
	http-request set-header X-Ringfence-User %[var(txn.who)]
	http-request set-header X-Ringfence-Tenant `+benchTenant+`
`) + `
backend daemon
	server daemon ` + upstreamAddress + `
`
}
