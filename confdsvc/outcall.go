package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// Outcall says by which trunks calls to the outside go, and which numbers they may have.
type Outcall struct {
	ID                   ID      `db:"id" json:"id" readOnly:"true"`
	TenantUUID           string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name                 string  `db:"name" json:"name" required:"true" maxLength:"128" example:"Abroad" doc:"No other outgoing call of the tenant has it."`
	InternalCallerID     bool    `db:"internal_caller_id" json:"internal_caller_id" default:"false" doc:"Whether the called see the caller's number inside."`
	PreprocessSubroutine *string `db:"preprocess_subroutine" json:"preprocess_subroutine" maxLength:"79"`
	RingTime             *int64  `db:"ring_time" json:"ring_time" minimum:"0" maximum:"2147483647" doc:"In seconds, for each trunk. Null: no limit."`
	Description          *string `db:"description" json:"description" multiline:"true" maxLength:"4096"`
	Enabled              bool    `db:"enabled" json:"enabled" default:"true"`
	CallLimits
	crud.Hrefs

	CallPermissions []OutcallPermission `json:"call_permissions" readOnly:"true"`
	Extensions      []DialPattern       `json:"extensions" readOnly:"true" doc:"The numbers that may be dialled."`
	Schedules       []OutcallSchedule   `json:"schedules" readOnly:"true"`
	Trunks          []OutcallTrunk      `json:"trunks" readOnly:"true" doc:"By which calls go, in the order in which they are tried."`
}

// OutcallRef is an outgoing call as other objects show it.
type OutcallRef struct {
	ID   ID     `db:"id" json:"id"`
	Name string `db:"name" json:"name"`
	crud.Hrefs
}

// DialPattern is a number, or a pattern of numbers, that may be dialled, and what a trunk gets of it: the external prefix, the prefix, and what
// is left of the dialled number without its first digits.
type DialPattern struct {
	ExtensionRef
	dialling
}

type dialling struct {
	CallerID       *string `db:"caller_id" json:"caller_id" joining:"true" maxLength:"80" example:"+15551234" doc:"What the called see; null: the caller's own."`
	ExternalPrefix *string `db:"external_prefix" json:"external_prefix" joining:"true" maxLength:"64" format:"prefix" example:"1010" doc:"Before the prefix."`
	Prefix         *string `db:"prefix" json:"prefix" joining:"true" maxLength:"32" format:"prefix" example:"+33" doc:"Before the rest of the dialled number."`
	StripDigits    int64   `db:"strip_digits" json:"strip_digits" joining:"true" minimum:"0" maximum:"40" default:"0" doc:"How many first digits go."`
}

// OutcallPermission is a call permission as an outgoing call shows it.
type OutcallPermission struct {
	CallPermissionRef

	TenantUUID string `db:"tenant_uuid" json:"tenant_uuid" format:"uuid"`
}

// OutcallSchedule is a schedule as an outgoing call shows it.
type OutcallSchedule struct {
	ScheduleRef

	TenantUUID string `db:"tenant_uuid" json:"tenant_uuid" format:"uuid"`
}

// OutcallTrunk is a trunk as an outgoing call shows it.
type OutcallTrunk struct {
	ID         ID     `db:"id" json:"id"`
	TenantUUID string `db:"tenant_uuid" json:"tenant_uuid" format:"uuid"`
	crud.Hrefs

	EndpointSIP    *TrunkSIP          `json:"endpoint_sip"`
	EndpointCustom *EndpointCustomRef `json:"endpoint_custom"`
}

// ToOutcall leads calls to the outside.
type ToOutcall struct {
	OutcallID ID     `json:"outcall_id" required:"true" ref:"outcalls.id" doc:"The number of the outgoing call."`
	Exten     string `json:"exten" required:"true" pattern:"^[0-9]{1,255}$" example:"0123456789"`
}

const (
	outcallExtensions      crud.Relation[Outcall, Extension]      = "confd_outcall_extension"
	outcallCallPermissions crud.Relation[Outcall, CallPermission] = "confd_outcall_callpermission"
	outcallTrunks          crud.Relation[Outcall, Trunk]          = "confd_outcall_trunk"
)

func init() {
	resources = append(resources, declareOutcalls)
	destinationKinds = append(destinationKinds, kind[ToOutcall]("outcall", ""))
}

var outcallExtension = usesExtensions(outcallExtensions, extensionUse{Kind: "outcall", Owner: "outcall", Type: "outcall"})

func declareOutcalls(e *crud.Engine) {
	columns := []string{"id", "name", "description", "preprocess_subroutine"}
	crud.Collect(e, crud.Resource[Outcall]{
		Path: "outcalls", Singular: "outcall", Param: "outcall_id", Table: "confd_outcall", Keys: []string{"id"},
		About: "Calls to the outside: which numbers, and by which trunks.", Lists: []string{"name", "extensions", "trunks", "enabled"},
		Order: columns, Filters: columns, Search: columns, Nested: []string{"extensions", "trunks"},
	})
	crud.Link[Outcall, Extension]{
		Relation: outcallExtensions, RightHas: crud.AtMostOne, Row: crud.RowOf[dialling](), RightLeads: true,
		LeftShows:  []crud.Show{crud.Many(func(o *Outcall) *[]DialPattern { return &o.Extensions })},
		RightShows: []crud.Show{crud.One(func(x *Extension) **OutcallRef { return &x.Outcall })},
		Allow:      crud.All(crud.SameTenant, fits[Outcall](outcallExtension), crud.RightFree),
	}.On(e)
	nestsNumbers(e, outcallExtensions).On(e)
	crud.Link[Outcall, Trunk]{
		Relation: outcallTrunks, Position: "position", Only: []string{"set"},
		LeftShows:  []crud.Show{crud.Many(func(o *Outcall) *[]OutcallTrunk { return &o.Trunks })},
		RightShows: []crud.Show{crud.Many(func(t *Trunk) *[]OutcallRef { return &t.Outcalls })},
		Set:        &crud.List{By: []string{"id"}, Nested: "trunks", Repeated: "Cannot associate same trunk more than once."},
	}.On(e)
	hasPermissions(e, outcallCallPermissions, func(o *Outcall) *[]OutcallPermission { return &o.CallPermissions },
		crud.Many(func(p *CallPermission) *[]OutcallRef { return &p.Outcalls }))
	hasSchedule(e, "confd_outcall_schedule", func(o *Outcall) *[]OutcallSchedule { return &o.Schedules },
		crud.Many(func(s *Schedule) *[]OutcallRef { return &s.Outcalls }))
}
