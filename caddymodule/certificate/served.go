package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"net"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddytls"
)

// Served returns the certificates that the sites of a configuration serve now: the self-signed ones, those that Caddy has for the sites' names,
// and those that the configuration selects for a site without a name. It gets none, and is for a configuration that runs.
func Served(ctx caddy.Context) (all []*x509.Certificate) {
	for _, store := range InUse() {
		all = append(all, store.Certificate().Leaf)
	}
	app, err := ctx.AppIfConfigured("http")
	if err != nil {
		return all
	}
	for _, server := range app.(*caddyhttp.App).Servers {
		if len(server.TLSConnPolicies) == 0 {
			continue
		}
		for _, policy := range server.TLSConnPolicies {
			if policy.CertSelection == nil {
				continue
			}
			if leaf, err := leafOf(policy.TLSConfig.GetCertificate(anyone)); err == nil {
				all = append(all, leaf)
			}
		}
		for _, name := range hosts(server.Routes) {
			for _, c := range caddytls.AllMatchingCertificates(name) {
				all = append(all, c.Leaf)
			}
		}
	}
	return all
}

// anyone is a client that names no site. A configuration that selects certificates chooses from all that it has loaded then.
var anyone = &tls.ClientHelloInfo{
	Conn:              ends{local: new(net.TCPAddr), remote: new(net.TCPAddr)},
	SupportedVersions: []uint16{tls.VersionTLS13},
	SignatureSchemes:  []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256, tls.ECDSAWithP384AndSHA384, tls.Ed25519, tls.PSSWithSHA256},
}

// hosts returns the names of a server's sites.
func hosts(routes caddyhttp.RouteList) (names []string) {
	for _, route := range routes {
		for _, set := range route.MatcherSets {
			for _, matcher := range set {
				if found, ok := matcher.(*caddyhttp.MatchHost); ok {
					names = append(names, *found...)
				}
			}
		}
	}
	return names
}
