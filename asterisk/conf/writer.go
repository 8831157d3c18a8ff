package conf

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// lineSize is the longest line that Asterisk reads, in bytes.
const lineSize = 8190

// sectionSize and nameSize are the longest names of a section and of a value.
const sectionSize, nameSize = 79, 128

// A Writer writes one configuration file. After the first error it writes nothing more, and Bytes returns the error. No error holds
// a value: it may be a secret.
type Writer struct {
	text     bytes.Buffer
	sections []string
	err      error
}

// Bytes returns the file, or the first error.
func (w *Writer) Bytes() ([]byte, error) {
	return w.text.Bytes(), w.err
}

// Comment writes a line that Asterisk ignores. A text that is too long is cut.
func (w *Writer) Comment(text string) {
	text = Plain(text)
	if len(text) > lineSize/2 {
		text = strings.ToValidUTF8(text[:lineSize/2], "")
	}
	w.line("; " + text)
}

// Blank writes an empty line.
func (w *Writer) Blank() { w.line("") }

// Section begins a section.
func (w *Writer) Section(name string) {
	w.sections = append(w.sections, name)
	if !IsSectionName(name) {
		w.fail("%q is no name of a section", name)
	}
	w.line("[" + name + "]")
}

// Sections returns the names of the sections that were begun.
func (w *Writer) Sections() []string { return w.sections }

// In returns the name of the section that is being written.
func (w *Writer) In() string {
	if len(w.sections) == 0 {
		return ""
	}
	return w.sections[len(w.sections)-1]
}

// IsSectionName reports whether a section can have this name.
func IsSectionName(name string) bool { return isName(name, sectionSize, "_.@:-") }

// IsName reports whether a value can have this name.
func IsName(name string) bool {
	return isName(name, nameSize, "_./*@:,-") && (isLetterOrDigit(name[0]) || name[0] == '_' || name[0] == '*')
}

// isName reports whether a text is of letters, digits and some other characters, and neither empty nor too long.
func isName(text string, longest int, others string) bool {
	if text == "" || len(text) > longest {
		return false
	}
	for i := range len(text) {
		if !isLetterOrDigit(text[i]) && strings.IndexByte(others, text[i]) < 0 {
			return false
		}
	}
	return true
}

func isLetterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// Set writes a value. Blanks at its ends are lost: Asterisk does not read them.
func (w *Writer) Set(name, value string) { w.assign(name, " = ", value) }

// Object writes a value as an object: with =>, as files write extensions, members and mailboxes.
func (w *Writer) Object(name, value string) { w.assign(name, " => ", value) }

func (w *Writer) assign(name, sign, text string) {
	if !IsName(name) {
		w.fail("%q is no name of a value", name)
		return
	}
	escaped, err := value(text)
	if err != nil {
		w.fail("%s: %w", name, err)
		return
	}
	w.line(name + sign + escaped)
}

// value escapes a value. Only a semicolon ends it early; a backslash before one needs nothing, since Asterisk removes just the one
// directly before the semicolon.
func value(text string) (string, error) {
	if !isPlain(text) {
		return "", errors.New("control characters in the value")
	}
	return strings.ReplaceAll(strings.Trim(text, " "), ";", `\;`), nil
}

// Fits reports whether a value has at most so many bytes in the file.
func Fits(value string, most int) bool { return len(value)+strings.Count(value, ";") <= most }

// Include makes Asterisk read another file here, if it exists. A path without / at its start is below Asterisk's own directory.
func (w *Writer) Include(path string) {
	if !isPlain(path) || strings.ContainsAny(path, `"<>;*?[]\ `) || path == "" || len(path) > 255 {
		w.fail("%q is no path to include", path)
		return
	}
	w.line(`#tryinclude "` + path + `"`)
}

func (w *Writer) line(text string) {
	if w.err != nil {
		return
	}
	if len(text) > lineSize {
		w.fail("a line of %d bytes is too long", len(text))
		return
	}
	w.text.WriteString(text)
	w.text.WriteByte('\n')
}

func (w *Writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("section [%s]: "+format, append([]any{Plain(w.In())}, args...)...)
	}
}

// isPlain reports whether a text is UTF-8 without control characters.
func isPlain(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, isControl)
}

// isControl reports whether a character is a control character, or one that ends a line for some readers.
func isControl(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029'
}

// Plain returns a text that a value may hold: its control characters become blanks, and bytes that are not UTF-8 are left out.
func Plain(text string) string {
	if isPlain(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// Digits returns the characters of a text that can be dialled: digits, *, # and plus signs.
func Digits(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '*' || r == '#' || r == '+' {
			return r
		}
		return -1
	}, text)
}

// Field returns a text for a place in a mailbox's line of voicemail.conf. The separators , | and = become blanks.
func Field(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == ',' || r == '|' || r == '=' {
			return ' '
		}
		return r
	}, Plain(text)))
}

// Argument returns an expression of the dialplan whose value is the text. It holds no character that the dialplan reads as
// syntax; Asterisk decodes it when the call is there, and does not read the result again. So it belongs into an assignment to a
// variable, where a separator in the text separates nothing.
func Argument(text string) string {
	text = Plain(text)
	var out strings.Builder
	encoded := false
	for i := range len(text) {
		switch c := text[i]; {
		case isLetterOrDigit(c) || c == '_' || c == '-' || c == '.':
			out.WriteByte(c)
		default:
			fmt.Fprintf(&out, "%%%02X", c)
			encoded = true
		}
	}
	if !encoded {
		return out.String()
	}
	return "${URIDECODE(" + out.String() + ")}"
}
