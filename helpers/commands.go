package helpers

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

const (
	// maxUnfinished is how many requests may wait. Equal commands are executed once for all of them.
	maxUnfinished = 1000
	// maxFinished is how many results are kept.
	maxFinished = 200
	// maxTries is how often a command is tried while a reload is running, and tryEvery how long it waits between two tries.
	maxTries = 10
	tryEvery = time.Second
	// commandTimeout is how long one try of a command may take.
	commandTimeout = 30 * time.Second
)

// The states of a request and of its commands. A request is waiting, running or completed.
const (
	stateWaiting   = "waiting"
	stateRunning   = "running"
	stateCompleted = "completed"
	stateDone      = "done"
	stateFailed    = "failed"
	stateSkipped   = "skipped"
	stateRefused   = "refused"
)

// chownAutoprov is the name of the command that is not Asterisk's: it gives the autoprovisioning file to its owner.
const chownAutoprov = "chown_autoprov_config"

// Execution is a request to execute commands, and what became of it.
type Execution struct {
	UUID      string            `json:"uuid" format:"uuid"`
	State     string            `json:"state" enum:"waiting,running,completed"`
	CreatedAt time.Time         `json:"created_at"`
	EndedAt   *time.Time        `json:"ended_at"`
	Commands  []ExecutedCommand `json:"commands" doc:"In the order in which they are executed."`
	Context   []json.RawMessage `json:"context" doc:"What the request said about itself, without its secrets; always empty in a list."`
}

// ExecutedCommand is one command of a request.
type ExecutedCommand struct {
	Command string     `json:"command"`
	State   string     `json:"state" enum:"waiting,running,done,failed,skipped,refused"`
	Message string     `json:"message" doc:"Why it failed, or was not executed; empty otherwise."`
	EndedAt *time.Time `json:"ended_at"`
}

// task is a command that is executed once for all requests that wait for it.
type task struct {
	command string
	state   string
	message string
	ended   *time.Time
}

func (t *task) shown() ExecutedCommand {
	return ExecutedCommand{t.command, t.state, t.message, t.ended}
}

// request is a request whose commands may be those of others too.
type request struct {
	uuid    string
	created time.Time
	ended   *time.Time
	context []json.RawMessage
	tasks   []*task
}

func (r *request) shown() Execution {
	e := Execution{UUID: r.uuid, State: stateWaiting, CreatedAt: r.created, EndedAt: r.ended, Commands: []ExecutedCommand{}, Context: r.context}
	for _, t := range r.tasks {
		e.Commands = append(e.Commands, t.shown())
		if t.state != stateWaiting && t.state != stateRefused {
			e.State = stateRunning
		}
	}
	if r.ended != nil {
		e.State = stateCompleted
	}
	return e
}

func (r *request) isDone() bool {
	return !slices.ContainsFunc(r.tasks, func(t *task) bool { return t.state == stateWaiting || t.state == stateRunning })
}

// queue executes commands one after the other, in the order in which they came. A command that waits already is not queued again;
// one that is running is, since it may have read what has changed since.
type queue struct {
	execute func(ctx context.Context, command string) error
	// ended receives the requests that have ended at one time.
	ended func([]Execution)
	// pause waits between two tries.
	pause func(ctx context.Context, d time.Duration) error
	// timeout is how long one try may take.
	timeout time.Duration

	ctx    context.Context //nolint:containedctx // outlives the requests
	cancel context.CancelFunc
	worker sync.WaitGroup

	mu         sync.Mutex
	waiting    []*task
	working    bool
	unfinished []*request
	finished   []*request // the latest last
}

