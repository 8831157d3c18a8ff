package ldap_test

import (
	"errors"
	"testing"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
)

// Recheck finds a user by the ID, or by an address, until the directory's administrator has closed or removed the account.
func TestRecheck(t *testing.T) {
	s := ldaptest.Start(t)
	c := s.Config()
	check := func(id string, addresses ...string) error { return ldap.Recheck(t.Context(), c, id, addresses) }
	still := func(when string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	gone := func(when string, err error) {
		t.Helper()
		if !errors.Is(err, ldap.ErrRefused) {
			t.Errorf("%s: %v", when, err)
		}
	}
	still("by ID", check(ldaptest.AliceUUID))
	still("by address", check("", "nobody@example.test", "alice@example.test"))
	gone("another ID", check("a11ce000-0000-4000-8000-000000000002"))
	gone("389's ID", check("a11ce000-00004000-80000000-00000001"))
	gone("no ID of a directory", check("alice"))
	gone("nobody's address", check("", "nobody@example.test"))
	gone("an address that is a filter", check("", "*)(uid=*"))
	gone("no address", check(""))
	gone("two entries", check("", "alice@example.test", "bob@example.test"))

	c.SearchFilters = "(&(uid={username})(employeeType=staff))"
	still("staff", check(ldaptest.AliceUUID))
	gone("not staff", check("", "bob@example.test"))
	s.Change("alice", "employeeType", "guest")
	gone("not staff any longer", check(ldaptest.AliceUUID))
	c.SearchFilters = ""
	still("without the filter", check(ldaptest.AliceUUID))

	s.Change("alice", "pwdAccountLockedTime", "20260101000000Z")
	still("locked for a while after wrong passwords", check(ldaptest.AliceUUID))
	s.Change("alice", "pwdAccountLockedTime", "000001010000Z")
	gone("locked by an administrator", check(ldaptest.AliceUUID))
	s.Change("alice", "pwdAccountLockedTime")
	still("unlocked", check(ldaptest.AliceUUID))

	s.Remove("alice")
	gone("removed", check(ldaptest.AliceUUID))
	wantTrouble(t, func() error {
		bad := c
		bad.BindPassword = "wrong"
		return ldap.Recheck(t.Context(), bad, ldaptest.AliceUUID, nil)
	}(), "binding as bind_dn")
	if err := ldap.Recheck(t.Context(), direct(c), ldaptest.AliceUUID, nil); !errors.Is(err, ldap.ErrNoService) {
		t.Errorf("without a service account: %v", err)
	}
	s.Stop()
	wantTrouble(t, check(ldaptest.AliceUUID), "connecting to the directory")
}

// Each kind of directory marks a closed account in its own way.
func TestRecheckClosedAccounts(t *testing.T) {
	for _, tt := range []struct {
		name, attribute, value string
		closed                 bool
	}{
		{"Active Directory, normal", "userAccountControl", "512", false},
		{"Active Directory, disabled", "userAccountControl", "514", true},
		{"389, locked", "nsAccountLock", "TRUE", true},
		{"389, not locked", "nsAccountLock", "false", false},
		{"eDirectory, disabled", "loginDisabled", "TRUE", true},
		{"OpenLDAP, locked for good", "pwdAccountLockedTime", "000001010000Z", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := fake(t, yes(found("uid=alice,ou=people", "uid", "alice", "entryUUID", ldaptest.AliceUUID, tt.attribute, tt.value)))
			err := ldap.Recheck(t.Context(), c, ldaptest.AliceUUID, nil)
			if tt.closed != errors.Is(err, ldap.ErrRefused) || (!tt.closed && err != nil) {
				t.Errorf("%v", err)
			}
		})
	}
}
