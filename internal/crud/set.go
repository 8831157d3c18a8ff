package crud

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// ListOf is an operation that replaces all links of one object, N, by links with the objects of a list, F: PUT /{near}/{id}/{Path}
// with {"{Field}": [{"id": 1}, ...]}. The order is kept; an empty list ends all links.
type ListOf[N, F pointer] struct {
	Path string
	// ID is the operation's id, if it is not "associate_{near}_{path}".
	ID string
	// Field is the body's attribute; by default the last segment of Path.
	Field string
	// By are the columns by which an item may name its object; by default the far collection's keys.
	By []string
	// Repeated is the sentence that refuses a repeated object: "Cannot associate same user more than once."
	Repeated string
	// Check refuses a list, after all items were found to be of the near object's tenant.
	Check func(ctx context.Context, c store.Conn, list *ListingOf[N, F]) error
	// Added runs after the list is written, with the objects that were not in it before.
	Added func(ctx context.Context, c store.Conn, list *ListingOf[N, F], added []F) error
}

// of returns the list with its defaults, which depend on the collection of its items.
func (l *ListOf[N, F]) of(far *CollectionOf[F]) *ListOf[N, F] {
	out := *l
	out.Field = l.field()
	if len(l.By) == 0 {
		out.By = far.Keys
	}
	return &out
}

// field returns the body's attribute; "" if there is no list.
func (l *ListOf[N, F]) field() string {
	if l == nil {
		return ""
	}
	return cmp.Or(l.Field, l.Path[strings.LastIndex(l.Path, "/")+1:])
}

// ListingOf is one replacement of a list.
type ListingOf[N, F pointer] struct {
	Request *rest.Request
	Near    N
	Far     []F
}

// setter knows where a list is stored.
type setter[N, F pointer] struct {
	engine        *Engine
	joining       string
	nearColumn    string
	farColumn     string
	position      string // column of the order of far objects in a near one's list
	backward      string // column of the order in the reverse list, which this list keeps
	reverse       string // the attribute of the reverse list, which must not grow beyond MaxLinks; "" if there is none
	row           *Row
	acrossTenants bool
	near          *CollectionOf[N]
	far           *CollectionOf[F]
	list          *ListOf[N, F]
	// notDenied refuses a caller who is denied to make (update) or to end (delete) one of the links by another operation.
	notDenied func(r *rest.Request, near N, far F, action string) error
}

// operation returns the PUT of the list.
func (s *setter[N, F]) operation() rest.Operation {
	l := s.list
	item := &rest.Schema{Type: "object", Name: componentOf(s.near.Singular, l.Field)}
	for _, by := range l.By {
		p := s.far.schema.Property(by)
		if p == nil {
			panic(fmt.Sprintf("%s: an item of %s is named by %s, which no client sees", s.near.Path, l.Path, by))
		}
		shape := *p.Schema
		item.Properties = append(item.Properties, rest.Property{Name: by, Required: len(l.By) == 1, Schema: &shape})
	}
	if s.row != nil {
		item.Properties = append(item.Properties, s.row.schema.Properties...)
	}
	most := MaxLinks
	body := &rest.Schema{Type: "object", Properties: []rest.Property{
		{Name: l.Field, Required: true, Schema: &rest.Schema{Type: "array", Items: item, MaxItems: &most}},
	}}
	path := "/" + s.near.Path + "/{" + s.near.Param + "}/" + l.Path
	return rest.Operation{
		Method: http.MethodPut, Path: path, Access: accessOf(s.engine.Service, path, "update"),
		ID:  cmp.Or(l.ID, "associate_"+s.near.Singular+"_"+underscored(l.Path)),
		Tag: underscored(s.near.Path), Tenanted: true,
		Summary:     "Replace the " + s.engine.several(l.Path) + " of " + s.engine.one(s.near.Singular),
		Description: "The list replaces what there was, in this order; an empty one ends all.",
		Body:        body, Success: http.StatusNoContent, Statuses: []int{400, 404, 412}, Handle: s.handle,
	}
}

