package crud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Engine runs the collections of one service on one database. Collections, links and the like are declared on it while the
// service is described, from one goroutine; Operations then returns their operations.
type Engine struct {
	// Service is the first word of the accesses: "confd". Prefix is the path under which it is served.
	Service string
	Prefix  string
	DB      store.DB
	Style   Style
	// Words say how people read the names of resources, as those of [rest.Service.Words] do: operations tell by them what they do.
	Words map[string]string
	// Idempotency, if set, lets POST operations be repeated.
	Idempotency *Idempotency
	// Enter, if set, runs before anything else that a request does in its tenant.
	Enter func(ctx context.Context, r *rest.Request, tenantUUID string) error
	// Notify receives the changes of each transaction after its commit, and before the client gets the reply. It must not block. A
	// process that dies between the two has notified nobody: anything derived from the data must be rebuilt at the start.
	Notify func(events []Event)

	collections map[reflect.Type]any // *CollectionOf[T], by T
	byPath      map[string]table     // the same, as a ref tag names them
	relations   map[string]*relation // by their names
	joins       []func()             // make them, when all collections are declared
	documents   []documented
	children    []func() DescribedChildren
	nested      map[reflect.Type]map[string]any // *NestedOf[T], by T and the attribute
	parts       []func() DescribedPart
	sources     []Source
	origins     map[string]origin // the tables that SQL of the declarations reads
	nesting     queue
	words       map[string]func(word string) error // see Word
	replies     map[string]*rest.Schema            // what a GET shows, by its path without parameters: "users/funckeys"
	declared    []func() []rest.Operation
	// derived are the operations of the declarations; added are the others.
	derived, added []rest.Operation
	// uncounted is how many changes of counted collections there were since the last AddUp.
	uncounted atomic.Int64
}

// Event is one committed change: an object, or its links, were created, changed or deleted.
type Event struct {
	// Resource is the path of the collection: "users"; Key is the object's first key; Tenant is the tenant that owns it.
	Resource, Key, Tenant string
}

// declare adds a declaration, which becomes operations when everything is declared.
func (e *Engine) declare(operations func() []rest.Operation) {
	e.declared = append(e.declared, operations)
}

// Add declares an operation that does not fit the shape of a collection. It says itself whether it is Transactional.
func (e *Engine) Add(op rest.Operation) { e.added = append(e.added, op) }

// Operations returns the operations of everything that was declared, and then those that were added. It is called once.
func (e *Engine) Operations() []rest.Operation {
	for _, join := range e.joins {
		join()
	}
	for _, operations := range e.declared {
		e.derived = append(e.derived, operations()...)
	}
	e.originate()
	for i := range e.derived {
		e.derived[i].Transactional = e.derived[i].Method != http.MethodGet
	}
	all := slices.Concat(e.derived, e.added)
	e.replies = map[string]*rest.Schema{}
	e.PathFirst(all)
	for i := range all {
		op := &all[i]
		if op.Reply != nil && op.Produces == "" && !op.Unimplemented {
			op.Handle = e.shown(op)
		}
		if op.Method == http.MethodGet {
			words := slices.DeleteFunc(strings.Split(op.Path, "/"), func(word string) bool { return word == "" || word[0] == '{' })
			e.replies[strings.Join(words, "/")] = op.Reply
		}
		if e.Idempotency != nil && op.Method == http.MethodPost && (op.Transactional || op.Idempotent) {
			op.Idempotent, op.Handle = true, e.idempotent(op.Handle)
			op.Statuses = append(slices.Clone(op.Statuses), http.StatusConflict, http.StatusUnprocessableEntity)
		}
	}
	return all
}

// Rows returns a zero value of the row struct of each collection and each document, by table, for tests.
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

// Beside returns, by the struct of each collection, the other tables that have own data of its objects, with the columns that refer to these
// and to others.
func (e *Engine) Beside() map[reflect.Type]map[string][]string {
	out := map[reflect.Type]map[string][]string{}
	for of, k := range e.collections {
		out[of] = k.(table).keptBeside()
	}
	return out
}

