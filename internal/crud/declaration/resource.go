package declaration

import (
	"context"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Resource declares one collection of objects of type T. It gives the routes, the required accesses, the SQL, the validation and
// the definition. See doc.go for T's struct tags.
type Resource[T Pointer] struct {
	// Path is the collection's path, without leading and trailing slashes: "users", "endpoints/sip".
	Path string
	// Singular is the name of one object: "user". Param is its path parameter: "user_id". Title is its name in refusals, if that
	// is not the singular: "CustomEndpoint".
	Singular string
	Param    string
	Title    string
	// About says in a sentence what the objects are, and Lists names the attributes that people look for first in a list of them.
	About string
	Lists []string
	// Rel is the collection's name in an object's links; by default the path, with _ for the slashes and hyphens.
	Rel   string
	Table string
	// Keys are the columns by which a path may name an object; the form of the key in the path decides which. Links use the first
	// one, and every order ends with it.
	Keys []string
	// Names are text columns by which a path may also name an object, and which are unique only within a tenant: they are looked
	// up in the tenant in which the request acts, and in what is shared with it.
	Names []string
	// MadeAs is the text column whose value clients choose by the path of a create: that is a POST of the object's own path. The objects are
	// named by it in links, and in paths: it is among Names, or stands below what the objects belong to, as a child's name.
	MadeAs string
	// Known are words by which other paths than the engine's name an object, each with the boolean column that is true in it: {"main":
	// "main"}. What is denied under such a word is denied under the object's keys too.
	Known map[string]string
	// Owner is the column of the tenant that owns a row; "tenant_uuid" unless it is set.
	Owner string
	// Scope says who owns the objects, if each does not belong to one tenant.
	Scope Scope
	// Subtree makes lists include the objects of the tenants below without being asked.
	Subtree bool
	// Order are the columns by which a list may be sorted, the default first; Search those in which a term is looked for; Filters
	// those that a query may fix. Each is a column of T, or one of Virtual.
	Order, Search, Filters []string
	// Virtual are SQL expressions of type text over the table's columns, by name: {"fullname": "firstname || ' ' || lastname"}. They, Matches
	// and Found may read other tables: those of collections, of links, and of a Source. They stand in braces: see [SQL].
	Virtual map[string]string
	// Aliases are further names of filters on columns.
	Aliases map[string]string
	// Several are the filters, on UUIDs, that take several values.
	Several []string
	// Shown are columns that Present does not show as they are stored, as SQL expressions over the table's columns, in which
	// %[1]s is the placeholder of the tenant that reads: lists filter and sort by the values shown.
	Shown map[string]string
	// Matches are filters, by name, that do not compare a column; Filters lists them too.
	Matches map[string]Match
	// Views are other forms of a list's objects, which the query parameter `view` names. An unknown view is refused; if Views is
	// nil there is no such parameter.
	Views map[string]View[T]
	// Query are further query parameters of operations, by the names that Only has. The hooks read them from Change.Request.
	Query map[string][]rest.Parameter
	// Statuses are further refusals of operations, by the names that Only has: those of the hooks.
	Statuses map[string][]int
	// Nested are the attributes by which a client writes more than the object, in the order in which that is done: see [Nested].
	Nested []string
	// Only limits the operations to those named: list, create, read, update, delete. Empty: all.
	Only []string
	// SearchText is a column, not a field of T, in which the database itself keeps the folded text of everything to be searched,
	// with U+0001 between its parts. `search` looks there too. Its table has a @search_index, with the key if that is a number.
	SearchText string
	// Found are the data in other tables by which `search` finds objects. Each has a query of its own, so each can use its own index.
	Found []Elsewhere
	// SearchAlso returns a further condition for the rows that `search` finds: those of which people read something else than what is stored, or
	// what they belong to.
	// Parts are what follows one another in what is found: the folded term or, of a Style with SearchWords, its words. It adds its arguments. It
	// returns "" for none.
	SearchAlso func(ctx context.Context, parts []string, add func(value any) (placeholder string)) string
	// Shared is a further condition under which a row can be read from outside its tenant; %s is the scope's placeholder.
	Shared string
	// Counted says that the migration counts the table's rows, with @counted: the total of a list is then known without reading
	// them. It is for objects that belong to one tenant, of which a tenant may have very many.
	Counted bool
	// Preview, if set, gives DELETE the query parameter dry_run: nothing is deleted, and the reply says what would be. Guard does not run. Without it, the
	// reply says what leads to the object, if own data of other objects may: see Refers of [Beside].
	Preview *Preview[T]
	// Shrink, if set, runs before the transaction of a DELETE, unless that is of several operations. It deletes in short transactions of its
	// own what goes with an object that has much: others write between them. It refuses what the delete would refuse.
	Shrink func(ctx context.Context, change *Change[T]) error
	// Bounded is how many objects a list counts at most, or 0: its `total` and `filtered` are no larger. It is for collections that grow
	// without end, of which nobody reads the last page.
	Bounded int
	// Readable returns a further condition for the rows that a request may read, or change, and adds its arguments. If Readable is nil,
	// or returns "", there is no such condition.
	Readable func(r *rest.Request, add func(value any) (placeholder string)) string
	// Apart are attributes that clients also read by operations that were added to the engine, by the paths of these after the object's
	// key, as words of an access: "ranges.user". A caller who is denied to read one of them reads the attribute as if it was not set.
	// Parts and links have theirs without being asked.
	Apart map[string]func(o T) []string
	// Conceals are attributes that tell of other objects in their own words. It takes out of one what the caller of ctx is denied to know, and
	// reports whether there was any. The object is a copy, of which the attribute is replaced and not changed.
	Conceals map[string]func(ctx context.Context, o T) (bool, error)
	// Also returns the accesses by which a request could do the same with the object that its path names, by other paths than this
	// one, or parts of it. The gate has not checked them: a caller who is denied one of them is refused.
	Also func(r *rest.Request, object T) []string
	// Describe adapts an operation, by the names that Only has.
	Describe func(action string, op *rest.Operation)
	// Audited changes how the audit names an object which not everybody may read who may read the collection's: as a part of another.
	Audited func(object T, a *audit.Change)

	// All hooks may be nil. Those that take a Conn run in the transaction, and may run again with it.

	// Receive runs before the transaction of a create or an update, for slow work.
	Receive func(ctx context.Context, change *Change[T]) error
	// Prepare runs before Validate, on create and on every update. It fills in the fields that the server decides, and normalizes
	// what was sent. It is the only hook that may change Change.New; on an update the engine undoes its changes of fixed columns.
	Prepare func(ctx context.Context, c store.Conn, change *Change[T]) error
	// Validate refuses, on create and on every update, what the schema cannot. It changes nothing: it gets a copy of the object.
	Validate func(ctx context.Context, c store.Conn, change *Change[T]) error
	// Save writes the data in other tables, after the row. Like all later hooks, it does not change the object.
	Save func(ctx context.Context, c store.Conn, change *Change[T]) error
	// Guard refuses a delete, and reads what later hooks need of the object before it is gone.
	Guard func(ctx context.Context, c store.Conn, change *Change[T]) error
	// Load fills in the fields that are not columns, for at most 1000 objects at a time, with one query each.
	Load func(ctx context.Context, c store.Conn, objects []T) error
	// Beside are an object's own data in other tables, each by the column that refers to the object. They are filled in before
	// Load, not queried if there are no rows, and written before Save.
	Beside []Beside[T]
	// Present adapts objects to the tenant that reads them, after Load and with their links. It has no effect on stored data.
	Present func(ctx context.Context, c store.Conn, tenant string, objects []T) error
	// Changed runs last in the transaction. What it gives to transaction.AfterCommit runs after the commit, before the reply.
	Changed func(ctx context.Context, c store.Conn, change *Change[T]) error
}

// Scope says who owns the objects of a collection.
type Scope int

const (
	// PerTenant says that each object belongs to one tenant, in its column tenant_uuid.
	PerTenant Scope = iota
	// Global objects can be read by everybody, and written by the master tenant.
	Global
	// Master objects can be read and written only by the master tenant.
	Master
)

// TenantColumn is the column of the tenant that owns an object.
const TenantColumn = "tenant_uuid"

// Change is one create (Old is nil), update, or delete (New is nil).
type Change[T Pointer] struct {
	Request *rest.Request
	// Sent is what the client sent; it distinguishes null from absent.
	Sent rest.Object
	// Tenant is the tenant in which the request acts.
	Tenant   string
	Old, New T
	// Carry passes a value from one hook to a later one.
	Carry any
}

// Preview says what a delete would take with it.
type Preview[T Pointer] struct {
	Reply *rest.Schema
	// Show returns the reply, of that schema, or refuses what a delete would refuse.
	Show func(ctx context.Context, c store.Conn, change *Change[T]) (any, error)
}

// Beside is an object's own data in another table.
type Beside[T Pointer] struct {
	// From is the table, and By its column that refers to the first key.
	From, By string
	// Refers are columns of the table that refer to objects of other collections, each with the collection and its attribute that the
	// column has: {"user_id": "users.id"}. When such an object is deleted, the database deletes the row, or sets the column to null.
	Refers map[string]string
	// Changes is the action, below an object, that changes what the rows say: who is denied it for an object may not delete what a row of it
	// refers to. Loses refuses that instead, where the rows have accesses of their own: those of which a column has a value.
	Changes string
	Loses   func(ctx context.Context, c store.Conn, r *rest.Request, column string, value any) error
	// Load fills it in for at most 1000 objects, with one query; Blank fills it in if there are no rows.
	Load  func(ctx context.Context, c store.Conn, objects []T) error
	Blank func(o T)
	// Save writes it, if Save of the resource does not.
	Save func(ctx context.Context, c store.Conn, change *Change[T]) error
}

// Among returns the condition for a key to be that of an object with rows for which a condition holds.
func (b *Beside[T]) Among(key, condition string) string {
	return key + " IN (SELECT " + b.By + " FROM " + b.From + " WHERE " + condition + ")"
}

// View is another form of a list's objects.
type View[T Pointer] struct {
	// Item describes an item, for the definition.
	Item *rest.Schema
	// Of are the attributes that items are made of: linked objects in other attributes are not loaded.
	Of []string
	// Show makes the items: a slice.
	Show func(ctx context.Context, c store.Conn, objects []T) (items any, err error)
}

// Elsewhere finds objects by data in another table.
type Elsewhere struct {
	// Query selects the first keys of the objects. %s is the condition that a row of Table has the term in its search_text. The table,
	// whose key is id, is x in the query.
	Query, Table string
	// Characters are all that the data has, folded. A term with another one takes no query. Empty: any.
	Characters string
}

// Match is a filter by joined data.
type Match struct {
	// Condition holds for the matching rows; %s is the placeholder of the client's value, %[1]s if it is used twice. %[2]s is the condition
	// for the table's search index to have the value, which it has wherever a text has it that Condition compares.
	Condition string
	// Doc describes the filter, unless its value is that of an attribute.
	Doc string
	// Of is the table of the object that a UUID names, if it belongs to a tenant: an object that the request's tenant cannot see
	// matches nothing.
	Of string
	// Type is the type of the value: "uuid" or "integer", of which a value of another form matches nothing, or "date-time" as RFC 3339
	// writes it, of which it is refused. If it is empty, any text may match.
	Type string
	// Several says that the value may be several texts, with commas in between: %s is the list of their placeholders.
	Several bool
	// Fold, if set, returns a value as it is stored.
	Fold func(typed string) string
}

// MatchKinds are the types of a Match, by their names.
var MatchKinds = map[string]ColumnKind{"": Text, "uuid": Identifier, "integer": Integer, "date-time": Other}
