package ldap_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	ber "github.com/go-asn1-ber/asn1-ber"
	goldap "github.com/go-ldap/ldap/v3"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
)

// TestResultCodes tries every result code that a directory may return to the user's bind.
func TestResultCodes(t *testing.T) {
	t.Parallel()
	for code, no := range map[int64]bool{
		goldap.LDAPResultInvalidCredentials:          true,
		goldap.LDAPResultNoSuchObject:                true,
		goldap.LDAPResultInappropriateAuthentication: true,
		goldap.LDAPResultOperationsError:             false,
		goldap.LDAPResultStrongAuthRequired:          false,
		goldap.LDAPResultReferral:                    false,
		goldap.LDAPResultConfidentialityRequired:     false,
		goldap.LDAPResultSaslBindInProgress:          false,
		goldap.LDAPResultConstraintViolation:         false,
		goldap.LDAPResultInvalidDNSyntax:             false,
		goldap.LDAPResultBusy:                        false,
		goldap.LDAPResultUnavailable:                 false,
		goldap.LDAPResultUnwillingToPerform:          false,
		goldap.LDAPResultOther:                       false,
		3000:                                         false,
		65536:                                        false, // 0 if truncated to 16 bits
		-1:                                           false,
	} {
		const password = "my secret password"
		for _, says := range []string{"", "you said " + password, "I am " + ldaptest.ServicePassword, strings.Repeat("x", 10_000)} {
			config := direct(fake(t, func(*ber.Packet) []*ber.Packet {
				return []*ber.Packet{result(goldap.ApplicationBindResponse, code, says)}
			}))
			config.BindPassword = ldaptest.ServicePassword // still a direct bind: there is no bind_dn
			_, err := ldap.Authenticate(t.Context(), config, "alice", password)
			switch {
			case err == nil || errors.Is(err, ldap.ErrRefused) != no:
				t.Errorf("%d: %v", code, err)
			case len(err.Error()) > 500:
				t.Errorf("%d: the error has %d bytes", code, len(err.Error()))
			}
			wantNoSecret(t, err, password)
		}
	}
}

// TestIDs reads the attribute by which each kind of directory identifies an entry.
func TestIDs(t *testing.T) {
	t.Parallel()
	const guid = "\x33\x22\x11\x00\x55\x44\x77\x66\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
	for name, c := range map[string]struct {
		attributes []string
		id         string
	}{
		"none":                       {nil, ""},
		"entryUUID":                  {[]string{"entryUUID", "00112233-4455-6677-8899-AABBCCDDEEFF"}, "00112233-4455-6677-8899-aabbccddeeff"},
		"in other letters":           {[]string{"ENTRYuuid", "00112233-4455-6677-8899-aabbccddeeff"}, "00112233-4455-6677-8899-aabbccddeeff"},
		"objectGUID":                 {[]string{"objectGUID", guid}, "00112233-4455-6677-8899-aabbccddeeff"},
		"nsUniqueId":                 {[]string{"nsUniqueId", "00112233-44556677-8899AABB-CCDDEEFF"}, "00112233-44556677-8899aabb-ccddeeff"},
		"entryUUID goes first":       {[]string{"nsUniqueId", "x", "objectGUID", guid, "entryUUID", "10112233-4455-6677-8899-aabbccddeeff"}, "10112233-4455-6677-8899-aabbccddeeff"},
		"two values":                 {[]string{"entryUUID", "00112233-4455-6677-8899-aabbccddeeff", "entryUUID", "10112233-4455-6677-8899-aabbccddeeff"}, ""},
		"a pattern":                  {[]string{"entryUUID", ".*"}, ""},
		"a UUID in braces":           {[]string{"entryUUID", "{00112233-4455-6677-8899-aabbccddeeff}"}, ""},
		"a bad one hides the others": {[]string{"entryUUID", "x", "objectGUID", guid}, ""},
		"a short GUID":               {[]string{"objectGUID", guid[1:]}, ""},
		"a pattern as nsUniqueId":    {[]string{"nsUniqueId", "#"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entry, err := ldap.Authenticate(t.Context(), fake(t, yes(found("uid=alice", c.attributes...))), "alice", "a password")
			if err != nil || entry.ID != c.id {
				t.Errorf("the id is %q, want %q, %v", entry.ID, c.id, err)
			}
		})
	}
}

