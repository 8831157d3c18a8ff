package ldap

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	goldap "github.com/go-ldap/ldap/v3"

	"github.com/ringfence/ringfence/internal/webaddress"
)

// Values of ProtocolSecurity.
const (
	Plain    = ""      // no TLS: passwords cross the network as they are
	StartTLS = "tls"   // plain text at first, turned into TLS before anything is said
	LDAPS    = "ldaps" // TLS from the first byte
)

// Config is one tenant's directory. Its fields are those of /backends/ldap, except Reach and RootCAs, which the operator chooses,
// not the tenant.
type Config struct {
	Host             string // a name or an IP address, which the certificate has to bear
	Port             int
	ProtocolVersion  int    // 2 or 3; 0 is 3
	ProtocolSecurity string // Plain, StartTLS or LDAPS

	// BindDN and BindPassword are the service account. With either of them empty the user binds directly.
	BindDN       string
	BindPassword string

	UserBaseDN         string // below it users are searched; or right below it they are, when they bind directly
	UserLoginAttribute string // such as uid
	UserEmailAttribute string // such as mail

	// SearchFilters is a filter in which {username}, {user_login_attribute} and {user_email_attribute} stand for the escaped
	// login and the two attributes. Empty means "({user_login_attribute}={username})". If it is set, a user who binds directly
	// must match it too.
	SearchFilters string

	// Reach limits the addresses of directories.
	Reach *Reach

	// RootCAs are the authorities that may have signed the directory's certificate; nil means those of the system.
	RootCAs *x509.CertPool
}

// FieldError says what is wrong with one field.
type FieldError struct {
	Field  string // as the API spells it: "user_base_dn"
	Reason string // "must be ...": no secret, and nothing of the field's value
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// RootCAs reads the certificates, in PEM, of the authorities that sign a directory's certificate.
func RootCAs(file string) (*x509.CertPool, error) {
	pool, err := webaddress.Roots(file)
	if err != nil {
		return nil, fmt.Errorf("reading the directory's root certificates: %w", err)
	}
	return pool, nil
}

// String names the directory without its secrets, for a log that prints the whole value.
func (c Config) String() string {
	return fmt.Sprintf("%s:%d %s", c.Host, c.Port, c.UserBaseDN)
}

// GoString is String, so that %#v keeps the secrets too.
func (c Config) GoString() string { return "ldap.Config{" + c.String() + "}" }

// service reports whether a service account searches for the user's entry.
func (c Config) service() bool { return c.BindDN != "" && c.BindPassword != "" }

// The longest values, in characters. The limit of a filter is arbitrary.
const (
	maxHost      = 512
	maxDN        = 256
	maxAttribute = 64
	maxFilter    = 4096
)

var (
	hostName  = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?$`)
	attribute = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*|[0-9]+(\.[0-9]+)+)(;[A-Za-z0-9-]+)*$`)
)

// Check reports every field with which no directory could be asked: each is a [*FieldError], joined.
func (c Config) Check() error {
	var errs []error
	add := func(field, reason string) {
		if reason != "" {
			errs = append(errs, &FieldError{field, reason})
		}
	}
	add("host", checkHost(c.Host))
	if c.Port < 1 || c.Port > 65535 {
		add("port", "must be between 1 and 65535")
	}
	switch {
	case c.ProtocolVersion != 0 && c.ProtocolVersion != 2 && c.ProtocolVersion != 3:
		add("protocol_version", "must be 2 or 3")
	case c.ProtocolVersion == 2 && c.ProtocolSecurity == StartTLS:
		add("protocol_version", `must be 3 when protocol_security is "tls": version 2 cannot start TLS`)
	}
	switch c.ProtocolSecurity {
	case Plain, StartTLS, LDAPS:
	default:
		add("protocol_security", `must be null, "tls" or "ldaps"`)
	}
	add("bind_dn", checkText(c.BindDN, maxDN))
	if c.BindPassword != "" && !usable(c.BindPassword) {
		add("bind_password", fmt.Sprintf("must not be blank, hold a NUL, or be longer than %d bytes", MaxPassword))
	}
	add("user_base_dn", checkBase(c.UserBaseDN))
	add("user_login_attribute", checkAttribute(c.UserLoginAttribute))
	add("user_email_attribute", checkAttribute(c.UserEmailAttribute))
	add("search_filters", c.checkFilter())
	return errors.Join(errs...)
}

