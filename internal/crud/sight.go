package crud

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Filters, orders and searches read other tables than the collection's own, by SQL of the declarations: users are found by
// the numbers of their lines. For a caller who is denied to read the objects there, or that they are linked, such SQL reads those tables
// without them, as lists and embeds show them. Which tables there are is known when everything is declared: a table that nobody
// declares is a mistake in the declaration, which every start reports.

// Source declares a table, or a view, that is neither a collection's nor a link's, and that filters, orders or searches read.
type Source struct {
	Table string
	// Refers are the table's columns that have the first key of an object, each with the path of its collection: {"user_id": "users"}. Rows
	// with an object that the caller is denied to read are left out. A collection that is not declared has no objects.
	Refers map[string]string
	// Query is what a view selects; the tables that it reads are treated in the same way. Refers is then about the view's columns.
	Query string
}

// Reads declares a source on the engine.
func (e *Engine) Reads(s Source) { e.sources = append(e.sources, s) }

// hiding returns the condition for the rows of a table that the caller of ctx may not know of, or "" if there are none. of is the name of
// the table in the statement; add adds a value.
type hiding func(ctx context.Context, of string, add func(value any) (placeholder string)) string

// origin is a table that SQL of the declarations reads.
type origin struct {
	query  string // of a view
	hidden []hiding
}

// tableRead finds the tables that SQL reads, each with its other name, if it has one. Names are in lower case, and keywords are not.
var tableRead = regexp.MustCompile(`\b(FROM|JOIN)\s+([a-z]\w*)(?:\s+(?:AS\s+)?([a-z]\w*))?`)

// tableWord finds what may be the name of a table.
var tableWord = regexp.MustCompile(`[a-z]\w*`)

// seen returns SQL of a declaration as it is for the caller of ctx: it reads no object, and no link, that the caller is denied to read.
func (e *Engine) seen(ctx context.Context, sql string, add func(value any) (placeholder string)) string {
	if caller(ctx) == nil {
		return sql
	}
	return tableRead.ReplaceAllStringFunc(sql, func(found string) string {
		parts := tableRead.FindStringSubmatch(found)
		word, table, alias := parts[1], parts[2], parts[3]
		if alias == "" {
			alias = table
		}
		from := e.origins[table]
		var hidden []string
		for _, hides := range from.hidden {
			if condition := hides(ctx, table, add); condition != "" {
				hidden = append(hidden, "("+condition+")")
			}
		}
		rows := table
		if from.query != "" {
			if query := e.seen(ctx, from.query, add); query != from.query {
				rows = "(" + query + ") AS " + table
			}
		}
		if len(hidden) == 0 && rows == table {
			return found
		}
		if len(hidden) > 0 {
			rows = "(SELECT * FROM " + rows + " WHERE (" + strings.Join(hidden, " OR ") + ") IS NOT TRUE)"
		}
		return word + " " + strings.TrimSuffix(rows, " AS "+table) + " AS " + alias
	})
}

// originate collects the tables of everything that was declared, and checks what the declarations read.
func (e *Engine) originate() {
	e.origins = map[string]origin{}
	add := func(table string, hides ...hiding) {
		from := e.origins[table]
		from.hidden = append(from.hidden, hides...)
		e.origins[table] = from
	}
	for _, path := range slices.Sorted(maps.Keys(e.byPath)) {
		t := e.byPath[path]
		add(t.tableName(), t.denied)
	}
	for _, name := range slices.Sorted(maps.Keys(e.relations)) {
		add(e.relations[name].table, e.relations[name].hidden)
	}
	for _, s := range e.sources {
		add(s.Table)
		for _, column := range slices.Sorted(maps.Keys(s.Refers)) {
			add(s.Table, func(ctx context.Context, of string, add func(value any) string) string {
				t, declared := e.byPath[s.Refers[column]]
				if !declared {
					return ""
				}
				return ofHidden(t, of+"."+column, t.denied(ctx, t.tableName(), add))
			})
		}
		from := e.origins[s.Table]
		from.query = s.Query
		e.origins[s.Table] = from
	}
	for _, s := range e.sources {
		e.mustKnow("the view "+s.Table, s.Query)
	}
	for _, path := range slices.Sorted(maps.Keys(e.byPath)) {
		for _, sql := range e.byPath[path].reads() {
			e.mustKnow(path, sql)
		}
		if name := e.byPath[path].findsApart(); name != "" {
			panic(fmt.Sprintf("%s finds objects by %s, which can be denied by a path of its own", path, name))
		}
	}
}

