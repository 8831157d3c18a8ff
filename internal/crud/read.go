package crud

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// page is the body of a list.
type page[T any] struct {
	Items    []*T `json:"items"`
	Total    int  `json:"total"`
	Filtered *int `json:"filtered,omitempty"`
}

// viewed is the body of a list in another form.
type viewed struct {
	Items    any  `json:"items"`
	Total    int  `json:"total"`
	Filtered *int `json:"filtered,omitempty"`
}

func (k *Collection[T]) serveList(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	return k.serveNarrowed(ctx, r, nil)
}

// narrowing returns a further condition of a list, and adds its values to args.
type narrowing func(ctx context.Context, c store.Conn, scope string, args *arguments) (string, error)

// serveNarrowed lists the tenant's objects; with a narrowing, those of its subtree for which that holds.
func (k *Collection[T]) serveNarrowed(ctx context.Context, r *rest.Request, narrow narrowing) (rest.Reply, error) {
	query, err := r.List(k.list)
	if err != nil {
		return rest.Reply{}, err
	}
	if err := k.checkFilters(query.Filters); err != nil {
		return rest.Reply{}, err
	}
	scope, err := tenant.Of(ctx, k.engine.DB, r)
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
		if k.Readable != nil {
			where += " AND " + k.Readable(r, args.add)
		}
		if narrow != nil {
			more, err := narrow(ctx, c, scope, args)
			if err != nil {
				return err
			}
			where += " AND " + more
		}
		if found, err = k.page(ctx, c, query, where, within, args); err != nil {
			return err
		}
		if err := k.decorate(ctx, c, scope, found.Items); err != nil || query.View == "" {
			return err
		}
		items, err := k.Views[query.View](ctx, c, found.Items)
		body = viewed{Items: items, Total: found.Total, Filtered: found.Filtered}
		return err
	})
	return rest.Reply{Body: body}, err
}

// checkFilters refuses what is neither true nor false where one of them must be.
func (k *Collection[T]) checkFilters(filters []rest.Filter) error {
	for _, f := range filters {
		if _, ok := rest.ParseBool(f.Value); !ok && k.Matches[f.Name].Condition == "" && k.byName[f.Name].kind == boolean {
			err := rest.NotBool(f.Name)
			apierr.As(err).ID = rest.InvalidListParam
			return err
		}
	}
	return nil
}

