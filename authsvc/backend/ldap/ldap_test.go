package ldap_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
)

// transports are the three ways to talk to one server.
func transports(s *ldaptest.Server) map[string]ldap.Config {
	plain, start, ldaps := s.Config(), s.Config(), s.Config()
	start.ProtocolSecurity = ldap.StartTLS
	ldaps.ProtocolSecurity, ldaps.Port = ldap.LDAPS, s.TLSPort
	return map[string]ldap.Config{"plain": plain, "StartTLS": start, "ldaps": ldaps}
}

// direct returns c without its service account.
func direct(c ldap.Config) ldap.Config {
	c.BindDN, c.BindPassword = "", ""
	return c
}

// wantRefused fails unless err is a refusal that does not contain the password.
func wantRefused(t *testing.T, err error, password string) {
	t.Helper()
	if !errors.Is(err, ldap.ErrRefused) {
		t.Errorf("the error is %v, not a refusal", err)
	}
	wantNoSecret(t, err, password)
}

// wantTrouble fails unless err is an error other than a refusal.
func wantTrouble(t *testing.T, err error, says string) {
	t.Helper()
	switch {
	case err == nil:
		t.Fatal("there is no error")
	case errors.Is(err, ldap.ErrRefused):
		t.Errorf("%v is a refusal", err)
	case !strings.Contains(err.Error(), says):
		t.Errorf("the error is %q, without %q", err, says)
	}
	wantNoSecret(t, err, "")
}

func wantNoSecret(t *testing.T, err error, password string) {
	t.Helper()
	for _, secret := range []string{password, ldaptest.ServicePassword, ldaptest.Password("alice")} {
		if secret != "" && err != nil && strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), secret) {
			t.Errorf("the error %q holds the password %q", err, secret)
		}
	}
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	server := ldaptest.Start(t)
	people := "," + ldaptest.PeopleDN
	for transport, service := range transports(server) {
		for bind, config := range map[string]ldap.Config{"service": service, "direct": direct(service)} {
			t.Run(transport+" "+bind, func(t *testing.T) {
				t.Parallel()
				for _, user := range []struct {
					login  string
					dn     string
					emails []string
				}{
					{"alice", "uid=alice" + people, []string{"alice@example.test"}},
					{"ALICE", "uid=alice" + people, []string{"alice@example.test"}},
					{"bob", "uid=bob" + people, []string{"bob@example.test", "robert@example.test"}},
					{"carol", "uid=carol" + people, nil},
					{"zoë", "uid=zoë" + people, []string{"zoe@example.test"}},
					{"smith, j+r", `uid=smith\2C j\2Br` + people, []string{"smith@example.test"}},
					{"*", "uid=*" + people, []string{"star@example.test"}},
				} {
					entry, err := ldap.Authenticate(t.Context(), config, user.login, ldaptest.Password(strings.ToLower(user.login)))
					if err != nil {
						t.Errorf("%s: %v", user.login, err)
						continue
					}
					if entry.DN != user.dn || !slices.Equal(entry.Emails, user.emails) {
						t.Errorf("%s is %+v", user.login, entry)
					}
					if len(entry.ID) != 36 || user.login == "alice" && entry.ID != ldaptest.AliceUUID {
						t.Errorf("%s has the id %q", user.login, entry.ID)
					}
				}
				for name, typed := range map[string][2]string{
					"wrong password":       {"alice", "wrong"},
					"another's password":   {"alice", ldaptest.Password("bob")},
					"password in capitals": {"alice", strings.ToUpper(ldaptest.Password("alice"))},
					"unknown user":         {"nobody", ldaptest.Password("alice")},
					"locked account":       {"locked", ldaptest.Password("locked")},
					"user without one":     {"nopassword", ldaptest.Password("nopassword")},
					"empty password":       {"alice", ""},
					"blank password":       {"alice", " \t\n"},
					"NUL":                  {"alice", "\x00"},
					"NUL in the middle":    {"alice", ldaptest.Password("alice") + "\x00x"},
					"long password":        {"alice", strings.Repeat("x", ldap.MaxPassword+1)},
					"empty login":          {"", ldaptest.Password("alice")},
					"blank login":          {"  ", ldaptest.Password("alice")},
				} {
					entry, err := ldap.Authenticate(t.Context(), config, typed[0], typed[1])
					t.Run(name, func(t *testing.T) {
						wantRefused(t, err, typed[1])
						if entry.DN != "" || entry.ID != "" || entry.Emails != nil {
							t.Errorf("there is an entry: %+v", entry)
						}
					})
				}
			})
		}
	}
}

// TestTwoEntries: a login of two entries is refused, with either's password, wherever a search finds both.
func TestTwoEntries(t *testing.T) {
	t.Parallel()
	server := ldaptest.Start(t)
	for _, cn := range []string{"twin1", "twin2"} {
		_, err := ldap.Authenticate(t.Context(), server.Config(), "twin", ldaptest.Password(cn))
		wantRefused(t, err, ldaptest.Password(cn))
	}
	// A direct bind names one of them.
	if entry, err := ldap.Authenticate(t.Context(), direct(server.Config()), "twin", ldaptest.Password("twin1")); err != nil || !slices.Equal(entry.Emails, []string{"twin1@example.test"}) {
		t.Errorf("directly twin1 is %+v, %v", entry, err)
	}
	_, err := ldap.Authenticate(t.Context(), direct(server.Config()), "twin", ldaptest.Password("twin2"))
	wantRefused(t, err, ldaptest.Password("twin2"))
}

