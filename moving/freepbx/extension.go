package freepbx

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type object = map[string]any

// extension is a row of the file of extensions, in our words: the attributes of the user, of the SIP endpoint and of the mailbox, as far as
// the file has their columns.
type extension struct {
	row
	number, name string
	user         object
	// login are the username and the password; the password is "" if the file has none. codecs are options of the endpoint.
	login  [2]string
	codecs [][2]string
	webRTC bool
	// mailbox is nil if there is none.
	mailbox object
	// forwards are nil if the file says nothing of them.
	forwards object
}

// recorded are the columns of recordings, and our attributes.
var recorded = map[string]string{
	"recording_in_external": "call_record_incoming_external_enabled", "recording_in_internal": "call_record_incoming_internal_enabled",
	"recording_out_external": "call_record_outgoing_external_enabled", "recording_out_internal": "call_record_outgoing_internal_enabled",
}

// readColumns are those of extensions that something here is made of, or that say nothing beside the others.
var readColumns = []string{
	"extension", "name", "description", "tech", "secret", "id", "user", "dial", "account", "username", "callerid", "mailbox", "voicemail", "sipdriver",
	"devicetype", "outboundcid", "ringtimer", "allow", "disallow", "webrtc", "mohclass", "context", "voicemail_enable", "voicemail_vmpwd",
	"voicemail_email", "voicemail_pager", "voicemail_options", "voicemail_same_exten", "recording_in_external", "recording_in_internal",
	"recording_out_external", "recording_out_internal", "noanswer_dest", "busy_dest", "chanunavail_dest", "findmefollow_enabled",
	"findmefollow_grplist", "findmefollow_postdest", "findmefollow_pre_ring", "findmefollow_strategy", "findmefollow_grptime",
}

// readExtension reads a row. left says what of it is left out; it is told whether all of it is.
func readExtension(r row, left func(reason string)) (x *extension, whole bool) {
	x = &extension{row: r, number: r.text("extension"), name: r.text("name"), user: object{}}
	switch tech := strings.ToLower(r.text("tech")); tech {
	case "pjsip", "sip", "":
	case "virtual", "none":
		left("it has no telephone (tech=" + tech + "), and a number is here that of a telephone")
		return nil, false
	default:
		left("tech=" + tech + " is not here")
		return nil, false
	}
	first, last, _ := strings.Cut(x.name, " ")
	if first == "" {
		first = x.number
	}
	x.user["firstname"], x.user["lastname"] = first, orNull(strings.TrimSpace(last))
	if text := r.text("description"); text != "" && text != x.name {
		x.user["description"] = text
	}
	if seconds, err := strconv.Atoi(r.text("ringtimer")); err == nil && seconds > 0 {
		x.user["ring_seconds"] = seconds
	}
	if r.has("outboundcid") {
		x.user["outgoing_caller_id"] = outgoing(r.text("outboundcid"))
	}
	for column, attribute := range recorded {
		if r.has(column) {
			x.user[attribute] = r.yes(column)
		}
	}
	x.readTelephone()
	x.readMailbox()
	x.readFollowMe(left)
	x.leaveUnlike(left)
	return x, true
}

// usual are the cells of columns of which we have only what FreePBX has at first.
var usual = []struct{ column, value, is string }{
	{"mohclass", "default", "the music on hold %q: telephones play that of who holds the call"},
	{"context", "from-internal", "the context %q: the telephone dials in that of its number"},
	{"devicetype", "fixed", "the device type %q: the telephone is always that of the user"},
}