// inScope is the condition for the rows that a list shows.
func (k *Collection[T]) inScope(recurse bool, scope string) string {
	if k.Scope != PerTenant {
		return "CAST(" + scope + " AS text) IS NOT NULL" // every placeholder is used, and has a type
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

// page returns the rows that a query asks for, of those for which where holds, and how many there are. scope is the
// placeholder of the tenant that the request acts in.
func (k *Collection[T]) page(ctx context.Context, c store.Conn, query rest.List, where, scope string, args *arguments) (found page[T], err error) {
	everything := *args
	conditions := []string{where}
	for _, f := range query.Filters {
		conditions = append(conditions, k.filter(f, scope, args))
	}
	if query.Search != "" {
		conditions = append(conditions, k.search(query.Search, args))
	}
	narrowed := strings.Join(conditions, " AND ")
	left := *args
	filtered, paged := unknown, narrowed
	if query.Search != "" && query.Limit > 0 { // how many there are tells, too, how to look for the page
		var keys string
		if filtered, keys, err = k.findKeys(ctx, c, narrowed, left); err != nil {
			return found, err
		}
		if filtered <= few {
			args = &arguments{slices.Clone(everything.values)}
			paged = where + " AND " + k.keyIn(keys, args)
		}
	}
	found.Items = []*T{}
	if filtered == unknown || filtered > query.Offset {
		sql := "SELECT " + k.selected() + " FROM " + k.Table + " WHERE " + paged + k.ordered(query, filtered, scope, args)
		if found.Items, err = store.Select[*T](ctx, c, sql, args.values...); err != nil {
			return found, err
		}
	}
	if filtered == unknown {
		// What is left of the last page tells how many there are. A full page, and one beyond the last, do not.
		filtered = query.Offset + len(found.Items)
		if full := query.Limit > 0 && len(found.Items) == query.Limit; full || query.Offset > 0 && len(found.Items) == 0 {
			if filtered, err = k.count(ctx, c, narrowed, left); err != nil {
				return found, err
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
	return found, err
}

const (
	// unknown says that nobody has counted.
	unknown = -1
	// few is how many rows are sorted more quickly than they are found by walking an index in the list's order, which
	// passes all the others on the way.
	few = 5000
)

// findKeys tells how many rows there are for which a search holds, and the keys of a few as a JSON list: a search is dear, and is not made again
// for the page where they are all.
func (k *Collection[T]) findKeys(ctx context.Context, c store.Conn, where string, args arguments) (found int, keys string, err error) {
	list := "json_group_array(key)"
	if k.engine.DB.Engine() == "postgres" {
		list = "coalesce(CAST(json_agg(key) AS text), '[]')"
	}
	some, err := store.Get[struct {
		Found int
		Keys  string
	}](ctx, c, "SELECT count(*) AS found, "+list+" AS keys FROM (SELECT "+k.Keys[0]+" AS key FROM "+k.Table+" WHERE "+where+
		" LIMIT "+strconv.Itoa(few+1)+") AS matching", args.values...)
	if err != nil || some.Found <= few {
		return some.Found, some.Keys, err
	}
	found, err = k.count(ctx, c, where, args)
	return found, "", err
}

// keyIn is the condition for the rows whose keys are in a JSON list.
func (k *Collection[T]) keyIn(keys string, args *arguments) string {
	if k.engine.DB.Engine() == "postgres" {
		return k.among("SELECT CAST(value AS " + k.byName[k.Keys[0]].kind.postgres() + ") FROM json_array_elements_text(CAST(" + args.add(keys) + " AS json))")
	}
	return k.among("SELECT value FROM json_each(" + args.add(keys) + ")")
}

func (k *Collection[T]) count(ctx context.Context, c store.Conn, where string, args arguments) (int, error) {
	return store.Get[int](ctx, c, "SELECT count(*) FROM "+k.Table+" WHERE "+where, args.values...)
}

// ordered writes how a list's statement ends: its order and its page. found is how many rows match, or unknown.
func (k *Collection[T]) ordered(query rest.List, found int, scope string, args *arguments) string {
	order := k.shown(query.Order, scope)
	by := order.sorted()
	if found != unknown && found <= few {
		by = order.unindexed()
	}
	direction := " ASC"
	if query.Desc {
		direction = " DESC"
	}
	// The key ends the order, so that pages never overlap.
	sql := " ORDER BY " + by + k.collation(order) + direction + " NULLS LAST, " + k.Keys[0] + direction
	if query.Limit > 0 {
		sql += " LIMIT " + args.add(query.Limit)
	}
	if query.Offset > 0 {
		if query.Limit == 0 {
			sql += " LIMIT 9223372036854775807" // SQLite has no OFFSET without LIMIT
		}
		sql += " OFFSET " + args.add(query.Offset)
	}
	return sql
}

// collation makes PostgreSQL sort text by its bytes, as SQLite does, whatever the database's locale is.
func (k *Collection[T]) collation(c column) string {
	if c.kind == text && k.engine.DB.Engine() == "postgres" {
		return ` COLLATE "C"`
	}
	return ""
}

func (k *Collection[T]) filter(f rest.Filter, scope string, args *arguments) string {
	if m, ok := k.Matches[f.Name]; ok {
		value, possible := column{kind: matchKinds[m.Type]}.argument(f.Value)
		if !possible {
			return "1 = 0"
		}
		placeholder := args.add(value)
		condition := fmt.Sprintf(m.Condition, placeholder)
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
	return col.name + " = " + args.add(value)
}

// shown is a column as the tenant of the scope reads it.
func (k *Collection[T]) shown(name, scope string) column {
	col := k.byName[name]
	if expression, ok := k.Shown[name]; ok {
		col.name = "(" + strings.ReplaceAll(expression, "%[1]s", scope) + ")"
	}
	return col
}

// anyOf is the condition for a list of UUIDs, as existing clients send it.
func (k *Collection[T]) anyOf(col column, typed []string, args *arguments) string {
	conditions := []string{"1 = 0"}
	for _, t := range typed[:min(len(typed), rest.MaxLimit)] {
		if value, possible := col.argument(t); possible {
			conditions = append(conditions, col.name+" = "+args.add(value))
		}
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// search looks for the term in every searched column, as it is: %, _ and \ have no meaning. Of a collection without such columns
// the term is ignored.
func (k *Collection[T]) search(term string, args *arguments) string {
	if len(k.Search) == 0 && k.SearchText == "" && len(k.Found) == 0 {
		return "1 = 1" // and no argument: PostgreSQL could not tell the type of one that is not used
	}
	pattern := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(store.Fold(term))
	if k.engine.Style.SearchWords {
		pattern = strings.Join(strings.Fields(pattern), "%")
	}
	placeholder := args.add("%" + pattern + "%")
	conditions := make([]string, 0, len(k.Search)+1)
	if k.SearchText != "" {
		conditions = append(conditions, k.SearchText+" LIKE "+placeholder+` ESCAPE '\'`)
	}
	for _, name := range k.Search {
		conditions = append(conditions, k.byName[name].searched()+" LIKE "+placeholder+` ESCAPE '\'`)
	}
	if len(k.Found) > 0 {
		queries := make([]string, len(k.Found))
		for i, query := range k.Found {
			queries[i] = fmt.Sprintf(query, placeholder)
		}
		conditions = append(conditions, k.among(strings.Join(queries, " UNION ")))
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// among is the condition for the rows whose key a query finds, such that an index serves it beside other conditions: of an OR with a subquery
// PostgreSQL reads all rows, where it looks an array up.
func (k *Collection[T]) among(query string) string {
	if k.engine.DB.Engine() == "postgres" {
		return k.Keys[0] + " = ANY (ARRAY(" + query + "))"
	}
	return k.Keys[0] + " IN (" + query + ")"
}

func (k *Collection[T]) selected() string { return k.selectedAs("") }

// selectedAs selects the columns such that they are scanned into a field of that prefix.
func (k *Collection[T]) selectedAs(prefix string) string {
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

func (k *Collection[T]) read(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	view, err := r.View(k.readViews())
	if err != nil {
		return rest.Reply{}, err
	}
	object, err := k.named(ctx, r, k.ReadViews[view])
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.Reply{Body: object}, nil
}

// Named returns the object that the request's path names, as a GET of it does.
func (k *Collection[T]) Named(ctx context.Context, r *rest.Request) (*T, error) {
	return k.named(ctx, r, nil)
}

// named is Named, in the form that view gives the object, where there is one.
func (k *Collection[T]) named(ctx context.Context, r *rest.Request, view func(ctx context.Context, c store.Conn, object *T) error) (*T, error) {
	scope, err := tenant.Of(ctx, k.engine.DB, r)
	if err != nil {
		return nil, err
	}
	var object *T
	err = k.engine.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
		if err := k.mayRead(ctx, c, scope); err != nil {
			return err
		}
		if object, err = k.find(ctx, c, scope, r.Param(k.Param)); err != nil {
			return err
		}
		if err := k.checkReadable(ctx, c, r, object); err != nil {
			return err
		}
		if err := refuseDenied(r, k.aliases(object)); err != nil || view == nil {
			return err
		}
		return view(ctx, c, object)
	})
	return object, err
}

// checkReadable finds nothing where the request may not read the object.
func (k *Collection[T]) checkReadable(ctx context.Context, c store.Conn, r *rest.Request, object *T) error {
	if k.Readable == nil {
		return nil
	}
	args := &arguments{}
	n, err := k.count(ctx, c, k.itself(object, args)+" AND "+k.Readable(r, args.add), *args)
	if err == nil && n == 0 {
		err = k.notFound(k.Keys[0], k.field(object, k.Keys[0]))
	}
	return err
}

// mayRead refuses to show what is the master tenant's alone to another.
func (k *Collection[T]) mayRead(ctx context.Context, c store.Conn, scope string) error {
	if k.Scope != Master {
		return nil
	}
	return onlyMaster(ctx, c, scope)
}

// mayWrite refuses a change of what is not a tenant's to anybody but the master tenant.
func (k *Collection[T]) mayWrite(ctx context.Context, c store.Conn, scope string) error {
	if k.Scope == PerTenant {
		return nil
	}
	return onlyMaster(ctx, c, scope)
}

func onlyMaster(ctx context.Context, c store.Conn, scope string) error {
	master, err := tenant.IsMaster(ctx, c, scope)
	if err == nil && !master {
		err = apierr.New(apierr.Forbidden, "Only the master tenant may do this")
	}
	return err
}

// find returns the object that a path names, ready to be shown. The query of its row tells which other tables have rows of it, so that an
// object of which there is nothing elsewhere takes one query.
func (k *Collection[T]) find(ctx context.Context, c store.Conn, scope, typed string) (*T, error) {
	key, value := k.keyed(typed)
	if key == "" {
		return nil, k.notFound("", nil)
	}
	q := k.queries()
	found, err := store.Get[flagged[T]](ctx, c, q.find[key], value, scope)
	if err != nil {
		return nil, k.unknown(err, key, value)
	}
	objects := []*T{&found.Object}
	for i, l := range q.loaders {
		if i == len(k.beside) {
			if err := k.fill(ctx, c, objects); err != nil {
				return nil, err
			}
		}
		if found.There[i] == '0' {
			l.blank(objects)
		} else if err := l.load(ctx, c, scope, objects); err != nil {
			return nil, err
		}
	}
	if len(q.loaders) == len(k.beside) {
		if err := k.fill(ctx, c, objects); err != nil {
			return nil, err
		}
	}
	return &found.Object, k.adapt(ctx, c, scope, objects)
}

// flagged is a row with a digit for each loader: whether there is anything to load.
type flagged[T any] struct {
	Object T      `db:"object"`
	There  string `db:"there"`
}

// row returns the row that a path names, if the scope's tenant or one below it has it, or it is shared. Anything else is not
// found, in one way.
func (k *Collection[T]) row(ctx context.Context, c store.Conn, scope, typed string) (*T, error) {
	key, value := k.keyed(typed)
	if key == "" {
		return nil, k.notFound("", nil)
	}
	object, err := store.Get[*T](ctx, c, k.queries().row[key], value, scope)
	if err != nil {
		return nil, k.unknown(err, key, value)
	}
	return object, nil
}

// unknown is the refusal of a path that names nothing that the scope has.
func (k *Collection[T]) unknown(err error, key string, value any) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return k.notFound(key, value)
}

// queries are the statements that find one object, by the column of the key that was typed: $1 is its value, $2 the tenant of the scope.
type queries struct {
	row, find map[string]string
	// loaders are all that fill in what is in other tables: what is the object's own, then what links show.
	loaders []loader
}

// makeQueries writes them, once, when everything is declared.
func (k *Collection[T]) makeQueries() *queries {
	q := &queries{row: map[string]string{}, find: map[string]string{}, loaders: slices.Concat(k.beside, k.shows[reflect.TypeFor[T]()])}
	flags := []string{"''"}
	for _, l := range q.loaders {
		flags = append(flags, "CASE WHEN "+l.exist(k.Table, k.Keys[0])+" THEN '1' ELSE '0' END")
	}
	there := strings.Join(flags, " || ")
	for _, key := range k.names() {
		condition := k.byName[key].name + " = $1 AND " + k.inScope(true, "$2")
		if slices.Contains(k.Names, key) {
			// What the tenant itself has goes before what is shared with it.
			condition = k.byName[key].name + " = $1 AND " + k.inScope(false, "$2") + " ORDER BY " + k.Owner + " <> $2 LIMIT 1"
		}
		q.row[key] = "SELECT " + k.selected() + " FROM " + k.Table + " WHERE " + condition
		q.find[key] = "SELECT " + k.selectedAs("object.") + ", " + there + " AS there FROM " + k.Table + " WHERE " + condition
	}
	return q
}

// keyed returns the column and the value of the key that was typed, or "" when it cannot be one. Only a key's canonical form is
// one: an object must not be reached by another spelling than the one that an access, or its denial, names.
func (k *Collection[T]) keyed(typed string) (column string, value any) {
	for _, name := range slices.Concat(k.Keys, k.Names) {
		if value, ok := k.byName[name].argument(typed); ok && fmt.Sprint(value) == typed {
			return name, value
		}
	}
	return "", nil
}

// loadAtOnce is how many objects one Load gets: databases limit the arguments of a statement.
const loadAtOnce = 1000

// decorate makes rows what a client reads.
func (k *Collection[T]) decorate(ctx context.Context, c store.Conn, scope string, objects []*T) error {
	if err := k.own(ctx, c, objects); err != nil {
		return err
	}
	return k.present(ctx, c, scope, objects)
}

// own fills in what is an object's own and no column: what a hook keeps beside the row.
func (k *Collection[T]) own(ctx context.Context, c store.Conn, objects []*T) error {
	for some := range slices.Chunk(objects, loadAtOnce) {
		for _, l := range k.beside {
			if err := l.load(ctx, c, "", some); err != nil {
				return err
			}
		}
		if err := k.fill(ctx, c, some); err != nil {
			return err
		}
	}
	return nil
}

func (k *Collection[T]) fill(ctx context.Context, c store.Conn, objects []*T) error {
	if k.Load == nil {
		return nil
	}
	return k.Load(ctx, c, objects)
}

// present adds what a client is shown beside: what links join the objects with, how they look to the tenant that reads them, where they are.
func (k *Collection[T]) present(ctx context.Context, c store.Conn, scope string, objects []*T) error {
	for some := range slices.Chunk(objects, loadAtOnce) {
		for _, l := range k.shows[reflect.TypeFor[T]()] {
			if err := l.load(ctx, c, scope, some); err != nil {
				return err
			}
		}
	}
	return k.adapt(ctx, c, scope, objects)
}

// adapt shows objects as they look to the tenant that reads them, and where they are.
func (k *Collection[T]) adapt(ctx context.Context, c store.Conn, scope string, objects []*T) error {
	if k.Present != nil {
		if err := k.Present(ctx, c, scope, objects); err != nil {
			return err
		}
	}
	for _, o := range objects {
		k.link(o, k.field(o, k.Keys[0]))
	}
	return nil
}

// link says where an object is, if the service has its objects say so.
func (k *Collection[T]) link(o any, key any) {
	if !k.engine.Style.Location {
		return
	}
	if l, ok := o.(linked); ok {
		l.setLinks([]Href{{Rel: k.Rel, Href: k.at(key)}})
	}
}

// at is the path, behind the gate, of the object with a key.
func (k *Collection[T]) at(key any) string {
	return fmt.Sprintf("%s/%s/%v", k.engine.Prefix, k.Path, key)
}

// location is the object's path behind the gate.
func (k *Collection[T]) location(o *T) string {
	return k.at(k.field(o, k.Keys[0]))
}

// field is the value of a column's field.
func (k *Collection[T]) field(o *T, name string) any {
	return reflect.ValueOf(o).Elem().FieldByIndex(k.byName[name].index).Interface()
}
