package confdsvc

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
)

// OwnNames returns the addresses of this machine, and its name in small letters.
func OwnNames() (names []string) {
	if name, err := os.Hostname(); err == nil {
		names = append(names, strings.ToLower(name))
	}
	addresses, _ := net.InterfaceAddrs()
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			names = append(names, prefix.Addr().String())
		}
	}
	return names
}

// LeadsHere returns the section of a trunk's endpoint by which its calls would come back for ever, or nothing: one that leads to one of the transports, at
// an address or a name of the machine, of which own are some.
func (s *SIPSections) LeadsHere(transports []*SIPTransport, own []string) string {
	for _, section := range s.sections() {
		for _, pair := range section.options.V {
			if slices.Contains([]string{"server_uri", "contact", "outbound_proxy"}, pair[0]) && listens(pair[1], transports, own) {
				return section.field
			}
		}
	}
	return ""
}

// uriForm has the host and the port of a URI.
var uriForm = regexp.MustCompile(`(?i)^(sips?):(?:[^@;]*@)?(\[[^\]]*\]|[^:;\[]*)(?::([0-9]+))?(.*)$`)

// listens reports whether a URI leads to where one of the transports listens.
func listens(uri string, transports []*SIPTransport, own []string) bool {
	m := uriForm.FindStringSubmatch(strings.TrimSpace(uri))
	if m == nil {
		return false
	}
	host, port := strings.ToLower(strings.Trim(m[2], "[]")), m[3]
	secure := strings.EqualFold(m[1], "sips") || strings.Contains(strings.ToLower(m[4]), "transport=tls")
	if port = cmp.Or(port, portOf(secure)); strings.Trim(port, "0") == "" {
		port = portOf(secure)
	}
	address, err := netip.ParseAddr(host)
	here := host == "localhost" || err == nil && (address.IsLoopback() || address.IsUnspecified()) || slices.Contains(own, host)
	for _, t := range transports {
		protocol, _ := t.Options.last("protocol")
		bind, _ := t.Options.last("bind")
		at, listens := bind, portOf(protocol == "tls")
		if whole, err := netip.ParseAddrPort(bind); err == nil {
			at, listens = whole.Addr().String(), fmt.Sprint(whole.Port())
		}
		outside, _ := t.Options.last("external_signaling_port")
		address, _ := t.Options.last("external_signaling_address")
		domain, _ := t.Options.last("domain")
		if port == listens && (here || host == strings.Trim(at, "[]") || host == strings.ToLower(domain)) ||
			port == cmp.Or(outside, listens) && host == strings.ToLower(address) {
			return true
		}
	}
	return false
}

// portOf is the port of SIP where none is said.
func portOf(secure bool) string {
	if secure {
		return "5061"
	}
	return "5060"
}
