package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// Queue holds calls until one of its members takes them.
type Queue struct {
	ID                    ID           `db:"id" json:"id" readOnly:"true"`
	TenantUUID            string       `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name                  string       `db:"name" json:"name" required:"true" fixed:"true" maxLength:"128" pattern:"^[-_.a-zA-Z0-9]+$" example:"support"`
	Label                 *string      `db:"label" json:"label" maxLength:"128" example:"Support"`
	DataQuality           bool         `db:"data_quality" json:"data_quality" default:"false" doc:"Kept for clients: nothing here reads it."`
	DTMFHangupCallee      bool         `db:"dtmf_hangup_callee_enabled" json:"dtmf_hangup_callee_enabled" default:"false" doc:"Whether members hang up by a code."`
	DTMFHangupCaller      bool         `db:"dtmf_hangup_caller_enabled" json:"dtmf_hangup_caller_enabled" default:"false" doc:"Whether callers hang up by a code."`
	DTMFTransferCallee    bool         `db:"dtmf_transfer_callee_enabled" json:"dtmf_transfer_callee_enabled" default:"false"`
	DTMFTransferCaller    bool         `db:"dtmf_transfer_caller_enabled" json:"dtmf_transfer_caller_enabled" default:"false"`
	DTMFRecordCallee      bool         `db:"dtmf_record_callee_enabled" json:"dtmf_record_callee_enabled" default:"false" doc:"Whether members record by a code."`
	DTMFRecordCaller      bool         `db:"dtmf_record_caller_enabled" json:"dtmf_record_caller_enabled" default:"false" doc:"Whether callers record by a code."`
	DTMFRecordToggle      bool         `db:"dtmf_record_toggle" json:"dtmf_record_toggle" default:"false"`
	RetryOnTimeout        bool         `db:"retry_on_timeout" json:"retry_on_timeout" default:"true"`
	RingOnHold            bool         `db:"ring_on_hold" json:"ring_on_hold" default:"false" doc:"Whether callers hear ringing, not music."`
	Timeout               *int64       `db:"timeout" json:"timeout" minimum:"0" maximum:"2147483647"`
	AnnounceHoldTime      bool         `db:"announce_hold_time_on_entry" json:"announce_hold_time_on_entry" default:"false"`
	IgnoreForward         bool         `db:"ignore_forward" json:"ignore_forward" default:"true"`
	PreprocessSubroutine  *string      `db:"preprocess_subroutine" json:"preprocess_subroutine" maxLength:"79"`
	MusicOnHold           *string      `db:"music_on_hold" json:"music_on_hold" maxLength:"128" names:"moh.name" doc:"The name of a music on hold, or default."`
	WaitTimeThreshold     *int64       `db:"wait_time_threshold" json:"wait_time_threshold" minimum:"0" maximum:"2147483647"`
	WaitRatioThreshold    *float64     `db:"wait_ratio_threshold" json:"wait_ratio_threshold" minimum:"0" maximum:"2147483647"`
	CallerIDMode          *string      `db:"caller_id_mode" json:"caller_id_mode" enum:"prepend,overwrite,append"`
	CallerIDName          *string      `db:"caller_id_name" json:"caller_id_name" maxLength:"80"`
	MarkAnsweredElsewhere bool         `db:"mark_answered_elsewhere" json:"mark_answered_elsewhere" default:"true"`
	Enabled               bool         `db:"enabled" json:"enabled" default:"true"`
	Options               QueueOptions `db:"options" json:"options"`
	crud.Hrefs

	WaitTime  *Destination `json:"wait_time_destination" doc:"Where new calls go while calls wait longer."`
	WaitRatio *Destination `json:"wait_ratio_destination" doc:"Where new calls go while too many wait."`

	Extensions []ExtensionRef `json:"extensions" readOnly:"true"`
	Fallbacks  QueueFallbacks `json:"fallbacks" readOnly:"true"`
	Members    QueueMembers   `json:"members" readOnly:"true" doc:"Who takes the calls."`
	Schedules  []ScheduleRef  `json:"schedules" readOnly:"true"`
}

// QueueRef is a queue as other objects show it.
type QueueRef struct {
	ID    int64   `db:"id" json:"id"`
	Name  string  `db:"name" json:"name"`
	Label *string `db:"label" json:"label"`
	crud.Hrefs
}

// QueueFallbacks are where calls go that leave a queue unanswered.
type QueueFallbacks struct {
	NoAnswer   *Destination `json:"noanswer_destination" doc:"Where calls go that nobody answers in time."`
	Busy       *Destination `json:"busy_destination" doc:"Where calls go if too many wait."`
	Congestion *Destination `json:"congestion_destination" doc:"Where calls go if no member is there."`
	Fail       *Destination `json:"fail_destination" doc:"Where calls go that cannot wait for another reason."`
}

// ToQueue leads calls to a queue.
type ToQueue struct {
	QueueID            ID                `json:"queue_id" required:"true" ref:"queues.id"`
	RingTime           *float64          `json:"ring_time" minimum:"0" maximum:"2147483647" doc:"In seconds."`
	SkillRuleID        *ID               `json:"skill_rule_id" ref:"queues/skillrules.id" doc:"The number of the skill rule."`
	SkillRuleVariables map[string]string `json:"skill_rule_variables" doc:"Variables for the skill rule."`
	Label              *string           `json:"queue_label,omitempty" readOnly:"true" shows:"label" example:"Support" doc:"The label of the queue."`
}

type keyToQueue struct {
	keyHref

	QueueID ID `json:"queue_id" required:"true" ref:"queues.id"`
}

func init() {
	docs["Queue.name"] = "Unique in a tenant, and not general."
	words["Queue.dtmf_hangup_callee_enabled"], words["Queue.dtmf_hangup_caller_enabled"] = "members hang up by a code", "callers hang up by a code"
	words["Queue.dtmf_transfer_callee_enabled"], words["Queue.dtmf_transfer_caller_enabled"] = "members transfer by codes", "callers transfer by codes"
	words["Queue.dtmf_record_callee_enabled"], words["Queue.dtmf_record_caller_enabled"] = "members record by a code", "callers record by a code"
	words["QueueFallbacks.busy_destination"], words["QueueFallbacks.congestion_destination"] = "when too many wait", "when no member is there"
	docs["Queue.dtmf_transfer_callee_enabled"] = "Whether members transfer by codes."
	docs["Queue.dtmf_transfer_caller_enabled"] = "Whether callers transfer by codes."
	docs["Queue.dtmf_record_toggle"] = "Whether members start and stop a recording by a key."
	docs["Queue.retry_on_timeout"] = "Whether others ring after a member who did not answer. Otherwise the call leaves the queue."
	docs["Queue.timeout"] = "For how many seconds a call waits. Null and 0: 3 hours, which is the longest."
	docs["Queue.announce_hold_time_on_entry"] = "Whether callers hear first how long others have waited."
	docs["Queue.wait_time_threshold"] = "In seconds: while calls wait longer on average, new ones go elsewhere."
	docs["Queue.wait_ratio_threshold"] = "Waiting calls for each member who is there: beyond it, new calls go elsewhere."
	docs["Queue.mark_answered_elsewhere"] = "Whether a call that one member answers is no missed call for the others."
	resources = append(resources, declareQueues)
	destinationKinds = append(destinationKinds, kind[ToQueue]("queue", ""))
	funcKeyKinds = append(funcKeyKinds, kind[keyToQueue]("queue", ""))
}

const (
	queueExtensions crud.Relation[Queue, Extension] = "confd_queue_extension"
	queueSchedules  crud.Relation[Queue, Schedule]  = "confd_queue_schedule"
)

var (
	queueExtension    = usesExtensions(queueExtensions, extensionUse{Kind: "queue", Owner: "queue", Type: "internal", Ranges: "queue"})
	queueDestinations = holds[Queue]("of_queue_id")
)

func declareQueues(e *crud.Engine) {
	columns := []string{"id", "name", "label", "preprocess_subroutine", "exten"}
	const exten = `SELECT x.exten FROM {confd_queue_extension} qx JOIN {confd_extension} x ON x.id = qx.extension_id WHERE qx.queue_id = confd_queue.id`
	crud.Collect(e, crud.Resource[Queue]{
		Path: "queues", Singular: "queue", Param: "queue_id", Table: "confd_queue", Keys: []string{"id"},
		About: "Calls that wait until a member takes them.", Lists: []string{"name", "label", "extensions", "members", "enabled"},
		Order: columns, Filters: columns, Search: columns, Virtual: map[string]string{"exten": exten}, Nested: []string{"extensions"},
		Beside: []crud.Beside[Queue]{queueDestinations.in("").beside(e), queueDestinations.in("fallbacks").beside(e)},
		Prepare: func(_ context.Context, _ store.Conn, change *crud.Change[Queue]) error {
			if change.Old == nil {
				change.New.Options.complete()
			}
			return nil
		},
		Validate: every(checkQueueOptions, musicIsKnown[Queue](e)),
	})
	crud.Part[Queue, QueueFallbacks]{
		Path: "fallbacks", ID: "queue_fallback", Replaces: true, Field: func(q *Queue) *QueueFallbacks { return &q.Fallbacks },
	}.On(e)
	crud.Link[Queue, Extension]{
		Relation: queueExtensions, LeftHas: crud.AtMostOne, RightHas: crud.AtMostOne, RightLeads: true,
		LeftShows:  []crud.Show{crud.Many(func(q *Queue) *[]ExtensionRef { return &q.Extensions })},
		RightShows: []crud.Show{crud.One(func(x *Extension) **QueueRef { return &x.Queue })},
		Allow:      crud.All(crud.SameTenant, crud.LeftFree, crud.RightFree, fits[Queue](queueExtension)),
	}.On(e)
	nestsNumbers(e, queueExtensions).On(e)
	hasSchedule(e, queueSchedules, func(q *Queue) *[]ScheduleRef { return &q.Schedules }, crud.Many(func(s *Schedule) *[]QueueRef { return &s.Queues }))
}
