package ldap_test

import (
	"errors"
	"net"
	"testing"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
)

func places(t *testing.T, texts ...string) (list []ldap.Place) {
	t.Helper()
	for _, text := range texts {
		place, err := ldap.ParsePlace(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, place)
	}
	return list
}

// The addresses of the machine, of its link and of groups are refused, in whatever form they are embedded.
func TestReach(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reach     *ldap.Reach
		host      string
		in, outOf []string
	}{
		"by default": {
			in: []string{"192.0.2.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "2001:db8::1", "fd00::1", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "2002:0a01:0203::1"},
			outOf: []string{
				"127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "169.254.169.254", "224.0.0.1", "239.1.1.1", "255.255.255.255", "240.0.0.1", "192.0.0.170",
				"::", "::1", "fe80::1", "fe80::1%lo", "ff02::1", "ff05::2", "fec0::1", "100::1",
				"::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:169.254.169.254", "::ffff:0.0.0.0", "::ffff:224.0.0.1",
				"::127.0.0.1", "::ffff:0:127.0.0.1", "::ffff:0:169.254.169.254",
				"64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "64:ff9b:1:7f00:0:100::",
				"2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:0000::1", "2001:0:7f00:1::1",
				"fd00::5efe:127.0.0.1", "2001:db8::200:5efe:169.254.169.254",
			},
		},
		"allowed": {
			reach: &ldap.Reach{Allow: places(t, "127.0.0.0/8", "fe80::/10", "::1")},
			in:    []string{"127.0.0.1", "::ffff:127.0.0.1", "::1", "fe80::1%lo", "10.0.0.1"},
			outOf: []string{"0.0.0.0", "169.254.0.1", "64:ff9b::127.0.0.1", "::127.0.0.1"},
		},
		"allowed by name":      {reach: &ldap.Reach{Allow: places(t, "Localhost")}, host: "LOCALHOST.", in: []string{"127.0.0.1", "::1"}},
		"allowed another name": {reach: &ldap.Reach{Allow: places(t, "localhost")}, host: "localhost.evil.example", outOf: []string{"127.0.0.1"}},
		"only": {
			reach: &ldap.Reach{Only: places(t, "10.1.0.0/16", "ldap.example.com")},
			in:    []string{"10.1.2.3", "::ffff:10.1.2.3"},
			outOf: []string{"10.2.0.1", "192.0.2.1", "2001:db8::1", "127.0.0.1"},
		},
		"only a host": {
			reach: &ldap.Reach{Only: places(t, "ldap.example.com")}, host: "ldap.example.com",
			in: []string{"10.1.2.3"}, outOf: []string{"127.0.0.1"},
		},
		"only the world":       {reach: &ldap.Reach{Only: places(t, "0.0.0.0/0", "::/0")}, in: []string{"10.1.2.3", "2001:db8::1"}, outOf: []string{"127.0.0.1", "::1"}},
		"allowed beside those": {reach: &ldap.Reach{Only: places(t, "10.1.0.0/16"), Allow: places(t, "192.168.0.1")}, in: []string{"10.1.0.1", "192.168.0.1"}, outOf: []string{"192.168.0.2"}},
	} {
		for _, address := range c.in {
			if err := c.reach.Dials(c.host, address); err != nil {
				t.Errorf("%s: %s: %v", name, address, err)
			}
		}
		for _, address := range c.outOf {
			if err := c.reach.Dials(c.host, address); !errors.Is(err, ldap.ErrOutOfReach) {
				t.Errorf("%s: %s is reached: %v", name, address, err)
			}
		}
	}
	for _, text := range []string{"", "127.1", "10.0.0.0/33", "::ffff:127.0.0.0/104", "fe80::1%lo", "ldap://x", "x:389", "2130706433"} {
		if _, err := ldap.ParsePlace(text); err == nil {
			t.Errorf("%q is a place", text)
		}
	}
}

// No refused address is connected to, however it is spelled and whatever the security: the check applies to the resolved address.
func TestNothingOutOfReachIsConnectedTo(t *testing.T) {
	t.Parallel()
	port := listen(t, func(net.Conn) { t.Error("it is connected to") })
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST.", "127.1", "0.0.0.0", "0", "2130706433", "0x7f000001", "017700000001", "::ffff:127.0.0.1", "::"} {
		for _, security := range []string{ldap.Plain, ldap.StartTLS, ldap.LDAPS} {
			config := good()
			config.Host, config.Port, config.ProtocolSecurity = host, port, security
			_, err := ldap.Authenticate(t.Context(), config, "alice", "x")
			wantTrouble(t, err, "")
			if err := ldap.Recheck(t.Context(), config, "", []string{"alice@example.test"}); err == nil || errors.Is(err, ldap.ErrRefused) {
				t.Errorf("%s %s: Recheck answers %v", host, security, err)
			}
		}
	}
	config := good()
	config.Host, config.Port, config.Reach = "localhost", 1, ldaptest.Reach
	_, err := ldap.Authenticate(t.Context(), config, "alice", "x")
	wantTrouble(t, err, "connect")
	config.Reach = nil
	_, err = ldap.Authenticate(t.Context(), config, "alice", "x")
	wantTrouble(t, err, "directories { allow }")
}

// A host that is certainly refused is known before it is dialled.
func TestCheckHost(t *testing.T) {
	t.Parallel()
	var byDefault *ldap.Reach
	here := &ldap.Reach{Allow: places(t, "127.0.0.1")}
	for host, refused := range map[string]bool{"127.0.0.1": true, "::1": true, "localhost": true, "LocalHost.": true, "10.0.0.1": false, "ldap.example.com": false} {
		if err := byDefault.CheckHost(host); errors.Is(err, ldap.ErrOutOfReach) != refused {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, host := range []string{"127.0.0.1", "localhost"} {
		if err := here.CheckHost(host); err != nil {
			t.Errorf("%s, which is allowed: %v", host, err)
		}
	}
}
