package confdsvc

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

// destinationKind is one kind of destination that a call may be sent to, or of what a function key does.
type destinationKind struct {
	// name is the destination's type; sub says which kind of that type it is, if the type has several.
	name, sub string
	keys      func() any // a pointer to the struct of its keys
	schema    func() *rest.Schema
	// refs are the keys that name objects, the one where it leads first. shows are those that show an attribute of that object.
	refs  []reference
	shows []shown
}

// kind returns a kind with the keys of T. The file of a resource that calls, or keys, lead to adds it to destinationKinds, or funcKeyKinds.
func kind[T any](name, sub string) destinationKind {
	k := destinationKind{name: name, sub: sub, keys: func() any { return new(T) }, schema: rest.SchemaOf[T]}
	k.refs, k.shows = referencesOf(reflect.TypeFor[T]())
	return k
}

// The keys of the kinds that lead to no resource of this service.
type (
	noKeys  struct{}
	toQueue struct {
		QueueID            int64             `json:"queue_id" required:"true" ref:"queues.id" minimum:"0" maximum:"9007199254740991"`
		RingTime           *float64          `json:"ring_time" minimum:"0" maximum:"2147483647" doc:"In seconds."`
		SkillRuleID        *int64            `json:"skill_rule_id" minimum:"0" maximum:"9007199254740991" doc:"The number of the skill rule."`
		SkillRuleVariables map[string]string `json:"skill_rule_variables" doc:"Variables for the skill rule."`
		Label              *string           `json:"queue_label,omitempty" readOnly:"true" shows:"label" example:"Support" doc:"The label of the queue."`
	}
	toConference struct {
		ConferenceID int64   `json:"conference_id" required:"true" ref:"conferences.id" minimum:"0" maximum:"9007199254740991"`
		Name         *string `json:"conference_name,omitempty" readOnly:"true" shows:"name" example:"Weekly meeting" doc:"The name of the conference."`
	}
	toIVR struct {
		IVRID int64   `json:"ivr_id" required:"true" ref:"ivr.id" minimum:"0" maximum:"9007199254740991" doc:"The number of the menu."`
		Name  *string `json:"ivr_name,omitempty" readOnly:"true" shows:"name" example:"Welcome" doc:"The name of the menu."`
	}
	toSwitchboard struct {
		SwitchboardUUID string   `json:"switchboard_uuid" required:"true" ref:"switchboards.uuid" format:"uuid" doc:"The UUID of the switchboard."`
		RingTime        *float64 `json:"ring_time" minimum:"0" maximum:"2147483647" doc:"In seconds."`
		Name            *string  `json:"switchboard_name,omitempty" readOnly:"true" shows:"name" example:"Reception" doc:"The name of the switchboard."`
	}
	toOutcall struct {
		OutcallID int64  `json:"outcall_id" required:"true" ref:"outcalls.id" minimum:"0" maximum:"9007199254740991" doc:"The number of the outgoing call."`
		Exten     string `json:"exten" required:"true" pattern:"^[0-9]{1,255}$" example:"0123456789"`
	}
	// ToExtension leads calls to a number.
	ToExtension struct {
		Exten   string `json:"exten" required:"true" pattern:"^[0-9*#]{1,255}$" example:"1000"`
		Context string `json:"context" required:"true" format:"context-name" names:"contexts.name"`
	}
	// ToSound plays a sound.
	ToSound struct {
		Filename string `json:"filename" required:"true" maxLength:"255" example:"tt-weasels" doc:"The name of the file."`
		Skip     bool   `json:"skip" default:"false" doc:"Whether the sound is skipped if the call is not answered."`
		NoAnswer bool   `json:"no_answer" default:"false" doc:"Whether the sound is played without answering the call."`
	}
	// ToCommand runs an application of the dialplan.
	ToCommand struct {
		Command string `json:"command" required:"true" format:"dialplan-command" maxLength:"255"`
	}
	// ToTone plays a tone.
	ToTone struct {
		Timeout *float64 `json:"timeout" minimum:"0" maximum:"2147483647" doc:"In seconds."`
	}
	// ToDISA lets callers dial.
	ToDISA struct {
		Context string  `json:"context" required:"true" format:"context-name" names:"contexts.name"`
		PIN     *string `json:"pin" pattern:"^[0-9]{1,40}$" example:"1234" doc:"The digits that are asked for."`
	}
	// ToContext runs an application with a context.
	ToContext struct {
		Context string `json:"context" required:"true" format:"context-name" names:"contexts.name"`
	}
	toMail struct {
		Email string `json:"email" required:"true" format:"email" maxLength:"80"`
	}
	toApplication struct {
		ApplicationUUID string  `json:"application_uuid" required:"true" ref:"applications.uuid" format:"uuid" doc:"The UUID of the application."`
		Name            *string `json:"application_name,omitempty" readOnly:"true" shows:"name" example:"Survey" doc:"The name of the application."`
	}
)

// subKeys are the keys that say which kind of its type a destination is.
var subKeys = map[string]string{"hangup": "cause", "application": "application"}

// destinationKinds are all kinds of destinations. Those of resources that are not declared yet are refused as not found.
var destinationKinds = []destinationKind{
	kind[noKeys]("none", ""),
	kind[toQueue]("queue", ""),
	kind[toConference]("conference", ""),
	kind[toIVR]("ivr", ""),
	kind[toSwitchboard]("switchboard", ""),
	kind[toOutcall]("outcall", ""),
	kind[ToExtension]("extension", ""),
	kind[ToSound]("sound", ""),
	kind[ToCommand]("custom", ""),
	kind[noKeys]("hangup", "normal"),
	kind[ToTone]("hangup", "busy"),
	kind[ToTone]("hangup", "congestion"),
	kind[ToDISA]("application", "callback_disa"),
	kind[ToDISA]("application", "disa"),
	kind[ToContext]("application", "directory"),
	kind[ToContext]("application", "voicemail"),
	kind[toMail]("application", "fax_to_mail"),
	kind[toApplication]("application", "custom"),
}

// byName returns kinds in the order of their names: files add them in any order.
func byName(kinds []destinationKind) []destinationKind {
	return slices.SortedStableFunc(slices.Values(kinds), func(a, b destinationKind) int { return cmp.Compare(a.name, b.name) })
}

func destinationSchema() *rest.Schema {
	var kinds []rest.Kind
	subs := map[string][]rest.Kind{}
	for _, k := range byName(destinationKinds) {
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
