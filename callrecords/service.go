package callrecords

import (
	"context"
	"io"
	"net/http"
	"slices"

	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/internal/audio"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// User is a telephone user, with the name of a SIP endpoint of theirs.
type User struct{ Endpoint, TenantUUID, UUID, Name, Number string }

// Options are what the service stands on.
type Options struct {
	DB store.DB
	// Users returns the main users of SIP endpoints, by the names of these.
	Users func(ctx context.Context, c store.Conn, endpoints []string) ([]User, error)
	// Recordings is the folder of recordings on this node, with one for each tenant; nil, or "", if there is none.
	Recordings func() audio.Folder
	// FaxAddress returns the e-mail address to which a tenant's faxes go that have a key in the name of their file, or "" if there is none any more.
	FaxAddress func(ctx context.Context, tenantUUID, key string) (string, error)
	// SendFax sends a mail with a file, and returns nil when the mail server has accepted it.
	SendFax func(ctx context.Context, address, text, name string, file io.Reader) error
	// Unreadable counts what Asterisk sends as a record, and is none. Nil: nobody counts.
	Unreadable func()
}

// Service is the call log. It is safe for concurrent use.
type Service struct {
	db         store.DB
	users      func(ctx context.Context, c store.Conn, endpoints []string) ([]User, error)
	recordings func() audio.Folder
	unreadable func()
	faxAddress func(ctx context.Context, tenantUUID, key string) (string, error)
	sendFax    func(ctx context.Context, address, text, name string, file io.Reader) error
	faxes      map[string]*waitingFax // by the names of their files
	faxHeard   chan string
	heard      chan cdr.Record
	catchUp    chan struct{}
	rest       *rest.Service
}

// maxHeard is how many records may wait to be stored.
const maxHeard = 10_000

// New describes the service. Records come while [Service.Run] runs.
func New(o Options) (*Service, error) {
	s := &Service{
		db: o.DB, users: o.Users, recordings: o.Recordings, unreadable: o.Unreadable,
		faxAddress: o.FaxAddress, sendFax: o.SendFax, faxes: map[string]*waitingFax{}, faxHeard: make(chan string, maxFaxes),
		heard: make(chan cdr.Record, maxHeard), catchUp: make(chan struct{}, 1),
	}
	if s.unreadable == nil {
		s.unreadable = func() {}
	}
	if s.recordings == nil {
		s.recordings = func() audio.Folder { return "" }
	}
	s.rest = &rest.Service{
		Name: "call-logd", Prefix: "/api/call-logd/1.0",
		Title:       "Ringfence call records",
		Description: "Who called whom, when, how long, and how it ended.",
		Docs:        docs, Tags: tags, Words: words,
		Examples: map[string]string{
			"source_name": "Ada Lovelace", "source_extension": "101", "destination_name": "Bob", "destination_extension": "102", "requested_extension": "102",
			"conversation_id": "1700000000.17", "message": "There is no such call",
			"filename": "call-20261128-101500-1700000000.17.wav",
		},
		Errors:     rest.CodeMessage,
		Operations: slices.Concat(s.callOperations(), s.recordingOperations(), s.retentionOperations()),
	}
	return s, s.rest.Mount()
}

// REST returns the service behind the gate.
func (s *Service) REST() *rest.Service { return s.rest }

// callOperations are the lists of calls: of a tenant, of the caller, and of any user, each with an access of its own.
func (s *Service) callOperations() []rest.Operation {
	list := func(path, access, id, summary string, who func(r *rest.Request) (user string, err error)) rest.Operation {
		return rest.Operation{
			Method: http.MethodGet, Path: path, Access: access, ID: id, Tag: "cdr", Summary: summary, Description: aboutLists,
			Query: parameters(who == nil), Success: http.StatusOK, Reply: rest.SchemaOf[Calls](), Also: csvType, Tenanted: true,
			Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) { return s.list(ctx, r, who) },
		}
	}
	return []rest.Operation{
		list("/cdr", "call-logd.cdr.read", "list_cdr", "The calls of a tenant", nil),
		list("/users/me/cdr", "call-logd.users.me.cdr.read", "list_my_cdr", "One's own calls",
			func(r *rest.Request) (string, error) { return r.Principal().UserUUID, nil }),
		list("/users/{user_uuid}/cdr", "call-logd.users.{user_uuid}.cdr.read", "list_user_cdr", "The calls of a user",
			func(r *rest.Request) (string, error) { return r.UUIDParam("user_uuid") }),
		{
			Method: http.MethodGet, Path: "/cdr/{cdr_id}", Access: "call-logd.cdr.{cdr_id}.read", ID: "read_cdr", Tag: "cdr", Summary: "One call",
			Success: http.StatusOK, Reply: rest.SchemaOf[Call](), Statuses: []int{http.StatusNotFound}, Conditional: true, Tenanted: true,
			Handle: s.read,
		},
	}
}

const aboutLists = "The newest first. `filtered` counts 1,000 calls after the page at most: if there are more, later pages tell of them. " +
	"With `Accept: text/csv` the list is a file of CSV: all calls that match, up to 100,000, unless there is a `limit`. " +
	"What no index finds is looked for in the newest 20,000 calls, and a list by duration is sorted " +
	"if it is of 100,000 at most; where that is not enough, the answer is 400, and `from` and `until` bring it within reach."

var tags = map[string]string{
	"cdr":        "Calls: who called whom, when, how long, and how it ended.",
	"definition": "This definition.",
	"retention":  "What a tenant says of its records.",
}

var docs = map[string]string{
	"{cdr_id}":         "The number of the call's record.",
	"{recording_uuid}": "The UUID of the recording.",
	"{user_uuid}":      "The UUID of the user.",
	"code":             "The status of the response.",
	"message":          "What happened, for people.",
	"tenant_uuid":      "The tenant that has it.",
}

var words = map[string]string{
	"cdr":           "calls",
	"/users/me/cdr": "own calls",
	"/cdr/{cdr_id}/recordings/{recording_uuid}/media": "recording",
	"/users/{user_uuid}/cdr":                          "calls",
}
