package ldap

import "net"

// Dials says whether a connection to an address is made, to which a host's name has led.
func (r *Reach) Dials(host, address string) error {
	return r.control(host)("tcp", net.JoinHostPort(address, "389"), nil)
}
