package confdsvc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// VoicemailGeneral holds the settings of all voicemails of the installation: the section general of voicemail.conf.
type VoicemailGeneral struct {
	TenantUUID string         `db:"tenant_uuid" json:"-"`
	Options    SectionOptions `db:"options" json:"options" required:"true" default:"{}" example:"{\"maxmsg\": \"100\"}"`
}

// SectionOptions are the options of a section of the telephone system's configuration, by their names. The code that writes the
// file escapes their texts.
type SectionOptions struct {
	store.JSON[map[string]string]
}

// sectionSize is how many options a section may have; optionName and optionValue are the longest texts, in characters.
const sectionSize, optionName, optionValue = 500, 128, 4096

// JSONSchema returns an object of texts or, for a body, also a list of pairs.
func (SectionOptions) JSONSchema() *rest.Schema {
	return &rest.Schema{
		Doc: "The values of the options by their names, both text. In a body also a list of objects with `key` and `value`, of which the last counts. " +
			fmt.Sprintf("There are at most %d, with names of at most %d characters and values of at most %d.", sectionSize, optionName, optionValue),
		Multiline: true,
		Check:     func(value any) []apierr.Field { _, wrong := sectionOptions(value); return wrong },
	}
}

// UnmarshalJSON reads both forms.
func (o *SectionOptions) UnmarshalJSON(text []byte) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	options, wrong := sectionOptions(value)
	if len(wrong) > 0 {
		return fmt.Errorf("%s: %s", wrong[0].Name, wrong[0].Message)
	}
	o.V = options
	return nil
}

// sectionOptions reads an object of texts, or a list of pairs.
func sectionOptions(value any) (map[string]string, []apierr.Field) {
	options := map[string]string{}
	switch v := value.(type) {
	case map[string]any:
		for name, value := range v {
			if wrong := addOption(options, name, value); wrong != nil {
				return nil, wrong
			}
		}
	case []any:
		for _, item := range v {
			pair, _ := item.(map[string]any)
			name, ok := pair["key"].(string)
			if !ok {
				return nil, wrongOption("A pair has no key that is a text")
			}
			if wrong := addOption(options, name, pair["value"]); wrong != nil {
				return nil, wrong
			}
		}
	default:
		return nil, wrongOption("Must be an object, or a list of pairs")
	}
	if len(options) > sectionSize {
		return nil, wrongOption("Has more than %d options", sectionSize)
	}
	return options, nil
}

func addOption(options map[string]string, name string, value any) []apierr.Field {
	text, ok := value.(string)
	switch {
	case !ok:
		return wrongOption("A value is no text")
	case name == "" || utf8.RuneCountInString(name) > optionName || strings.ContainsFunc(name, unicode.IsControl):
		return wrongOption("A name must have between 1 and %d characters, none of them a control character", optionName)
	case utf8.RuneCountInString(text) > optionValue:
		return wrongOption("A value has more than %d characters", optionValue)
	}
	options[name] = text
	return nil
}

func wrongOption(format string, args ...any) []apierr.Field {
	return []apierr.Field{{Constraint: "type", Value: "options", Message: fmt.Sprintf(format, args...)}}
}

func init() {
	setting(crud.Resource[VoicemailGeneral]{Path: "asterisk/voicemail/general", Table: "confd_voicemail_general", Scope: crud.Master})
	setting(crud.Resource[VoicemailTranscription]{
		Path: "voicemails/transcription", Singular: "voicemail_transcription_config", Table: "confd_voicemail_transcription",
	})
	setting(crud.Resource[ZoneMessages]{Path: "asterisk/voicemail/zonemessages", Table: "confd_voicemail_zonemessages", Scope: crud.Global})
}

// VoicemailTranscription says whether the messages of a tenant's voicemails are to be written down. It is a setting for what does that:
// this system itself does not.
type VoicemailTranscription struct {
	TenantUUID string `db:"tenant_uuid" json:"-" format:"uuid"`
	Enabled    bool   `db:"enabled" json:"enabled" required:"true" default:"false" doc:"Whether messages are to be written down, by a service that does that."`
}

// ZoneMessages are the ways to announce the time of a message. A voicemail's timezone names one of them.
type ZoneMessages struct {
	TenantUUID string          `db:"tenant_uuid" json:"-"`
	Items      ZoneMessageList `db:"items" json:"items" required:"true" doc:"The ways to announce the time, by their names."`
}

// ZoneMessage is one way to announce the time.
type ZoneMessage struct {
	Name     string  `json:"name" required:"true" minLength:"1" maxLength:"128" example:"eu-fr"`
	Timezone string  `json:"timezone" required:"true" format:"timezone"`
	Message  *string `json:"message" pattern:"^[^|]*$" maxLength:"4096" example:"'vm-received' q 'digits/at' HM" doc:"What is said, as Asterisk writes it."`
}

// ZoneMessageList is a list of zone messages with different names.
type ZoneMessageList struct {
	store.JSON[[]ZoneMessage]
}

// firstZoneMessages are those of a new installation, until somebody replaces them.
const firstZoneMessages = `[
	{"name": "eu-fr", "timezone": "Europe/Paris", "message": "'vm-received' q 'digits/at' HM"},
	{"name": "eu-uk", "timezone": "Europe/London", "message": "'vm-received' q 'digits/at' IMp"},
	{"name": "na-us", "timezone": "America/New_York", "message": "'vm-received' q 'digits/at' IMp"},
	{"name": "na-ca", "timezone": "America/Toronto", "message": "'vm-received' q 'digits/at' IMp"},
	{"name": "au", "timezone": "Australia/Sydney", "message": "'vm-received' q 'digits/at' IMp"}
]`

// JSONSchema returns the schema of the list.
func (ZoneMessageList) JSONSchema() *rest.Schema {
	most := 1000
	return &rest.Schema{
		Type: "array", Items: rest.SchemaOf[ZoneMessage](), MaxItems: &most, Default: json.RawMessage(firstZoneMessages),
		Check: func(value any) []apierr.Field {
			names := map[any]bool{}
			for i, item := range value.([]any) {
				name := item.(map[string]any)["name"]
				if names[name] {
					return []apierr.Field{{Name: "[" + strconv.Itoa(i) + "].name", Constraint: "unique", Value: "unique", Message: "Is the name of another one"}}
				}
				names[name] = true
			}
			return nil
		},
	}
}

// refuseUnknownZone refuses a timezone that names no zone message. A voicemail may keep one that it already has.
func refuseUnknownZone(ctx context.Context, c store.Conn, e *crud.Engine, change *crud.Change[Voicemail]) error {
	name := change.New.Timezone
	if name == nil || change.Old != nil && !different(change.Old.Timezone, name) {
		return nil
	}
	zones, err := crud.OfAll[ZoneMessages](ctx, c, e)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(zones.Items.V, func(z ZoneMessage) bool { return z.Name == *name }) {
		return nil
	}
	return crud.Missing("timezone", "Timezone", "timezone", *name)
}
