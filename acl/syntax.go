package acl

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the language.
const (
	// MaxBytes is the length of the longest access and of the longest pattern.
	// The ! of a pattern that denies is not counted, so that everything that
	// can be granted can be denied.
	MaxBytes = 256
	// MaxWords is the number of words that an access or a pattern may have.
	MaxWords = 32
	// MaxPolicyPatterns is the number of patterns that one policy may hold.
	// Compile does not enforce it, since a Set may join several policies.
	MaxPolicyPatterns = 1000
	// MaxPatterns is the number of different patterns that one Set may hold.
	MaxPatterns = 4096
)

// The words that have a special meaning.
const (
	wordAny     = "*"
	wordMany    = "#"
	wordMe      = "me"
	wordSession = "my_session"
)

// ErrInvalid is wrapped by every error of this package: an access or a pattern
// breaks the rules, or a list has too many patterns.
var ErrInvalid = errors.New("invalid access or pattern")

// syntaxError is one clear sentence for the author of the access or pattern.
type syntaxError string

func (e syntaxError) Error() string { return string(e) }

func (e syntaxError) Unwrap() error { return ErrInvalid }

func invalid(format string, args ...any) error {
	return syntaxError(fmt.Sprintf(format, args...))
}

// ParseAccess returns nil if access is one that an operation can require: 1 to
// MaxWords words joined by dots, none of them empty, at most MaxBytes bytes of
// UTF-8 without spaces, control characters or invisible (format) characters, no
// word that contains * or #, and none that starts with !.
//
// The error is a sentence that says what is wrong, without repeating the input;
// it wraps ErrInvalid.
func ParseAccess(access string) error {
	return parse("access", access, func(n int, word string) error {
		if strings.ContainsAny(word, wordAny+wordMany) {
			return invalid("word %d of the access contains a wildcard", n)
		}
		return nil
	})
}

// ParsePattern returns nil if pattern is well formed. The rules are those of
// ParseAccess, except that a word may be * or # alone, and that one ! may stand
// before the first word.
//
// The error is a sentence that says what is wrong, without repeating the input;
// it wraps ErrInvalid.
func ParsePattern(pattern string) error {
	_, positive := cutDenial(pattern)
	return parse("pattern", positive, func(n int, word string) error {
		if word != wordAny && word != wordMany && strings.ContainsAny(word, wordAny+wordMany) {
			return invalid("word %d of the pattern mixes a wildcard with other characters", n)
		}
		return nil
	})
}

// FoldUUIDs returns an access or a pattern with its UUIDs in lower case. A UUID
// in capitals is the same UUID (RFC 9562, section 4), so a Set folds its own
// patterns and those that Covers is asked about; callers fold accesses before
// Allows. A text that needs no change is not copied.
func FoldUUIDs(text string) string {
	start := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] != '.' {
			continue
		}
		if word := strings.TrimPrefix(text[start:i], "!"); isUUID(word) {
			if lower := strings.ToLower(word); lower != word {
				text = text[:i-len(word)] + lower + text[i:]
			}
		}
		start = i + 1
	}
	return text
}

// cutDenial splits the leading ! from a pattern.
func cutDenial(pattern string) (denies bool, positive string) {
	positive, denies = strings.CutPrefix(pattern, "!")
	return denies, positive
}

// parse checks the rules that accesses and patterns share, and leaves the rule
// about wildcards to its caller. Words are counted from 1.
func parse(kind, text string, wildcards func(n int, word string) error) error {
	switch {
	case text == "":
		return invalid("the %s is empty", kind)
	case len(text) > MaxBytes:
		return invalid("the %s is longer than %d bytes", kind, MaxBytes)
	case !utf8.ValidString(text):
		return invalid("the %s is not valid UTF-8", kind)
	}
	n := 0
	for word := range strings.SplitSeq(text, ".") {
		if n++; n > MaxWords {
			return invalid("the %s has more than %d words", kind, MaxWords)
		}
		switch {
		case word == "":
			return invalid("word %d of the %s is empty", n, kind)
		case word[0] == '!':
			return invalid("word %d of the %s starts with !", n, kind)
		case strings.ContainsFunc(word, invisible):
			return invalid("word %d of the %s contains a space, a control character or an invisible one", n, kind)
		}
		if err := wildcards(n, word); err != nil {
			return err
		}
	}
	return nil
}

// invisible reports whether no word may contain r. Format characters (zero
// width, direction marks) are refused like control characters and spaces: they
// would let two policies look alike and mean different things.
func invisible(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// wordEnd returns where the word of an access that begins at start ends: at a
// dot or at the end of access. It returns -1 if no access may contain the word.
// It makes the checks of ParseAccess for one word, without an error to explain
// them.
func wordEnd(access string, start int) int {
	if start == len(access) || access[start] == '!' {
		return -1
	}
	for i := start; i < len(access); i++ {
		b := access[i]
		if plainByte[b] {
			continue
		}
		if b == '.' && i > start {
			return i
		}
		if b < utf8.RuneSelf {
			return -1
		}
		return wordEndUTF8(access, i)
	}
	return len(access)
}

// wordEndUTF8 continues wordEnd in a word that is not all ASCII.
func wordEndUTF8(access string, i int) int {
	for i < len(access) && access[i] != '.' {
		r, size := utf8.DecodeRuneInString(access[i:])
		if r == utf8.RuneError && size == 1 || r == '*' || r == '#' || invisible(r) {
			return -1
		}
		i += size
	}
	return i
}

// plainByte marks the ASCII characters that a word of an access may contain.
var plainByte = func() (plain [256]bool) {
	for b := '!'; b <= '~'; b++ {
		plain[b] = b != '*' && b != '#' && b != '.'
	}
	return plain
}()
