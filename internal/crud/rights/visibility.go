package rights

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/store"
)

// What the SQL of declarations reads in other tables is read without what the caller may not know of: see [declaration.SQL].

// Source declares a table, or a view, that is neither a collection's nor a link's, and that SQL of declarations reads.
type Source struct {
	Table string
	// Refers are the table's columns that have the first key of an object, each with the path of its collection: {"user_id": "users"}. Rows
	// with an object that the caller is denied to read are left out. A collection that is not declared has no objects.
	Refers map[string]string
	// Query is what a view selects; the tables that it reads are treated in the same way. Refers is then about the view's columns.
	Query string
}

// Registry knows all objects of a service, and the tables that SQL of their declarations reads.
type Registry struct {
	base    *declaration.Base
	conn    func(ctx context.Context) store.Conn
	byPath  map[string]*Objects
	sources []Source
	origins map[string]origin
	// named are the attributes by which refusals name objects, "contexts.id" by "context_id".
	named map[string][]string
}

// Hides reports whether the caller of ctx is denied to read any object of a collection.
func (e *Registry) Hides(ctx context.Context, path string) bool {
	t := e.byPath[path]
	return t.denied(ctx, t.Table, (&query.Arguments{}).Add) != ""
}

// NewRegistry returns a registry. conn returns the connection that a context reads by.
func NewRegistry(base *declaration.Base, conn func(ctx context.Context) store.Conn) *Registry {
	return &Registry{base: base, conn: conn, byPath: map[string]*Objects{}, named: map[string][]string{}}
}

// Register adds the objects of a collection.
func (e *Registry) Register(k *Objects) {
	e.byPath[k.Path] = k
	for _, key := range k.PathNames() {
		e.Name(k.Singular+"_"+key, k.Path+"."+key)
		e.Name(k.Param[:strings.LastIndexByte(k.Param, '_')+1]+key, k.Path+"."+key)
	}
	for _, col := range slices.Concat(k.OwnerRefs, k.Refs) {
		e.Name(col.Name, col.Ref)
	}
}

// Name says that refusals name objects by a key under this name: ref is the collection and the key, "contexts.id".
func (e *Registry) Name(name, ref string) {
	if !slices.Contains(e.named[name], ref) {
		e.named[name] = append(e.named[name], ref)
	}
}

// Reads declares a source.
func (e *Registry) Reads(s Source) { e.sources = append(e.sources, s) }

// Hidden returns the condition for the rows of a table that the caller of ctx may not know of, or "" if there are none. of is the name of
// the table in the statement; add adds a value.
type Hidden func(ctx context.Context, of string, add func(value any) (placeholder string)) string

// origin is a table that SQL of the declarations reads.
type origin struct {
	query   declaration.SQL // of a view
	objects *Objects        // of a collection
	hidden  []Hidden
}

// SQL returns SQL as it is for the caller of ctx: it reads no object, and no link, that the caller is denied to read.
func (e *Registry) SQL(ctx context.Context, sql declaration.SQL, add func(value any) (placeholder string)) string {
	if len(sql.Pieces) == 1 || restricted(ctx) == nil {
		return sql.Plain
	}
	var out strings.Builder
	for i, piece := range sql.Pieces {
		if i%2 == 1 {
			piece = e.visibleTable(ctx, piece, add)
		}
		out.WriteString(piece)
	}
	return out.String()
}

// Visible returns a statement, written as [declaration.SQL], as it is for the caller of ctx, with its arguments.
func (e *Registry) Visible(ctx context.Context, sql string, args ...any) (statement string, all []any) {
	with := query.Arguments{Values: slices.Clip(args)}
	return e.SQL(ctx, declaration.ParseSQL(sql), with.Add), with.Values
}

// visibleTable returns a table of [Registry.SQL], as an operand of FROM.
func (e *Registry) visibleTable(ctx context.Context, table string, add func(value any) (placeholder string)) string {
	if whole, ok := strings.CutPrefix(table, "+"); ok {
		return whole
	}
	if named, ok := strings.CutPrefix(table, "="); ok {
		return e.visibleName(ctx, named, add)
	}
	table, below, _ := strings.Cut(table, " ")
	from, rows := e.origins[table], table
	var hidden []string
	for _, hides := range from.hidden {
		if condition := hides(ctx, table, add); condition != "" {
			hidden = append(hidden, "("+condition+")")
		}
	}
	for path := range strings.FieldsSeq(below) {
		if condition := from.objects.deniedBy(ctx, table, path, add); condition != "" {
			hidden = append(hidden, "("+condition+")")
		}
	}
	if len(from.query.Pieces) > 1 {
		rows = "(" + e.SQL(ctx, from.query, add) + ") AS " + table
	}
	if len(hidden) > 0 {
		return "(SELECT * FROM " + rows + " WHERE (" + strings.Join(hidden, " OR ") + ") IS NOT TRUE)"
	}
	return strings.TrimSuffix(rows, " AS "+table)
}