// collectionOf is [Of].
func collectionOf[T pointer](e *Engine) *CollectionOf[T] {
	k, ok := e.collections[structOf[T]()].(*CollectionOf[T])
	if !ok {
		panic(fmt.Sprintf("%s: no collection of %s is declared", e.Service, structOf[T]()))
	}
	return k
}

// shared reports whether several relations have the joining table, each with a column of its own.
func (e *Engine) shared(joining string) bool {
	relations := 0
	for _, r := range e.relations {
		if r.table == joining {
			relations++
		}
	}
	return relations > 1
}

// TenantOf returns the tenant in which a request acts, after Enter ran for it. It is called outside of a transaction, or in that of
// several operations, which act in one tenant.
func (e *Engine) TenantOf(ctx context.Context, r *rest.Request) (string, error) {
	if tx := transactionOf(ctx); tx != nil && tx.tenant != "" {
		return tx.tenant, nil
	}
	scope, err := tenant.Of(ctx, e.DB, r)
	if err != nil || e.Enter == nil {
		return scope, err
	}
	return scope, e.Enter(ctx, r, scope)
}

// begin returns the tenant in which a request acts, and its body. A caller who may not act there is refused before the body is
// read.
func (e *Engine) begin(ctx context.Context, r *rest.Request) (scope string, sent rest.Object, err error) {
	if scope, err = e.TenantOf(ctx, r); err != nil {
		return "", sent, err
	}
	sent, err = r.Object()
	return scope, sent, err
}

// transaction is a transaction of the engine, with the work to do after it has committed.
type transaction struct {
	conn store.Conn
	// tenant is the one that all requests in it act in, if they are several.
	tenant    string
	committed []func()
	events    []Event
	counted   int // how many changes of counted collections it makes
	audit     *audit.Batch
	// knows is what it need not ask the database.
	knows knowledge
	// most is how many objects there may be in knows.made, or 0.
	most int
}

// maxMade is how many objects one request makes. All others wait for SQLite's only writer meanwhile, which must not take longer than they
// can wait. An import writes in pieces instead.
const maxMade = 100

// bound keeps what follows in the transaction of ctx from making more than maxMade objects, until the returned function is called. In a
// request that is one of several, it bounds all of them.
func bound(ctx context.Context) func() {
	tx := transactionOf(ctx)
	if tx.most > 0 {
		return func() {}
	}
	tx.most = len(tx.knows.made) + maxMade
	return func() { tx.most = 0 }
}

// mayMake refuses another object in the transaction of ctx.
func mayMake(ctx context.Context) error {
	if tx := transactionOf(ctx); tx.most > 0 && len(tx.knows.made) >= tx.most {
		return apierr.New(apierr.Invalid, "A request makes at most %d objects: send several", maxMade)
	}
	return nil
}

type transactionKey struct{}

// transactionOf returns the transaction of ctx, or nil.
func transactionOf(ctx context.Context) *transaction {
	tx, _ := ctx.Value(transactionKey{}).(*transaction)
	return tx
}

// InTx runs fn in one transaction, in which the collections' Insert, Update and Delete may be called any number of times. Their
// work for after the commit is done before InTx returns. fn may run again. If ctx is in such a transaction already, fn is a part
// of it: an error must end the whole, or be within [Attempt].
func (e *Engine) InTx(ctx context.Context, fn func(ctx context.Context, c store.Conn) error) error {
	return e.inTenant(ctx, "", fn)
}

// PieceTime is after how long a transaction begins nothing more that is one piece of a long work: nobody should wait longer than 200 ms for
// SQLite's only writer.
const PieceTime = 50 * time.Millisecond

