package main

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
)

// site is one route, served on its own port, so that the compared routes differ only in these fields.
type site struct {
	name string
	// handlers is the Caddyfile of the route.
	handlers string
	// paths are the paths to request.
	paths []string
}

// The gated routes: in front of Caddy's transport, of ours, of our proxy, of a fixed answer and of a service.
const (
	gatedProxy   = "gate, reverse_proxy"
	gatedDirect  = "gate, transport ringfence"
	gatedShort   = "gate, ringfence_proxy"
	gatedAnswer  = "gate, respond"
	gatedService = "gate, a service of ours"
)

const prefix = "/api/bench/1.0"

// answer is a route that needs no upstream.
const answer = `respond "fine" 200`

func gatedSites(upstreamAddress string) []site {
	gate := "ringfence_gate bench {\n\t\tprefix " + prefix + "\n\t}\n\t"
	proxy := "reverse_proxy " + upstreamAddress
	direct := proxy + " {\n\t\ttransport ringfence\n\t}"
	paths := benchPaths()
	return []site{
		{gatedProxy, gate + proxy, paths},
		{"reverse_proxy", proxy, paths},
		{gatedDirect, gate + direct, paths},
		{gatedShort, gate + "ringfence_proxy " + upstreamAddress, paths},
		{"ringfence_proxy", "ringfence_proxy " + upstreamAddress, paths},
		{gatedAnswer, gate + answer, paths},
		{gatedService, "ringfence_gate\n\tringfence_helpers", []string{"/api/sysconfd/status_check"}},
	}
}

func plainSites(upstreamAddress string) []site {
	return []site{{"stock: reverse_proxy", "reverse_proxy " + upstreamAddress, benchPaths()}}
}

// caddyConfig is the Caddyfile of a gateway (options of the ringfence app given) or of stock Caddy (none).
func caddyConfig(app, admin, certificate string, sites []site, addresses []string) string {
	var b strings.Builder
	b.WriteString("{\n\tadmin " + admin + "\n\tpersist_config off\n\tauto_https off\n\tskip_install_trust\n\tlog default {\n\t\tlevel WARN\n\t}\n" +
		"\tservers {\n\t\tprotocols h1 h2\n\t\ttimeouts {\n\t\t\tread_header 10s\n\t\t\tidle 10m\n\t\t}\n\t}\n")
	if app != "" {
		b.WriteString("\tringfence {\n" + app + "\t}\n")
	}
	b.WriteString("}\n")
	for i, s := range sites {
		fmt.Fprintf(&b, "https://%s {\n\ttls %s.pem %s.key\n\thandle /api/* {\n\t%s\n\t}\n}\n", addresses[i], certificate, certificate, s.handlers)
	}
	return b.String()
}

// nginxConfig is nginx in front of the upstream. It asks the authorization server before each request.
func nginxConfig(folder, certificate, address, upstreamAddress, authAddress string) string {
	account := ""
	if u, err := user.Current(); err == nil && u.Uid == "0" {
		account = "user " + u.Username + ";\n"
	}
	var temporary strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary.WriteString("\t" + kind + "_temp_path " + filepath.Join(folder, kind) + ";\n")
	}
	server := `	server {
		listen ` + address + ` ssl;
		ssl_certificate ` + certificate + `.pem;
		ssl_certificate_key ` + certificate + `.key;
		ssl_protocols TLSv1.3;
		location /api/ {
			auth_request /check;
			auth_request_set $auth_user $upstream_http_x_ringfence_user;
			auth_request_set $auth_tenant $upstream_http_x_ringfence_tenant;
			proxy_set_header X-Ringfence-User $auth_user;
			proxy_set_header X-Ringfence-Tenant $auth_tenant;
			proxy_set_header X-Forwarded-For $remote_addr;
			proxy_set_header X-Forwarded-Proto https;
			proxy_set_header X-Forwarded-Host $http_host;
			proxy_set_header Host $http_host;
			proxy_set_header Connection "";
			proxy_http_version 1.1;
			proxy_pass http://daemon;
		}
		location = /check {
			internal;
			proxy_pass_request_body off;
			proxy_set_header Content-Length "";
			proxy_set_header Connection "";
			proxy_set_header X-Original-URI $request_uri;
			proxy_http_version 1.1;
			proxy_pass http://authorization/check;
		}
	}
`
	return account + `daemon off;
worker_processes auto;
error_log stderr warn;
pid ` + filepath.Join(folder, "nginx.pid") + `;
events {}
http {
` + temporary.String() + `	access_log off;
	keepalive_requests 1000000000;
	keepalive_timeout 10m;
	upstream daemon { server ` + upstreamAddress + `; keepalive 64; keepalive_requests 1000000000; }
	upstream authorization { server ` + authAddress + `; keepalive 64; keepalive_requests 1000000000; }
` + server + `}
`
}

func write(folder, name, text string) (string, error) {
	path := filepath.Join(folder, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}
