package crud

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Resource declares one collection of objects of type T. From it come the routes, the required accesses, the
// SQL, the validation and the definition. See doc.go for T's struct tags.
type Resource[T any] struct {
	// Path is the collection's, without slashes around: "users", "endpoints/sip".
	Path string
	// Singular is what one is called: "user". Param is its path parameter: "user_id". Title is what refusals call it, where that is
	// not the singular: "CustomEndpoint".
	Singular string
	Param    string
	Title    string
	// Rel is what an object's links call it; by default the path, with _ for the slashes and hyphens.
	Rel   string
	Table string
	// Keys are the columns that a path may name an object by; what was typed decides which. The first is the
	// one that links use, and that ends every order.
	Keys []string
	// Names are columns of text that a path may name an object by too, and that are unique within one tenant alone: they are
	// looked for in the tenant that the request acts in, and in what is shared with it.
	Names []string
	// Owner is the column of the tenant that has a row; "tenant_uuid" unless it is set.
	Owner string
	// Scope says who has the objects, where it is not a tenant each.
	Scope Scope
	// Subtree makes lists show, without being asked, what the tenants below have.
	Subtree bool
	// Order are the columns that a list may be sorted by, the default first; Search those that a term is looked for
	// in; Filters those that a query may fix. Each is a column of T, or one of Virtual.
	Order, Search, Filters []string
	// Virtual are SQL expressions of type text over the table's columns, by name: {"fullname": "firstname || ' ' || lastname"}.
	Virtual map[string]string
	// Aliases are further names of filters on columns.
	Aliases map[string]string
	// Several are those of the filters, on UUIDs, that take several values.
	Several []string
	// Shown are columns that Present shows otherwise than they are stored, as SQL expressions over the table's columns, in which
	// %[1]s is the placeholder of the tenant that reads: what is filtered and sorted by is what is shown.
	Shown map[string]string
	// Matches are filters of another kind than a column's value, by name; Filters lists them too.
	Matches map[string]Match
	// Views are other forms of a list's objects, which the query parameter `view` names. It is refused when it names none; where
	// Views is nil there is no such parameter.
	Views map[string]View[T]
	// ReadViews are other forms of one object, which the query parameter `view` of its GET names: each changes the object that is shown.
	ReadViews map[string]func(ctx context.Context, c store.Conn, object *T) error
	// Query are further query parameters of operations, by the names that Only has. The hooks read them from Change.Request.
	Query map[string][]rest.Parameter
	// Only limits the operations to those named: list, create, read, update, delete. Empty: all.
	Only []string
	// SearchText is a column, no field of T, in which the database itself keeps the folded text of all that is to be
	// searched, with U+0001 between its parts. `search` looks there too, and such a column can have an index.
	SearchText string
	// Found are queries of the first keys of those objects that `search` finds by what is in other tables; %s is the placeholder of the
	// folded pattern. Each is a query of its own, so that it can use an index of its own.
	Found []string
	// Shared is a further condition under which a row can be read from outside its tenant; %s is the scope's placeholder.
	Shared string
	// Readable is a further condition for the rows that a request may read, whose arguments it adds; nil: there is none.
	Readable func(r *rest.Request, add func(value any) (placeholder string)) string

	// The hooks may all be nil. Those that take a Conn run in the transaction, and may run again with it.

	// Receive runs before the transaction of a create or an update, for what is slow.
	Receive func(ctx context.Context, change *Change[T]) error
	// Prepare runs before Validate, on create and on every update: it fills in what the server decides, and gives what was sent its
	// stored form. It alone changes Change.New, of whose fixed columns the engine undoes its changes on an update.
	Prepare func(ctx context.Context, c store.Conn, change *Change[T]) error
	// Validate refuses, on create and on every update, what the schema cannot. It only looks: it is given a copy of the object.
	Validate func(ctx context.Context, c store.Conn, change *Change[T]) error
	// Save writes, after the row, what is kept in other tables. Like all hooks after it, it leaves the object as it is.
	Save func(ctx context.Context, c store.Conn, change *Change[T]) error
	// Guard refuses a delete, and notes what is to be known of the object before it is gone.
	Guard func(ctx context.Context, c store.Conn, change *Change[T]) error
	// Load fills in the fields that are no columns, of all the objects, of which there are 1000 at most, with one query each.
	Load func(ctx context.Context, c store.Conn, objects []*T) error
	// Beside are what an object has in other tables and is its own, each by the column that refers to the object. They are filled in before
	// Load, and not asked for where there is nothing.
	Beside []Beside[T]
	// Present adapts objects to the tenant that reads them, after Load. It has no effect on what is stored.
	Present func(ctx context.Context, c store.Conn, tenant string, objects []*T) error
	// Changed is the last in the transaction; Committed runs after the commit, before the reply.
	Changed   func(ctx context.Context, c store.Conn, change *Change[T]) error
	Committed func(change *Change[T])
}

