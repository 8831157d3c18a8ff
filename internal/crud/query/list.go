package query

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Page is the body of a list. Items are its objects, or what a view shows instead.
type Page struct {
	Items    any  `json:"items"`
	Total    int  `json:"total"`
	Filtered *int `json:"filtered,omitempty"`
}

// Page returns the objects on a page of a list: of the rows for which where holds, whose first argument is the tenant in which the request
// acts. It also returns the page without them. Linked objects in attributes that are not among fields are left out; nil is all attributes.
func (k *Reader[T]) Page(
	ctx context.Context, c store.Conn, query rest.List, where, scope string, args *Arguments, fields []string,
) (objects []T, found Page, err error) {
	by, where := k.ordered(ctx, query, where, "$1", args)
	everything := *args
	conditions := []string{where}
	for _, f := range query.Filters {
		conditions = append(conditions, k.filter(ctx, f, "$1", args))
	}
	if query.Search != "" {
		condition, err := k.search(ctx, c, query.Search, args)
		if err != nil {
			return nil, found, err
		}
		conditions = append(conditions, condition)
	}
	narrowed := strings.Join(conditions, " AND ")
	matching := *args
	rows, filtered, err := k.rows(ctx, c, query, by, where, everything, narrowed, matching)
	if err != nil {
		return nil, found, err
	}
	if filtered == unknown {
		// The last page ends the list, so its rows give the number. A full page, and one beyond the last, do not.
		filtered = query.Offset + len(rows)
		if full := query.Limit > 0 && len(rows) == query.Limit; full || query.Offset > 0 && len(rows) == 0 {
			if filtered, err = k.Count(ctx, c, narrowed, matching); err != nil {
				return nil, found, err
			}
		}
	}
	found.Total = filtered
	if k.Style.Filtered {
		found.Filtered = &filtered
		if narrowed != where {
			if found.Total, err = k.Count(ctx, c, where, everything); err != nil {
				return nil, found, err
			}
		}
	}
	objects, err = k.assemble(ctx, c, scope, rows, fields)
	return objects, found, err
}

// rows returns the rows of a page, and how many match, or unknown. Those that match are narrowed from where: both have Arguments of
// their own.
func (k *Reader[T]) rows(
	ctx context.Context, c store.Conn, query rest.List, by order, where string, everything Arguments, narrowed string, matching Arguments,
) (rows []*flagged[T], filtered int, err error) {
	filtered = unknown
	if (query.Search != "" || k.from(narrowed) != k.Table) && query.Limit > 0 {
		var keys []json.RawMessage
		if filtered, keys, err = k.findKeys(ctx, c, narrowed, by, matching); err != nil || filtered <= query.Offset {
			return nil, filtered, err
		}
		if filtered <= few {
			list, err := json.Marshal(keys[query.Offset:min(query.Offset+query.Limit, len(keys))])
			if err != nil {
				return nil, filtered, err
			}
			args := &Arguments{slices.Clone(everything.Values)}
			rows, err = k.flagged(ctx, c, k.byNumber()+" WHERE "+where+" AND "+Listed(k.DB, k.Keys[0], k.KeyColumn().Kind, args.Add(string(list))), by, args)
			return rows, filtered, err
		}
	}
	// The bounds stand inside: PostgreSQL hashes whole tables for what is asked of each row, if it expects to read all rows.
	args := &Arguments{slices.Clone(matching.Values)}
	from := "(SELECT * FROM " + k.Table + " WHERE " + narrowed + by.String() + bounds(query, args) + ") AS " + k.Alias()
	rows, err = k.flagged(ctx, c, from, by, args)
	return rows, filtered, err
}

// byNumber is the table for a statement that finds rows by their keys. SQLite expects ten rows of a tenant, and would read all of them instead.
func (k *Reader[T]) byNumber() string {
	if k.DB.Engine() == "sqlite" && k.KeyColumn().Kind == declaration.Integer {
		return k.Table + " NOT INDEXED" // but by the rows' numbers
	}
	return k.Table
}

func (k *Reader[T]) flagged(ctx context.Context, c store.Conn, from string, by order, args *Arguments) ([]*flagged[T], error) {
	columns := k.visible(ctx, k.queries().flagged, args.Add)
	return store.Select[*flagged[T]](ctx, c, "SELECT "+columns+" FROM "+from+by.String(), args.Values...)
}

