package acl_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/acl"
)

func TestParse(t *testing.T) {
	words := func(n int) string { return strings.TrimSuffix(strings.Repeat("a.", n), ".") }
	for _, tc := range []struct {
		name, text      string
		access, pattern string // the error expected, empty if the text is valid
	}{
		{name: "three words", text: "confd.users.read"},
		{name: "one word", text: "confd"},
		{name: "UUID", text: "confd.users." + alice + ".read"},
		{name: "every character of the gate", text: "a.Az09_~@+=,:-"},
		{name: "other marks", text: `a.%$&'()/;<>?[\]^{|}"`},
		{name: "not ASCII", text: "confd.bücher.読む"},
		{name: "the replacement character itself", text: "a.\uFFFD.b"},
		{name: "keywords", text: "auth.users.me.sessions.my_session.read"},
		{name: "! inside a word", text: "a.b!"},
		{name: "32 words", text: words(32)},
		{name: "256 bytes", text: "a." + strings.Repeat("b", 254)},

		{"empty", "", "the access is empty", "the pattern is empty"},
		{"33 words", words(33), "the access has more than 32 words", "the pattern has more than 32 words"},
		{
			"257 bytes", "a." + strings.Repeat("b", 255),
			"the access is longer than 256 bytes", "the pattern is longer than 256 bytes",
		},
		{"first word empty", ".a", "word 1 of the access is empty", "word 1 of the pattern is empty"},
		{"word empty", "a..b", "word 2 of the access is empty", "word 2 of the pattern is empty"},
		{"last word empty", "a.b.", "word 3 of the access is empty", "word 3 of the pattern is empty"},
		{"a dot", ".", "word 1 of the access is empty", "word 1 of the pattern is empty"},
		{"! before a later word", "a.!b", "word 2 of the access starts with !", "word 2 of the pattern starts with !"},
		{"not UTF-8", "a.b\xff", "the access is not valid UTF-8", "the pattern is not valid UTF-8"},
		{"surrogate", "a.\xed\xa0\x80", "the access is not valid UTF-8", "the pattern is not valid UTF-8"},
		{"overlong dot", "a\xc0\xaeb", "the access is not valid UTF-8", "the pattern is not valid UTF-8"},
		{"space", "a.b c", odd(2, "access"), odd(2, "pattern")},
		{"space only", " ", odd(1, "access"), odd(1, "pattern")},
		{"newline at the end", "a.b\n", odd(2, "access"), odd(2, "pattern")},
		{"NUL", "a\x00.b", odd(1, "access"), odd(1, "pattern")},
		{"DEL", "a.b\x7f", odd(2, "access"), odd(2, "pattern")},
		{"C1 control", "a.\u0085", odd(2, "access"), odd(2, "pattern")},
		{"no-break space", "a.b\u00a0", odd(2, "access"), odd(2, "pattern")},
		{"line separator", "a.é\u2028", odd(2, "access"), odd(2, "pattern")},
		{"zero width space", "admi\u200bn.a", odd(1, "access"), odd(1, "pattern")},
		{"right to left override", "a.\u202eb", odd(2, "access"), odd(2, "pattern")},
		{"byte order mark", "\ufeffa", odd(1, "access"), odd(1, "pattern")},

		{"*", "a.*.b", "word 2 of the access contains a wildcard", ""},
		{"#", "a.#", "word 2 of the access contains a wildcard", ""},
		{"# alone", "#", "word 1 of the access contains a wildcard", ""},
		{"* beside letters", "a.us*", "word 2 of the access contains a wildcard", mixed(2)},
		{"# beside letters", "#a.b", "word 1 of the access contains a wildcard", mixed(1)},
		{"* after another letter", "é*", "word 1 of the access contains a wildcard", mixed(1)},
		{"**", "a.**", "word 2 of the access contains a wildcard", mixed(2)},
		{"*#", "a.*#", "word 2 of the access contains a wildcard", mixed(2)},

		{"denial", "!a.#", "word 1 of the access starts with !", ""},
		{"denial of 256 bytes", "!" + strings.Repeat("b", 256), "the access is longer than 256 bytes", ""},
		{
			"denial of 257 bytes", "!" + strings.Repeat("b", 257),
			"the access is longer than 256 bytes", "the pattern is longer than 256 bytes",
		},
		{"denial of nothing", "!", "word 1 of the access starts with !", "the pattern is empty"},
		{"two denials", "!!a", "word 1 of the access starts with !", "word 1 of the pattern starts with !"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			check := func(kind, want string, err error) {
				t.Helper()
				switch {
				case want == "" && err != nil:
					t.Errorf("%s refused: %v", kind, err)
				case want != "" && err == nil:
					t.Errorf("%s accepted, want %q", kind, want)
				case want != "" && (err.Error() != want || !errors.Is(err, acl.ErrInvalid)):
					t.Errorf("%s: error %q, want %q wrapping ErrInvalid", kind, err, want)
				}
			}
			check("access", tc.access, acl.ParseAccess(tc.text))
			check("pattern", tc.pattern, acl.ParsePattern(tc.text))

			// Allows, which makes the same check without an error, agrees.
			everything := compile(t, "#")
			if got := everything.Allows(tc.text, acl.Binding{}); got != (tc.access == "") {
				t.Errorf("# allows it: %v, want %v", got, tc.access == "")
			}
		})
	}
}

func odd(word int, kind string) string {
	return "word " + string(rune('0'+word)) + " of the " + kind +
		" contains a space, a control character or an invisible one"
}

func mixed(word int) string {
	return "word " + string(rune('0'+word)) + " of the pattern mixes a wildcard with other characters"
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "confd.users.read", "!confd.#", "a..b", "a.*.b", "us*", "!!a", "a.!b", ".", "me", "é.\u2028", "\xff",
		strings.Repeat("a.", 32), strings.Repeat("b", 257),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		accessErr, patternErr := acl.ParseAccess(text), acl.ParsePattern(text)
		if got, want := accessErr == nil, slowValid(text, false); got != want {
			t.Errorf("access valid: %v (%v), want %v", got, accessErr, want)
		}
		if got, want := patternErr == nil, slowValid(text, true); got != want {
			t.Errorf("pattern valid: %v (%v), want %v", got, patternErr, want)
		}
		if accessErr == nil && patternErr != nil {
			t.Errorf("a valid access is no valid pattern: %v", patternErr)
		}
		for _, err := range []error{accessErr, patternErr} {
			if err != nil && !errors.Is(err, acl.ErrInvalid) {
				t.Errorf("error %v does not wrap ErrInvalid", err)
			}
		}
		if _, err := acl.Compile([]string{text}); (err == nil) != (patternErr == nil) {
			t.Errorf("Compile: %v, ParsePattern: %v", err, patternErr)
		}
		if got := compile(t, "#").Allows(text, acl.Binding{}); got != (accessErr == nil) {
			t.Errorf("# allows it: %v, but ParseAccess: %v", got, accessErr)
		}
		if accessErr == nil && !acl.Match(text, text, acl.Binding{}) {
			t.Error("a valid access does not match itself")
		}
	})
}
