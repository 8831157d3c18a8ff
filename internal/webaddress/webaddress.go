// Package webaddress says to which addresses secrets may be sent, and who may vouch for servers there.
package webaddress

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"net/url"
	"os"
)

// Local reports whether a host is this machine: localhost, or a loopback address.
func Local(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Zone() == "" && ip.Unmap().IsLoopback()
}

// Private reports whether nobody on the network can read what is sent to an address: it is https, or http on this machine.
func Private(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && Local(u.Hostname())
}

// Roots reads the certificates, in PEM, of the authorities that sign a server's certificate. Without a file they are those of the system, nil.
func Roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // the operator names it
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", file)
	}
	return roots, nil
}
