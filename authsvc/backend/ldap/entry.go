package ldap

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	goldap "github.com/go-ldap/ldap/v3"
	"github.com/google/uuid"
)

// idAttributes are the attributes in which directories keep an entry's ID. Those that no user can write come first: an entryUUID
// is always the server's own, while an objectGUID or nsUniqueId on another vendor's server may be anybody's.
var idAttributes = []string{"entryUUID", "objectGUID", "nsUniqueId"}

var uniqueID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}$`)

// entry reads a search result.
func (s *session) entry(found *goldap.Entry) Entry {
	e := Entry{DN: found.DN, ID: idOf(found), Emails: emails(found.GetEqualFoldAttributeValues(s.config.UserEmailAttribute))}
	if len(e.Emails) == 1 {
		e.Email = e.Emails[0]
	}
	return e
}

// maxEmails is how many addresses a local user may have.
const maxEmails = 100

// emails omits values that no local user has as address or name: empty and very long values, and values with spaces or control
// characters. It returns none if there are more than a local user may have: somebody looks each of them up.
func emails(values []string) []string {
	if len(values) > maxEmails {
		return nil
	}
	var kept []string
	odd := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	for _, v := range values {
		v = strings.TrimSpace(v)
		if v != "" && len(v) <= MaxLogin && utf8.ValidString(v) && !strings.ContainsFunc(v, odd) {
			kept = append(kept, strings.ToLower(v))
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}

// idOf returns "" unless the first of the attributes that exist has one value, in the form that its servers use.
func idOf(found *goldap.Entry) string {
	for _, name := range idAttributes {
		values := found.GetEqualFoldRawAttributeValues(name)
		if len(values) == 0 {
			continue
		}
		if len(values) > 1 {
			return ""
		}
		switch name {
		case "entryUUID":
			return textUUID(string(values[0]))
		case "objectGUID":
			return binaryGUID(values[0])
		default:
			if text := strings.ToLower(string(values[0])); uniqueID.MatchString(text) {
				return text
			}
			return ""
		}
	}
	return ""
}

func textUUID(text string) string {
	u, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return ""
	}
	return u.String()
}

// binaryGUID formats a GUID as Windows does: its first three numbers have their lowest byte first.
func binaryGUID(raw []byte) string {
	if len(raw) != 16 {
		return ""
	}
	return uuid.UUID(windowsOrder(raw)).String()
}

// windowsOrder converts a GUID's bytes from one order to the other.
func windowsOrder(raw []byte) []byte {
	b := slices.Clone(raw)
	slices.Reverse(b[0:4])
	slices.Reverse(b[4:6])
	slices.Reverse(b[6:8])
	return b
}