// visibleName returns a column that names objects, "contexts.name context", as it is without those that the caller of ctx is denied to read.
func (e *Registry) visibleName(ctx context.Context, named string, add func(value any) (placeholder string)) string {
	ref, column, _ := strings.Cut(named, " ")
	at := strings.LastIndexByte(ref, '.')
	of, declared := e.byPath[ref[:at]]
	if !declared || !of.Has(ref[at+1:]) {
		return column
	}
	denied := of.denied(ctx, of.Table, add)
	if denied == "" {
		return column
	}
	return "(CASE WHEN " + column + " IN (SELECT " + ref[at+1:] + " FROM " + of.Table + " WHERE " + denied + ") THEN NULL ELSE " + column + " END)"
}

// Check collects the tables of everything that was declared, with the joining tables of relations, and checks what the declarations read.
func (e *Registry) Check(joining map[string][]Hidden) {
	e.origins = map[string]origin{}
	add := func(table string, hides ...Hidden) {
		from := e.origins[table]
		from.hidden = append(from.hidden, hides...)
		e.origins[table] = from
	}
	for _, path := range slices.Sorted(maps.Keys(e.byPath)) {
		t := e.byPath[path]
		add(t.Table, t.denied)
		e.origins[t.Table] = origin{objects: t, hidden: e.origins[t.Table].hidden}
	}
	for table, hides := range joining {
		add(table, hides...)
	}
	for _, s := range e.sources {
		add(s.Table)
		for _, column := range slices.Sorted(maps.Keys(s.Refers)) {
			add(s.Table, func(ctx context.Context, of string, add func(value any) string) string {
				t, declared := e.byPath[s.Refers[column]]
				if !declared {
					return ""
				}
				return keyed(t.Entity, of+"."+column, t.denied(ctx, t.Table, add))
			})
		}
		from := e.origins[s.Table]
		from.query = declaration.ParseSQL(s.Query)
		e.origins[s.Table] = from
	}
	for _, s := range e.sources {
		e.mustKnow("the view "+s.Table, declaration.ParseSQL(s.Query))
	}
	for _, path := range slices.Sorted(maps.Keys(e.byPath)) {
		for _, sql := range e.byPath[path].reads {
			e.mustKnow(path, sql)
		}
		if name := e.byPath[path].findsApart(); name != "" {
			panic(fmt.Sprintf("%s finds objects by %s, which can be denied by a path of its own", path, name))
		}
	}
}

// mustKnow panics if SQL of a declaration reads a table that is not declared, or one that does not stand in braces and have an alias.
func (e *Registry) mustKnow(what string, sql declaration.SQL) {
	for i, piece := range sql.Pieces {
		if i%2 == 1 {
			if table := strings.TrimPrefix(piece, "+"); !e.knows(table) {
				panic(fmt.Sprintf("%s reads %s, which is no collection's, no link's, and no Source: %s", what, table, sql.Plain))
			}
			continue
		}
		if alias, ok := strings.CutPrefix(strings.TrimPrefix(piece, " AS"), " "); i > 0 && (!ok || alias == "" || alias[0] < 'a' || alias[0] > 'z') {
			panic(fmt.Sprintf("%s reads %s without an alias: %s", what, sql.Pieces[i-1], sql.Plain))
		}
		words := strings.FieldsFunc(piece, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.", r)
		})
		for j, word := range words {
			if e.knows(word) || j > 0 && unicode.IsLower(rune(word[0])) && slices.Contains([]string{"FROM", "JOIN"}, words[j-1]) {
				panic(fmt.Sprintf("%s reads %s outside of braces: %s", what, word, sql.Plain))
			}
		}
	}
}

func (e *Registry) knows(table string) bool {
	_, ok := e.origins[table]
	return ok
}

// Linked is one side of a joining table.
type Linked struct {
	*Objects
	// Refers is its column in the table, and Reads are the paths, below an object, that read its links, as words of an access.
	Refers string
	Reads  []string
}

// HiddenLinks hides the links that a caller is denied to read, by either of their objects: the object, or the path below it that reads its
// links.
func HiddenLinks(sides ...Linked) Hidden {
	return func(ctx context.Context, of string, add func(value any) (placeholder string)) string {
		var out []string
		for _, s := range sides {
			for _, path := range append([]string{""}, s.Reads...) {
				if condition := keyed(s.Entity, of+"."+s.Refers, s.deniedBy(ctx, s.Alias(), path, add)); condition != "" {
					out = append(out, condition)
				}
			}
		}
		return strings.Join(out, " OR ")
	}
}

// keyed returns the condition for a column to have the key of one of the objects for which a condition holds.
func keyed(k *declaration.Entity, column, condition string) string {
	if condition == "" {
		return ""
	}
	return column + " IN (SELECT " + k.KeyColumn().Name + " FROM " + k.Table + " WHERE " + condition + ")"
}

// findsApart returns a column by which lists find or order objects, and which is an attribute that callers can be denied to read by a path
// of its own, or "": filters would tell what it is.
func (k *Objects) findsApart() string {
	for _, name := range k.finds {
		col := k.Column(name)
		if len(col.Index) == 0 {
			continue
		}
		for _, a := range k.apart {
			if p := k.Schema.Property(a.attribute); a.paths != nil && p != nil && slices.Equal(p.Index(), col.Index[:min(len(p.Index()), len(col.Index))]) {
				return name
			}
		}
	}
	return ""
}
