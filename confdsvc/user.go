package confdsvc

import (
	"context"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// User is a person who telephones.
type User struct {
	ID                    ID      `db:"id" json:"id" readOnly:"true"`
	UUID                  string  `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID            string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Firstname             string  `db:"firstname" json:"firstname" required:"true" maxLength:"128"`
	Lastname              *string `db:"lastname" json:"lastname" maxLength:"128"`
	Email                 *string `db:"email" json:"email" format:"email" maxLength:"254" doc:"Unique among the users of all tenants, whatever its case."`
	Timezone              *string `db:"timezone" json:"timezone" maxLength:"128" example:"Europe/Paris"`
	Country               *string `db:"country" computed:"true" json:"country" readOnly:"true"`
	Language              *string `db:"language" json:"language" format:"locale"`
	Description           *string `db:"description" json:"description" multiline:"true" maxLength:"4096"`
	CallerID              *string `db:"caller_id" json:"caller_id" null:"default" maxLength:"160" format:"caller-id" doc:"Made from the names; telephones get it."`
	OutgoingCallerID      *string `db:"outgoing_caller_id" json:"outgoing_caller_id" maxLength:"80" example:"anonymous" doc:"default, anonymous or a caller ID."`
	MobilePhoneNumber     *string `db:"mobile_phone_number" json:"mobile_phone_number" maxLength:"80" pattern:"^[+]?[0-9*#]+$" example:"+15551234"`
	MobileFallbackEnabled bool    `db:"mobile_fallback_enabled" json:"mobile_fallback_enabled" default:"false" doc:"It rings if the user cannot be reached."`
	Username              *string `db:"username" json:"username" pattern:"^[a-zA-Z0-9._~!$&'()*+,;=%@-]{2,254}$" doc:"Unique among the users of all tenants."`
	Password              *string `db:"password" json:"password" pattern:"^[a-zA-Z0-9._~!$&'()*+,;=%-]{4,64}$" doc:"Not that of the authentication service."`
	MusicOnHold           *string `db:"music_on_hold" json:"music_on_hold" maxLength:"128" names:"moh.name" doc:"The name of a music on hold, or default."`
	PreprocessSubroutine  *string `db:"preprocess_subroutine" json:"preprocess_subroutine" maxLength:"79"`
	Userfield             *string `db:"userfield" json:"userfield" maxLength:"128"`

	CallTransferEnabled               *bool `db:"call_transfer_enabled" json:"call_transfer_enabled" null:"default" default:"false" doc:"Transfer by codes."`
	DTMFHangupEnabled                 *bool `db:"dtmf_hangup_enabled" json:"dtmf_hangup_enabled" null:"default" default:"false" doc:"Hang up by a code."`
	CallRecordEnabled                 *bool `json:"call_record_enabled" null:"default" deprecated:"true" doc:"All four of call_record_*_enabled at once."`
	CallRecordOutgoingExternalEnabled bool  `db:"call_record_outgoing_external_enabled" json:"call_record_outgoing_external_enabled" default:"false"`
	CallRecordOutgoingInternalEnabled bool  `db:"call_record_outgoing_internal_enabled" json:"call_record_outgoing_internal_enabled" default:"false"`
	CallRecordIncomingInternalEnabled bool  `db:"call_record_incoming_internal_enabled" json:"call_record_incoming_internal_enabled" default:"false"`
	CallRecordIncomingExternalEnabled bool  `db:"call_record_incoming_external_enabled" json:"call_record_incoming_external_enabled" default:"false"`
	OnlineCallRecordEnabled           *bool `db:"online_call_record_enabled" json:"online_call_record_enabled" null:"default" default:"false"`

	SupervisionEnabled     *bool     `db:"supervision_enabled" json:"supervision_enabled" null:"default" default:"true"`
	RingSeconds            *int64    `db:"ring_seconds" json:"ring_seconds" null:"default" minimum:"0" maximum:"10800" default:"30"`
	SimultaneousCalls      *int64    `db:"simultaneous_calls" json:"simultaneous_calls" null:"default" minimum:"1" maximum:"20" default:"5"`
	CallPermissionPassword *string   `db:"call_permission_password" json:"call_permission_password" pattern:"^[0-9#*]{1,16}$" example:"1234"`
	SubscriptionType       int64     `db:"subscription_type" json:"subscription_type" minimum:"0" maximum:"10" default:"0"`
	Enabled                *bool     `db:"enabled" json:"enabled" null:"default" default:"true"`
	FuncKeyTemplateID      *ID       `db:"func_key_template_id" json:"func_key_template_id" names:"funckeys/templates.id"`
	CreatedAt              time.Time `db:"created_at" json:"created_at" readOnly:"true" generated:"true"`
	CallLimits
	crud.Hrefs

	Voicemail *UserVoicemail `json:"voicemail" readOnly:"true"`
	Lines     []UserLine     `json:"lines" readOnly:"true"`
	Incalls   []IncallTo     `json:"incalls" readOnly:"true"`
	Groups    []GroupRef     `json:"groups" readOnly:"true"`

	Forwards  UserForwards  `json:"forwards" readOnly:"true" prefix:"forward_"`
	Services  UserServices  `json:"services" readOnly:"true" prefix:"service_"`
	Fallbacks UserFallbacks `json:"fallbacks" readOnly:"true"`

	Agent                 *AgentRef           `json:"agent" readOnly:"true" doc:"The user's agent; null if there is none."`
	CallPermissions       []CallPermissionRef `json:"call_permissions" readOnly:"true"`
	CallPickupTargetUsers []UserRef           `json:"call_pickup_target_users" readOnly:"true" doc:"The users whose calls this one may pick up."`
	Schedules             []ScheduleRef       `json:"schedules" readOnly:"true"`
	Switchboards          []SwitchboardRef    `json:"switchboards" readOnly:"true" doc:"The switchboards."`
	Queues                []QueueRef          `json:"queues" readOnly:"true"`
}

// userNumbers is the view of the lines that users have, and of their numbers.
var userNumbers = crud.Source{
	Table: "confd_user_number",
	Query: `SELECT ul.user_id, ul.position, l.provisioning_code, l.context, x.exten
		FROM {confd_user_line} ul JOIN {confd_line} l ON l.id = ul.line_id
			LEFT JOIN {confd_line_extension} lx ON lx.line_id = l.id LEFT JOIN {confd_extension} x ON x.id = lx.extension_id`,
}

// ofMainLine returns a column of the view of the lines that users have, and of their numbers.
func ofMainLine(column string) string {
	return "SELECT n." + column + " FROM {confd_user_number} n WHERE n.user_id = confd_user.id ORDER BY n.position, n.exten LIMIT 1"
}

// hasNumber finds the users of numbers from the numbers: with the view the lines of all users would be read. SQLite joins in the
// order of CROSS JOIN; it means nothing to PostgreSQL.
const hasNumber = `id IN (SELECT ul.user_id FROM {confd_extension} x CROSS JOIN {confd_line_extension} lx CROSS JOIN {confd_user_line} ul
	WHERE lx.extension_id = x.id AND ul.line_id = lx.line_id AND x.exten IN (%s))`

// UserRef is a user as other objects show them.
type UserRef struct {
	ID        int64   `db:"id" json:"-"`
	UUID      string  `db:"uuid" json:"uuid" format:"uuid"`
	Firstname string  `db:"firstname" json:"firstname"`
	Lastname  *string `db:"lastname" json:"lastname"`
	crud.Hrefs
}

func init() {
	resources = append(resources, declareUsers)
	words["User.simultaneous_calls"], words["User.lines"] = "calls at once", "telephones"
	helps["User.email"], helps["User.mobile_phone_number"] = "", ""
	for name, text := range map[string]string{
		"call_record_incoming_external_enabled": "record calls from outside", "call_record_incoming_internal_enabled": "record calls from inside",
		"call_record_outgoing_external_enabled": "record calls to the outside", "call_record_outgoing_internal_enabled": "record calls to the inside",
		"online_call_record_enabled": "record by a code during a call", "call_transfer_enabled": "transfer by codes", "dtmf_hangup_enabled": "hang up by a code",
		"mobile_fallback_enabled": "ring the mobile phone if nothing else can be reached", "supervision_enabled": "others may see it in use",
	} {
		words["User."+name], helps["User."+name] = text, ""
	}
}

func declareUsers(e *crud.Engine) {
	columns := []string{
		"lastname", "id", "uuid", "firstname", "fullname", "caller_id", "description", "userfield", "email",
		"mobile_phone_number", "music_on_hold", "outgoing_caller_id", "preprocess_subroutine", "voicemail_number",
		"provisioning_code", "exten", "extension", "context", "username", "enabled", "subscription_type",
	}
	e.Reads(userNumbers)
	crud.Collect(e, crud.Resource[User]{
		Path: "users", Singular: "user", Param: "user_id", Table: "confd_user", Counted: true, Keys: []string{"id", "uuid"},
		About: "Telephone users, with their forwards, services, function keys and voicemail.",
		Lists: []string{"firstname", "lastname", "lines", "voicemail", "groups", "email", "enabled"},
		Order: columns, Filters: columns,
		SearchText: "search_text",
		// Conditions on other tables start from those tables: an expression for each row would be evaluated for every user.
		Matches: map[string]crud.Match{
			"exten":             {Condition: hasNumber, Several: true},
			"extension":         {Condition: hasNumber, Several: true},
			"context":           {Condition: "id IN (SELECT n.user_id FROM {confd_user_number} n WHERE n.context = %s)"},
			"provisioning_code": {Condition: "id IN (SELECT n.user_id FROM {confd_user_number} n WHERE n.provisioning_code = %s)"},
			"voicemail_number": {Condition: `id IN (SELECT uv.user_id FROM {confd_user_voicemail} uv JOIN {confd_voicemail} v ON v.id = uv.voicemail_id
				WHERE v.number = %s)`},
		},
		Conceals: map[string]func(context.Context, *User) (bool, error){"country": concealCountry},
		Virtual: map[string]string{
			"country":  countryOf,
			"fullname": "firstname || ' ' || coalesce(lastname, '')",
			"voicemail_number": `SELECT v.number FROM {confd_user_voicemail} uv JOIN {confd_voicemail} v ON v.id = uv.voicemail_id
				WHERE uv.user_id = confd_user.id`,
			"provisioning_code": ofMainLine("provisioning_code"), "exten": ofMainLine("exten"), "extension": ofMainLine("exten"),
			"context": ofMainLine("context"),
		},
		Found: []crud.Elsewhere{
			{Query: `SELECT ul.user_id FROM {confd_extension} x CROSS JOIN {confd_line_extension} lx CROSS JOIN {confd_user_line} ul
				WHERE lx.extension_id = x.id AND ul.line_id = lx.line_id AND %s`, Table: "confd_extension", Characters: extenCharacters},
			{
				Query: `SELECT ul.user_id FROM {confd_line} x CROSS JOIN {confd_user_line} ul WHERE ul.line_id = x.id AND %s`,
				Table: "confd_line", Characters: provisioningCharacters,
			},
		},
		Apart: map[string]func(*User) []string{
			"func_key_template_id": func(*User) []string { return []string{"funckeys.templates"} },
		},
		Views:   userViews(e),
		Beside:  []crud.Beside[User]{userDestinations.beside(e)},
		Nested:  []string{"voicemail", "lines", "incalls", "groups", "switchboards", "agent", "forwards", "fallbacks", "auth", "device_id"},
		Prepare: prepareUser, Load: loadUsers,
		Validate: every(musicIsKnown[User](e), nameEmailFirst, fallsBackToMobile, checkFuncKeyTemplate),
		Save: func(ctx context.Context, c store.Conn, change *crud.Change[User]) error {
			if err := mayTakeFuncKeyTemplate(change); err != nil {
				return err
			}
			return identifyLinesOf(ctx, c, e, change)
		},
		Guard: func(ctx context.Context, c store.Conn, change *crud.Change[User]) error {
			return losesFilterKeys(ctx, c, change.Request, "user_id = $1", change.Old.ID)
		},
	})
}

// prepareUser reads the deprecated call_record_enabled, and fills in the fields of a new user that the server decides.
func prepareUser(_ context.Context, _ store.Conn, change *crud.Change[User]) error {
	if err := recordEverything(change); err != nil || change.Old != nil {
		return err
	}
	u := change.New
	if u.CallerID == nil {
		id := callerID(u.Firstname, u.Lastname)
		u.CallerID = &id
	}
	return nil
}

// callerIDName is the longest name of a caller ID: 160 characters with the quotes.
const callerIDName = 158

// callerID returns a user's names between quotes, without characters that would end the quotes early.
func callerID(first string, last *string) string {
	name := strings.TrimSpace(strings.NewReplacer(`"`, "", `\`, "").Replace(fullName(first, last)))
	return `"` + cut(name, callerIDName) + `"`
}

func fullName(first string, last *string) string {
	if last == nil {
		return first
	}
	return strings.TrimSpace(first + " " + *last)
}

// cut returns the first characters of a text, up to so many.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}

// fallsBackToMobile refuses a fallback to a mobile telephone that there is not.
func fallsBackToMobile(_ context.Context, _ store.Conn, change *crud.Change[User]) error {
	if u := change.New; u.MobileFallbackEnabled && u.MobilePhoneNumber == nil {
		return style.Storedf("PSTN fallback must be disabled when mobile phone number is not set").On("mobile_fallback_enabled")
	}
	return nil
}

// firstOf returns the first of what was found, or the zero value if nothing was.
func firstOf[T any](found []T, err error) (first T, _ error) {
	if len(found) > 0 {
		first = found[0]
	}
	return first, err
}

// orEmpty returns a text, or "" for null.
func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// different reports whether two texts differ. Null differs from everything.
func different(a, b *string) bool { return a == nil || b == nil || *a != *b }

// nameEmailFirst refuses an e-mail address that another user has where the username may be somebody's too: of two constraints that are
// broken at once, each database names another one.
func nameEmailFirst(ctx context.Context, c store.Conn, change *crud.Change[User]) error {
	u := change.New
	if u.Email == nil || u.Username == nil || change.Old != nil && !different(change.Old.Email, u.Email) {
		return nil
	}
	others, err := store.Get[int](ctx, c, `SELECT count(*) FROM confd_user WHERE lower(email) = lower($1) AND id <> $2`, *u.Email, u.ID)
	if err != nil || others == 0 {
		return err
	}
	return style.Storedf("User already exists ('email': '%s')", *u.Email).On("email")
}

// recordEverything sets the four flags that the deprecated one stands for. Those that are sent beside it must agree with it, as they do in
// what a client has read: there it is false beside some that are true.
func recordEverything(change *crud.Change[User]) error {
	all, sent := change.Sent.Value("call_record_enabled").(bool)
	if !sent {
		return nil
	}
	u := change.New
	var others []*bool
	agree := true
	for name, flag := range map[string]*bool{
		"call_record_outgoing_external_enabled": &u.CallRecordOutgoingExternalEnabled,
		"call_record_outgoing_internal_enabled": &u.CallRecordOutgoingInternalEnabled,
		"call_record_incoming_internal_enabled": &u.CallRecordIncomingInternalEnabled,
		"call_record_incoming_external_enabled": &u.CallRecordIncomingExternalEnabled,
	} {
		if change.Sent.Has(name) {
			agree = agree && *flag == all
		} else {
			others = append(others, flag)
		}
	}
	asRead := all == recordsEverything(u) && (len(others) == 0 || change.Old != nil && change.Old.recording() == u.recording())
	switch {
	case agree:
		for _, flag := range others {
			*flag = all
		}
	case !asRead:
		return apierr.InvalidField("call_record_enabled", "conflict", "Contradicts the other call_record_*_enabled that were sent")
	}
	return nil
}

// recording returns which calls of the user are recorded.
func (u *User) recording() [4]bool {
	return [4]bool{
		u.CallRecordOutgoingExternalEnabled, u.CallRecordOutgoingInternalEnabled, u.CallRecordIncomingInternalEnabled, u.CallRecordIncomingExternalEnabled,
	}
}

func recordsEverything(u *User) bool { return u.recording() == [4]bool{true, true, true, true} }

// loadUsers fills in the fields that are not columns.
func loadUsers(_ context.Context, _ store.Conn, users []*User) error {
	for _, u := range users {
		all := recordsEverything(u)
		u.CallRecordEnabled = &all
	}
	return nil
}
