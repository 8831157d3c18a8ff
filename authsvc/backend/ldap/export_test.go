package ldap

import "net"

// Dials reports whether a connection would be made to an address that a host's name resolves to.
func (r *Reach) Dials(host, address string) error {
	return r.control(host)("tcp", net.JoinHostPort(address, "389"), nil)
}

// Emails returns the addresses that are taken from an entry's values.
func Emails(values []string) []string { return emails(values) }
