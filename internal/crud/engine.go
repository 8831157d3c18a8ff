package crud

import (
	"context"
	"fmt"
	"reflect"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Engine runs the collections of one service on one database. Collections, links and the like are declared on it while the service is
// described, from one goroutine; Operations then returns all that follows from them.
type Engine struct {
	// Service is the first word of the accesses: "confd". Prefix is where it is served.
	Service string
	Prefix  string
	DB      store.DB
	Style   Style
	// Enter, where it is set, runs before anything else that a request does in the tenant that it acts in.
	Enter func(ctx context.Context, r *rest.Request, tenantUUID string) error
	// Told hears of the changes of each transaction once it has committed, and before the client does. It must not block. A process that
	// dies between the two has told nobody: whoever keeps something made from the data makes it anew at its start.
	Told func(changes []Told)

	collections map[reflect.Type]any    // *Collection[T], by T
	byPath      map[string]table        // the same, as a ref tag names them
	links       map[[2]reflect.Type]any // *joint[L, R], by L and R
	documents   []documented
	parts       []func() DescribedPart
	declared    []func() []rest.Operation
}

// Told is one committed change: an object was made, changed or deleted, or what it is linked with.
type Told struct {
	// Resource is the path of the collection: "users"; Key the object's first key; Tenant the one that has it.
	Resource, Key, Tenant string
}

// declare adds what is to become operations when everything is declared.
func (e *Engine) declare(operations func() []rest.Operation) {
	e.declared = append(e.declared, operations)
}

// Add declares an operation that is of no collection's shape.
func (e *Engine) Add(op rest.Operation) {
	e.declare(func() []rest.Operation { return []rest.Operation{op} })
}

// Operations returns the operations of all that was declared, in the order of the declarations.
func (e *Engine) Operations() []rest.Operation {
	var out []rest.Operation
	for _, operations := range e.declared {
		out = append(out, operations()...)
	}
	return out
}

// Rows returns a zero value of the struct of each collection's and each document's rows, by its table, for tests.
func (e *Engine) Rows() map[string]any {
	out := map[string]any{}
	for of, k := range e.collections {
		out[k.(table).tableName()] = reflect.Zero(of).Interface()
	}
	for _, d := range e.documents {
		table, row := d.row()
		out[table] = row
	}
	return out
}

// Of returns the collection of T's, which may be declared later than what uses it, but before the first request.
// It panics when there is none: a mistake in a declaration, seen at every start.
func Of[T any](e *Engine) *Collection[T] {
	k, ok := e.collections[reflect.TypeFor[T]()].(*Collection[T])
	if !ok {
		panic(fmt.Sprintf("%s: no collection of %s is declared", e.Service, reflect.TypeFor[T]()))
	}
	return k
}

// TenantOf returns the tenant that a request acts in, ready to be acted in. It is called outside of a transaction.
func (e *Engine) TenantOf(ctx context.Context, r *rest.Request) (string, error) {
	scope, err := tenant.Of(ctx, e.DB, r)
	if err != nil || e.Enter == nil {
		return scope, err
	}
	return scope, e.Enter(ctx, r, scope)
}

// begin returns the tenant that a request acts in, and its body. A caller who may not act there is refused before the body is read.
func (e *Engine) begin(ctx context.Context, r *rest.Request) (scope string, sent rest.Object, err error) {
	if scope, err = e.TenantOf(ctx, r); err != nil {
		return "", sent, err
	}
	sent, err = r.Object()
	return scope, sent, err
}

// transaction is what one transaction leaves to be done when it has committed.
type transaction struct {
	committed []func()
	told      []Told
}

type transactionKey struct{}

// InTx runs fn in one transaction, within which the collections' Insert, Update and Delete may be called any number of times. What
// they leave to be done after a commit is done when it has committed, before InTx returns. fn may run again.
func (e *Engine) InTx(ctx context.Context, fn func(ctx context.Context, c store.Conn) error) error {
	var tx *transaction
	err := e.DB.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		tx = &transaction{}
		return fn(context.WithValue(ctx, transactionKey{}, tx), c)
	})
	if err != nil {
		return err
	}
	for _, committed := range tx.committed {
		committed()
	}
	if e.Told != nil && len(tx.told) > 0 {
		e.Told(tx.told)
	}
	return nil
}

// afterCommit has fn called when the transaction of ctx has committed.
func afterCommit(ctx context.Context, fn func()) {
	tx := ctx.Value(transactionKey{}).(*transaction) // writes without Engine.InTx are a mistake that every test sees
	tx.committed = append(tx.committed, fn)
}

// tell has the change told when the transaction of ctx has committed.
func tell(ctx context.Context, change Told) {
	tx := ctx.Value(transactionKey{}).(*transaction)
	tx.told = append(tx.told, change)
}

// Style is what differs between the services; it is said once, in the service's description.
type Style struct {
	// Filtered lists carry `filtered`, and their total counts all that the tenant has; without it total
	// counts what the search and the filters leave.
	Filtered bool
	// CreateStatus is the status of a successful POST.
	CreateStatus int
	// UpdateReply makes PUT return the object with 200, in place of 204 and nothing.
	UpdateReply bool
	// Location sends the new object's path on create, and has every object list it in `links`. T embeds Hrefs.
	Location bool
	// SearchWords makes a search of several words find them with anything between.
	SearchWords bool
	// Duplicate is the kind of a refusal to have something twice, or to remove what others hold on to.
	Duplicate apierr.Kind
}

// Href is one of an object's links.
type Href struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
}

// Hrefs is embedded by the objects of services whose Style has Location.
type Hrefs struct {
	Links []Href `json:"links" readOnly:"true" doc:"Where this object is."`
}

func (h *Hrefs) setLinks(links []Href) { h.Links = links }

type linked interface{ setLinks(links []Href) }
