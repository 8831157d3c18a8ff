package conf

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Network reads an address, or a network of 65,536 addresses at most, by which Asterisk may know who calls. A network of IPv4 may have a netmask. A
// name is none: Asterisk looks it up only while it loads the file.
func Network(typed string) (netip.Prefix, bool) {
	typed = strings.TrimSpace(typed)
	if address, err := netip.ParseAddr(typed); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), !address.IsUnspecified()
	}
	if host, mask, _ := strings.Cut(typed, "/"); !strings.Contains(host, ":") {
		if bits, size := net.IPMask(net.ParseIP(mask).To4()).Size(); size > 0 {
			typed = host + "/" + strconv.Itoa(bits)
		}
	}
	at, err := netip.ParsePrefix(typed)
	if err != nil || at.Addr().Is4In6() || at.Bits() < 16 || at.Addr().Is6() && at.Bits() < 32 {
		return at, false
	}
	return at.Masked(), true
}
