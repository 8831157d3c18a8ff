package declaration

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Base is what all collections of a service have in common.
type Base struct {
	// Service is the first word of the accesses: "confd". Prefix is the path under which it is served.
	Service string
	Prefix  string
	DB      store.DB
	Style   Style
	// Words say how people read the names of resources, as those of [rest.Service.Words] do: operations tell by them what they do.
	Words map[string]string
}

// Entity is what a resource is, whatever the type of its objects is: its names, its table, and what its struct's tags say. Where it has a
// field of the name of one of [Resource], the field means the same, and has its default. Its methods take objects of the resource.
type Entity struct {
	*Base

	Path, Singular, Param, Title, Rel, About string
	Table, Owner, MadeAs                     string
	Keys, Names, Only, Nested, Search, Lists []string
	Known                                    map[string]string
	Scope                                    Scope
	Subtree                                  bool

	// Of is the type of the objects, and Columns those of their fields that are stored in the table.
	Of      reflect.Type
	Columns []Column
	byName  map[string]Column
	// Schema is that of an object, and Partial that of an update of the object alone.
	Schema, Partial *rest.Schema
	// List is how a list may be asked for.
	List rest.ListSpec
	// Refs are the columns that refer to other objects by the tag `ref`: "contexts.name" is the collection and the column of a value that must
	// exist for the tenant. OwnerRefs are those with the tag owner:"true": the object belongs to the tenant of what it refers to.
	Refs, OwnerRefs []Column
	// Searches says that a search looks somewhere.
	Searches bool
	// KeptBeside are the tables of Beside, with the columns that refer to objects.
	KeptBeside map[string][]string
	// ReadBy is the access to read each of the objects, if that names none: "" is that of its path.
	ReadBy string
	// Document says that all keys together name an object.
	Document bool
}

// Actions are the operations of a collection, by the names that Only has, in their order.
var Actions = []string{"list", "create", "read", "update", "delete"}

// Model is a [Resource] as it was prepared once, when the service is described.
type Model[T Pointer] struct {
	*Entity
	declared[T]
	// MatchSQL and FoundSQL are the SQL of Matches and of Found.
	MatchSQL map[string]SQL
	FoundSQL []SQL
}

// declared is the resource as it was declared. It is embedded one level below the entity, whose names come first.
type declared[T Pointer] struct{ Resource[T] }

