package crud

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// page is the body of a list.
type page[T pointer] struct {
	Items    []T  `json:"items"`
	Total    int  `json:"total"`
	Filtered *int `json:"filtered,omitempty"`
}

// viewed is the body of a list in another form.
type viewed struct {
	Items    any  `json:"items"`
	Total    int  `json:"total"`
	Filtered *int `json:"filtered,omitempty"`
}

func (k *CollectionOf[T]) serveList(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	return k.serveNarrowed(ctx, r, nil)
}

// narrowing returns a further condition of a list, and adds its values to args.
type narrowing func(ctx context.Context, c store.Conn, scope string, args *arguments) (string, error)

// serveNarrowed lists the tenant's objects; with a narrowing, it lists those of the tenant's subtree that match.
func (k *CollectionOf[T]) serveNarrowed(ctx context.Context, r *rest.Request, narrow narrowing) (rest.Reply, error) {
	query, err := r.List(k.list)
	if err != nil {
		return rest.Reply{}, err
	}
	if err := k.checkFilters(query.Filters); err != nil {
		return rest.Reply{}, err
	}
	fields := r.Fields()
	if query.View != "" {
		if fields != nil {
			return rest.Reply{}, apierr.InvalidField("fields", "view", "Cannot be sent together with view, which has its own attributes")
		}
		fields = k.Views[query.View].Of
	}
	scope, err := k.engine.TenantOf(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	var found page[T]
	var body any = &found
	err = k.engine.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		if err := k.mayRead(ctx, c, scope); err != nil {
			return err
		}
		args := &arguments{}
		within := args.add(scope)
		where := k.inScope(query.Recurse || narrow != nil, within)
		if readable := k.readable(r, args); readable != "" {
			where += " AND " + readable
		}
		if visible := k.visible(ctx, k.alias(), args.add); visible != "" {
			where += " AND " + visible
		}
		if narrow != nil {
			more, err := narrow(ctx, c, scope, args)
			if err != nil {
				return err
			}
			where += " AND " + more
		}
		var rows []*flagged[T]
		if rows, found, err = k.page(ctx, c, query, where, within, args); err != nil {
			return err
		}
		if found.Items, err = k.assemble(ctx, c, scope, rows, fields); err != nil {
			return err
		}
		if err := k.withhold(ctx, found.Items); err != nil || query.View == "" {
			return err
		}
		items, err := k.Views[query.View].Show(ctx, c, found.Items)
		body = viewed{Items: items, Total: found.Total, Filtered: found.Filtered}
		return err
	})
	return rest.Reply{Body: body}, err
}

// checkFilters refuses anything but true and false for the boolean parameters.
func (k *CollectionOf[T]) checkFilters(filters []rest.Filter) error {
	for _, f := range filters {
		if _, ok := rest.ParseBool(f.Value); !ok && k.Matches[f.Name].Condition == "" && k.byName[f.Name].kind == boolean {
			return rest.NotBool(f.Name)
		}
	}
	return nil
}

// page returns the rows of a query's page, of those for which where holds, and a page without items that has their number.
// scope is the placeholder of the tenant in which the request acts.
func (k *CollectionOf[T]) page(ctx context.Context, c store.Conn, query rest.List, where, scope string, args *arguments) (rows []*flagged[T], found page[T], err error) {
	by, where := k.ordered(ctx, query, where, scope, args)
	everything := *args
	conditions := []string{where}
	for _, f := range query.Filters {
		conditions = append(conditions, k.filter(ctx, f, scope, args))
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
		return rows, found, err
	}
	if filtered == unknown {
		// The last page ends the list, so its rows give the number. A full page, and one beyond the last, do not.
		filtered = query.Offset + len(rows)
		if full := query.Limit > 0 && len(rows) == query.Limit; full || query.Offset > 0 && len(rows) == 0 {
			if filtered, err = k.count(ctx, c, narrowed, matching); err != nil {
				return rows, found, err
			}
		}
	}
	found.Total = filtered
	if k.engine.Style.Filtered {
		found.Filtered = &filtered
		if narrowed != where {
			found.Total, err = k.count(ctx, c, where, everything)
		}
	}
	return rows, found, err
}

// rows returns the rows of a page, and how many match, or unknown. Those that match are narrowed from where: both have arguments of
// their own.
func (k *CollectionOf[T]) rows(
	ctx context.Context, c store.Conn, query rest.List, by order, where string, everything arguments, narrowed string, matching arguments,
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
			args := &arguments{slices.Clone(everything.values)}
			rows, err = k.flagged(ctx, c, k.byNumber()+" WHERE "+where+" AND "+k.engine.listed(k.Keys[0], k.key().kind, args.add(string(list))), by, args)
			return rows, filtered, err
		}
	}
	// The bounds stand inside: PostgreSQL hashes whole tables for what is asked of each row, if it expects to read all rows.
	args := &arguments{slices.Clone(matching.values)}
	from := "(SELECT * FROM " + k.Table + " WHERE " + narrowed + by.String() + bounds(query, args) + ") AS " + k.alias()
	rows, err = k.flagged(ctx, c, from, by, args)
	return rows, filtered, err
}

