package redact

import (
	"encoding/hex"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// mark replaces a secret; Caddy writes the same.
const mark = "REDACTED"

// ownToken is the form of this gateway's tokens (package tokens), loose enough for one that was cut or mistyped.
var ownToken = regexp.MustCompile(`rft_[A-Za-z0-9_-]{16,}`)

// syntax lists the places in a text that hold a secret, and their replacements.
var syntax = []struct {
	place   *regexp.Regexp
	written string
}{
	// GET /api/auth/0.1/token/<token>, POST .../token/<token>/scopes/check
	{regexp.MustCompile(`(?i)(/token/+)[^/?#\s"'<>]+`), "${1}" + mark},
	// ?token=, &access_token=, password= at the start of a query or of a word
	{regexp.MustCompile(`(?i)((?:^|[?&;#\s])[\w.-]*(?:token|password|passwd|secret)=)[^&;#\s"'<>]+`), "${1}" + mark},
	// the code that an OAuth2 provider sends back, and the state that lets its bearer finish what a user began
	{regexp.MustCompile(`(?i)([?&](?:code|state)=)[^&;#\s"'<>]+`), "${1}" + mark},
	// a header in a dump or a message
	{regexp.MustCompile(`(?i)(x[-_.]auth[-_.]token["'\]]*\s*[:=][\s"'\[]*)[^\s"',\]}&]+`), "${1}" + mark},
	{regexp.MustCompile(`(?i)(authorization["'\]]*\s*[:=][\s"'\[]*(?:basic|bearer)\s+)[^\s"',\]}]+`), "${1}" + mark},
	// postgres://user:password@host
	{regexp.MustCompile(`(://[^\s/?#:@"']*:)[^\s/?#@"']+@`), "${1}" + mark + "@"},
}

// String returns s with its secrets replaced. A text with a percent-encoded secret is returned decoded, without its control
// characters.
func String(s string) string {
	if !suspect(s) {
		return s
	}
	s = plain(s)
	// The gateway logs even what it refuses with 400, so look through more than one encoding.
	decoded := s
	for range 3 {
		next := unescape(decoded)
		if next == decoded {
			break
		}
		decoded = next
		if clean := plain(decoded); clean != decoded {
			s = strings.Map(printable, clean)
			decoded = s
		}
	}
	return s
}

// Writer returns a writer that redacts each Write as one text, and passes it to w. A Writer is returned unchanged.
func Writer(w io.Writer) io.Writer {
	if w, ok := w.(writer); ok {
		return w
	}
	return writer{w}
}

type writer struct{ to io.Writer }

func (w writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, String(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

func plain(s string) string {
	s = ownToken.ReplaceAllLiteralString(s, "rft_"+mark)
	for _, secret := range syntax {
		s = secret.place.ReplaceAllString(s, secret.written)
	}
	return s
}

// printable keeps a decoded line break from starting a new line in a log.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// suspect is a cheap check of a text: nearly all log texts hold none of the words without which no pattern matches.
func suspect(s string) bool {
	for i := range len(s) {
		var word string
		switch s[i] {
		case '%', '@':
			return true
		case 't', 'T':
			word = "token"
		case 'p', 'P':
			word = "passw"
		case 's', 'S':
			if hasFoldPrefix(s[i:], "state=") {
				return true
			}
			word = "secret"
		case 'c', 'C':
			word = "code="
		case 'a', 'A':
			word = "authorization"
		case 'r':
			word = "rft_"
		default:
			continue
		}
		if hasFoldPrefix(s[i:], word) {
			return true
		}
	}
	return false
}

func hasFoldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// secretNames end the names of the headers and fields whose whole value is a secret: X-Auth-Token, X_Auth_Token,
// refresh_token, Proxy-Authorization, Set-Cookie, admin_password. X-Request-Id is what the client sent, be it a
// token; the id that the gate has chosen is logged as request_id.
var secretNames = []string{"token", "authorization", "cookie", "password", "passwd", "secret", "x-request-id"}

func secretName(name string) bool {
	return slices.ContainsFunc(secretNames, func(end string) bool {
		return len(name) >= len(end) && strings.EqualFold(name[len(name)-len(end):], end)
	})
}

var escape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unescape decodes every valid percent escape of s and leaves the rest.
func unescape(s string) string {
	return escape.ReplaceAllStringFunc(s, func(one string) string {
		decoded, _ := hex.DecodeString(one[1:])
		return string(decoded)
	})
}

// sweep overwrites everything in an encoded entry that has the form of our own tokens.
func sweep(encoded []byte) {
	for _, at := range ownToken.FindAllIndex(encoded, -1) {
		for i := at[0] + len("rft_"); i < at[1]; i++ {
			encoded[i] = '*'
		}
	}
}
