package crud

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// inScope returns the condition for the rows that a list shows.
func (k *CollectionOf[T]) inScope(recurse bool, scope string) string {
	if k.Scope != PerTenant {
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

// listed returns the condition for a column's value to be in a JSON list: one statement, however long the list is.
func (e *Engine) listed(column string, of kind, list string) string {
	if e.DB.Engine() == "postgres" {
		return e.among(column, "SELECT CAST(value AS "+of.postgres()+") FROM json_array_elements_text(CAST("+list+" AS json))")
	}
	return e.among(column, "SELECT value FROM json_each("+list+")")
}

func (k *CollectionOf[T]) filter(ctx context.Context, f rest.Filter, scope string, args *arguments) string {
	if m, ok := k.Matches[f.Name]; ok {
		if m.Several {
			typed := strings.Split(f.Value, ",")
			return fmt.Sprintf(k.engine.seen(ctx, m.Condition, args.add), args.addAll(typed[:min(len(typed), rest.MaxLimit)]))
		}
		typed := f.Value
		if m.Fold != nil {
			typed = m.Fold(typed)
		}
		value, possible := column{kind: matchKinds[m.Type]}.argument(typed)
		if !possible {
			return "1 = 0"
		}
		placeholder := args.add(value)
		condition := fmt.Sprintf(k.engine.seen(ctx, m.Condition, args.add), placeholder)
		if m.Of != "" {
			condition += " AND " + placeholder + " IN (SELECT uuid FROM " + m.Of + " WHERE " + tenant.Below("tenant_uuid", scope) + ")"
		}
		return condition
	}
	col := k.shown(f.Name, scope)
	if col.kind == identifier && strings.Contains(f.Value, ",") {
		return k.anyOf(col, strings.Split(f.Value, ","), args)
	}
	value, possible := col.argument(f.Value)
	if !possible {
		return "1 = 0"
	}
	return k.seen(ctx, col, args.add).name + " = " + args.add(value)
}

// shown returns a column as the tenant of the scope reads it.
func (k *CollectionOf[T]) shown(name, scope string) column {
	col := k.byName[name]
	if expression, ok := k.Shown[name]; ok {
		col.name = "(" + strings.ReplaceAll(expression, "%[1]s", scope) + ")"
	}
	return col
}

// anyOf returns the condition for a list of UUIDs, as existing clients send it.
func (k *CollectionOf[T]) anyOf(col column, typed []string, args *arguments) string {
	conditions := []string{"1 = 0"}
	for _, t := range typed[:min(len(typed), rest.MaxLimit)] {
		if value, possible := col.argument(t); possible {
			conditions = append(conditions, col.name+" = "+args.add(value))
		}
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// search looks for the literal term in every searched column: %, _ and \ have no special meaning. A collection without such
// columns ignores the term.
func (k *CollectionOf[T]) search(ctx context.Context, term string, args *arguments) string {
	if len(k.Search) == 0 && k.SearchText == "" && len(k.Found) == 0 {
		return "1 = 1" // without an argument: PostgreSQL cannot infer the type of an unused one
	}
	term = store.Fold(term)
	pattern := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(term)
	if k.engine.Style.SearchWords {
		pattern = strings.Join(strings.Fields(pattern), "%")
	}
	placeholder := args.add("%" + pattern + "%")
	grams := k.engine.trigrams(term)
	// has returns the condition for the text of a row to have the term.
	has := func(table, row string) string {
		condition := row + "search_text LIKE " + placeholder + ` ESCAPE '\'`
		if grams == "" {
			return condition
		}
		index := table + "_search"
		return row + "id IN (SELECT rowid FROM " + index + " WHERE " + index + " MATCH " + args.add(grams) + ") AND " + condition
	}
	conditions := make([]string, 0, len(k.Search)+1)
	switch {
	case k.SearchText == "":
	case k.SearchText == "search_text" && k.byName["id"].kind == integer:
		conditions = append(conditions, has(k.Table, ""))
	default:
		conditions = append(conditions, k.SearchText+" LIKE "+placeholder+` ESCAPE '\'`)
	}
	for _, name := range k.Search {
		conditions = append(conditions, k.seen(ctx, k.byName[name], args.add).searched()+" LIKE "+placeholder+` ESCAPE '\'`)
	}
	if k.Said != nil {
		if said := k.Said(ctx, strings.Fields(term), args.add); said != "" {
			conditions = append(conditions, said)
		}
	}
	var queries []string
	for _, f := range k.Found {
		if f.mayHave(term) {
			queries = append(queries, fmt.Sprintf(k.engine.seen(ctx, f.Query, args.add), has(f.Table, "x.")))
		}
	}
	if len(queries) > 0 {
		conditions = append(conditions, k.engine.among(k.Keys[0], strings.Join(queries, " UNION ")))
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// mostTrigrams is how many trigrams of a term are looked up. SQLite compares the texts that have them with the whole term.
const mostTrigrams = 24

// trigrams returns what SQLite's indexes are asked for the rows whose texts may have a folded term, or "" if they cannot tell: they know of
// three characters that follow each other. PostgreSQL takes them from the pattern itself.
func (e *Engine) trigrams(term string) string {
	if e.DB.Engine() == "postgres" {
		return ""
	}
	parts := []string{term}
	if e.Style.SearchWords {
		parts = strings.Fields(term)
	}
	var grams []string
	for _, part := range parts {
		letters := []rune(part)
		for i := 0; i+3 <= len(letters) && len(grams) < mostTrigrams; i++ {
			grams = append(grams, `"`+strings.ReplaceAll(string(letters[i:i+3]), `"`, `""`)+`"`)
		}
	}
	return strings.Join(grams, " ")
}

// mayHave reports whether the data may contain a folded term. Spaces say nothing: between words they stand for anything.
func (f Elsewhere) mayHave(term string) bool {
	return f.Characters == "" || !strings.ContainsFunc(term, func(r rune) bool { return !unicode.IsSpace(r) && !strings.ContainsRune(f.Characters, r) })
}

// among returns the condition for a column's value to be one that a query finds, in a form that an index serves beside other
// conditions: PostgreSQL reads all rows for an OR with a subquery, but looks up an array.
func (e *Engine) among(column, query string) string {
	if e.DB.Engine() == "postgres" {
		return column + " = ANY (ARRAY(" + query + "))"
	}
	return column + " IN (" + query + ")"
}

func (k *CollectionOf[T]) selected() string { return k.selectedAs("") }

// selectedAs selects the columns under names that scan into a field of that prefix.
func (k *CollectionOf[T]) selectedAs(prefix string) string {
	names := make([]string, len(k.columns))
	for i, c := range k.columns {
		if c.scan = prefix + c.scan; prefix == "" {
			names[i] = c.selected()
		} else {
			names[i] = c.name + ` AS "` + c.scan + `"`
		}
	}
	return strings.Join(names, ", ")
}