const (
	// unknown says that nobody has counted.
	unknown = -1
	// few is how many rows are sorted faster than a page of them is found by walking an index in the list's order, past all others.
	few = 5000
)

// findKeys returns how many rows match a search, and if they are few, their keys in the list's order: a search is expensive, and
// need not run again for a page that the keys can find.
func (k *Reader[T]) findKeys(ctx context.Context, c store.Conn, where string, by order, args Arguments) (found int, keys []json.RawMessage, err error) {
	sorted := order{by: "sorted", key: "key", direction: by.direction}.String()
	list := "json_group_array(key" + sorted + ")"
	if k.DB.Engine() == "postgres" {
		list = "coalesce(CAST(json_agg(key" + sorted + ") AS text), '[]')"
	}
	some, err := store.Get[struct {
		Found int
		Keys  string
	}](ctx, c, "SELECT count(*) AS found, "+list+" AS keys FROM (SELECT "+k.Keys[0]+" AS key, "+by.by+" AS sorted FROM "+k.from(where)+" WHERE "+where+
		" LIMIT "+strconv.Itoa(few+1)+") AS matching", args.Values...)
	if err != nil {
		return 0, nil, err
	}
	if some.Found <= few {
		return some.Found, keys, json.Unmarshal([]byte(some.Keys), &keys)
	}
	found, err = k.Count(ctx, c, where, args)
	return found, nil, err
}

// Count returns how many rows match. How many there are in all is known, if the collection is counted.
func (k *Reader[T]) Count(ctx context.Context, c store.Conn, where string, args Arguments) (int, error) {
	if k.Counted && (where == k.InScope(false, "$1") || where == k.InScope(true, "$1")) {
		return store.Get[int](ctx, c, "SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM row_count WHERE table_name = '"+k.Table+"' AND "+where, args.Values...)
	}
	if k.Bounded > 0 {
		some := fmt.Sprintf("SELECT 1 FROM %s WHERE %s LIMIT %d", k.from(where), where, k.Bounded)
		return store.Get[int](ctx, c, "SELECT count(*) FROM ("+some+") AS bounded", args.Values...)
	}
	return store.Get[int](ctx, c, "SELECT count(*) FROM "+k.Table+" WHERE "+where, args.Values...)
}

// order is the order of a list. The key ends it: pages never overlap.
type order struct {
	by, key, direction string
	// filled says that no value is null: PostgreSQL reads an index backwards only if the order does not say where nulls are.
	filled bool
}

func (o order) String() string {
	nulls := " NULLS LAST"
	if o.filled {
		nulls = ""
	}
	return " ORDER BY " + o.by + o.direction + nulls + ", " + o.key + o.direction
}

// ordered returns the order that a query asks for, and where with a use of each value that it has added to args for the order: every
// statement has all of the values, and PostgreSQL needs to know their types.
func (k *Reader[T]) ordered(ctx context.Context, query rest.List, where, scope string, args *Arguments) (order, string) {
	col := k.visibleColumn(ctx, k.shown(query.Order, scope), func(value any) string {
		placeholder := args.Add(value)
		where += " AND CAST(" + placeholder + " AS json) IS NOT NULL"
		return placeholder
	})
	direction := " ASC"
	if query.Desc {
		direction = " DESC"
	}
	return order{by: col.Sorted() + k.collation(col), key: k.Keys[0], direction: direction, filled: col.Filled}, where
}

// bounds returns the bounds of a list's page. The limit is no argument: PostgreSQL makes a plan for a statement once, and not each time,
// if that costs no more; for a limit that it does not know it expects a tenth of the table.
func bounds(query rest.List, args *Arguments) (sql string) {
	if query.Limit > 0 {
		sql = " LIMIT " + strconv.Itoa(query.Limit)
	}
	if query.Offset > 0 {
		if query.Limit == 0 {
			sql = " LIMIT 9223372036854775807" // SQLite has no OFFSET without LIMIT
		}
		sql += " OFFSET " + args.Add(query.Offset)
	}
	return sql
}

// collation makes PostgreSQL sort text by its bytes, as SQLite does, whatever the locale of the database is.
func (k *Reader[T]) collation(c declaration.Column) string {
	if c.Kind == declaration.Text && k.DB.Engine() == "postgres" {
		return ` COLLATE "C"`
	}
	return ""
}