func TestEmails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []string
		email  string
		all    int
	}{
		"one":                    {[]string{"Alice@Example.test"}, "alice@example.test", 1},
		"spaces around":          {[]string{" alice@example.test "}, "alice@example.test", 1},
		"the same in two cases":  {[]string{"alice@example.test", "ALICE@example.test"}, "alice@example.test", 1},
		"two":                    {[]string{"b@example.test", "a@example.test"}, "", 2},
		"a username":             {[]string{"Alice"}, "alice", 1},
		"empty":                  {[]string{""}, "", 0},
		"control characters":     {[]string{"a\x00@example.test", "b@example.test\r\nTo: x"}, "", 0},
		"no UTF-8":               {[]string{"\xff@example.test"}, "", 0},
		"endless":                {[]string{strings.Repeat("x", 300) + "@example.test"}, "", 0},
		"one beside an odd one":  {[]string{"a b@example.test", "a@example.test"}, "a@example.test", 1},
		"a capital of two bytes": {[]string{"ÉLISE@example.test"}, "élise@example.test", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var attributes []string
			for _, v := range c.values {
				attributes = append(attributes, "mail", v)
			}
			entry, err := ldap.Authenticate(t.Context(), fake(t, yes(found("uid=alice", attributes...))), "alice", "a password")
			if err != nil || len(entry.Emails) != c.all || c.all == 1 && entry.Emails[0] != c.email {
				t.Errorf("%q, want %q of %d, %v", entry.Emails, c.email, c.all, err)
			}
		})
	}
}

// TestStrangeAnswers: no strange response lets anybody in.
func TestStrangeAnswers(t *testing.T) {
	t.Parallel()
	done := func(code int64) *ber.Packet { return result(goldap.ApplicationSearchResultDone, code, "") }
	for name, c := range map[string]struct {
		search []*ber.Packet
		no     bool
	}{
		"two in spite of the limit":   {[]*ber.Packet{found("uid=a"), found("uid=b"), done(0)}, true},
		"one, and there are more":     {[]*ber.Packet{found("uid=a"), done(goldap.LDAPResultSizeLimitExceeded)}, true},
		"one, and the time is over":   {[]*ber.Packet{found("uid=a"), done(goldap.LDAPResultTimeLimitExceeded)}, false},
		"one, and no end":             {[]*ber.Packet{found("uid=a"), found(strings.Repeat("x", 300<<10))}, false},
		"an entry without a name":     {[]*ber.Packet{found(""), done(0)}, false},
		"the end of another search":   {[]*ber.Packet{found("uid=a"), result(goldap.ApplicationSearchResultDone, 65536, "")}, false},
		"none":                        {[]*ber.Packet{done(0)}, true},
		"an answer to what is a bind": {[]*ber.Packet{result(goldap.ApplicationSearchResultEntry, 0, "")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := fake(t, func(op *ber.Packet) []*ber.Packet {
				if op.Tag == goldap.ApplicationSearchRequest {
					return c.search
				}
				return yes()(op)
			})
			_, err := ldap.Authenticate(t.Context(), config, "alice", "a password")
			if c.no {
				wantRefused(t, err, "")
			} else {
				wantTrouble(t, err, "")
			}
		})
	}
	_, err := ldap.Authenticate(t.Context(), direct(fake(t, yes())), "alice", "a password")
	wantTrouble(t, err, "does not show it")
	for name, text := range map[string]string{
		"no LDAP":           "HTTP/1.1 400 Bad Request\r\n\r\n",
		"a long length":     "\x30\x84\x7f\xff\xff\xff\x02\x01\x01",
		"deep":              strings.Repeat("\x30\x80", 10_000),
		"zeros without end": strings.Repeat("\x00", 1<<20),
		"small messages":    strings.Repeat("\x30\x03\x02\x01\x7f", 1<<17),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := direct(good())
			config.Host, config.ProtocolSecurity, config.Reach = ldaptest.Host, ldap.Plain, ldaptest.Reach
			config.Port = listen(t, func(c net.Conn) { _, _ = io.WriteString(c, text) })
			_, err := ldap.Authenticate(t.Context(), config, "alice", "a password")
			wantTrouble(t, err, "")
		})
	}
}

// TestOldTLS: a server that knows only TLS 1.1 is refused.
func TestOldTLS(t *testing.T) {
	t.Parallel()
	config := good()
	config.Host, config.Reach = ldaptest.Host, ldaptest.Reach
	config.Port = listen(t, func(c net.Conn) {
		_ = tls.Server(c, &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}).HandshakeContext(t.Context())
	})
	_, err := ldap.Authenticate(t.Context(), config, "alice", "a password")
	wantTrouble(t, err, "protocol version")
}
