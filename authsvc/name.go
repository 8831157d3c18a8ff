package authsvc

import (
	"crypto/rand"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/secure/precis"
	"golang.org/x/text/unicode/norm"

	"github.com/ringfence/ringfence/internal/apierr"
)

// Canonical returns the form in which names are compared: that of RFC 8266 (PRECIS nicknames). Differences in case, width, the
// encoding of accents, and surrounding or repeated spaces do not count; two names with one canonical form are one name. It
// returns false for what cannot be a name: invisible and control characters, or nothing at all.
func Canonical(name string) (string, bool) {
	key, err := precis.Nickname.CompareKey(name)
	return key, err == nil
}

// checkName returns a new name as it is to be stored, and its canonical form. It refuses names that look like other names: those
// with invisible characters, and words that mix Latin, Greek and Cyrillic letters, many of which look alike.
func checkName(field, name string) (tidy, key string, err error) {
	tidy = strings.TrimSpace(norm.NFC.String(name))
	if tidy == "" {
		return "", "", apierr.InvalidField(field, "length", "May not be blank")
	}
	key, ok := Canonical(tidy)
	if !ok {
		return "", "", apierr.InvalidField(field, "characters", "May not hold invisible characters")
	}
	for word := range strings.FieldsFuncSeq(tidy, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		if mixed(word) {
			return "", "", apierr.InvalidField(field, "characters", "May not mix letters of different alphabets in one word")
		}
	}
	return tidy, key, nil
}

// checkUsername is checkName of a username. It refuses one that no login can carry, unless the user has it already: a colon ends the name
// in HTTP Basic authentication (RFC 7617).
func checkUsername(name string, before *string) (tidy, key string, err error) {
	if strings.Contains(name, ":") && different(&name, before) {
		return "", "", apierr.InvalidField("username", "characters", "May not hold a colon, which ends the name in a login")
	}
	return checkName("username", name)
}

// mixed reports whether a word has letters of more than one of the alphabets whose letters look alike.
func mixed(word string) bool {
	found := 0
	for _, alphabet := range []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic} {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(alphabet, r) }) {
			found++
		}
	}
	return found > 1
}

// maxSlug is the length of the longest slug of a policy or a group.
const maxSlug = 80

var notSlug = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// newSlug returns the slug in the request and its canonical form. If there is none, it makes one from the name or, if that is
// taken or nothing is left of it, a random one. A slug is a word of accesses, so it cannot be a word with a special meaning
// there.
func newSlug(sent *string, name string, taken func(key string) (bool, error)) (slug *string, key string, err error) {
	reserved := func(slug string) bool { return slices.Contains([]string{"me", "my_session"}, slug) }
	if sent != nil {
		if reserved(*sent) {
			return nil, "", apierr.InvalidField("slug", "reserved", "Means something else in accesses")
		}
		return sent, strings.ToLower(*sent), nil
	}
	made := notSlug.ReplaceAllString(name, "")
	made = made[:min(len(made), maxSlug)]
	if made != "" && !reserved(made) {
		if used, err := taken(strings.ToLower(made)); err != nil || !used {
			return &made, strings.ToLower(made), err
		}
		made = made[:min(len(made), maxSlug-9)] + "-"
	} else {
		made = ""
	}
	made += strings.ToLower(rand.Text()[:8])
	return &made, strings.ToLower(made), nil
}
