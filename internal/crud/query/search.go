package query

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// InScope returns the condition for the rows that a list shows.
func (k *Reader[T]) InScope(recurse bool, scope string) string {
	if k.Scope != declaration.PerTenant {
		return "CAST(" + scope + " AS text) IS NOT NULL" // every placeholder must be used, and have a type
	}
	where := k.Owner + " = " + scope
	if recurse || k.Subtree {
		where = tenant.Below(k.Owner, scope)
	}
	if k.Shared != "" {
		where = "(" + where + " OR " + fmt.Sprintf(k.Shared, scope) + ")"
	}
	return where
}

// Listed returns the condition for a column's value to be in a JSON list: one statement, however long the list is.
func Listed(db store.DB, column string, of declaration.ColumnKind, list string) string {
	if db.Engine() == "postgres" {
		return Among(db, column, "SELECT CAST(value AS "+of.Postgres()+") FROM json_array_elements_text(CAST("+list+" AS json))")
	}
	return Among(db, column, "SELECT value FROM json_each("+list+")")
}

func (k *Reader[T]) filter(ctx context.Context, f rest.Filter, scope string, args *Arguments) string {
	if m, ok := k.Matches[f.Name]; ok {
		if m.Several {
			typed := strings.Split(f.Value, ",")
			return fmt.Sprintf(k.visible(ctx, k.MatchSQL[f.Name], args.Add), args.addAll(typed[:min(len(typed), rest.MaxLimit)]))
		}
		typed := f.Value
		if m.Fold != nil {
			typed = m.Fold(typed)
		}
		value, possible := declaration.Column{Kind: declaration.MatchKinds[m.Type]}.Argument(typed)
		if !possible {
			return "1 = 0"
		}
		placeholder := args.Add(value)
		condition := k.visible(ctx, k.MatchSQL[f.Name], args.Add)
		values := []any{placeholder}
		if strings.Contains(condition, "%[2]s") {
			values = append(values, "1 = 1")
			if grams := k.trigrams(typed); grams != "" {
				values[1] = k.Keys[0] + " IN " + matching(k.Table, args.Add(grams))
			}
		}
		condition = fmt.Sprintf(condition, values...)
		if m.Of != "" {
			condition += " AND " + placeholder + " IN (SELECT uuid FROM " + m.Of + " WHERE " + tenant.Below("tenant_uuid", scope) + ")"
		}
		return condition
	}
	col := k.visibleColumn(ctx, k.shown(f.Name, scope), args.Add)
	if col.Kind == declaration.Identifier && strings.Contains(f.Value, ",") {
		return k.anyOf(col, strings.Split(f.Value, ","), args)
	}
	value, possible := col.Argument(f.Value)
	if !possible {
		return "1 = 0"
	}
	return col.Name + " = " + args.Add(value)
}

// shown returns a column as the tenant of the scope reads it.
func (k *Reader[T]) shown(name, scope string) declaration.Column {
	col := k.Column(name)
	if expression, ok := k.Shown[name]; ok {
		col.Name = "(" + strings.ReplaceAll(expression, "%[1]s", scope) + ")"
	}
	return col
}

