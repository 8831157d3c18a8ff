// Package webaddress says to which addresses secrets may be sent.
package webaddress

import (
	"net/netip"
	"net/url"
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
