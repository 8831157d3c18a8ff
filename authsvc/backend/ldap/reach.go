package ldap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
)

// Reach says where directories may be. The operator decides, since tenants choose the addresses. A nil Reach equals the zero one.
// The dialled address counts, however its name is spelled and whatever a name server returns from one moment to the next.
//
// Refused are the addresses of this machine, of its own link and of groups, and addresses that embed one of them: loopback,
// link-local, unspecified, multicast, broadcast and reserved ones, in IPv4, in IPv6, and as IPv4 in IPv6. Private networks are
// allowed, since directories live there.
type Reach struct {
	// Allow lists networks and hosts that are always allowed.
	Allow []Place
	// Only lists networks and hosts. If there are any, only these and those of Allow are allowed. They do not override the
	// refusals above.
	Only []Place
}

// Place is a network, or a host by the name that a tenant must write.
type Place struct {
	network netip.Prefix
	host    string
}

// ParsePlace reads 10.0.0.0/8, 192.0.2.7, fd00::/8 or ldap.example.com.
func ParsePlace(text string) (Place, error) {
	if network, err := netip.ParsePrefix(text); err == nil {
		if network.Addr().Is4In6() {
			return Place{}, fmt.Errorf("%q: write it as IPv4", text)
		}
		return Place{network: network.Masked()}, nil
	}
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return Place{network: netip.PrefixFrom(address, address.BitLen())}, nil
	}
	if checkHost(text) != "" || strings.Trim(text, "0123456789.") == "" {
		return Place{}, fmt.Errorf("%q is neither a network, such as 10.0.0.0/8, nor an address, nor the name of a host", text)
	}
	return Place{host: hostKey(text)}, nil
}

func hostKey(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

func listed(places []Place, host string, address netip.Addr) bool {
	for _, p := range places {
		if p.host != "" && p.host == hostKey(host) || p.host == "" && p.network.Contains(address) {
			return true
		}
	}
	return false
}

// ErrOutOfReach says that no directory may be at an address.
var ErrOutOfReach = errors.New("no directory may be at this address: the operator allows some by directories { allow }, and may have named the only ones")

// check refuses an address that a host's name resolves to.
func (r *Reach) check(host string, address netip.Addr) error {
	address = address.Unmap()
	if r == nil {
		r = new(Reach)
	}
	bare := address.WithZone("")
	switch {
	case listed(r.Allow, host, bare):
		return nil
	case special(bare), len(r.Only) > 0 && !listed(r.Only, host, bare):
		return fmt.Errorf("%s: %w", address, ErrOutOfReach)
	}
	return nil
}

// CheckHost returns [ErrOutOfReach] if a host is an address that is refused, or this machine's own name for itself. Of other names
// only the address that they lead to tells, when it is dialled.
func (r *Reach) CheckHost(host string) error {
	address, err := netip.ParseAddr(host)
	switch {
	case err == nil:
		return r.check(host, address)
	case hostKey(host) == "localhost" && r.check(host, netip.IPv6Loopback()) != nil:
		return r.check(host, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	return nil
}

// control returns a function for net.Dialer that checks the address of each connection attempt, after its name is resolved and
// before anything is sent.
func (r *Reach) control(host string) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		where, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%s: %w", address, ErrOutOfReach)
		}
		return r.check(host, where.Addr())
	}
}

// Networks that netip does not name (IANA's registries of special-purpose addresses).
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),      // this host (RFC 1122)
	netip.MustParsePrefix("192.0.0.0/24"),   // protocol assignments, including NAT64 discovery (RFC 6890)
	netip.MustParsePrefix("240.0.0.0/4"),    // reserved, and 255.255.255.255 (RFC 1112)
	netip.MustParsePrefix("64:ff9b:1::/48"), // a network's own NAT64: only that network knows where the IPv4 address is (RFC 8215)
	netip.MustParsePrefix("2001::/32"),      // Teredo (RFC 4380)
	netip.MustParsePrefix("100::/64"),       // discard (RFC 6666)
	netip.MustParsePrefix("fec0::/10"),      // site-local, of an unknown site (RFC 3879)
}

// special reports whether an address is of the machine, its link or a group, or embeds one.
func special(address netip.Addr) bool {
	if address.IsLoopback() || address.IsUnspecified() || address.IsLinkLocalUnicast() || address.IsMulticast() {
		return true
	}
	for _, network := range reserved {
		if network.Contains(address) {
			return true
		}
	}
	inner, ok := carried(address)
	return ok && special(inner)
}

// carried returns the IPv4 address inside an IPv6 address.
func carried(address netip.Addr) (netip.Addr, bool) {
	if !address.Is6() {
		return address, false
	}
	b := address.As16()
	high, middle := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint32(b[8:12])
	var from int
	switch {
	case b[0] == 0x20 && b[1] == 0x02: // 6to4 (RFC 3056)
		from = 2
	case high == 0x0064_ff9b_0000_0000 && middle == 0, // NAT64 (RFC 6052)
		high == 0 && middle == 0,           // IPv4-compatible (RFC 4291)
		high == 0 && middle == 0xffff_0000, // IPv4-translated (RFC 2765)
		middle&^0x0200_0000 == 0x0000_5efe: // ISATAP (RFC 5214)
		from = 12
	default:
		return address, false
	}
	return netip.AddrFrom4([4]byte(b[from : from+4])), true
}