// InPieces runs fn until it returns 0, several times in each of several transactions, between which others write. Each is committed: who
// undoes nothing may be interrupted between two.
func (e *Engine) InPieces(ctx context.Context, fn func(ctx context.Context, c store.Conn) (int, error)) error {
	for done := false; !done; {
		if err := e.InTx(ctx, func(ctx context.Context, c store.Conn) error {
			for began := time.Now(); ; {
				n, err := fn(ctx, c)
				if done = n == 0; err != nil || done || time.Since(began) > PieceTime {
					return err
				}
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// inTenant is InTx for several requests that act in one tenant.
func (e *Engine) inTenant(ctx context.Context, tenantUUID string, fn func(ctx context.Context, c store.Conn) error) error {
	return e.inTxOf(ctx, e.DB, tenantUUID, fn)
}

// Try runs fn as InTx does, in a copy of the engine's database, and keeps nothing of it.
func (e *Engine) Try(ctx context.Context, scratch store.DB, fn func(ctx context.Context, c store.Conn) error) error {
	err := e.inTxOf(ctx, scratch, "", func(ctx context.Context, c store.Conn) error {
		if err := fn(ctx, c); err != nil {
			return err
		}
		return errUndo
	})
	if errors.Is(err, errUndo) {
		return nil
	}
	return err
}

func (e *Engine) inTxOf(ctx context.Context, db store.DB, tenantUUID string, fn func(ctx context.Context, c store.Conn) error) error {
	if outer := transactionOf(ctx); outer != nil {
		return fn(ctx, outer.conn)
	}
	var tx *transaction
	err := db.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		tx = &transaction{conn: c, tenant: tenantUUID}
		ctx, tx.audit = audit.Collecting(context.WithValue(ctx, transactionKey{}, tx))
		if err := fn(ctx, c); err != nil {
			return err
		}
		return tx.audit.Flush(ctx, c)
	})
	if err != nil {
		return err
	}
	for _, committed := range tx.committed {
		committed()
	}
	if e.Notify != nil && len(tx.events) > 0 {
		e.Notify(tx.events)
	}
	e.addUp(ctx, tx.counted)
	return nil
}

// inReadTx runs fn in a transaction that reads, or in the one that ctx is in.
func (e *Engine) inReadTx(ctx context.Context, fn func(ctx context.Context, c store.Conn) error) error {
	if outer := transactionOf(ctx); outer != nil {
		return fn(ctx, outer.conn)
	}
	return e.DB.InReadTx(ctx, fn)
}

// Attempt runs fn as a part of the transaction of ctx. If fn fails, that part is undone, with its work for after the commit, and the
// caller decides whether to continue. It must not where fn's error is no refusal: see [store.Attempt].
func Attempt(ctx context.Context, c store.Conn, fn func() error) error {
	tx := transactionOf(ctx)
	committed, events := len(tx.committed), len(tx.events)
	err := tx.audit.Attempt(func() error { return store.Attempt(ctx, c, fn) })
	if err != nil {
		tx.committed, tx.events = tx.committed[:committed], tx.events[:events]
		tx.knows.found = nil
	}
	return err
}

// AfterCommit registers fn to run after the transaction of ctx, which is an engine's, has committed. It must not block.
func AfterCommit(ctx context.Context, fn func()) {
	tx := transactionOf(ctx) // writing without Engine.InTx is a mistake that every test sees
	tx.committed = append(tx.committed, fn)
}

// emit registers the event for Notify, after the transaction of ctx has committed.
func emit(ctx context.Context, event Event) {
	tx := transactionOf(ctx)
	tx.events = append(tx.events, event)
}

// Style holds the differences between the services. Each service sets it once, in its description.
type Style struct {
	// Filtered lists have `filtered`, and their total counts all objects of the tenant; without it, total counts the matches of
	// the search and the filters.
	Filtered bool
	// CreateStatus is the status of a successful POST.
	CreateStatus int
	// UpdateReply makes PUT return 200 with the object instead of 204.
	UpdateReply bool
	// Location sends the new object's path on create, and lists it in `links` of every object. T embeds Hrefs.
	Location bool
	// SearchWords lets a search of several words match with anything between them.
	SearchWords bool
	// Duplicate is the kind of error for a duplicate, or for deleting an object that others refer to.
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
