package transaction

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

const (
	// maxBulk is how many operations one request may have.
	maxBulk = 100
	// MaxLongBody is how many bytes the body of a request on many objects may have.
	MaxLongBody = 4 << 20
)

// BulkRequest is the body of POST /bulk.
type BulkRequest struct {
	Operations []BulkOperation `json:"operations" required:"true" minItems:"1" maxItems:"100"`
	DryRun     bool            `json:"dry_run" default:"false" doc:"Do everything, and then undo it."`
}

// BulkOperation is a request in the body of another.
type BulkOperation struct {
	Method  string  `json:"method" required:"true" enum:"POST,PUT,DELETE"`
	Path    string  `json:"path" required:"true" minLength:"1" maxLength:"2048" example:"/users" doc:"Below the service's prefix, with its query."`
	Body    any     `json:"body" doc:"The JSON body of the request, or null if it has none."`
	IfMatch *string `json:"if_match" maxLength:"4096" example:"*" doc:"Its header If-Match."`
}

// BulkReply is the response to POST /bulk.
type BulkReply struct {
	DryRun  bool         `json:"dry_run"`
	Results []BulkResult `json:"results" doc:"One for each operation, in their order."`
}

// BulkResult is the response to one operation.
type BulkResult struct {
	Status   int             `json:"status"`
	Location *string         `json:"location" example:"/api/confd/1.1/users/17"`
	ETag     *string         `json:"etag" example:"\"5hV0nTq2m7yL8cW1kD4fRg\""`
	Body     json.RawMessage `json:"body"`
}

// Bulk is POST /bulk, which does several of the engine's operations in one transaction: all of them or none. The refusals
// are a list of messages.
func (e *Runner) Bulk() rest.Operation {
	return rest.Operation{
		Method: http.MethodPost, Path: "/bulk", Access: e.Service + ".bulk.create", ID: "create_bulk", Tag: "bulk",
		Summary: "Do several operations in one transaction",
		Description: fmt.Sprintf("At most %d, all in the tenant of this request. Each also needs the access that it needs by itself. "+
			"`{0}` at the beginning of a path is that of what the first has made, and further on its key; "+
			"a text `{0.name}` of a body is the attribute `name` of what the first has answered. "+
			"If one is refused, nothing is changed; each message then begins with the operation's position, and the status is that of "+
			"the first. `GET` is not taken, nor an operation that does more than change stored data.", maxBulk),
		Query:   []rest.Parameter{{Name: "dry_run", Description: "Do everything, and then undo it.", Schema: &rest.Schema{Type: "boolean"}}},
		Body:    rest.SchemaOf[BulkRequest]().Exemplified(`{"dry_run":true,"operations":[{"method":"POST","path":"/users","body":{"firstname":"Ada"}}]}`),
		MaxBody: MaxLongBody, Success: http.StatusOK, Reply: rest.SchemaOf[BulkReply](),
		Statuses: []int{404, 405, 412}, Tenanted: true, Idempotent: true, Handle: e.bulk,
		Preload: func(ctx context.Context, r *rest.Request) (any, error) { return e.beginBulk(ctx, r) },
	}
}

