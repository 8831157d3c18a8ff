package confdsvc

import (
	"encoding/json"
	"fmt"
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
	Options    SectionOptions `db:"options" json:"options" required:"true" default:"{}"`
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
		Doc: "The values of the options by their names, both text. In a body it may be a list of objects that have a `key` and a `value`, of which the last of a key counts. " +
			fmt.Sprintf("There are at most %d, with names of at most %d characters and values of at most %d.", sectionSize, optionName, optionValue),
		Multiline: true, Example: json.RawMessage(`{"maxmsg": "100"}`),
		Check: func(value any) []apierr.Field { _, wrong := sectionOptions(value); return wrong },
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

func init() { resources = append(resources, declareVoicemailGeneral) }

func declareVoicemailGeneral(e *crud.Engine) {
	crud.Document[VoicemailGeneral]{
		Resource: crud.Resource[VoicemailGeneral]{
			Path: "asterisk/voicemail/general", Singular: "asterisk_voicemail_general", Table: "confd_voicemail_general", Scope: crud.Master,
			Only: []string{"read", "update"},
		},
		Blank: crud.Defaults[VoicemailGeneral],
	}.On(e)
}
