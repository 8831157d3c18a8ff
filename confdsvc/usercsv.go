package confdsvc

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ringfence/ringfence/internal/rest"
)

// csvType is the media type of lists of users as spreadsheets read and write them (RFC 4180).
const csvType = "text/csv"

// csvUser is a user with what the columns of a CSV file say of them: of several lines the main one, of several numbers of it the first. No column
// says what a custom endpoint rings, so a line with one, or without an endpoint, is left out: nothing could make it again.
type csvUser struct {
	user      *User
	voicemail *Voicemail
	line      *Line
	endpoint  *EndpointSIP
	// turn orders the users who have a line that somebody had before them. It is 0 for all others.
	turn int64
}

// csvColumn is a column of the files.
type csvColumn struct {
	name string
	// path is where an import puts the cell in the body of POST /users, and jsonType what it makes of it: a text, unless it says otherwise.
	path, jsonType string
	// export returns the cell for a user; columns without one are only imported.
	export func(x *csvUser) string
}

// csvIgnored is the path of columns of which no attribute is made as they are.
const csvIgnored = "-"

// csvColumns are all columns, in the order of an export. Those of attributes are written, and read, as the schemas of these say.
var csvColumns = sync.OnceValue(func() []*csvColumn {
	user := csvAttributes("", "", func(x *csvUser) *User { return x.user })
	voicemail := csvAttributes("voicemail_", "voicemail.", func(x *csvUser) *Voicemail { return x.voicemail })
	line := csvAttributes("", "lines[0].", func(x *csvUser) *Line { return x.line })
	other := func(name string, export func(x *csvUser) string) []*csvColumn {
		return []*csvColumn{{name: name, path: csvIgnored, export: export}}
	}
	return slices.Concat(
		other("uuid", func(x *csvUser) string { return x.user.UUID }),
		user("subscription_type", "firstname", "lastname", "email", "mobile_phone_number", "outgoing_caller_id", "language",
			"call_permission_password", "enabled", "ring_seconds", "simultaneous_calls", "supervision_enabled", "call_transfer_enabled",
			"dtmf_hangup_enabled", "call_record_outgoing_external_enabled", "call_record_outgoing_internal_enabled",
			"call_record_incoming_internal_enabled", "call_record_incoming_external_enabled", "online_call_record_enabled", "userfield"),
		voicemail("name", "number", "context", "password", "email", "attach_audio", "delete_messages", "ask_password"),
		other("line_protocol", (*csvUser).protocol),
		line("provisioning_code", "context"),
		other("sip_username", func(x *csvUser) string { return x.sipAuth("username") }),
		other("sip_secret", func(x *csvUser) string { return x.sipAuth("password") }),
		[]*csvColumn{{name: "exten", path: "lines[0].extensions[0].exten", export: func(x *csvUser) string { return x.lineExtension().Exten }}},
		other("incall_exten", func(x *csvUser) string { return x.ofIncalls(func(e ExtensionRef) string { return e.Exten }) }),
		other("incall_context", func(x *csvUser) string { return x.ofIncalls(func(e ExtensionRef) string { return e.Context }) }),
		other("call_permissions", func(*csvUser) string { return "" }),
		user("username"),
		[]*csvColumn{{name: "password", path: "password"}},
		other("incall_ring_seconds", nil),
	)
})

// csvAttributes returns what makes the columns of an object's attributes: their names begin with one text, and their paths with another.
func csvAttributes[T any](name, path string, of func(x *csvUser) *T) func(attributes ...string) []*csvColumn {
	return func(attributes ...string) (out []*csvColumn) {
		for _, attribute := range attributes {
			p := rest.SchemaOf[T]().Property(attribute)
			out = append(out, &csvColumn{name + attribute, path + attribute, p.Schema.Type, func(x *csvUser) string {
				o := reflect.ValueOf(of(x))
				if o.IsNil() {
					return ""
				}
				return cell(o.Elem().FieldByIndex(p.Index()))
			}})
		}
		return out
	}
}

// csvProtocols are what lines in the files speak.
var csvProtocols = []string{"sip", "webrtc"}

// protocol returns what the user's main line speaks.
func (x *csvUser) protocol() string {
	if x.line == nil {
		return ""
	}
	return csvProtocol(x.line)
}

// csvProtocol returns what a line speaks, in the words of the files; any other word is that of a line that they do not have.
func csvProtocol(l *Line) string {
	if l.IsWebRTC {
		return "webrtc"
	}
	return orEmpty(l.Protocol)
}

// sipAuth returns an option with which the user's telephone authenticates.
func (x *csvUser) sipAuth(option string) string {
	if x.endpoint == nil {
		return ""
	}
	value, _ := x.endpoint.Auth.last(option)
	return value
}

func (x *csvUser) lineExtension() ExtensionRef {
	if x.line == nil || len(x.user.Lines[0].Extensions) == 0 {
		return ExtensionRef{}
	}
	return x.user.Lines[0].Extensions[0]
}

// csvSeparator stands between the values of a cell that has several.
const csvSeparator = ";"

// ofIncalls returns something of each number by which incoming calls reach the user.
func (x *csvUser) ofIncalls(of func(ExtensionRef) string) string {
	var all []string
	for _, incall := range x.user.Incalls {
		for _, number := range incall.Extensions {
			all = append(all, of(number))
		}
	}
	return strings.Join(all, csvSeparator)
}

// cell writes a value: null as nothing, booleans as 0 and 1.
func cell(value reflect.Value) string {
	switch {
	case value.Kind() == reflect.Pointer && value.IsNil():
		return ""
	case value.Kind() == reflect.Pointer:
		return cell(value.Elem())
	case value.Kind() != reflect.Bool:
		return fmt.Sprint(value)
	case value.Bool():
		return "1"
	default:
		return "0"
	}
}

// csvFormula finds where a spreadsheet could begin to read a formula: at the beginning of a cell, and behind a character at which
// another spreadsheet would begin a cell, whatever spaces there are. Apostrophes before it are those that harmless added, and those
// that the text has itself. Japanese spreadsheets also read the wide signs.
var csvFormula = regexp.MustCompile("((?:^|[;\t\r\n])[\\p{Z}\\p{Cc}\\p{Cf}]*)('*)([=+@＝＋＠－-])")

// harmless returns the text of a cell that no spreadsheet takes for a formula: it has an apostrophe before each sign that could
// begin one. Telephone numbers with a plus get one too; else a spreadsheet would make numbers of them, without the plus.
func harmless(text string) string { return csvFormula.ReplaceAllString(text, "$1'$2$3") }

var csvHarmless = regexp.MustCompile("((?:^|[;\t\r\n])[\\p{Z}\\p{Cc}\\p{Cf}]*)'('*[=+@＝＋＠－-])")

// unharmed undoes harmless. In what harmless has not written, it takes an apostrophe away where harmless would have added one.
func unharmed(text string) string { return csvHarmless.ReplaceAllString(text, "$1$2") }
