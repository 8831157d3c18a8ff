package helpers

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// wanted is the body of POST /exec_request_handlers. Other keys are ignored.
type wanted struct {
	IPBX    []string `json:"ipbx" maxItems:"100" items.minLength:"1" items.maxLength:"128" doc:"Commands of Asterisk's console. One that is not allowed is left out, and the result says so."`
	Chown   texts    `json:"chown_autoprov_config" example:"[\"all\"]" doc:"Anything but an empty list gives the autoprovisioning file to its owner."`
	Context []any    `json:"context" maxItems:"100" doc:"What the request is about, for the result."`
}

// texts is a list of texts, or one text alone.
type texts []string

const maxTexts = 100

// JSONSchema implements rest.Described.
func (texts) JSONSchema() *rest.Schema {
	one := &rest.Schema{Type: "string", MaxLength: new(256)}
	list := &rest.Schema{Type: "array", Items: one, MaxItems: new(maxTexts)}
	return &rest.Schema{Doc: "A text, or a list of texts.", Check: func(value any) []apierr.Field {
		if _, ok := value.([]any); ok {
			return list.Validate("", value)
		}
		return one.Validate("", value)
	}}
}

// UnmarshalJSON reads either form.
func (t *texts) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// accepted is the answer of POST /exec_request_handlers.
type accepted struct {
	RequestUUID string `json:"request_uuid" format:"uuid" doc:"The UUID by which to ask what became of the request."`
}

// maxCommandBody is the largest body of a request for commands. The service keeps what it says about itself.
const maxCommandBody = 16 << 10

func (e *endpoints) commandOperations() []rest.Operation {
	return []rest.Operation{
		{
			Method: http.MethodPost, Path: "/exec_request_handlers", Access: "sysconfd.exec_request_handlers.create",
			ID: "exec_request_handlers", Tag: "commands", Summary: "Execute commands of Asterisk, after those that wait already",
			Body: rest.SchemaOf[wanted](), BodyOptional: true, MaxBody: maxCommandBody,
			Success: http.StatusOK, Reply: rest.SchemaOf[accepted](), Statuses: []int{http.StatusTooManyRequests},
			Handle: e.installation(e.execRequest),
		},
		{
			Method: http.MethodGet, Path: "/exec_request_handlers", Access: "sysconfd.exec_request_handlers.read",
			ID: "list_exec_request_handlers", Tag: "commands", Summary: "The requests that wait, and the latest results",
			Success: http.StatusOK, Reply: rest.ListOf(rest.SchemaOf[Execution](), false),
			Handle: e.installation(func(context.Context, *rest.Request, scope) (rest.Reply, error) {
				return rest.Reply{Body: rest.Listed(e.queue.all())}, nil
			}),
		},
		{
			Method: http.MethodGet, Path: "/exec_request_handlers/{request_uuid}", Access: "sysconfd.exec_request_handlers.{request_uuid}.read",
			ID: "read_exec_request_handlers", Tag: "commands", Summary: "What became of a request",
			Success: http.StatusOK, Reply: rest.SchemaOf[Execution](), Statuses: []int{http.StatusNotFound},
			Handle: e.installation(func(_ context.Context, r *rest.Request, _ scope) (rest.Reply, error) {
				id, err := r.UUIDParam("request_uuid")
				if err != nil {
					return rest.Reply{}, err
				}
				found, ok := e.queue.find(id)
				if !ok {
					return rest.Reply{}, notFound()
				}
				return rest.Reply{Body: found}, nil
			}),
		},
	}
}

// execRequest queues commands. The audit has the request before they are queued, and what became of it when they have ended: without
// that, the process was stopped in between.
func (e *endpoints) execRequest(ctx context.Context, r *rest.Request, s scope) (rest.Reply, error) {
	want, err := rest.Decode[wanted](r)
	if err != nil {
		return rest.Reply{}, err
	}
	audit.Hide(want.Context)
	about := make([]json.RawMessage, len(want.Context))
	for i, item := range want.Context {
		if about[i], err = json.Marshal(item); err != nil {
			return rest.Reply{}, err
		}
	}
	id, chown := uuid.NewString(), len(want.Chown) > 0
	commands := slices.Clone(want.IPBX)
	if chown {
		commands = append(commands, chownAutoprov)
	}
	if err := e.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		return s.record(ctx, tx, r, audit.Change{Resource: commandResource, Object: id, After: map[string]any{"state": stateWaiting, "commands": commands}})
	}); err != nil {
		return rest.Reply{}, err
	}
	if err := e.queue.add(id, want.IPBX, chown, about); err != nil {
		e.note(commandResource, audit.Change{Resource: commandResource, Object: id, After: map[string]any{"state": stateRefused}})
		return rest.Reply{}, err
	}
	slog.Info("commands were requested", "request_uuid", id, "commands", want.IPBX, "autoprov", chown, "request_id", r.HTTP.Header.Get("X-Request-Id"))
	return rest.Reply{Body: accepted{id}}, nil
}

// commandResource is the audit's name of the requests for commands.
const commandResource = "exec_request_handlers"

// executed records what became of requests. What Asterisk said is left to the results: nobody knows what is in it.
func (s *Service) executed(all []Execution) {
	type command struct {
		Command string `json:"command"`
		State   string `json:"state"`
	}
	changes := make([]audit.Change, len(all))
	for i, x := range all {
		commands := make([]command, len(x.Commands))
		for j, c := range x.Commands {
			commands[j] = command{c.Command, c.State}
		}
		changes[i] = audit.Change{Resource: commandResource, Object: x.UUID, After: map[string]any{"state": x.State, "commands": commands}}
	}
	s.note(commandResource, changes...)
}

// noteTimeout is how long the audit may take to be written after a request.
const noteTimeout = time.Minute

// note records, for the master tenant, what the service does without a request, or after it.
func (s *Service) note(action string, changes ...audit.Change) {
	ctx, cancel := context.WithTimeout(context.Background(), noteTimeout)
	defer cancel()
	err := s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		master, err := tenant.Master(ctx, tx)
		if err != nil {
			return err
		}
		ctx, batch := audit.Collecting(ctx)
		for _, c := range changes {
			c.Tenant = master
			if err := audit.Note(ctx, tx, serviceName, action, c); err != nil {
				return err
			}
		}
		return batch.Flush(ctx, tx)
	})
	if err != nil {
		slog.Error("what the helper endpoints did is not in the audit", "operation", action, "entries", len(changes), "first", changes[0].Object, "error", err)
	}
}

// execute executes a command of the queue.
func (s *Service) execute(ctx context.Context, command string) error {
	if command == chownAutoprov {
		return ownAutoprov(s.settings.Load().Autoprov)
	}
	return s.commands.Execute(ctx, command)
}
