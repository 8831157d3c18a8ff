package confdsvc

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
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

// csvColumn is a column of the files. Export returns its cell for a user; columns without one are only imported.
type csvColumn struct {
	name   string
	export func(x *csvUser) string
	// kind says what an import makes of a cell: text, a boolean or an integer.
	kind csvKind
	// path is where an import puts the cell in the body of POST /users: by default at the column's name.
	path string
}

type csvKind int

const (
	csvText csvKind = iota
	csvBoolean
	csvInteger
)

// csvColumns are all columns, in the order of an export.
var csvColumns = []csvColumn{
	{name: "uuid", export: func(x *csvUser) string { return x.user.UUID }, path: csvIgnored},
	{name: "subscription_type", export: func(x *csvUser) string { return cell(&x.user.SubscriptionType) }, kind: csvInteger},
	{name: "firstname", export: func(x *csvUser) string { return x.user.Firstname }},
	{name: "lastname", export: func(x *csvUser) string { return cell(x.user.Lastname) }},
	{name: "email", export: func(x *csvUser) string { return cell(x.user.Email) }},
	{name: "mobile_phone_number", export: func(x *csvUser) string { return cell(x.user.MobilePhoneNumber) }},
	{name: "outgoing_caller_id", export: func(x *csvUser) string { return cell(x.user.OutgoingCallerID) }},
	{name: "language", export: func(x *csvUser) string { return cell(x.user.Language) }},
	{name: "call_permission_password", export: func(x *csvUser) string { return cell(x.user.CallPermissionPassword) }},
	{name: "enabled", export: func(x *csvUser) string { return cell(x.user.Enabled) }, kind: csvBoolean},
	{name: "ring_seconds", export: func(x *csvUser) string { return cell(x.user.RingSeconds) }, kind: csvInteger},
	{name: "simultaneous_calls", export: func(x *csvUser) string { return cell(x.user.SimultaneousCalls) }, kind: csvInteger},
	{name: "supervision_enabled", export: func(x *csvUser) string { return cell(x.user.SupervisionEnabled) }, kind: csvBoolean},
	{name: "call_transfer_enabled", export: func(x *csvUser) string { return cell(x.user.CallTransferEnabled) }, kind: csvBoolean},
	{name: "dtmf_hangup_enabled", export: func(x *csvUser) string { return cell(x.user.DTMFHangupEnabled) }, kind: csvBoolean},
	{name: "call_record_outgoing_external_enabled", export: func(x *csvUser) string { return cell(&x.user.CallRecordOutgoingExternalEnabled) }, kind: csvBoolean},
	{name: "call_record_outgoing_internal_enabled", export: func(x *csvUser) string { return cell(&x.user.CallRecordOutgoingInternalEnabled) }, kind: csvBoolean},
	{name: "call_record_incoming_internal_enabled", export: func(x *csvUser) string { return cell(&x.user.CallRecordIncomingInternalEnabled) }, kind: csvBoolean},
	{name: "call_record_incoming_external_enabled", export: func(x *csvUser) string { return cell(&x.user.CallRecordIncomingExternalEnabled) }, kind: csvBoolean},
	{name: "online_call_record_enabled", export: func(x *csvUser) string { return cell(x.user.OnlineCallRecordEnabled) }, kind: csvBoolean},
	{name: "userfield", export: func(x *csvUser) string { return cell(x.user.Userfield) }},
	ofVoicemail("name", csvText, func(v *Voicemail) string { return v.Name }),
	ofVoicemail("number", csvText, func(v *Voicemail) string { return v.Number }),
	ofVoicemail("context", csvText, func(v *Voicemail) string { return v.Context }),
	ofVoicemail("password", csvText, func(v *Voicemail) string { return cell(v.Password) }),
	ofVoicemail("email", csvText, func(v *Voicemail) string { return cell(v.Email) }),
	ofVoicemail("attach_audio", csvBoolean, func(v *Voicemail) string { return cell(v.AttachAudio) }),
	ofVoicemail("delete_messages", csvBoolean, func(v *Voicemail) string { return cell(&v.DeleteMessages) }),
	ofVoicemail("ask_password", csvBoolean, func(v *Voicemail) string { return cell(&v.AskPassword) }),
	{name: "line_protocol", export: (*csvUser).protocol, path: csvIgnored},
	ofLine("provisioning_code", "lines[0].provisioning_code", func(l *Line) string { return l.ProvisioningCode }),
	ofLine("context", "lines[0].context", func(l *Line) string { return l.Context }),
	{name: "sip_username", export: func(x *csvUser) string { return x.sipAuth("username") }, path: csvIgnored},
	{name: "sip_secret", export: func(x *csvUser) string { return x.sipAuth("password") }, path: csvIgnored},
	{name: "exten", export: func(x *csvUser) string { return x.lineExtension().Exten }, path: "lines[0].extensions[0].exten"},
	{name: "incall_exten", export: func(x *csvUser) string { return x.ofIncalls(func(e ExtensionRef) string { return e.Exten }) }, path: csvIgnored},
	{name: "incall_context", export: func(x *csvUser) string { return x.ofIncalls(func(e ExtensionRef) string { return e.Context }) }, path: csvIgnored},
	{name: "call_permissions", export: func(*csvUser) string { return "" }, path: csvIgnored},
	{name: "username", export: func(x *csvUser) string { return cell(x.user.Username) }},
	{name: "password"},
	{name: "incall_ring_seconds", kind: csvInteger, path: csvIgnored},
}

// csvIgnored is the path of columns of which no attribute is made as they are.
const csvIgnored = "-"

func (c *csvColumn) at() string { return cmp.Or(c.path, c.name) }

func ofVoicemail(name string, kind csvKind, export func(v *Voicemail) string) csvColumn {
	return csvColumn{name: "voicemail_" + name, kind: kind, path: "voicemail." + name, export: func(x *csvUser) string {
		if x.voicemail == nil {
			return ""
		}
		return export(x.voicemail)
	}}
}

func ofLine(name, path string, export func(l *Line) string) csvColumn {
	return csvColumn{name: name, path: path, export: func(x *csvUser) string {
		if x.line == nil {
			return ""
		}
		return export(x.line)
	}}
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
	return cell(l.Protocol)
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
func cell[T string | int64 | bool](value *T) string {
	if value == nil {
		return ""
	}
	switch v := any(*value).(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	default:
		if v.(bool) {
			return "1"
		}
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
