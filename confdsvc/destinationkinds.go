package confdsvc

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

// destinationKind is one kind of destination that a call may be sent to.
type destinationKind struct {
	// name is the destination's type; sub says which kind of that type it is, if the type has several.
	name, sub string
	keys      func() any // a pointer to the struct of its keys
	schema    func() *rest.Schema
	// target is the object that the destination names, if any.
	target *destinationTarget
}

func kind[T any](name, sub string, target *destinationTarget) destinationKind {
	return destinationKind{name: name, sub: sub, keys: func() any { return new(T) }, schema: rest.SchemaOf[T], target: target}
}

// The keys of each kind.
type (
	noKeys struct{}
	toUser struct {
		UserID    int64    `json:"user_id" required:"true" minimum:"0" maximum:"9007199254740991"`
		RingTime  *float64 `json:"ring_time" minimum:"0" maximum:"2147483647" doc:"In seconds."`
		MOHUUID   *string  `json:"moh_uuid" format:"uuid"`
		Firstname *string  `json:"user_firstname,omitempty" readOnly:"true"`
		Lastname  *string  `json:"user_lastname" readOnly:"true"`
	}
	toGroup struct {
		GroupID  int64    `json:"group_id" required:"true" minimum:"0" maximum:"9007199254740991"`
		RingTime *float64 `json:"ring_time" minimum:"0" maximum:"2147483647" doc:"In seconds."`
		Name     *string  `json:"group_name,omitempty" readOnly:"true"`
		Label    *string  `json:"group_label,omitempty" readOnly:"true"`
	}
	toQueue struct {
		QueueID            int64             `json:"queue_id" required:"true" minimum:"0" maximum:"9007199254740991"`
		RingTime           *float64          `json:"ring_time" minimum:"0" maximum:"2147483647" doc:"In seconds."`
		SkillRuleID        *int64            `json:"skill_rule_id" minimum:"0" maximum:"9007199254740991"`
		SkillRuleVariables map[string]string `json:"skill_rule_variables"`
		Label              *string           `json:"queue_label,omitempty" readOnly:"true"`
	}
	toConference struct {
		ConferenceID int64   `json:"conference_id" required:"true" minimum:"0" maximum:"9007199254740991"`
		Name         *string `json:"conference_name,omitempty" readOnly:"true"`
	}
	toIVR struct {
		IVRID int64   `json:"ivr_id" required:"true" minimum:"0" maximum:"9007199254740991"`
		Name  *string `json:"ivr_name,omitempty" readOnly:"true"`
	}
	toSwitchboard struct {
		SwitchboardUUID string   `json:"switchboard_uuid" required:"true" format:"uuid"`
		RingTime        *float64 `json:"ring_time" minimum:"0" maximum:"2147483647" doc:"In seconds."`
		Name            *string  `json:"switchboard_name,omitempty" readOnly:"true"`
	}
	toVoicemail struct {
		VoicemailID      int64   `json:"voicemail_id" required:"true" minimum:"0" maximum:"9007199254740991"`
		SkipInstructions bool    `json:"skip_instructions" default:"false"`
		Greeting         *string `json:"greeting" enum:"busy,unavailable"`
		Name             *string `json:"voicemail_name,omitempty" readOnly:"true"`
	}
	toOutcall struct {
		OutcallID int64  `json:"outcall_id" required:"true" minimum:"0" maximum:"9007199254740991"`
		Exten     string `json:"exten" required:"true" pattern:"^[0-9]{1,255}$" example:"0123456789"`
	}
	toExtension struct {
		Exten   string `json:"exten" required:"true" pattern:"^[0-9*#]{1,255}$" example:"1000"`
		Context string `json:"context" required:"true" format:"context-name" names:"contexts.name"`
	}
	toSound struct {
		Filename string `json:"filename" required:"true" maxLength:"255" example:"tt-weasels"`
		Skip     bool   `json:"skip" default:"false"`
		NoAnswer bool   `json:"no_answer" default:"false"`
	}
	toCommand struct {
		Command string `json:"command" required:"true" format:"dialplan-command" maxLength:"255"`
	}
	afterTimeout struct {
		Timeout *float64 `json:"timeout" minimum:"0" maximum:"2147483647" doc:"In seconds."`
	}
	toDISA struct {
		Context string  `json:"context" required:"true" format:"context-name" names:"contexts.name"`
		PIN     *string `json:"pin" pattern:"^[0-9]{1,40}$" example:"1234"`
	}
	inContext struct {
		Context string `json:"context" required:"true" format:"context-name" names:"contexts.name"`
	}
	toMail struct {
		Email string `json:"email" required:"true" format:"email" maxLength:"80"`
	}
	toApplication struct {
		ApplicationUUID string  `json:"application_uuid" required:"true" format:"uuid"`
		Name            *string `json:"application_name,omitempty" readOnly:"true"`
	}
)

