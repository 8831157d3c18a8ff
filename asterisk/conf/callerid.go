package conf

import "strings"

// CallerID is a caller ID, as an option has it: "Alice Martin" <1000>.
type CallerID struct{ Name, Number string }

// quotes escapes what would end a name between quotes, and unquotes takes that back.
var (
	quotes   = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	unquotes = strings.NewReplacer(`\\`, `\`, `\"`, `"`)
)

// ParseCallerID reads a caller ID as Asterisk does: a name with or without quotes, and a number between angle brackets, or one of them.
func ParseCallerID(text string) CallerID {
	text = strings.TrimSpace(text)
	id := CallerID{Name: text}
	if from := strings.LastIndexByte(text, '<'); from >= 0 && strings.HasSuffix(text, ">") {
		id = CallerID{strings.TrimSpace(text[:from]), strings.TrimSpace(text[from+1 : len(text)-1])}
	} else if Digits(text) == text {
		return CallerID{Number: text}
	}
	if len(id.Name) >= 2 && id.Name[0] == '"' && id.Name[len(id.Name)-1] == '"' {
		id.Name = unquotes.Replace(id.Name[1 : len(id.Name)-1])
	}
	return id
}

// String returns the value of the option, or "" if both parts are empty. Quotes and backslashes of the name are escaped.
func (id CallerID) String() string {
	switch {
	case id.Number != "":
		return `"` + quotes.Replace(id.Name) + `" <` + id.Number + `>`
	case id.Name != "":
		return `"` + quotes.Replace(id.Name) + `"`
	default:
		return ""
	}
}
