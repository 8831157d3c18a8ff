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

// idAttributes are where directories keep what identifies an entry, first those that no user can write: where there is
// an entryUUID it is the server's, while an objectGUID or nsUniqueId may be anybody's on a server that is not of their make.
var idAttributes = []string{"entryUUID", "objectGUID", "nsUniqueId"}

var uniqueID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}$`)

// entry reads what the search answered.
func (s *session) entry(found *goldap.Entry) Entry {
	e := Entry{DN: found.DN, ID: idOf(found), Emails: emails(found.GetEqualFoldAttributeValues(s.config.UserEmailAttribute))}
	if len(e.Emails) == 1 {
		e.Email = e.Emails[0]
	}
	return e
}

// emails leaves out what is no address or name of any local user: empty and
// endless values, and values with spaces or control characters.
func emails(values []string) []string {
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

// idOf is empty unless the first of the attributes that is there has one value, of the form that its servers give it.
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

// binaryGUID writes a GUID the way Windows does: its first three numbers have their lowest byte first.
func binaryGUID(raw []byte) string {
	if len(raw) != 16 {
		return ""
	}
	return uuid.UUID(windowsOrder(raw)).String()
}

// windowsOrder turns a GUID's bytes from one order to the other.
func windowsOrder(raw []byte) []byte {
	b := slices.Clone(raw)
	slices.Reverse(b[0:4])
	slices.Reverse(b[4:6])
	slices.Reverse(b[6:8])
	return b
}