// subKeys are the keys that say which kind of its type a destination is.
var subKeys = map[string]string{"hangup": "cause", "application": "application"}

var destinationKinds = []destinationKind{
	kind[noKeys]("none", "", nil),
	kind[toUser]("user", "", userTarget),
	kind[toGroup]("group", "", groupTarget),
	kind[toQueue]("queue", "", queueTarget),
	kind[toConference]("conference", "", conferenceTarget),
	kind[toIVR]("ivr", "", ivrTarget),
	kind[toSwitchboard]("switchboard", "", switchboardTarget),
	kind[toVoicemail]("voicemail", "", voicemailTarget),
	kind[toOutcall]("outcall", "", outcallTarget),
	kind[toExtension]("extension", "", nil),
	kind[toSound]("sound", "", nil),
	kind[toCommand]("custom", "", nil),
	kind[noKeys]("hangup", "normal", nil),
	kind[afterTimeout]("hangup", "busy", nil),
	kind[afterTimeout]("hangup", "congestion", nil),
	kind[toDISA]("application", "callback_disa", nil),
	kind[toDISA]("application", "disa", nil),
	kind[inContext]("application", "directory", nil),
	kind[inContext]("application", "voicemail", nil),
	kind[toMail]("application", "fax_to_mail", nil),
	kind[toApplication]("application", "custom", applicationTarget),
}

// destinationSchema returns the union of all kinds.
func destinationSchema() *rest.Schema {
	var kinds []rest.Kind
	subs := map[string][]rest.Kind{}
	for _, k := range destinationKinds {
		if k.sub == "" {
			schema := k.schema()
			if k.name == "queue" {
				schema = queueSchema(schema)
			}
			kinds = append(kinds, rest.Kind{Value: k.name, Schema: schema})
			continue
		}
		if subs[k.name] == nil {
			kinds = append(kinds, rest.Kind{Value: k.name})
		}
		subs[k.name] = append(subs[k.name], rest.Kind{Value: k.sub, Schema: k.schema()})
	}
	for i := range kinds {
		if of := subs[kinds[i].Value]; of != nil {
			kinds[i].Schema = rest.UnionOf("", subKeys[kinds[i].Value], of...)
		}
	}
	return rest.UnionOf("Destination", "type", kinds...)
}

// skillVariable is the form of the name or the value of a skill rule's variable: they must not contain its separators.
var skillVariable = regexp.MustCompile(`^[^[;|\]]+$`)

// queueSchema returns the schema of a queue's keys, with the checks that concern several of them.
func queueSchema(s *rest.Schema) *rest.Schema {
	out := *s
	out.Properties = slices.Clone(s.Properties)
	for i := range out.Properties {
		if p := &out.Properties[i]; p.Name == "skill_rule_variables" {
			variables, value, longest := *p.Schema, *p.Schema.Values, 255
			value.MaxLength, variables.Values, p.Schema = &longest, &value, &variables
		}
	}
	out.Check = func(value any) []apierr.Field {
		keys := value.(map[string]any)
		variables, _ := keys["skill_rule_variables"].(map[string]any)
		if variables == nil {
			return nil
		}
		if keys["skill_rule_id"] == nil {
			return []apierr.Field{{Name: ".skill_rule_id", Constraint: "required", Value: "required", Message: "Is required with skill_rule_variables"}}
		}
		for name, value := range variables {
			if text, _ := value.(string); !skillVariable.MatchString(name) || !skillVariable.MatchString(text) {
				return []apierr.Field{{Name: ".skill_rule_variables", Constraint: "regex", Message: "May not hold [ ; |"}}
			}
		}
		return nil
	}
	return &out
}

// commandForm is an application of the dialplan with its arguments in parentheses.
var commandForm = regexp.MustCompile(`^[a-zA-Z]{3,}\(.*\)$`)

// forbiddenCalls match calls by which a command could reach the machine itself, in upper or lower case.
var forbiddenCalls = regexp.MustCompile(`(?i)^(try)?system\(|\b(shell|env|file|eval|system|db|odbc_[a-z_]*|curl|realtime)\s*\(|\$\{`)

func isCommand(text string) bool {
	return commandForm.MatchString(text) && !forbiddenCalls.MatchString(text) && !strings.ContainsAny(text, "\r\n")
}