// mustKnow panics if SQL of a declaration reads a table that is not declared, or in a way that seen does not find.
func (e *Engine) mustKnow(what, sql string) {
	found := tableRead.FindAllStringSubmatchIndex(sql, -1)
	read := map[int]bool{}
	for _, at := range found {
		read[at[4]] = true
		if table := sql[at[4]:at[5]]; !e.knows(table) {
			panic(fmt.Sprintf("%s reads %s, which is no collection's, no link's, and no Source: %s", what, table, sql))
		}
	}
	for _, at := range tableWord.FindAllStringIndex(sql, -1) {
		if e.knows(sql[at[0]:at[1]]) && !read[at[0]] && !strings.HasPrefix(sql[at[1]:], ".") {
			panic(fmt.Sprintf("%s reads %s neither by FROM nor by JOIN: %s", what, sql[at[0]:at[1]], sql))
		}
	}
}

func (e *Engine) knows(table string) bool {
	_, ok := e.origins[table]
	return ok
}

// hidden returns the condition for the links that the caller of ctx is denied to read, by either of their objects: the object, or the path
// below it that reads its links.
func (r *relation) hidden(ctx context.Context, of string, add func(value any) (placeholder string)) string {
	var out []string
	for _, s := range []*side{r.left, r.right} {
		for _, path := range append([]string{""}, s.reads...) {
			if condition := ofHidden(s.collection, of+"."+s.column, s.collection.deniedBy(ctx, s.collection.alias(), path, add)); condition != "" {
				out = append(out, condition)
			}
		}
	}
	return strings.Join(out, " OR ")
}

// ofHidden returns the condition for a column to have the key of one of a collection's objects for which a condition holds.
func ofHidden(t table, column, condition string) string {
	if condition == "" {
		return ""
	}
	return column + " IN (SELECT " + t.key().name + " FROM " + t.tableName() + " WHERE " + condition + ")"
}

// reads returns the SQL by which lists find and order the objects, as far as it may read other tables.
func (k *CollectionOf[T]) reads() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(k.Virtual)) {
		out = append(out, k.Virtual[name])
	}
	for _, name := range slices.Sorted(maps.Keys(k.Matches)) {
		out = append(out, k.Matches[name].Condition)
	}
	for _, f := range k.Found {
		out = append(out, f.Query)
	}
	return out
}

// findsApart returns a column by which lists find or order objects, and which is an attribute that callers can be denied to read by a path
// of its own, or "": filters would tell what it is.
func (k *CollectionOf[T]) findsApart() string {
	for _, name := range slices.Concat(k.Order, k.Search, k.Filters) {
		col, ok := k.byName[name]
		if !ok || len(col.index) == 0 {
			continue
		}
		for _, a := range k.apart {
			if p := k.schema.Property(a.attribute); p != nil && slices.Equal(p.Index(), col.index[:min(len(p.Index()), len(col.index))]) {
				return name
			}
		}
	}
	return ""
}

// seen returns a column as the caller of ctx may compare it: see [Engine.seen].
func (k *CollectionOf[T]) seen(ctx context.Context, col column, add func(value any) (placeholder string)) column {
	if col.virtual {
		col.name = k.engine.seen(ctx, col.name, add)
	}
	return col
}