// leaveUnlike tells of the columns that say something else than usual.
func (x *extension) leaveUnlike(left func(reason string)) {
	for _, u := range usual {
		if value := x.text(u.column); value != "" && !strings.EqualFold(value, u.value) {
			left(fmt.Sprintf("%s: it has not "+u.is, u.column, value))
		}
	}
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// outgoing returns what the called see.
func outgoing(cid string) any {
	switch strings.ToLower(cid) {
	case "hidden", "unknown", "anonymous":
		return "anonymous"
	}
	if number, bracketed := strings.CutPrefix(cid, "<"); bracketed {
		return orNull(strings.TrimSuffix(number, ">"))
	}
	return orNull(cid)
}

func (x *extension) readTelephone() {
	x.login = [2]string{x.number, x.text("secret")}
	for _, column := range []string{"account", "id"} {
		if name := x.text(column); name != "" {
			x.login[0] = name
		}
	}
	if strings.EqualFold(x.login[1], "REGEN") {
		x.login[1] = ""
	}
	x.webRTC = x.yes("webrtc")
	for _, option := range []string{"disallow", "allow"} {
		if value := x.text(option); value != "" {
			x.codecs = append(x.codecs, [2]string{option, strings.ReplaceAll(value, "&", ",")})
		}
	}
}

func (x *extension) readMailbox() {
	there := x.yes("voicemail_enable")
	if !x.has("voicemail_enable") {
		there = !slices.Contains([]string{"", "novm"}, x.text("voicemail"))
	}
	if !there {
		return
	}
	name := x.name
	if name == "" {
		name = x.number
	}
	x.mailbox = object{"name": name, "number": x.number}
	for column, attribute := range map[string]string{"voicemail_vmpwd": "password", "voicemail_email": "email", "voicemail_pager": "pager"} {
		if x.has(column) {
			x.mailbox[attribute] = orNull(x.text(column))
		}
	}
	if !x.has("voicemail_options") {
		return
	}
	options := [][2]string{}
	for pair := range strings.SplitSeq(x.text("voicemail_options"), "|") {
		name, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		switch {
		case !found || value == "":
		case name == "attach":
			x.mailbox["attach_audio"] = value == "yes"
		case name == "delete":
			x.mailbox["delete_messages"] = value == "yes"
		default:
			options = append(options, [2]string{name, value})
		}
	}
	x.mailbox["options"] = options
}

// readFollowMe makes a forward of a follow-me list that one forward can say: of calls that this telephone does not answer, or of all.
func (x *extension) readFollowMe(left func(reason string)) {
	if !x.has("findmefollow_enabled") || !x.has("findmefollow_grplist") {
		return
	}
	off := object{"enabled": false}
	x.forwards = object{"noanswer": off, "unconditional": off}
	if !x.yes("findmefollow_enabled") {
		return
	}
	var others []string
	self := false
	for number := range strings.SplitSeq(x.text("findmefollow_grplist"), "-") {
		switch number = strings.TrimSuffix(strings.TrimSpace(number), "#"); number {
		case "":
		case x.number:
			self = true
		default:
			others = append(others, number)
		}
	}
	first, _ := strconv.Atoi(x.text("findmefollow_pre_ring"))
	forward := func() object { return object{"enabled": true, "destination": others[0]} }
	switch {
	case len(others) == 0:
	case len(others) > 1 || self && first == 0:
		left("follow me rings several telephones at once or in turn: make a group of them")
		x.forwards = nil
	case first > 0:
		x.user["ring_seconds"], x.forwards["noanswer"] = first, forward()
	default:
		x.forwards["unconditional"] = forward()
	}
	for _, column := range []string{"findmefollow_strategy", "findmefollow_grptime"} {
		if value := x.text(column); value != "" && len(others) == 1 && x.forwards != nil {
			left(fmt.Sprintf("%s: %q is not here: a forward rings as whom it leads to", column, value))
		}
	}
}

// endpoint returns the attributes of the SIP endpoint: those of before, if it is there, with the file's.
func (x *extension) endpoint(before object) object {
	secret := x.login[1]
	if before == nil {
		if secret == "" {
			secret = rand.Text()
		}
		return object{
			"name": x.login[0], "auth_section_options": [][2]string{{"username", x.login[0]}, {"password", secret}},
			"endpoint_section_options": append([][2]string{}, x.codecs...),
		}
	}
	out := object{}
	if secret != "" {
		out["auth_section_options"] = replaced(before["auth_section_options"], [][2]string{{"username", x.login[0]}, {"password", secret}})
	}
	if x.codecs != nil {
		out["endpoint_section_options"] = replaced(before["endpoint_section_options"], x.codecs)
	}
	return out
}

// replaced returns options with others in the place of those of the same names.
func replaced(before any, with [][2]string) []any {
	var out []any
	list, _ := before.([]any)
	for _, item := range list {
		pair, _ := item.([]any)
		if len(pair) == 2 && !slices.ContainsFunc(with, func(w [2]string) bool { return w[0] == pair[0] }) {
			out = append(out, item)
		}
	}
	for _, w := range with {
		out = append(out, w)
	}
	return out
}
