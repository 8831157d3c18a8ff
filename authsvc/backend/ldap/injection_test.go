package ldap_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	ber "github.com/go-asn1-ber/asn1-ber"
	goldap "github.com/go-ldap/ldap/v3"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
)

// wild are logins with a special meaning in a filter or in a name.
var wild = []string{
	"*", "a*", "*lice", "alice*", "alice)(uid=*", "*)(uid=*", "alice)(|(uid=*", "*))(|(uid=*", "alice))", "(alice)", "!(uid=x)",
	"&(uid=alice)", `alice\`, `\`, `\2a`, `\61lice`, `alice\29`, "alice,ou=former", "alice,ou=people,dc=example,dc=test",
	"alice+cn=Alice", "alice;cn=x", `"alice"`, "#616c696365", "<alice>", "alice=alice", "uid=alice", "=", "+", ",", "cn=admin,dc=example,dc=test",
	"{username}", "{user_login_attribute}", "%s", "$(id)", "alice\u200b", "ali\u00adce", "аlice", "zoe\u0308x", "日本語", "👩‍👩‍👧",
	"../alice", "alice@example.test", " * ", ".*", "^alice$", "alice|bob",
}

// TestInjection: only alice's login opens alice's account, however the directory interprets it.
func TestInjection(t *testing.T) {
	t.Parallel()
	server := ldaptest.Start(t)
	unsendable := []string{"\x00", "alice\x00", "\x00alice", "alice\n", "alice\r\nbind", "\x7f", "\xff\xfe", "al\xc3", strings.Repeat("a", 257)}
	for _, login := range append(unsendable, wild...) {
		for _, config := range []ldap.Config{server.Config(), direct(server.Config())} {
			_, err := ldap.Authenticate(t.Context(), config, login, ldaptest.Password("alice"))
			wantRefused(t, err, ldaptest.Password("alice"))
		}
	}
}

// TestLoginStaysOneValue reads on the wire what becomes of a login: the value of one equality in the filter, and the value of the
// first part of the name; the rest is as configured.
func TestLoginStaysOneValue(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var binds []string
	var filters []*ber.Packet
	config := fake(t, func(op *ber.Packet) []*ber.Packet {
		mu.Lock()
		defer mu.Unlock()
		if op.Tag == goldap.ApplicationBindRequest {
			binds = append(binds, op.Children[1].Value.(string))
			return []*ber.Packet{result(goldap.ApplicationBindResponse, 0, "")}
		}
		filters = append(filters, op.Children[6])
		return []*ber.Packet{found("uid=x"), result(goldap.ApplicationSearchResultDone, 0, "")}
	})
	config.SearchFilters = "(&(objectClass=person)(uid={username}))"
	logins := append([]string{" x", "x ", "  x  ", "# x", `\ `, `x\ `, "x,  "}, wild...)
	random := rand.New(rand.NewPCG(3, 5))
	alphabet := []rune(`ab *()\/,+="<>#;&|!~:{}[]'ßλ` + "\u2028\u202e")
	for range 150 {
		login := []rune{'x'} // so that it is not blank
		for range random.IntN(12) {
			login = append(login, alphabet[random.IntN(len(alphabet))])
		}
		random.Shuffle(len(login), func(i, j int) { login[i], login[j] = login[j], login[i] })
		logins = append(logins, string(login))
	}
	for _, login := range logins {
		for _, c := range []ldap.Config{config, direct(config)} {
			mu.Lock()
			binds, filters = nil, nil
			mu.Unlock()
			if _, err := ldap.Authenticate(t.Context(), c, login, "a password"); err != nil {
				t.Fatalf("%q: %v", login, err)
			}
			mu.Lock()
			and := filters[0]
			if len(filters) != 1 || and.Tag != goldap.FilterAnd || len(and.Children) != 2 {
				t.Fatalf("%q: the filter has another form", login)
			}
			equality := and.Children[1]
			if equality.Tag != goldap.FilterEqualityMatch || equality.Children[0].Value != "uid" || equality.Children[1].Value != login {
				t.Errorf("%q: the filter asks for %v = %q", login, equality.Children[0].Value, equality.Children[1].Value)
			}
			if c.BindDN == "" {
				wantName(t, binds[0], login)
			} else if len(binds) != 2 || binds[1] != "uid=x" {
				t.Errorf("%q: binds as %q", login, binds)
			}
			mu.Unlock()
		}
	}
}

// wantName fails unless text is the name uid=login below PeopleDN.
func wantName(t *testing.T, text, login string) {
	t.Helper()
	dn, err := goldap.ParseDN(text)
	if err != nil {
		t.Errorf("%q: the name %q: %v", login, text, err)
		return
	}
	base, err := goldap.ParseDN(ldaptest.PeopleDN)
	if err != nil {
		t.Fatal(err)
	}
	first := dn.RDNs[0].Attributes
	if len(first) != 1 || first[0].Type != "uid" || first[0].Value != login {
		t.Errorf("%q: the name %q begins with %+v", login, text, first[0])
	}
	if rest := (&goldap.DN{RDNs: dn.RDNs[1:]}); !rest.Equal(base) {
		t.Errorf("%q: the name %q is elsewhere", login, text)
	}
}