func componentOf(singular, field string) string {
	var name strings.Builder
	for word := range strings.SplitSeq(singular+"_"+field, "_") {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String() + "Item"
}

func (s *setter[N, F]) handle(ctx context.Context, r *rest.Request) (rest.Reply, error) { //nolint:unparam // it is a rest.Handler
	scope, object, err := s.engine.begin(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	items, _ := object.Value(s.list.Field).([]any)
	err = s.engine.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		near, err := s.near.row(ctx, c, scope, r.Param(s.near.Param))
		if err != nil {
			return err
		}
		if err := refuseDenied(r, s.near.aliases(near)); err != nil {
			return err
		}
		if err := s.near.Unchanged(ctx, c, r, scope, s.near.Key(near)); err != nil {
			return err
		}
		return s.write(ctx, c, r, scope, near, items)
	})
	return rest.Reply{}, err
}

// write makes the items the list of an object.
func (s *setter[N, F]) write(ctx context.Context, c store.Conn, r *rest.Request, scope string, near N, items []any) error {
	far, err := s.find(ctx, c, scope, items)
	if err != nil {
		return err
	}
	before, err := s.entries(ctx, c, near)
	if err != nil {
		return err
	}
	if s.asBefore(far, before, items) {
		return nil // a client may write back what it has read, whatever else has changed since
	}
	if err := s.mayChange(ctx, c, r, near, far, before); err != nil {
		return err
	}
	list := &ListingOf[N, F]{Request: r, Near: near, Far: far}
	if err := s.check(ctx, c, list); err != nil {
		return err
	}
	if err := s.replace(ctx, c, near, far, items); err != nil {
		return err
	}
	if err := s.refuseFull(ctx, c, far); err != nil {
		return err
	}
	if err := s.added(ctx, c, list, before); err != nil {
		return err
	}
	after, err := s.entries(ctx, c, near)
	if err != nil {
		return err
	}
	return s.conclude(ctx, c, r, scope, near, before, after)
}

// asBefore reports whether a list is as it is stored: the same objects in the same order, with the same values of Row.
func (s *setter[N, F]) asBefore(far []F, before []entry, items []any) bool {
	if len(far) != len(before) {
		return false
	}
	for i, o := range far {
		if fmt.Sprint(s.far.Key(o)) != before[i].Key || !s.sameRow(items[i], before[i].Row) {
			return false
		}
	}
	return true
}

// sameRow reports whether an item has the stored values of Row, as entries writes them. An item without any gets its place in the list.
func (s *setter[N, F]) sameRow(item any, stored string) bool {
	if s.row == nil {
		return true
	}
	if !slices.ContainsFunc(s.row.columns, func(col column) bool { return s.row.sends(item, col) }) {
		return s.position == ""
	}
	row, err := s.row.from(item)
	if err != nil {
		return false
	}
	parts := make([]string, len(s.row.columns))
	for i, col := range s.row.columns {
		parts[i] = fmt.Sprint(col.name, " ", s.row.value(row, col))
	}
	return strings.Join(parts, ", ") == stored
}

// find returns the objects that the items name, in their order.
func (s *setter[N, F]) find(ctx context.Context, c store.Conn, scope string, items []any) ([]F, error) {
	type name struct {
		by    string
		value any
	}
	names := make([]name, len(items))
	for i, item := range items {
		var err error
		if names[i].by, names[i].value, err = s.named(i, item); err != nil {
			return nil, err
		}
	}
	out := make([]F, 0, len(items))
	found := map[name]F{}
	for some := range slices.Chunk(names, loadAtOnce/2) {
		args := &arguments{}
		within := s.far.inScope(true, args.add(scope))
		conditions := make([]string, len(some))
		for i, n := range some {
			conditions[i] = n.by + " = " + args.add(n.value)
		}
		rows, err := store.Select[F](ctx, c, "SELECT "+s.far.selected()+" FROM "+s.far.Table+" WHERE "+within+" AND ("+strings.Join(conditions, " OR ")+")", args.values...)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			for _, by := range s.list.By {
				found[name{by, s.far.field(row, by)}] = row
			}
		}
		for _, n := range some {
			o := found[n]
			if isNull(o) {
				return nil, Missing(s.list.Field, s.far.title(), n.by, n.value)
			}
			out = append(out, o)
		}
	}
	return out, s.far.own(ctx, c, out)
}