func TestSearchFilters(t *testing.T) {
	t.Parallel()
	server := ldaptest.Start(t)
	for name, c := range map[string]struct {
		filter, login, password string
		refused, refusedDirect  bool
	}{
		"staff is in":             {filter: "(&({user_login_attribute}={username})(employeeType=staff))", login: "alice"},
		"others are out":          {filter: "(&({user_login_attribute}={username})(employeeType=staff))", login: "bob", refused: true, refusedDirect: true},
		"by address":              {filter: "({user_email_attribute}={username})", login: "alice@example.test", password: "alice", refusedDirect: true},
		"by either":               {filter: "(|({user_login_attribute}={username})({user_email_attribute}={username}))", login: "alice"},
		"without parentheses":     {filter: "uid={username}", login: "alice"},
		"spaces around":           {filter: "  (uid={username}) ", login: "alice"},
		"a login like a word":     {filter: "(uid={username})", login: "{user_email_attribute}", password: "alice", refused: true, refusedDirect: true},
		"matching rule":           {filter: "(uid:caseExactMatch:={username})", login: "alice"},
		"a star in the template":  {filter: "(uid={username}*)", login: "alic", password: "alice", refusedDirect: true},
		"a star matching several": {filter: "(cn={username}*)", login: "twin", password: "twin1", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			config := server.Config()
			config.SearchFilters = c.filter
			password := c.password
			if password == "" {
				password = c.login
			}
			for _, bind := range []struct {
				config  ldap.Config
				refused bool
			}{{config, c.refused}, {direct(config), c.refusedDirect}} {
				entry, err := ldap.Authenticate(t.Context(), bind.config, c.login, ldaptest.Password(password))
				if bind.refused {
					wantRefused(t, err, ldaptest.Password(password))
				} else if err != nil || entry.DN == "" {
					t.Errorf("%q: %+v, %v", bind.config.BindDN, entry, err)
				}
			}
		})
	}
}

// TestVersion2 speaks the old version to a server that allows it, and to one that does not.
func TestVersion2(t *testing.T) {
	t.Parallel()
	old := ldaptest.Start(t, ldaptest.WithDirective("allow bind_v2"))
	for transport, config := range transports(old) {
		if transport == "StartTLS" {
			continue // Check refuses it
		}
		config.ProtocolVersion = 2
		for _, c := range []ldap.Config{config, direct(config)} {
			entry, err := ldap.Authenticate(t.Context(), c, "alice", ldaptest.Password("alice"))
			if err != nil || entry.ID != ldaptest.AliceUUID {
				t.Errorf("%s: %+v, %v", transport, entry, err)
			}
			_, err = ldap.Authenticate(t.Context(), c, "alice", "wrong")
			wantRefused(t, err, "")
		}
	}
	config := ldaptest.Start(t).Config()
	config.ProtocolVersion = 2
	_, err := ldap.Authenticate(t.Context(), config, "alice", ldaptest.Password("alice"))
	wantTrouble(t, err, "Protocol Error")
	config.ProtocolVersion = 0
	if _, err := ldap.Authenticate(t.Context(), config, "alice", ldaptest.Password("alice")); err != nil {
		t.Errorf("version 3 by default: %v", err)
	}
}

// TestServiceAccount: a problem with the service account is the operator's, and not a refusal of the user.
func TestServiceAccount(t *testing.T) {
	t.Parallel()
	server := ldaptest.Start(t)
	config := server.Config()
	config.BindPassword = "not the reader's"
	_, err := ldap.Authenticate(t.Context(), config, "alice", ldaptest.Password("alice"))
	wantTrouble(t, err, "binding as bind_dn")
	wantNoSecret(t, err, config.BindPassword)

	config = server.Config()
	config.UserBaseDN = "ou=nowhere," + ldaptest.BaseDN
	_, err = ldap.Authenticate(t.Context(), config, "alice", ldaptest.Password("alice"))
	wantTrouble(t, err, "No Such Object")

	// Half a service account is none.
	for _, half := range []ldap.Config{server.Config(), server.Config()} {
		half.BindDN = ""
		if _, err := ldap.Authenticate(t.Context(), half, "alice", ldaptest.Password("alice")); err != nil {
			t.Errorf("without bind_dn: %v", err)
		}
	}

	// A user who may not read their own entry has no address to be found by.
	_, err = ldap.Authenticate(t.Context(), direct(server.Config()), "hermit", ldaptest.Password("hermit"))
	wantTrouble(t, err, "own entry")
}

// TestBigEntry: a picture in the entry is not requested, and an entry with an absurd number of addresses is refused.
func TestBigEntry(t *testing.T) {
	t.Parallel()
	person := func(uid string, more string) string {
		return fmt.Sprintf("dn: uid=%s,%s\nobjectClass: inetOrgPerson\nuid: %[1]s\ncn: X\nsn: X\nuserPassword: %[3]s\n%[4]s\n",
			uid, ldaptest.PeopleDN, ldaptest.Password(uid), more)
	}
	var addresses strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&addresses, "mail: address-number-%d@example.test\n", i)
	}
	server := ldaptest.Start(t,
		ldaptest.WithLDIF(person("pictured", "mail: pictured@example.test\njpegPhoto:: "+strings.Repeat("AAAA", 1<<19))),
		ldaptest.WithLDIF(person("many", addresses.String())))
	for _, config := range []ldap.Config{server.Config(), direct(server.Config())} {
		if entry, err := ldap.Authenticate(t.Context(), config, "pictured", ldaptest.Password("pictured")); err != nil || !slices.Equal(entry.Emails, []string{"pictured@example.test"}) {
			t.Errorf("%+v, %v", entry, err)
		}
		_, err := ldap.Authenticate(t.Context(), config, "many", ldaptest.Password("many"))
		wantTrouble(t, err, "sent more than")
	}
}