func newQueue(execute func(ctx context.Context, command string) error, ended func([]Execution)) *queue {
	q := &queue{execute: execute, ended: ended, pause: sleep, timeout: commandTimeout}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// close ends the worker. Commands that still wait are not executed.
func (q *queue) close() {
	q.mu.Lock()
	q.cancel() // with the lock: otherwise the worker takes what waits next as soon as what it runs has ended
	q.waiting = nil
	q.mu.Unlock()
	q.worker.Wait()
}

// add queues the commands of a request, and then the change of the autoprovisioning file's owner if the request asks for it. It returns
// at once.
func (q *queue) add(id string, commands []string, chown bool, about []json.RawMessage) error {
	done, err := q.put(id, commands, chown, about)
	q.report(done)
	return err
}

func (q *queue) report(done []Execution) {
	if len(done) > 0 {
		q.ended(done)
	}
}

// put queues the commands of a request, and returns the requests that have ended by that.
func (q *queue) put(id string, commands []string, chown bool, about []json.RawMessage) ([]Execution, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx.Err() != nil {
		return nil, &apierr.Error{Kind: apierr.Unavailable, Message: "The gateway is stopping", RetryAfter: time.Second}
	}
	if len(q.unfinished) >= maxUnfinished {
		return nil, &apierr.Error{Kind: apierr.TooMany, Message: "Too many requests wait for their commands", RetryAfter: 5 * time.Second}
	}
	r := &request{uuid: id, created: time.Now().UTC(), context: about}
	for _, command := range commands {
		if !slices.ContainsFunc(r.tasks, func(t *task) bool { return t.command == command }) {
			r.tasks = append(r.tasks, q.taskFor(command, jobs.Allowed(command)))
		}
	}
	if chown {
		r.tasks = append(r.tasks, q.taskFor(chownAutoprov, true))
	}
	q.unfinished = append(q.unfinished, r)
	done := q.settle()
	if len(q.waiting) > 0 && !q.working {
		q.working = true
		q.worker.Go(q.work)
	}
	return done, nil
}

// taskFor returns the task that executes a command: one that waits already, or a new one.
func (q *queue) taskFor(command string, allowed bool) *task {
	if !allowed {
		now := time.Now().UTC()
		return &task{command: command, state: stateRefused, message: "It is not one of the commands that may be executed", ended: &now}
	}
	for _, t := range q.waiting {
		if t.command == command {
			return t
		}
	}
	t := &task{command: command, state: stateWaiting}
	q.waiting = append(q.waiting, t)
	return t
}

func (q *queue) work() {
	for t := q.next(); t != nil; t = q.next() {
		state, message := q.run(t.command)
		slog.Info("executed a command of the helper endpoints", "command", t.command, "state", state, "message", message)
		q.report(q.end(t, state, message))
	}
}

func (q *queue) next() *task {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.working = false
		return nil
	}
	t := q.waiting[0]
	q.waiting = q.waiting[1:]
	t.state = stateRunning
	return t
}

func (q *queue) end(t *task, state, message string) []Execution {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now().UTC()
	t.state, t.message, t.ended = state, message, &now
	return q.settle()
}

// settle ends the requests that have nothing left to wait for, which it returns, and forgets the oldest results.
func (q *queue) settle() (done []Execution) {
	now := time.Now().UTC()
	q.unfinished = slices.DeleteFunc(q.unfinished, func(r *request) bool {
		if !r.isDone() {
			return false
		}
		r.ended = &now
		q.finished, done = append(q.finished, r), append(done, r.shown())
		return true
	})
	if extra := len(q.finished) - maxFinished; extra > 0 {
		q.finished = slices.Clone(q.finished[extra:])
	}
	return done
}

// run executes one command, again and again while a reload is running.
func (q *queue) run(command string) (state, message string) {
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(q.ctx, q.timeout)
		err := q.execute(ctx, command)
		cancel()
		switch {
		case err == nil:
			return stateDone, ""
		case errors.Is(err, jobs.ErrNoAsterisk), errors.Is(err, errNothingToDo):
			return stateSkipped, err.Error()
		case !errors.Is(err, jobs.ErrReloading) || try == maxTries:
			return stateFailed, err.Error()
		}
		if err := q.pause(q.ctx, tryEvery); err != nil {
			return stateFailed, "the gateway was stopped"
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (q *queue) find(id string) (Execution, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, of := range [][]*request{q.unfinished, q.finished} {
		for _, r := range of {
			if r.uuid == id {
				return r.shown(), true
			}
		}
	}
	return Execution{}, false
}

// all returns the requests that are kept, the latest first, without what they said about themselves.
func (q *queue) all() (out []Execution) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, of := range [][]*request{q.unfinished, q.finished} {
		for _, r := range slices.Backward(of) {
			e := r.shown()
			e.Context = []json.RawMessage{}
			out = append(out, e)
		}
	}
	return out
}

// wanted is the body of POST /exec_request_handlers. Other keys are ignored.
type wanted struct {
	IPBX    []string `json:"ipbx" maxItems:"100" items.minLength:"1" items.maxLength:"128" doc:"Commands of Asterisk's console. The result names the refused."`
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