// Scope says who has the objects of a collection.
type Scope int

const (
	// PerTenant says that each object belongs to one tenant, in its column tenant_uuid.
	PerTenant Scope = iota
	// Global objects are everybody's to read, and the master tenant's to write.
	Global
	// Master objects are the master tenant's alone, to read too.
	Master
)

// tenantColumn has the tenant that an object belongs to.
const tenantColumn = "tenant_uuid"

// Change is one create (Old is nil), update, or delete (New is nil).
type Change[T any] struct {
	Request *rest.Request
	// Sent is what the client sent; it knows null from absent.
	Sent rest.Object
	// Tenant is the one that the request acts in.
	Tenant   string
	Old, New *T
	// Carry is what one hook leaves for a later one.
	Carry any
}

// Beside is what objects have of their own in another table.
type Beside[T any] struct {
	// From is the table, and By its column that refers to the first key.
	From, By string
	// Load fills it in, of all the objects, of which there are 1000 at most, with one query; Blank where there is none.
	Load  func(ctx context.Context, c store.Conn, objects []*T) error
	Blank func(o *T)
}

// View is another form of a list's objects.
type View[T any] func(ctx context.Context, c store.Conn, objects []*T) (items any, err error)

// Match is a filter by what an object is joined with.
type Match struct {
	// Condition holds for the rows that match; %s is the placeholder of what was typed, %[1]s where it stands twice.
	Condition string
	// Of is the table of what a UUID names, where that has a tenant: what the request's tenant cannot see matches nothing.
	Of string
	// Type says what can match anything: "uuid", "integer", or "date-time" as RFC 3339 writes it. Any text can when it is empty.
	Type string
}

// matchKinds are the types of a Match.
var matchKinds = map[string]kind{"": text, "uuid": identifier, "integer": integer, "date-time": other}

// on makes the resource ready.
func (r Resource[T]) on(e *Engine) *Collection[T] {
	k := &Collection[T]{Resource: r, engine: e, columns: columnsOf(reflect.TypeFor[T]()), byName: map[string]column{}, schema: rest.SchemaOf[T]()}
	for name, expression := range r.Virtual {
		k.byName[name] = column{name: "(" + expression + ")", kind: text, virtual: true}
	}
	for i := range k.columns {
		c := &k.columns[i]
		name := c.name
		if c.computed {
			if r.Virtual[name] == "" {
				panic(fmt.Sprintf("%s computes %q, which Virtual does not have", r.Path, name)) // a mistake in the declaration, seen at every start
			}
			c.name, c.virtual = "("+r.Virtual[name]+")", true
		}
		k.byName[name] = *c
	}
	if k.Owner == "" {
		k.Owner = tenantColumn
	}
	if k.Rel == "" {
		k.Rel = flat(r.Path)
	}
	for alias, name := range r.Aliases {
		k.byName[alias] = k.byName[name]
	}
	k.check()
	k.list = rest.ListSpec{Order: r.Order, Filters: r.Filters, Several: r.Several, Recurse: !r.Subtree && r.Scope == PerTenant}
	if r.Views != nil {
		k.list.Views = slices.AppendSeq([]string{}, maps.Keys(r.Views))
		slices.Sort(k.list.Views)
	}
	for _, b := range r.Beside {
		k.beside = append(k.beside, loader{
			from: b.From, by: b.By,
			load: func(ctx context.Context, c store.Conn, _ string, objects any) error {
				return b.Load(ctx, c, objects.([]*T))
			},
			blank: func(objects any) {
				for _, o := range objects.([]*T) {
					b.Blank(o)
				}
			},
		})
	}
	k.queries = sync.OnceValue(k.makeQueries)
	k.pictured = picturedOf(k.schema, k.columns)
	k.refs = refsOf(k.columns, false)
	k.ownerRefs = refsOf(k.columns, true)
	return k
}

