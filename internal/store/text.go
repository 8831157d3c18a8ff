package store

import (
	"database/sql/driver"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/ringfence/ringfence/internal/apierr"
)

// ErrInvalidText says that an argument is text that no database stores: it has a NUL character or is not valid UTF-8. Nothing
// was done.
var ErrInvalidText = apierr.Sentinel("text with a NUL character or invalid UTF-8", func(cause error) *apierr.Error {
	// Such text comes from a header: paths, queries and bodies were checked before.
	return &apierr.Error{Kind: apierr.Invalid, Message: "The request holds text that is not UTF-8, or a NUL character", Err: cause}
})

// CheckText returns ErrInvalidText, with the argument's position, if one of args is such a text. PostgreSQL would refuse it in
// the middle of a transaction and SQLite would store it, so the engines check first.
func CheckText(args []any) error {
	for i, arg := range args {
		text, ok := textOf(arg)
		if ok && (strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text)) {
			return fmt.Errorf("argument %d: %w", i+1, ErrInvalidText)
		}
	}
	return nil
}

func textOf(arg any) (string, bool) {
	switch a := arg.(type) {
	case nil, []byte:
		return "", false
	case string:
		return a, true
	case *string:
		if a == nil {
			return "", false
		}
		return *a, true
	case driver.Valuer: // a JSON[T] makes valid text, and any other Valuer here is a number or a time
		return "", false
	}
	v := reflect.ValueOf(arg)
	if v.Kind() == reflect.Pointer {
		v = v.Elem() // the zero Value of a nil pointer has kind Invalid
	}
	if v.Kind() == reflect.String {
		return v.String(), true
	}
	return "", false
}

// maxPayload is PostgreSQL's limit on the payload of NOTIFY.
const maxPayload = 8000

// CheckPayload refuses a payload that is too long for Notify, for the engines.
func CheckPayload(payload string) error {
	if len(payload) >= maxPayload {
		return fmt.Errorf("a payload of %d bytes: under %d is the limit", len(payload), maxPayload)
	}
	return CheckText([]any{payload})
}

var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// Containing returns the pattern for LIKE, with ESCAPE '\', of the texts that have some parts, one after the other.
func Containing(parts ...string) string {
	var b strings.Builder
	b.WriteString("%")
	for _, part := range parts {
		b.WriteString(likeEscaper.Replace(part) + "%")
	}
	return b.String()
}
