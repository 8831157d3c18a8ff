package ldap_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
)

func good() ldap.Config {
	return ldap.Config{
		Host: "ldap.example.com", Port: 636, ProtocolVersion: 3, ProtocolSecurity: ldap.LDAPS,
		BindDN: "cn=reader,dc=example,dc=com", BindPassword: "the service's secret",
		UserBaseDN: "ou=people,dc=example,dc=com", UserLoginAttribute: "uid", UserEmailAttribute: "mail",
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 600)
	for name, c := range map[string]struct {
		change func(*ldap.Config)
		fields []string // the wrong ones
	}{
		"all right":               {change: func(*ldap.Config) {}},
		"IPv4":                    {change: func(c *ldap.Config) { c.Host = "192.0.2.7" }},
		"IPv6":                    {change: func(c *ldap.Config) { c.Host = "2001:db8::7" }},
		"no service account":      {change: func(c *ldap.Config) { c.BindDN, c.BindPassword = "", "" }},
		"bind DN of AD":           {change: func(c *ldap.Config) { c.BindDN = "reader@example.com" }},
		"attribute with option":   {change: func(c *ldap.Config) { c.UserEmailAttribute = "mail;lang-en" }},
		"attribute by number":     {change: func(c *ldap.Config) { c.UserLoginAttribute = "0.9.2342.19200300.100.1.1" }},
		"accents":                 {change: func(c *ldap.Config) { c.UserBaseDN = "ou=employés,dc=example,dc=com" }},
		"nothing":                 {change: func(c *ldap.Config) { *c = ldap.Config{} }, fields: []string{"host", "port", "user_base_dn", "user_login_attribute", "user_email_attribute"}},
		"URL as host":             {change: func(c *ldap.Config) { c.Host = "ldap://ldap.example.com" }, fields: []string{"host"}},
		"port in host":            {change: func(c *ldap.Config) { c.Host = "ldap.example.com:389" }, fields: []string{"host"}},
		"space in host":           {change: func(c *ldap.Config) { c.Host = "ldap example" }, fields: []string{"host"}},
		"long host":               {change: func(c *ldap.Config) { c.Host = long }, fields: []string{"host"}},
		"port 0":                  {change: func(c *ldap.Config) { c.Port = 0 }, fields: []string{"port"}},
		"port 65536":              {change: func(c *ldap.Config) { c.Port = 65536 }, fields: []string{"port"}},
		"version 1":               {change: func(c *ldap.Config) { c.ProtocolVersion = 1 }, fields: []string{"protocol_version"}},
		"version 4":               {change: func(c *ldap.Config) { c.ProtocolVersion = 4 }, fields: []string{"protocol_version"}},
		"version 2 over ldaps":    {change: func(c *ldap.Config) { c.ProtocolVersion = 2 }},
		"version 2 with StartTLS": {change: func(c *ldap.Config) { c.ProtocolVersion, c.ProtocolSecurity = 2, ldap.StartTLS }, fields: []string{"protocol_version"}},
		"unknown security":        {change: func(c *ldap.Config) { c.ProtocolSecurity = "TLS" }, fields: []string{"protocol_security"}},
		"NUL in bind DN":          {change: func(c *ldap.Config) { c.BindDN = "cn=a\x00" }, fields: []string{"bind_dn"}},
		"long bind DN":            {change: func(c *ldap.Config) { c.BindDN = long }, fields: []string{"bind_dn"}},
		"blank bind password":     {change: func(c *ldap.Config) { c.BindPassword = "  " }, fields: []string{"bind_password"}},
		"NUL in bind password":    {change: func(c *ldap.Config) { c.BindPassword = "\x00x" }, fields: []string{"bind_password"}},
		"base that is no DN":      {change: func(c *ldap.Config) { c.UserBaseDN = "people" }, fields: []string{"user_base_dn"}},
		"long base":               {change: func(c *ldap.Config) { c.UserBaseDN = "ou=" + long }, fields: []string{"user_base_dn"}},
		"login attribute injects": {change: func(c *ldap.Config) { c.UserLoginAttribute = "uid=x)(cn" }, fields: []string{"user_login_attribute"}},
		"email attribute injects": {change: func(c *ldap.Config) { c.UserEmailAttribute = "*" }, fields: []string{"user_email_attribute"}},
		"long attribute":          {change: func(c *ldap.Config) { c.UserLoginAttribute = long }, fields: []string{"user_login_attribute"}},

		"filter": {change: func(c *ldap.Config) { c.SearchFilters = "(&(objectClass=person)({user_login_attribute}={username}))" }},
		"filter with both attributes": {change: func(c *ldap.Config) {
			c.SearchFilters = "(|({user_login_attribute}={username})({user_email_attribute}={username}))"
		}},
		"filter without a login":       {change: func(c *ldap.Config) { c.SearchFilters = "(objectClass=person)" }, fields: []string{"search_filters"}},
		"the same for a direct bind":   {change: func(c *ldap.Config) { c.BindDN, c.SearchFilters = "", "(objectClass=person)" }},
		"filter that does not close":   {change: func(c *ldap.Config) { c.SearchFilters = "(&(uid={username})" }, fields: []string{"search_filters"}},
		"filter with a rest":           {change: func(c *ldap.Config) { c.SearchFilters = "(uid={username}))" }, fields: []string{"search_filters"}},
		"login as attribute":           {change: func(c *ldap.Config) { c.SearchFilters = "({username}=x)" }, fields: []string{"search_filters"}},
		"login as attribute, later":    {change: func(c *ldap.Config) { c.SearchFilters = "(&(uid={username})({username}=x))" }, fields: []string{"search_filters"}},
		"login as matching rule":       {change: func(c *ldap.Config) { c.SearchFilters = "(uid:{username}:=x)" }, fields: []string{"search_filters"}},
		"login as a filter":            {change: func(c *ldap.Config) { c.SearchFilters = "(&(a=b){username})" }, fields: []string{"search_filters"}},
		"login as the whole filter":    {change: func(c *ldap.Config) { c.SearchFilters = "{username}" }, fields: []string{"search_filters"}},
		"unknown word":                 {change: func(c *ldap.Config) { c.SearchFilters = "(&(uid={username})(ou={tenant}))" }, fields: []string{"search_filters"}},
		"word of Python's":             {change: func(c *ldap.Config) { c.SearchFilters = "(uid={username!r})" }, fields: []string{"search_filters"}},
		"control character in filter":  {change: func(c *ldap.Config) { c.SearchFilters = "(uid={username})\n" }, fields: []string{"search_filters"}},
		"long filter":                  {change: func(c *ldap.Config) { c.SearchFilters = "(uid={username}" + strings.Repeat("x", 5000) + ")" }, fields: []string{"search_filters"}},
		"bad attribute, filter is not": {change: func(c *ldap.Config) { c.UserLoginAttribute = "(" }, fields: []string{"user_login_attribute"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := good()
			c.change(&config)
			err := config.Check()
			if fields := wrong(t, err); !slices.Equal(fields, c.fields) {
				t.Errorf("wrong are %q, want %q: %v", fields, c.fields, err)
			}
			if err == nil {
				return
			}
			if config.BindPassword != "" && strings.Contains(err.Error(), config.BindPassword) {
				t.Errorf("%q holds the bind password", err)
			}
			_, err = ldap.Authenticate(t.Context(), config, "alice", "a password")
			wantTrouble(t, err, c.fields[0]+": must ")
		})
	}
}

// wrong returns the fields that err names, in order.
func wrong(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var fields []string
	for _, one := range err.(interface{ Unwrap() []error }).Unwrap() {
		var field *ldap.FieldError
		if !errors.As(one, &field) {
			t.Fatalf("%v is no FieldError", one)
		}
		fields = append(fields, field.Field)
	}
	return fields
}

func TestConfigPrintsNoSecret(t *testing.T) {
	t.Parallel()
	config := good()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, value := range []any{config, &config, []ldap.Config{config}} {
			text := fmt.Sprintf(verb, value)
			if strings.Contains(text, config.BindPassword) {
				t.Errorf("%s prints %q", verb, text)
			}
		}
	}
}

func TestRootCAs(t *testing.T) {
	t.Parallel()
	if _, err := ldap.RootCAs(filepath.Join(t.TempDir(), "nothing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ldap.RootCAs(empty); err == nil {
		t.Error("a file without a certificate is taken")
	}
}
