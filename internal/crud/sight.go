package crud

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// SQL of the declarations reads other tables than the collection's own: users are found by the numbers of their lines, and lines show the
// names of their endpoints. The names of these tables stand in braces, each with an alias: "SELECT v.number FROM {confd_voicemail} v". For a
// caller who is denied to read the objects there, or that they are linked, they are read without them, as lists and embeds show them. A table
// in braces with a plus, {+confd_user}, is read as it is: the declaration says why nobody learns anything by it.

// Source declares a table, or a view, that is neither a collection's nor a link's, and that SQL of declarations reads.
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
	query  seenSQL // of a view
	hidden []hiding
}

// seenSQL is SQL that reads only what its caller may know of.
type seenSQL struct {
	// declared is what the declaration says; plain is what it is for a caller who is denied nothing.
	declared, plain string
	// pieces are its text and, between two texts, what stands in braces.
	pieces []string
}

func seen(sql string) seenSQL {
	s := seenSQL{declared: sql}
	for rest := sql; ; {
		text, after, found := strings.Cut(rest, "{")
		if s.pieces = append(s.pieces, text); !found {
			break
		}
		var table string
		table, rest, _ = strings.Cut(after, "}")
		s.pieces = append(s.pieces, table)
	}
	for i, piece := range s.pieces {
		if i%2 == 1 {
			piece = strings.TrimPrefix(piece, "+")
		}
		s.plain += piece
	}
	return s
}

// seen returns SQL as it is for the caller of ctx: it reads no object, and no link, that the caller is denied to read.
func (e *Engine) seen(ctx context.Context, sql seenSQL, add func(value any) (placeholder string)) string {
	if len(sql.pieces) == 1 || caller(ctx) == nil {
		return sql.plain
	}
	var out strings.Builder
	for i, piece := range sql.pieces {
		if i%2 == 1 {
			piece = e.seenTable(ctx, piece, add)
		}
		out.WriteString(piece)
	}
	return out.String()
}

// Seen returns a table that a declaration may read as an operand of FROM that has an alias: as it is for the caller of ctx. Its values are
// appended to args.
func (e *Engine) Seen(ctx context.Context, table string, args *[]any) string {
	all := arguments{*args}
	rows := e.seen(ctx, seenSQL{plain: table, pieces: []string{"", table, ""}}, all.add)
	*args = all.values
	return rows
}

// seenTable returns a table of [Engine.seen], as an operand of FROM.
func (e *Engine) seenTable(ctx context.Context, table string, add func(value any) (placeholder string)) string {
	if whole, ok := strings.CutPrefix(table, "+"); ok {
		return whole
	}
	from, rows := e.origins[table], table
	var hidden []string
	for _, hides := range from.hidden {
		if condition := hides(ctx, table, add); condition != "" {
			hidden = append(hidden, "("+condition+")")
		}
	}
	if len(from.query.pieces) > 1 {
		rows = "(" + e.seen(ctx, from.query, add) + ") AS " + table
	}
	if len(hidden) > 0 {
		return "(SELECT * FROM " + rows + " WHERE (" + strings.Join(hidden, " OR ") + ") IS NOT TRUE)"
	}
	return strings.TrimSuffix(rows, " AS "+table)
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
		from.query = seen(s.Query)
		e.origins[s.Table] = from
	}
	for _, s := range e.sources {
		e.mustKnow("the view "+s.Table, seen(s.Query))
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

// mustKnow panics if SQL of a declaration reads a table that is not declared, or one that does not stand in braces and have an alias.
func (e *Engine) mustKnow(what string, sql seenSQL) {
	for i, piece := range sql.pieces {
		if i%2 == 1 {
			if table := strings.TrimPrefix(piece, "+"); !e.knows(table) {
				panic(fmt.Sprintf("%s reads %s, which is no collection's, no link's, and no Source: %s", what, table, sql.plain))
			}
			continue
		}
		if alias, ok := strings.CutPrefix(strings.TrimPrefix(piece, " AS"), " "); i > 0 && (!ok || alias == "" || alias[0] < 'a' || alias[0] > 'z') {
			panic(fmt.Sprintf("%s reads %s without an alias: %s", what, sql.pieces[i-1], sql.plain))
		}
		words := strings.FieldsFunc(piece, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.", r)
		})
		for j, word := range words {
			if e.knows(word) || j > 0 && unicode.IsLower(rune(word[0])) && slices.Contains([]string{"FROM", "JOIN"}, words[j-1]) {
				panic(fmt.Sprintf("%s reads %s outside of braces: %s", what, word, sql.plain))
			}
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

// findsBy reads the SQL of Matches and Found.
func (k *CollectionOf[T]) findsBy() {
	k.matches = map[string]seenSQL{}
	for name, m := range k.Matches {
		k.matches[name] = seen(m.Condition)
	}
	for _, f := range k.Found {
		k.finds = append(k.finds, seen(f.Query))
	}
}

// reads returns the SQL of the declaration that may read other tables.
func (k *CollectionOf[T]) reads() []seenSQL {
	out := slices.Clone(k.finds)
	for _, name := range slices.Sorted(maps.Keys(k.Virtual)) {
		out = append(out, k.byName[name].reads)
	}
	for _, name := range slices.Sorted(maps.Keys(k.Matches)) {
		out = append(out, k.matches[name])
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
		col.name = k.engine.seen(ctx, col.reads, add)
	}
	return col
}