// Prepare prepares a resource. It panics if the declaration has a mistake, which every start reports.
func Prepare[T Pointer](base *Base, r Resource[T]) *Model[T] {
	of := StructOf[T]()
	k := &Model[T]{
		declared: declared[T]{r},
		Entity: &Entity{
			Base: base, Path: r.Path, Singular: r.Singular, Param: r.Param, Title: r.Title,
			Rel: cmp.Or(r.Rel, Underscored(r.Path)), Table: r.Table, Owner: cmp.Or(r.Owner, TenantColumn), MadeAs: r.MadeAs,
			Keys: r.Keys, Names: r.Names, Known: r.Known, Scope: r.Scope, About: r.About, Lists: r.Lists,
			Of: of, Columns: slices.Clone(ColumnsOf(of)), byName: map[string]Column{}, Schema: rest.SchemaFor(of),
			Only: r.Only, Nested: r.Nested, Search: r.Search, Subtree: r.Subtree,
			Searches: len(r.Search) > 0 || r.SearchText != "" || len(r.Found) > 0, KeptBeside: map[string][]string{},
		},
	}
	if len(k.Only) == 0 {
		k.Only = Actions
	}
	for _, b := range r.Beside {
		k.KeptBeside[b.From] = append(slices.Sorted(maps.Keys(b.Refers)), b.By)
	}
	for name, expression := range r.Virtual {
		reads := ParseSQL("(" + expression + ")")
		k.byName[name] = Column{Name: reads.Plain, Kind: Text, Virtual: true, Reads: reads}
	}
	for i := range k.Columns {
		c := &k.Columns[i]
		name := c.Name
		if c.Computed {
			if r.Virtual[name] == "" {
				panic(fmt.Sprintf("%s computes %q, which Virtual does not have", r.Path, name))
			}
			c.Reads, c.Virtual = k.byName[name].Reads, true
			c.Name = c.Reads.Plain
		}
		switch k.byName[name] = *c; {
		case c.Ref == "":
		case c.Owns:
			k.OwnerRefs = append(k.OwnerRefs, *c)
		default:
			k.Refs = append(k.Refs, *c)
		}
	}
	for alias, name := range r.Aliases {
		k.byName[alias] = k.mustHave(name)
	}
	k.check()
	if k.Title == "" {
		k.Title = Capitalized(r.Singular)
	}
	k.List = rest.ListSpec{Order: r.Order, Filters: r.Filters, Several: r.Several, Recurse: !r.Subtree && r.Scope == PerTenant}
	k.List.Docs, k.List.Formats = map[string]string{}, map[string]string{}
	for name, match := range r.Matches {
		k.List.Docs[name] = match.Doc
		if match.Type == "date-time" {
			k.List.Formats[name] = match.Type
		}
	}
	for _, name := range r.Filters {
		if k.byName[name].Kind == Boolean {
			k.List.Booleans = append(k.List.Booleans, name)
		}
	}
	k.List.Views, k.List.ViewItems = slices.Sorted(maps.Keys(r.Views)), map[string]*rest.Schema{}
	for name, view := range r.Views {
		k.List.ViewItems[name] = view.Item
	}
	k.MatchSQL = map[string]SQL{}
	for name, m := range r.Matches {
		k.MatchSQL[name] = ParseSQL(m.Condition)
	}
	for _, f := range r.Found {
		k.FoundSQL = append(k.FoundSQL, ParseSQL(f.Query))
	}
	k.Partial = k.Schema.Partial()
	return k
}

// Reads returns the SQL of the declaration that may read other tables.
func (k *Model[T]) Reads() []SQL {
	out := slices.Clone(k.FoundSQL)
	for _, name := range slices.Sorted(maps.Keys(k.Virtual)) {
		out = append(out, k.byName[name].Reads)
	}
	for _, name := range slices.Sorted(maps.Keys(k.Matches)) {
		out = append(out, k.MatchSQL[name])
	}
	return out
}

// check panics if the declaration has a mistake.
func (k *Model[T]) check() {
	if k.MadeAs != "" {
		k.mustHave(k.MadeAs)
	}
	for _, name := range slices.Concat(k.Order, k.Search, k.Keys, k.Names, k.Several, slices.Collect(maps.Keys(k.Shown))) {
		k.mustHave(name)
	}
	for _, name := range k.Filters {
		if k.Matches[name].Condition == "" {
			k.mustHave(name)
		}
	}
	for _, c := range k.Columns {
		if _, ok := k.byName[c.Of]; c.Of != "" && !ok {
			panic(fmt.Sprintf("%s makes %q of %q, which it does not have", k.Path, c.Name, c.Of))
		}
	}
	for _, b := range k.Beside {
		if len(b.Refers) > 0 && b.Changes == "" && b.Loses == nil {
			panic(fmt.Sprintf("%s: %s refers to other objects, and nothing says who may lose that", k.Path, b.From))
		}
	}
	for name, m := range k.Matches {
		if _, ok := MatchKinds[m.Type]; !ok {
			panic(fmt.Sprintf("%s: the filter %s has no type %q", k.Path, name, m.Type))
		}
	}
}

// mustHave returns a column that the declaration names.
func (k *Entity) mustHave(name string) Column {
	c, ok := k.byName[name]
	if !ok {
		panic(fmt.Sprintf("%s has no column %q", k.Path, name))
	}
	return c
}

// Alias returns the name by which a statement knows the table, which may be a query in parentheses and its name.
func (k *Entity) Alias() string { return k.Table[strings.LastIndexByte(k.Table, ' ')+1:] }

// Owned reports whether tenants have the objects, which are in a table and not in a query.
func (k *Entity) Owned() bool { return k.Has(TenantColumn) && !strings.Contains(k.Table, " ") }