func (e *Runner) bulk(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	scope, err := e.TenantOf(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	run, begun := r.Preload.(*bulkRun)
	if !begun {
		if run, err = e.beginBulk(ctx, r); err != nil {
			return rest.Reply{}, err
		}
	}
	dry := run.dry
	err = e.inTxOf(ctx, e.DB, scope, func(ctx context.Context, c store.Conn) error {
		return Attempt(ctx, c, func() error {
			defer Bound(ctx)()
			if err := run.all(ctx, c); err != nil {
				return err
			}
			if dry || len(run.messages) > 0 {
				return errUndo
			}
			return nil
		})
	})
	switch {
	case err != nil && !errors.Is(err, errUndo):
		return rest.Reply{}, err
	case len(run.messages) > 0 && r.WantsProblem():
		return rest.Reply{}, run.problem
	case len(run.messages) > 0:
		return rest.Reply{Status: run.status, Body: run.messages}, nil
	default:
		return rest.Reply{Body: BulkReply{DryRun: dry, Results: run.results}}, nil
	}
}

// beginBulk reads a bulk request, and does what its operations need to do before the transaction.
func (e *Runner) beginBulk(ctx context.Context, r *rest.Request) (*bulkRun, error) {
	asked, err := rest.Decode[BulkRequest](r)
	if err != nil {
		return nil, err
	}
	run := &bulkRun{engine: e, request: r, asked: asked.Operations, dry: r.Bool("dry_run") || asked.DryRun}
	run.begun = make([]begunOperation, len(run.asked))
	for i := range run.asked {
		body, err := rest.Marshal(run.asked[i].Body)
		if err != nil || made.MatchString(run.asked[i].Path) || answered.Match(body) {
			continue // what it is on is known once that is made
		}
		one, err := run.nest(&run.asked[i], body)
		if err != nil || one.Op().Preload == nil {
			continue // the transaction refuses it in its turn
		}
		run.begun[i].request = one
		one.Preload, run.begun[i].err = one.Op().Preload(ctx, one)
	}
	return run, nil
}

// begunOperation is an operation whose Preload has run: its request, or why it is refused.
type begunOperation struct {
	request *rest.Request
	err     error
}

// bulkRun is one run of the operations of a bulk request.
type bulkRun struct {
	engine  *Runner
	request *rest.Request
	asked   []BulkOperation
	begun   []begunOperation
	dry     bool

	results []BulkResult
	// messages are the refusals, and status is that of the first. problem says the same, with the paths of the values in the request.
	messages []string
	status   int
	problem  *apierr.Error
}

// all does the operations, one after the other. One that is refused does not keep it from trying the others, so that the client
// sees all refusals. An error other than a refusal ends the transaction.
func (b *bulkRun) all(ctx context.Context, c store.Conn) error {
	b.results, b.messages, b.status = make([]BulkResult, len(b.asked)), nil, 0 // the transaction may run again
	for i := range b.asked {
		err := Attempt(ctx, c, func() (err error) {
			b.results[i], err = b.one(ctx, i)
			return err
		})
		if err == nil || errors.Is(err, errUnmade) {
			continue
		}
		refusal := rest.Refusal(err)
		if refusal.Kind == apierr.Internal || refusal.Kind == apierr.Unavailable || errors.Is(err, store.ErrUnavailable) {
			return fmt.Errorf("operation %d: %w", i, err)
		}
		b.refuse(i, refusal)
	}
	return nil
}

func (b *bulkRun) refuse(i int, refusal *apierr.Error) {
	if b.status == 0 {
		b.status, b.problem = refusal.Status(), &apierr.Error{Kind: refusal.Kind}
	}
	at := fmt.Sprintf("operations[%d]", i)
	for _, name := range refusal.About {
		b.problem.Fields = append(b.problem.Fields, apierr.Field{Name: at + ".body." + name, Message: refusal.Message})
	}
	if refusal.Message != "" && len(refusal.About) == 0 {
		b.problem.Fields = append(b.problem.Fields, apierr.Field{Name: at, Message: refusal.Message})
	}
	for _, field := range refusal.Fields {
		name, message := at+".body."+field.Name, field.Message
		if field.Query {
			name, message = at+".path", field.Name+": "+message
		}
		b.problem.Fields = append(b.problem.Fields, apierr.Field{Name: name, Message: message})
	}
	for _, message := range rest.MessageList(refusal, time.Time{}).([]string) {
		b.messages = append(b.messages, fmt.Sprintf("operations[%d]: %s", i, message))
	}
}

// nest returns the request that is one operation.
func (b *bulkRun) nest(asked *BulkOperation, body []byte) (*rest.Request, error) {
	nested := rest.Nested{Method: asked.Method, Path: asked.Path}
	if asked.IfMatch != nil {
		nested.IfMatch = *asked.IfMatch
	}
	if asked.Body != nil {
		nested.Body = body
	}
	return b.request.Nest(nested)
}

// resolved returns the request that is the operation at a position, with what those before it have made.
func (b *bulkRun) resolved(i int) (*rest.Request, error) {
	asked := b.asked[i]
	body, err := rest.Marshal(asked.Body)
	if err != nil {
		return nil, err
	}
	if asked.Path, err = b.resolve(asked.Path, i); err != nil {
		return nil, err
	}
	if body, err = b.fill(body, i); err != nil {
		return nil, err
	}
	return b.nest(&asked, body)
}

func (b *bulkRun) one(ctx context.Context, i int) (result BulkResult, err error) {
	r := b.begun[i].request
	if r == nil {
		r, err = b.resolved(i)
	} else {
		err = b.begun[i].err
	}
	if err != nil {
		return result, err
	}
	op := r.Op()
	if !op.Transactional {
		return result, apierr.New(apierr.Invalid, "This operation cannot be one of several; send it by itself")
	}
	reply, err := op.Handle(ctx, r)
	if err != nil {
		return result, err
	}
	if reply.Body != nil {
		if result.Body, err = rest.Marshal(reply.Body); err != nil {
			return result, err
		}
	}
	result.Status = cmp.Or(reply.Status, op.Success)
	result.Location, result.ETag = header(reply, "Location"), header(reply, "Etag")
	return result, nil
}

// made is what another operation has made, in the path of one: at the beginning its path, and further on its key.
var made = regexp.MustCompile(`(^|/)\{(\d{1,2})\}([/?]|$)`)

// answered is an attribute of what another operation has answered, as a text of the body of one.
var answered = regexp.MustCompile(`"\{(\d{1,2})\.([a-z_]+)\}"`)

// errUnmade says that an operation is on what another would have made, which was refused. That tells the client enough.
var errUnmade = errors.New("it was not made")

// resolve returns the path of the operation at a position, with that or the key of the object that one before it has made.
func (b *bulkRun) resolve(asked string, i int) (string, error) {
	at := made.FindStringSubmatchIndex(asked)
	if at == nil {
		return asked, nil
	}
	earlier, err := b.before(i, asked[at[4]:at[5]])
	if err != nil {
		return "", err
	}
	if earlier == nil || earlier.Location == nil {
		return "", apierr.New(apierr.Invalid, "The path names what operations[%s] has made, and it has made nothing before", asked[at[4]:at[5]])
	}
	place := strings.TrimPrefix(*earlier.Location, b.engine.Prefix)
	if at[3] > 0 {
		place = path.Base(place)
	}
	return asked[:at[3]] + place + asked[at[6]:], nil
}

// fill returns the body of the operation at a position, with the attributes of what those before it have answered.
func (b *bulkRun) fill(body []byte, i int) (_ []byte, err error) {
	filled := answered.ReplaceAllFunc(body, func(text []byte) []byte {
		name := answered.FindSubmatch(text)
		earlier, unmade := b.before(i, string(name[1]))
		answer := map[string]json.RawMessage{}
		if earlier != nil {
			_ = json.Unmarshal(earlier.Body, &answer) // what is no object has no attributes
		}
		value, is := answer[string(name[2])]
		switch {
		case unmade != nil:
			err = unmade
		case !is && err == nil:
			err = apierr.New(apierr.Invalid, "The body names %s of what operations[%s] has answered, and it has answered no such before", name[2], name[1])
		}
		return value
	})
	return filled, err
}

// before returns the result of an operation before the one at a position, by its number; nil, if it is not before.
func (b *bulkRun) before(i int, number string) (*BulkResult, error) {
	n, err := strconv.Atoi(number)
	if err != nil || n >= i {
		return nil, nil
	}
	if b.results[n].Status == 0 {
		return nil, errUnmade
	}
	return &b.results[n], nil
}

// header returns a header of a reply, or nil.
func header(reply rest.Reply, name string) *string {
	if value := reply.Header.Get(name); value != "" {
		return &value
	}
	return nil
}