// byNumber is the table for a statement that finds rows by their keys. SQLite expects ten rows of a tenant, and would read all of them instead.
func (k *CollectionOf[T]) byNumber() string {
	if k.engine.DB.Engine() == "sqlite" && k.key().kind == integer {
		return k.Table + " NOT INDEXED" // but by the rows' numbers
	}
	return k.Table
}

func (k *CollectionOf[T]) flagged(ctx context.Context, c store.Conn, from string, by order, args *arguments) ([]*flagged[T], error) {
	columns := k.engine.seen(ctx, k.queries().flagged, args.add)
	return store.Select[*flagged[T]](ctx, c, "SELECT "+columns+" FROM "+from+by.String(), args.values...)
}

const (
	// unknown says that nobody has counted.
	unknown = -1
	// few is how many rows are sorted faster than a page of them is found by walking an index in the list's order, past all others.
	few = 5000
)

// findKeys returns how many rows match a search, and if they are few, their keys in the list's order: a search is expensive, and
// need not run again for a page that the keys can find.
func (k *CollectionOf[T]) findKeys(ctx context.Context, c store.Conn, where string, by order, args arguments) (found int, keys []json.RawMessage, err error) {
	sorted := order{by: "sorted", key: "key", direction: by.direction}.String()
	list := "json_group_array(key" + sorted + ")"
	if k.engine.DB.Engine() == "postgres" {
		list = "coalesce(CAST(json_agg(key" + sorted + ") AS text), '[]')"
	}
	some, err := store.Get[struct {
		Found int
		Keys  string
	}](ctx, c, "SELECT count(*) AS found, "+list+" AS keys FROM (SELECT "+k.Keys[0]+" AS key, "+by.by+" AS sorted FROM "+k.from(where)+" WHERE "+where+
		" LIMIT "+strconv.Itoa(few+1)+") AS matching", args.values...)
	if err != nil {
		return 0, nil, err
	}
	if some.Found <= few {
		return some.Found, keys, json.Unmarshal([]byte(some.Keys), &keys)
	}
	found, err = k.count(ctx, c, where, args)
	return found, nil, err
}

// count returns how many rows match. How many there are in all is known, if the collection is counted.
func (k *CollectionOf[T]) count(ctx context.Context, c store.Conn, where string, args arguments) (int, error) {
	if k.Counted && (where == k.inScope(false, "$1") || where == k.inScope(true, "$1")) {
		return store.Get[int](ctx, c, "SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM row_count WHERE table_name = '"+k.Table+"' AND "+where, args.values...)
	}
	if k.Bounded > 0 {
		return store.Get[int](ctx, c, fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM %s WHERE %s LIMIT %d) AS bounded", k.from(where), where, k.Bounded), args.values...)
	}
	return store.Get[int](ctx, c, "SELECT count(*) FROM "+k.Table+" WHERE "+where, args.values...)
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
func (k *CollectionOf[T]) ordered(ctx context.Context, query rest.List, where, scope string, args *arguments) (order, string) {
	col := k.seen(ctx, k.shown(query.Order, scope), func(value any) string {
		placeholder := args.add(value)
		where += " AND CAST(" + placeholder + " AS json) IS NOT NULL"
		return placeholder
	})
	direction := " ASC"
	if query.Desc {
		direction = " DESC"
	}
	return order{by: col.sorted() + k.collation(col), key: k.Keys[0], direction: direction, filled: col.filled}, where
}

// bounds returns the bounds of a list's page. The limit is no argument: PostgreSQL makes a plan for a statement once, and not each time,
// if that costs no more; for a limit that it does not know it expects a tenth of the table.
func bounds(query rest.List, args *arguments) (sql string) {
	if query.Limit > 0 {
		sql = " LIMIT " + strconv.Itoa(query.Limit)
	}
	if query.Offset > 0 {
		if query.Limit == 0 {
			sql = " LIMIT 9223372036854775807" // SQLite has no OFFSET without LIMIT
		}
		sql += " OFFSET " + args.add(query.Offset)
	}
	return sql
}

// collation makes PostgreSQL sort text by its bytes, as SQLite does, whatever the locale of the database is.
func (k *CollectionOf[T]) collation(c column) string {
	if c.kind == text && k.engine.DB.Engine() == "postgres" {
		return ` COLLATE "C"`
	}
	return ""
}