// Column returns the column of a name, which may be an expression. It is the zero column if there is none.
func (k *Entity) Column(name string) Column { return k.byName[name] }

// Has reports whether there is a column of a name.
func (k *Entity) Has(name string) bool { _, ok := k.byName[name]; return ok }

// KeyColumn returns the column by which links name an object.
func (k *Entity) KeyColumn() Column { return k.byName[k.Keys[0]] }

// PathNames returns all columns by which a path can name an object.
func (k *Entity) PathNames() []string { return slices.Concat(k.Keys, k.Names) }

// OnePath is the path of one object.
func (k *Entity) OnePath() string { return "/" + k.Path + "/{" + k.Param + "}" }

// Field returns the value of a column's field. An [ID] is an int64, as where it comes from a request.
func (k *Entity) Field(o any, name string) any {
	field := reflect.ValueOf(o).Elem().FieldByIndex(k.byName[name].Index)
	if field.Type() == idType {
		return field.Int()
	}
	return field.Interface()
}

// Key returns the value of an object's first key.
func (k *Entity) Key(o any) any { return k.Field(o, k.Keys[0]) }

// GivesUUID reports whether objects have a uuid that neither clients nor the database choose.
func (k *Entity) GivesUUID() bool {
	col, sent := k.byName["uuid"], k.Schema.Property("uuid")
	return col.Kind == Identifier && !col.Generated && (sent == nil || sent.ReadOnly)
}

// Called returns the value by which links name an object.
func (k *Entity) Called(o any) any { return k.Field(o, cmp.Or(k.MadeAs, k.Keys[0])) }

// Set gives a column's field, of the value's kind, a value.
func (k *Entity) Set(o any, name string, value any) {
	field := reflect.ValueOf(o).Elem().FieldByIndex(k.byName[name].Index)
	field.Set(reflect.ValueOf(value).Convert(field.Type()))
}

// TenantOf returns the tenant that owns an object, or "" if none does.
func (k *Entity) TenantOf(o any) string {
	if !k.Has(TenantColumn) {
		return ""
	}
	owner, _ := k.Field(o, TenantColumn).(string)
	return owner
}

// Fixed reports whether a column never changes: it is one of the key, the tenant, the database's own, or set only on create.
func (k *Entity) Fixed(col Column) bool {
	return col.Fixed || col.Generated || col.Computed || col.Name == TenantColumn || col.Kind != Text && slices.Contains(k.Keys, col.Name)
}

// AttributeOf returns the name of an object's attribute that is the field, or that has it somewhere inside, or "".
func AttributeOf[O Pointer](field func(o O) any) string {
	o := Fresh[O]()
	place := reflect.ValueOf(field(o)).Pointer()
	schema := rest.SchemaFor(StructOf[O]())
	for i := range schema.Properties {
		p := &schema.Properties[i]
		if len(p.Index()) == 0 {
			continue
		}
		at := reflect.ValueOf(o).Elem().FieldByIndex(p.Index())
		if begins := at.Addr().Pointer(); begins <= place && place < begins+at.Type().Size() {
			return p.Name
		}
	}
	return ""
}

// Pointer is a pointer to a struct: the type of the objects of a resource. Go compiles generic code once for each shape of its type
// arguments, and all pointers have one, under a constraint that asks for no more than methods: forty resources take no more code than one.
// Where a comment speaks of an object or a field of T, it is what T points to.
type Pointer any

// StructOf returns the type that T points to.
func StructOf[T Pointer]() reflect.Type { return reflect.TypeFor[T]().Elem() }

// Fresh returns a pointer to a zero value of the type that T points to.
func Fresh[T Pointer]() T { return reflect.New(StructOf[T]()).Interface().(T) }

// Cloned returns a pointer to a copy of what o points to.
func Cloned[T Pointer](o T) T {
	out := Fresh[T]()
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(o).Elem())
	return out
}

// Null returns the null pointer.
func Null[T Pointer]() (nothing T) { return nothing }

// IsNull reports whether a pointer is null.
func IsNull[T Pointer](o T) bool { return any(o) == any(Null[T]()) }