func checkHost(host string) string {
	switch {
	case host == "":
		return "must be given"
	case len(host) > maxHost:
		return fmt.Sprintf("must not be longer than %d characters", maxHost)
	case net.ParseIP(host) == nil && !hostName.MatchString(host):
		return "must be a host name or an IP address, without a scheme and a port"
	}
	return ""
}

// checkText also suits a bind DN, which is not a DN in Active Directory: user@domain binds there.
func checkText(text string, longest int) string {
	switch {
	case utf8.RuneCountInString(text) > longest:
		return fmt.Sprintf("must not be longer than %d characters", longest)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return "must be text without control characters"
	}
	return ""
}

func checkBase(dn string) string {
	if reason := checkText(dn, maxDN); reason != "" {
		return reason
	}
	parsed, err := goldap.ParseDN(dn)
	if err != nil || len(parsed.RDNs) == 0 {
		return `must be a distinguished name, such as "ou=people,dc=example,dc=com"`
	}
	return ""
}

func checkAttribute(name string) string {
	if len(name) > maxAttribute || !attribute.MatchString(name) {
		return fmt.Sprintf(`must be the name of an attribute, such as "uid", of at most %d characters`, maxAttribute)
	}
	return ""
}

// The placeholders of a template.
const (
	usernameWord       = "{username}"
	loginAttributeWord = "{user_login_attribute}"
	emailAttributeWord = "{user_email_attribute}"
)

// template returns the configured filter, or the default: any entry for a user who has bound directly, otherwise the entry with
// the login. The outer parentheses may be missing, as OpenLDAP's tools allow.
func (c Config) template() string {
	text := strings.TrimSpace(c.SearchFilters)
	switch {
	case text == "" && c.service():
		return "(" + loginAttributeWord + "=" + usernameWord + ")"
	case text == "":
		return "(objectClass=*)"
	case !strings.HasPrefix(text, "("):
		return "(" + text + ")"
	}
	return text
}

// filter fills the template's placeholders in one pass: a login that looks like a placeholder stays as it is. No login can close,
// widen or extend the filter (RFC 4515, section 3).
func (c Config) filter(login string) string {
	return strings.NewReplacer(
		usernameWord, goldap.EscapeFilter(login),
		loginAttributeWord, c.UserLoginAttribute,
		emailAttributeWord, c.UserEmailAttribute,
	).Replace(c.template())
}

// checkFilter returns what is wrong with SearchFilters, or "".
func (c Config) checkFilter() string {
	if reason := checkText(c.SearchFilters, maxFilter); reason != "" {
		return reason
	}
	text := c.template()
	rest := strings.NewReplacer(usernameWord, "", loginAttributeWord, "", emailAttributeWord, "").Replace(text)
	if strings.ContainsAny(rest, "{}") {
		return fmt.Sprintf(`must hold no braces but those of %s, %s and %s: write \7b and \7d for others`,
			usernameWord, loginAttributeWord, emailAttributeWord)
	}
	if c.service() && !strings.Contains(text, usernameWord) {
		return "must hold " + usernameWord + ": without it every login would mean the same entry"
	}
	// A value begins after the first "=" within its parentheses. Before it is an attribute's name, which escaping does not
	// protect.
	for i := 0; ; {
		next := strings.Index(text[i:], usernameWord)
		if next < 0 {
			break
		}
		i += next
		if strings.LastIndexByte(text[:i], '=') < strings.LastIndexAny(text[:i], "()") {
			return "must have " + usernameWord + " after a =, as the value or a part of it"
		}
		i += len(usernameWord)
	}
	plain := c
	plain.UserLoginAttribute, plain.UserEmailAttribute = "uid", "mail" // theirs is another field's error
	if _, err := goldap.CompileFilter(plain.filter("x")); err != nil {
		return `must be an LDAP filter, such as "(&(objectClass=person)(uid={username}))"`
	}
	return ""
}