func (k *Collection[T]) readViews() []string { return slices.Sorted(maps.Keys(k.ReadViews)) }

// check panics over a mistake in the declaration, which is seen at every start.
func (k *Collection[T]) check() {
	for _, name := range slices.Concat(k.Order, k.Search, k.Filters, k.Keys, k.Names) {
		if _, ok := k.byName[name]; !ok && k.Matches[name].Condition == "" {
			panic(fmt.Sprintf("%s has no column %q", k.Path, name))
		}
	}
	for _, c := range k.columns {
		if _, ok := k.byName[c.of]; c.of != "" && !ok {
			panic(fmt.Sprintf("%s makes %q of %q, which it does not have", k.Path, c.name, c.of))
		}
	}
	for name, m := range k.Matches {
		if _, ok := matchKinds[m.Type]; !ok {
			panic(fmt.Sprintf("%s: the filter %s has no type %q", k.Path, name, m.Type))
		}
	}
}

func (k *Collection[T]) operations() []rest.Operation {
	e, r := k.engine, &k.Resource
	one := "/" + r.Path + "/{" + r.Param + "}"
	plural := flat(r.Path)
	updated := http.StatusNoContent
	var updateReply *rest.Schema
	if e.Style.UpdateReply {
		updated, updateReply = http.StatusOK, k.schema
	}
	all := map[string]rest.Operation{
		"list": {
			Method: http.MethodGet, Path: "/" + r.Path, ID: "list_" + plural, Summary: "List " + spaced(plural),
			Query: k.list.Parameters(), Success: http.StatusOK, Reply: rest.ListOf(k.schema, e.Style.Filtered), Handle: k.serveList,
		},
		"create": {
			Method: http.MethodPost, Path: "/" + r.Path, ID: "create_" + r.Singular, Summary: "Create a " + spaced(r.Singular),
			Body: k.schema, Success: e.Style.CreateStatus, Reply: k.schema, Statuses: []int{int(e.Style.Duplicate)}, Handle: k.create,
		},
		"read": {
			Method: http.MethodGet, Path: one, ID: "get_" + r.Singular, Summary: "Read a " + spaced(r.Singular),
			Query: rest.ViewParameter(k.readViews(), "Another form of the object."), Success: http.StatusOK, Reply: k.schema, Statuses: []int{404}, Conditional: true, Handle: k.read,
		},
		"update": {
			Method: http.MethodPut, Path: one, ID: "update_" + r.Singular, Summary: "Update a " + spaced(r.Singular),
			Description: "Fields that are not sent stay as they are.",
			Body:        k.schema.Partial(), Success: updated, Reply: updateReply,
			Statuses: []int{404, 412, int(e.Style.Duplicate)}, Handle: k.update,
		},
		"delete": {
			Method: http.MethodDelete, Path: one, ID: "delete_" + r.Singular, Summary: "Delete a " + spaced(r.Singular),
			Success: http.StatusNoContent, Statuses: []int{404, 412}, Handle: k.remove,
		},
	}
	var out []rest.Operation
	for _, name := range []string{"list", "create", "read", "update", "delete"} {
		if len(r.Only) > 0 && !slices.Contains(r.Only, name) {
			continue
		}
		op := all[name]
		op.Tag, op.Tenanted = plural, true
		op.Query = slices.Concat(op.Query, r.Query[name])
		op.Access = accessOf(e.Service, op.Path, name)
		out = append(out, op)
	}
	return out
}

// accessOf is the documented access of a path: service, segments, action.
func accessOf(service, path, name string) string {
	action := name
	if name == "list" {
		action = "read"
	}
	return service + strings.ReplaceAll(path, "/", ".") + "." + action
}

// flat is a path as a name of one word.
func flat(path string) string { return strings.NewReplacer("/", "_", "-", "_").Replace(path) }

func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// title is a name as it begins a sentence.
func title(name string) string {
	name = spaced(name)
	return strings.ToUpper(name[:1]) + name[1:]
}