// named returns the key by which an item names its object. The schema has checked the types.
func (s *setter[N, F]) named(at int, item any) (by string, value any, err error) {
	sent, _ := item.(map[string]any)
	for _, by := range s.list.By {
		switch v := sent[by].(type) {
		case string:
			return by, strings.ToLower(v), nil
		case json.Number:
			n, err := v.Int64()
			return by, n, err
		}
	}
	return "", nil, apierr.InvalidField(fmt.Sprintf("%s[%d].%s", s.list.Field, at, s.list.By[0]), "required", "Is required")
}

func (s *setter[N, F]) check(ctx context.Context, c store.Conn, l *ListingOf[N, F]) error {
	if err := s.near.own(ctx, c, []N{l.Near}); err != nil {
		return err
	}
	seen := map[string]bool{}
	repeated := false
	for _, o := range l.Far {
		near, far := s.near.tenantOf(l.Near), s.far.tenantOf(o)
		if near != far && !s.acrossTenants {
			return s.engine.Style.DifferentTenants(s.near.Singular, near, s.far.Singular, far)
		}
		key := fmt.Sprint(s.far.Key(o))
		repeated = repeated || seen[key]
		seen[key] = true
	}
	if s.list.Check != nil {
		if err := s.list.Check(ctx, c, l); err != nil {
			return err
		}
	}
	if repeated {
		return s.engine.Style.NotPermitted(s.list.Repeated)
	}
	return nil
}

// entry is what the audit keeps of a link in a list: the far object's key, and the other columns of the joining table, such as a
// priority.
type entry struct {
	Key string `db:"key"`
	Row string `db:"beside"` // "priority 2", or ""
}

// MarshalText writes it as the audit shows it: "17", or "17 (priority 2)".
func (l entry) MarshalText() ([]byte, error) {
	if l.Row == "" {
		return []byte(l.Key), nil
	}
	return []byte(l.Key + " (" + l.Row + ")"), nil
}

// entries returns the links of an object, in their order.
func (s *setter[N, F]) entries(ctx context.Context, c store.Conn, near N) ([]entry, error) {
	order := s.farColumn
	if s.position != "" {
		order = s.position + ", " + s.farColumn
	}
	beside := "''"
	if columns := s.row.all(); len(columns) > 0 {
		parts := make([]string, len(columns))
		for i, col := range columns {
			parts[i] = "'" + col.name + " ' || coalesce(CAST(" + col.name + " AS text), 'null')"
		}
		beside = strings.Join(parts, " || ', ' || ")
	}
	return store.Select[entry](ctx, c, "SELECT CAST("+s.farColumn+" AS text) AS key, "+beside+" AS beside FROM "+s.joining+
		" WHERE "+s.nearColumn+" = $1 ORDER BY "+order, s.near.Key(near))
}

// replace writes the list. A link that stays keeps its row: its creation time, and its place in the reverse list.
func (s *setter[N, F]) replace(ctx context.Context, c store.Conn, near N, far []F, items []any) error {
	key := s.near.Key(near)
	args := &arguments{}
	drop := "DELETE FROM " + s.joining + " WHERE " + s.nearColumn + " = " + args.add(key)
	if len(far) > 0 {
		kept := make([]string, len(far))
		for i, o := range far {
			kept[i] = args.add(s.far.Key(o))
		}
		drop += " AND " + s.farColumn + " NOT IN (" + strings.Join(kept, ", ") + ")"
	}
	knows(ctx).changes(s.joining)
	if _, err := c.Exec(ctx, drop, args.values...); err != nil {
		return err
	}
	for i, o := range far {
		if err := s.put(ctx, c, key, s.far.Key(o), i, items[i]); err != nil {
			return err
		}
	}
	return nil
}

