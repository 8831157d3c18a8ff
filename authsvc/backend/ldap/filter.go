package ldap

import (
	"fmt"
	"strings"

	goldap "github.com/go-ldap/ldap/v3"
)

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