// anyOf returns the condition for a list of UUIDs, as existing clients send it.
func (k *Reader[T]) anyOf(col declaration.Column, typed []string, args *Arguments) string {
	conditions := []string{"1 = 0"}
	for _, t := range typed[:min(len(typed), rest.MaxLimit)] {
		if value, possible := col.Argument(t); possible {
			conditions = append(conditions, col.Name+" = "+args.Add(value))
		}
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// search looks for the literal term in every searched column: %, _ and \ have no special meaning. A collection without such
// columns ignores the term.
func (k *Reader[T]) search(ctx context.Context, c store.Conn, term string, args *Arguments) (string, error) {
	if !k.Searches {
		return "1 = 1", nil // without an argument: PostgreSQL cannot infer the type of an unused one
	}
	term = store.Fold(term)
	pattern := store.Containing(k.parts(term)...)
	placeholder := args.Add(pattern)
	grams, few := k.trigrams(term), false
	if k.SearchAlso != nil {
		var err error
		if few, err = k.fewHave(ctx, c, term, pattern); err != nil {
			return "", err
		}
		if !few {
			grams = ""
		}
	}
	// has returns the condition for a text of a row to have the term.
	has := func(table, row, text string) string {
		condition := row + text + " LIKE " + placeholder + ` ESCAPE '\'`
		if grams == "" {
			return condition
		}
		return row + "id IN " + matching(table, args.Add(grams)) + " AND " + condition
	}
	conditions := make([]string, 0, len(k.Search)+1)
	switch {
	case k.SearchText == "":
	case k.KeyColumn().Kind == declaration.Integer:
		conditions = append(conditions, has(k.Table, "", k.SearchText))
	default:
		conditions = append(conditions, k.SearchText+" LIKE "+placeholder+` ESCAPE '\'`)
	}
	for _, name := range k.Search {
		conditions = append(conditions, k.visibleColumn(ctx, k.Column(name), args.Add).Searched()+" LIKE "+placeholder+` ESCAPE '\'`)
	}
	if k.SearchAlso != nil {
		also := k.SearchAlso(ctx, k.parts(term), args.Add)
		switch {
		case also == "":
		case few: // each by its own index
			of := "SELECT " + k.Keys[0] + " FROM " + k.Table + " WHERE "
			conditions = []string{k.Keys[0] + " IN (" + of + strings.Join(conditions, " OR ") + " UNION " + of + also + ")"}
		default:
			conditions = append(conditions, also)
		}
	}
	var queries []string
	for i, f := range k.Found {
		if mayHave(f, term) {
			queries = append(queries, fmt.Sprintf(k.visible(ctx, k.FoundSQL[i], args.Add), has(f.Table, "x.", "search_text")))
		}
	}
	if len(queries) > 0 {
		conditions = append(conditions, Among(k.DB, k.Keys[0], strings.Join(queries, " UNION ")))
	}
	return "(" + strings.Join(conditions, " OR ") + ")", nil
}

// parts are what a text must have to be found, one after the other: the words of a term, or the term itself.
func (k *Reader[T]) parts(term string) []string {
	if k.Style.SearchWords {
		return strings.Fields(term)
	}
	return []string{term}
}

// most is how many rows are looked up by indexes for a search for what SearchAlso names too. If more may have the term, reading them in the list's
// order finds a page, and as many as are counted, sooner.
var most = map[string]int{"postgres": 5000, "sqlite": 20_000}

// fewHave reports whether indexes find the rows whose text has a folded term, and those that SearchAlso names, and neither are too many.
func (k *Reader[T]) fewHave(ctx context.Context, c store.Conn, term, pattern string) (bool, error) {
	grams := k.gramsOf(term)
	if grams == "" {
		return false, nil
	}
	queries := map[string]*Arguments{"SELECT 1 FROM " + k.Table + " WHERE " + k.SearchText + ` LIKE $1 ESCAPE '\'`: {[]any{pattern}}}
	if k.DB.Engine() == "sqlite" {
		queries = map[string]*Arguments{strings.Trim(matching(k.Table, "$1"), "()"): {[]any{grams}}}
	}
	other := &Arguments{}
	if also := k.SearchAlso(ctx, k.parts(term), other.Add); also != "" {
		queries["SELECT 1 FROM "+k.Table+" WHERE "+also] = other
	}
	most := most[k.DB.Engine()]
	for query, args := range queries {
		n, err := store.Get[int](ctx, c, "SELECT count(*) FROM ("+query+" LIMIT "+strconv.Itoa(most)+") AS found", args.Values...)
		if err != nil || n == most {
			return false, err
		}
	}
	return true, nil
}

// matching returns the query for the numbers of the rows that a table's search index finds.
func matching(table, grams string) string {
	return "(SELECT rowid FROM " + table + "_search WHERE " + table + "_search MATCH " + grams + ")"
}

// from is the table for a statement that finds rows by a condition: by their numbers, if the search index does.
func (k *Reader[T]) from(where string) string {
	if strings.Contains(where, k.Table+"_search MATCH ") {
		return k.byNumber()
	}
	return k.Table
}

// mostTrigrams is how many trigrams of a term are looked up. SQLite compares the texts that have them with the whole term.
const mostTrigrams = 24

// trigrams returns what SQLite's indexes are asked for the rows whose texts may have a folded term, or "" if they cannot tell: they know of
// three characters that follow each other. PostgreSQL takes them from the pattern itself.
func (k *Reader[T]) trigrams(term string) string {
	if k.DB.Engine() == "postgres" {
		return ""
	}
	return k.gramsOf(term)
}

// gramsOf returns the trigrams of a term, or "" if it is too short to have one.
func (k *Reader[T]) gramsOf(term string) string {
	var grams []string
	for _, part := range k.parts(term) {
		letters := []rune(part)
		for i := 0; i+3 <= len(letters) && len(grams) < mostTrigrams; i++ {
			grams = append(grams, `"`+strings.ReplaceAll(string(letters[i:i+3]), `"`, `""`)+`"`)
		}
	}
	return strings.Join(grams, " ")
}

// mayHave reports whether the data may contain a folded term. Spaces say nothing: between words they stand for anything.
func mayHave(f declaration.Elsewhere, term string) bool {
	return f.Characters == "" || !strings.ContainsFunc(term, func(r rune) bool { return !unicode.IsSpace(r) && !strings.ContainsRune(f.Characters, r) })
}

// Among returns the condition for a column's value to be one that a query finds, in a form that an index serves beside other
// conditions: PostgreSQL reads all rows for an OR with a subquery, but looks up an array.
func Among(db store.DB, column, query string) string {
	if db.Engine() == "postgres" {
		return column + " = ANY (ARRAY(" + query + "))"
	}
	return column + " IN (" + query + ")"
}

// Selected selects the columns as they are.
func (k *Reader[T]) Selected() string { return k.queries().columns.Plain }

// SelectedFor selects the columns as they are for the caller of ctx.
func (k *Reader[T]) SelectedFor(ctx context.Context, add func(value any) (placeholder string)) string {
	return k.visible(ctx, k.queries().columns, add)
}

// selectedAs selects the columns, as [declaration.SQL], under names that scan into a field of that prefix.
func (k *Reader[T]) selectedAs(prefix string) string {
	names := make([]string, len(k.Columns))
	for i, c := range k.Columns {
		if c.Virtual {
			c.Name = c.Reads.Declared
		}
		names[i] = c.Name + ` AS "` + prefix + c.Scan + `"`
	}
	return strings.Join(names, ", ")
}