// refuseFull refuses if the reverse list of one of the objects has become too long.
func (s *setter[N, F]) refuseFull(ctx context.Context, c store.Conn, far []F) error {
	if s.reverse == "" || len(far) == 0 {
		return nil
	}
	args := &arguments{}
	keys := make([]string, len(far))
	for i, o := range far {
		keys[i] = args.add(s.far.Key(o))
	}
	full, err := store.Select[string](ctx, c, "SELECT CAST("+s.farColumn+" AS text) FROM "+s.joining+" WHERE "+s.farColumn+" IN ("+strings.Join(keys, ", ")+
		") GROUP BY "+s.farColumn+" HAVING count(*) > "+strconv.Itoa(MaxLinks)+" LIMIT 1", args.values...)
	if err != nil || len(full) == 0 {
		return err
	}
	return s.engine.Style.full(s.far.Singular, s.reverse, s.farColumn, s.far.key().typed(full[0]))
}

// put writes one row of the list, or the columns of an existing row that change.
func (s *setter[N, F]) put(ctx context.Context, c store.Conn, near, far any, at int, item any) error {
	args := &arguments{}
	names, values := []string{s.nearColumn, s.farColumn}, []string{args.add(near), args.add(far)}
	var changed []string
	set := func(column, value string) {
		names, values, changed = append(names, column), append(values, value), append(changed, column+" = excluded."+column)
	}
	if s.row != nil {
		row, err := s.row.from(item)
		if err != nil {
			return err
		}
		for _, col := range s.row.columns {
			if (col.name == s.position || col.name == s.backward) && !s.row.sends(item, col) {
				continue // its place in the list sets it
			}
			set(col.name, args.add(s.row.value(row, col)))
		}
	}
	if s.position != "" && !slices.Contains(names, s.position) {
		set(s.position, args.add(at))
	}
	if s.backward != "" && !slices.Contains(names, s.backward) { // the last in the reverse list
		names = append(names, s.backward)
		values = append(values, "(SELECT coalesce(max("+s.backward+"), -1) + 1 FROM "+s.joining+" WHERE "+s.farColumn+" = "+args.add(far)+")")
	}
	action := "NOTHING"
	if len(changed) > 0 {
		action = "UPDATE SET " + strings.Join(changed, ", ")
	}
	knows(ctx).links(&side{collection: s.near, joining: s.joining, column: s.nearColumn}, near)
	knows(ctx).links(&side{collection: s.far, joining: s.joining, column: s.farColumn}, far)
	_, err := c.Exec(ctx, "INSERT INTO "+s.joining+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(values, ", ")+") ON CONFLICT ("+
		s.nearColumn+", "+s.farColumn+") DO "+action, args.values...)
	return err
}

// added calls the hook for the objects that were not in the list before.
func (s *setter[N, F]) added(ctx context.Context, c store.Conn, list *ListingOf[N, F], before []entry) error {
	if s.list.Added == nil {
		return nil
	}
	fresh := slices.DeleteFunc(slices.Clone(list.Far), func(o F) bool {
		return slices.ContainsFunc(before, func(old entry) bool { return old.Key == fmt.Sprint(s.far.Key(o)) })
	})
	return s.list.Added(ctx, c, list, fresh)
}

// conclude writes the change to the audit and emits its events, unless the list is unchanged.
func (s *setter[N, F]) conclude(ctx context.Context, c store.Conn, r *rest.Request, scope string, near N, before, after []entry) error {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	var members []string
	for _, far := range slices.Concat(before, after) {
		emit(ctx, Event{Resource: s.far.Path, Key: far.Key, Tenant: s.near.tenantOf(near)})
		if member := s.far.Path + "/" + far.Key; !slices.Contains(members, member) {
			members = append(members, member)
		}
	}
	key := fmt.Sprint(s.near.Key(near))
	emit(ctx, Event{Resource: s.near.Path, Key: key, Tenant: s.near.tenantOf(near)})
	return audit.Write(ctx, c, r, audit.Change{
		Tenant: cmp.Or(s.near.tenantOf(near), scope), Resource: s.near.Path + "/" + s.list.Path, Object: key, Keys: [][]string{s.near.aliases(near).keys},
		Sides: []string{s.near.Path}, Also: members, Title: audit.Called(s.near.auditData(near)),
		Before: map[string]any{s.list.Field: before}, After: map[string]any{s.list.Field: after},
	})
}
