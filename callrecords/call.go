package callrecords

import (
	"time"

	"github.com/ringfence/ringfence/internal/rest"
)

// Call is a record of a call as clients read it.
type Call struct {
	ID             int64      `db:"id" json:"id" readOnly:"true" doc:"The number of the record: a later one has a higher number."`
	TenantUUID     string     `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	ConversationID string     `db:"conversation_id" json:"conversation_id" readOnly:"true" doc:"What the records of one call have in common."`
	Start          time.Time  `db:"start_at" json:"start" readOnly:"true" doc:"When it began."`
	Answer         *time.Time `db:"answer_at" json:"answer" readOnly:"true" doc:"When it was answered; null if nobody did."`
	End            time.Time  `db:"end_at" json:"end" readOnly:"true" doc:"When it ended."`
	Duration       int64      `db:"duration" json:"duration" readOnly:"true" doc:"How long they talked, in seconds."`
	Direction      string     `db:"direction" json:"call_direction" enum:"internal,inbound,outbound" readOnly:"true" doc:"From where to where."`
	Status         string     `db:"status" json:"call_status" enum:"answered,unanswered,busy,failed" readOnly:"true" doc:"How it ended."`
	SourceName     string     `db:"source_name" json:"source_name" readOnly:"true" doc:"What the caller is called, or empty."`
	Source         string     `db:"source_extension" json:"source_extension" readOnly:"true" doc:"The caller's number; an X is a digit that is hidden."`
	SourceUser     *string    `db:"source_user_uuid" json:"source_user_uuid" format:"uuid" readOnly:"true" doc:"The user who called; null if it was none."`
	DestName       string     `db:"destination_name" json:"destination_name" readOnly:"true" doc:"What the called is called, or empty."`
	Destination    string     `db:"destination_extension" json:"destination_extension" readOnly:"true" doc:"The number that was reached, or tried last."`
	DestUser       *string    `db:"destination_user_uuid" json:"destination_user_uuid" format:"uuid" readOnly:"true" doc:"The user who was called, or null."`
	Requested      string     `db:"requested_extension" json:"requested_extension" readOnly:"true" doc:"The number that was dialled."`
	Tags           []string   `json:"tags" readOnly:"true" doc:"None: for clients that expect the attribute."`

	Recordings []Recording `json:"recordings" readOnly:"true" doc:"What was recorded of it."`
}

// columns are those of a call in the database.
const columns = "id, tenant_uuid, conversation_id, start_at, answer_at, end_at, duration, direction, status, source_name, source_extension, " +
	"source_user_uuid, destination_name, destination_extension, destination_user_uuid, requested_extension"

// complete sets what the database does not have.
func (c *Call) complete() {
	c.Start, c.End, c.Tags, c.Recordings = c.Start.UTC(), c.End.UTC(), []string{}, []Recording{}
	if c.Answer != nil {
		*c.Answer = c.Answer.UTC()
	}
}

// Calls is a page of calls.
type Calls struct {
	Items    []*Call `json:"items" doc:"The calls."`
	Filtered int     `json:"filtered" doc:"How many match; see above."`
	Total    int     `json:"total" doc:"How many there are."`
}

// directions and statuses are the values of filters, and dispositions what Asterisk calls the latter, except failed.
var (
	directions   = []string{"internal", "inbound", "outbound"}
	statuses     = []string{"answered", "unanswered", "busy", "failed"}
	dispositions = map[string]string{"ANSWERED": "answered", "NO ANSWER": "unanswered", "BUSY": "busy"}
)

// parameters are those of lists; whose is set for the calls of all users.
func parameters(whose bool) []rest.Parameter {
	spec := listSpec(whose)
	all := spec.Parameters()
	for i := range all {
		switch p := &all[i]; p.Name {
		case "direction":
			p.Description = "`asc` or `desc`, which is the default."
		case "limit":
			p.Description += " Without one, 1,000."
		case "search":
			p.Description = "Only calls of which a name or a number has this in it, whatever case and accents."
		case "call_direction":
			p.Schema.Enum = directions
		case "call_status":
			p.Schema.Enum = statuses
		}
	}
	return all
}

func listSpec(whose bool) rest.ListSpec {
	s := rest.ListSpec{
		Order:   []string{"start", "duration"},
		Filters: []string{"call_direction", "call_status", "from", "until", "from_id", "number"},
		Docs: map[string]string{
			"from":        "Only calls that began at this time or later. Without a zone it is in UTC.",
			"until":       "Only calls that began before this time. Without a zone it is in UTC.",
			"from_id":     "Only calls with this number or a higher one.",
			"number":      "Only calls from or to this number. `_` stands for anything at its ends: `_123` ends with 123, `123_` begins with it.",
			"call_status": "Only calls that ended so.",
		},
	}
	if whose {
		s.Filters = append(s.Filters, "user_uuid")
		s.Several = []string{"user_uuid"}
		s.Recurse = true
	}
	return s
}
