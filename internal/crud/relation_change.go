package crud

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// diff is a change of the links of one object. Whatever makes, changes or ends links does so by [diff.apply]: one link, a list, nested
// objects, an import, the deletion of an object. Nothing else writes a joining table, but for what no request asks for: the authentication service
// puts each user into the group of all users, and gives what its configuration and its first start say; a tenant gets its first templates.
type diff struct {
	request *rest.Request
	tenant  string // in which the request acts
	near    *DeclaredSide
	object  any          // of the near side
	sent    *rest.Object // the body of the link's or the list's own operation, or nil

	added, changed, ended []*link
	// repeated says that an object was sent twice.
	repeated bool
	// list is what is replaced, and before what it was; nil if the links are not changed as a list.
	list   *List
	before []declaration.StoredLink

	// nested says that the request contains the change, and is not about it. The caller has read what it ends as a part of the object.
	nested bool
	// own says that the list is an attribute of the object itself, whose own change is told.
	own bool
	// unchecked says that the object is to be deleted: MayEnd is not asked.
	unchecked bool
	// gone says that the object is being deleted: the hooks of the links do not run, for it has its own.
	gone bool
}

// link is one link of a change.
type link struct {
	change *diff
	far    any // the object of the other side
	row    any // a pointer to the struct of the relation's Row
	place  int64
	ends   bool
	pair   any // the same for the hooks: a *PairOf
}

// last is the place of a link that comes after the others in the left object's list.
const last = -1

func (d *diff) link(far any) *link { return &link{change: d, far: far, place: last} }

// keys returns the keys of the left and the right object.
func (l *link) keys() (left, right any) {
	r := l.change.near.relation
	left, right = l.sides()
	return r.Left.Key(left), r.Right.Key(right)
}

// sides returns the left and the right object.
func (l *link) sides() (left, right any) {
	if l.change.near == l.change.near.relation.Left {
		return l.change.object, l.far
	}
	return l.far, l.change.object
}

// pairOf returns a link as hooks know it.
func pairOf[L, R declaration.Pointer](l *link) *PairOf[L, R] {
	if l.pair == nil {
		left, right := l.sides()
		l.pair = &PairOf[L, R]{
			Request: l.change.request, Tenant: l.change.tenant, Left: left.(L), Right: right.(R), Ends: l.ends, Row: l.row, link: l,
		}
	}
	return l.pair.(*PairOf[L, R])
}

// untyped returns a check for links of any type. There is nothing to check of no links.
func untyped[L, R declaration.Pointer](check CheckOf[L, R]) func(ctx context.Context, c store.Conn, links []*link) error {
	return func(ctx context.Context, c store.Conn, links []*link) error {
		if check == nil || len(links) == 0 {
			return nil
		}
		pairs := make([]*PairOf[L, R], len(links))
		for i, l := range links {
			pairs[i] = pairOf[L, R](l)
		}
		return check(ctx, c, pairs)
	}
}

// end adds the end of the links with some objects to the change.
func (d *diff) end(objects ...any) {
	for _, o := range objects {
		l := d.link(o)
		l.ends = true
		d.ended = append(d.ended, l)
	}
}

// associate makes a link that may be there, or changes its row.
func (d *diff) associate(ctx context.Context, c store.Conn, far any) error {
	l, key := d.link(far), d.near.other.Key(far)
	var there *declaration.StoredLink
	if !d.near.relation.GivesRights && !transaction.MemoryOf(ctx).Unlinked(&d.near.other.Side, key) {
		if stored, err := d.stored(ctx, c, key); err != nil {
			return err
		} else if len(stored) > 0 {
			there, l.place = &stored[0], stored[0].Place
		}
	}
	var sent map[string]any
	if d.sent != nil {
		sent = d.sent.Values()
	}
	if err := l.asSent(sent, there, l.place, true); err != nil {
		return err
	}
	switch {
	case there == nil:
		d.added = []*link{l}
	case !reflect.DeepEqual(l.row, there.Row):
		d.changed = []*link{l}
	}
	return d.apply(ctx, c)
}

// replace makes these objects all that the object is linked with, in this order. items are what the client sent of each.
func (d *diff) replace(ctx context.Context, c store.Conn, objects, items []any) error {
	far := d.near.other
	had, keys := make(map[string]*declaration.StoredLink, len(d.before)), make([]string, len(objects))
	for i := range d.before {
		had[d.before[i].Key] = &d.before[i]
	}
	for i, o := range objects {
		keys[i] = fmt.Sprint(far.Key(o))
	}
	sameOrder := slices.EqualFunc(keys, d.before, func(key string, there declaration.StoredLink) bool { return key == there.Key })
	listed := make(map[string]bool, len(objects))
	for i, o := range objects {
		if d.repeated = d.repeated || listed[keys[i]]; listed[keys[i]] {
			continue
		}
		listed[keys[i]] = true
		l, there := d.link(o), had[keys[i]]
		item, _ := items[i].(map[string]any)
		if err := l.asSent(item, there, int64(i), sameOrder); err != nil {
			return err
		}
		switch {
		case there == nil:
			d.added = append(d.added, l)
		case l.place != there.Place || !reflect.DeepEqual(l.row, there.Row):
			d.changed = append(d.changed, l)
		}
	}
	var gone []any
	for _, there := range d.before {
		if !listed[there.Key] {
			gone = append(gone, far.KeyColumn().Typed(there.Key))
		}
	}
	if len(gone) > 0 {
		dropped, err := far.collection.rowsOf(ctx, c, far.KeyColumn().Name+" IN ("+query.Placeholders(1, len(gone))+")", gone...)
		if err != nil {
			return err
		}
		d.end(dropped...)
	}
	return d.apply(ctx, c)
}

// asSent sets the row of a link, and its place. there is the link as it is stored, or nil; at is where it is in the list, if nobody says
// otherwise. Of a link that is there and not sent in a list of links, the row keeps what is not sent.
func (l *link) asSent(item map[string]any, there *declaration.StoredLink, at int64, sameOrder bool) (err error) {
	d := l.change
	r := d.near.relation
	var kept any
	if there != nil && d.list == nil {
		kept = there.Row
	}
	if l.row, err = r.row.From(item, kept); err != nil {
		return err
	}
	if r.Left.Position == "" {
		l.place = 0
		return nil
	}
	placed := r.placed()
	has := func(name string) bool { _, ok := item[name]; return ok }
	switch {
	case placed != nil && r.row.Sends(has, *placed):
		l.place = r.row.Field(l.row, *placed).Int()
	case d.near == r.Left && (placed != nil || !sameOrder):
		l.place = at
	case there != nil:
		l.place = there.Place
	}
	if placed != nil && l.place != last {
		r.row.Field(l.row, *placed).SetInt(l.place)
	}
	return nil
}

// placed is the column of the position, if it is one of the row: then clients may say where in the list a link is.
func (r *DeclaredRelation) placed() *declaration.Column {
	return declaration.ColumnNamed(r.row.Columns, r.Left.Position)
}

// apply takes a change through: whether the caller may, and the links allow it; the table; hooks, events and the audit. A change of nothing
// takes no access, and is not refused.
func (d *diff) apply(ctx context.Context, c store.Conn) error {
	if len(d.added)+len(d.changed)+len(d.ended) == 0 && !d.repeated {
		return nil
	}
	r := d.near.relation
	if err := d.mayDo(); err != nil {
		return err
	}
	if !d.unchecked {
		if err := r.mayEnd(ctx, c, d.ended); err != nil {
			return err
		}
	}
	ended, err := d.deleteEnded(ctx, c) // first: what is ended does not stand in the way of what is made
	if err != nil {
		return err
	}
	if d.gone {
		return d.recordEach(ctx, c)
	}
	if err := r.allow(ctx, c, d.added); err != nil {
		return err
	}
	if d.repeated && d.list.Repeated != "" {
		return r.engine.Style.NotPermitted(d.list.Repeated)
	}
	if err := d.refuseFull(ctx, c); err != nil {
		return err
	}
	changed, err := d.update(ctx, c)
	if err != nil {
		return err
	}
	added, err := d.insert(ctx, c)
	if err != nil || ended+changed+added == 0 {
		return err
	}
	return d.conclude(ctx, c)
}

// mayDo refuses a caller who is denied an operation that would do a part of the change alone. For a change that is nested the caller must
// also hold the access of one, for what changes of a link as for the link.
func (d *diff) mayDo() error {
	if !d.nested && !rights.HasDenials(d.request) {
		return nil
	}
	parts := slices.Concat(d.ended, d.added)
	if d.nested {
		parts = append(parts, d.changed...)
	}
	for _, l := range parts {
		// The list that the caller read does not have what they may not read; and a list that is nested does not take it.
		if l.ends && (d.nested || d.list != nil) || d.nested && d.list != nil {
			if err := rights.NotDenied(d.request, rights.Accesses(d.near.other.Entity, l.far, "read")...); err != nil {
				return err
			}
		}
		for i, accesses := range l.accesses() {
			check := rights.NotDenied
			if i == 0 && d.nested {
				check = rights.MayNest
			}
			if err := check(d.request, accesses...); err != nil {
				return err
			}
		}
	}
	return nil
}

// accesses returns the accesses of the operations that would make, or end, the link alone, each by all names of its objects.
func (l *link) accesses() [][]string {
	r := l.change.near.relation
	left, right := l.sides()
	alone := map[string]bool{"put": !l.ends, "delete": l.ends, "delete_all": l.ends, "set": true, "set_back": true}
	var out [][]string
	for _, kind := range r.Only {
		if alone[kind] {
			out = append(out, rights.Filled(r.Accesses[kind], r.Left.names(left), r.Right.names(right)))
		}
	}
	return out
}

// deleteEnded deletes the links that end, and returns how many there were.
func (d *diff) deleteEnded(ctx context.Context, c store.Conn) (int64, error) {
	if len(d.ended) == 0 {
		return 0, nil
	}
	args := []any{d.near.Key(d.object)}
	for _, l := range d.ended {
		args = append(args, d.near.other.Key(l.far))
	}
	transaction.MemoryOf(ctx).Changed(d.near.Joining)
	return c.Exec(ctx, "DELETE FROM "+d.near.Joining+" WHERE "+d.near.Refers+" = $1 AND "+d.near.other.Refers+" IN ("+
		query.Placeholders(2, len(d.ended))+")", args...)
}

// values are what a link has in the columns of the joining table beside its two keys.
func (l *link) values() []any {
	r := l.change.near.relation
	var out []any
	for _, col := range r.columns {
		if col.Name == r.Left.Position {
			out = append(out, l.place)
		} else {
			out = append(out, r.row.Field(l.row, col).Interface())
		}
	}
	return out
}

// update writes the links that change.
func (d *diff) update(ctx context.Context, c store.Conn) (int64, error) {
	if len(d.changed) == 0 {
		return 0, nil
	}
	other := d.near.other
	rows := make([][]any, len(d.changed))
	for i, l := range d.changed {
		rows[i] = append([]any{other.Key(l.far)}, l.values()...)
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return 0, err
	}
	var sets []string
	for i, col := range d.near.relation.columns {
		sets = append(sets, col.Name+" = "+col.Kind.FromList("e.value", i+1))
	}
	transaction.MemoryOf(ctx).Changed(d.near.Joining)
	return c.Exec(ctx, "UPDATE "+d.near.Joining+" SET "+strings.Join(sets, ", ")+" FROM json_each(CAST($1 AS text)) AS e WHERE "+
		d.near.Joining+"."+d.near.Refers+" = $2 AND "+d.near.Joining+"."+other.Refers+" = "+other.KeyColumn().Kind.FromList("e.value", 0),
		string(list), d.near.Key(d.object))
}

// insert writes the new links. It writes no row for a link that gives rights and is there already.
func (d *diff) insert(ctx context.Context, c store.Conn) (int64, error) {
	if len(d.added) == 0 {
		return 0, nil
	}
	r := d.near.relation
	names := []string{r.Left.Refers, r.Right.Refers}
	for _, col := range r.columns {
		names = append(names, col.Name)
	}
	args := &query.Arguments{}
	rows := make([]string, len(d.added))
	for i, l := range d.added {
		left, right := l.keys()
		row := []string{args.Add(left), args.Add(right)}
		for n, value := range l.values() {
			if names[n+2] == r.Left.Position && l.place == last {
				end := fmt.Sprintf("coalesce(max(%s), -1) + %d", r.Left.Position, i+1)
				row = append(row, "(SELECT "+end+" FROM "+r.table+" WHERE "+r.Left.Refers+" = "+row[0]+")")
				continue
			}
			row = append(row, args.Add(value))
		}
		rows[i] = "(" + strings.Join(row, ", ") + ")"
	}
	sql := "INSERT INTO " + r.table + " (" + strings.Join(names, ", ") + ") VALUES " + strings.Join(rows, ", ")
	if r.GivesRights {
		sql += " ON CONFLICT (" + r.Left.Refers + ", " + r.Right.Refers + ") DO NOTHING"
	}
	made, err := c.Exec(ctx, sql, args.Values...)
	if store.IsConstraint(err, store.Unique) { // two clients did it at once, and both had read before
		refusal := r.engine.Style.Storedf("%s is associated with a %s already", r.Left.title, r.Right.title)
		refusal.Err = err
		return 0, refusal
	}
	for _, l := range d.added {
		left, right := l.keys()
		transaction.MemoryOf(ctx).Linked(&r.Left.Side, left)
		transaction.MemoryOf(ctx).Linked(&r.Right.Side, right)
	}
	return made, err
}

// conclude runs the hooks, emits the events, and writes the change to the audit: of a list as a whole, otherwise of each link.
func (d *diff) conclude(ctx context.Context, c store.Conn) error {
	r := d.near.relation
	all := slices.Concat(d.ended, d.added, d.changed)
	if err := r.changed(ctx, c, all); err != nil || d.own {
		return err
	}
	if d.list != nil {
		return d.recordList(ctx, c)
	}
	return d.recordEach(ctx, c)
}

// recordEach emits the events of each link, and writes it to the audit.
func (d *diff) recordEach(ctx context.Context, c store.Conn) error {
	for _, l := range slices.Concat(d.ended, d.added, d.changed) {
		if err := l.record(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// event returns the event of an object of this side.
func (s *DeclaredSide) event(o any) transaction.Event {
	return transaction.Event{Resource: s.Path, Key: fmt.Sprint(s.Key(o)), Tenant: s.TenantOf(o)}
}

func (l *link) record(ctx context.Context, c store.Conn) error {
	r := l.change.near.relation
	left, right := l.sides()
	one, other := r.Left.event(left), r.Right.event(right)
	transaction.Emit(ctx, one)
	transaction.Emit(ctx, other)
	change := audit.Change{
		Tenant: cmp.Or(one.Tenant, l.change.tenant), Resource: one.Resource + "/" + r.Path, Object: one.Key + "/" + other.Key,
		Keys:  [][]string{rights.AliasesOf(r.Left.Entity, left).Keys, rights.AliasesOf(r.Right.Entity, right).Keys},
		Sides: []string{one.Resource, other.Resource}, Title: r.Left.collection.titleOf(left) + " " + r.Right.collection.titleOf(right),
	}
	name := r.Right.Singular
	if r.Left.collection == r.Right.collection {
		name = "other_" + name
	}
	pair := map[string]any{}
	pair[r.Left.Singular], pair[name] = l.keys()
	if l.ends {
		change.Before = pair
	} else {
		change.After = pair
	}
	return audit.Write(ctx, c, l.change.request, change)
}

func (d *diff) recordList(ctx context.Context, c store.Conn) error {
	after, err := d.stored(ctx, c, nil)
	if err != nil {
		return err
	}
	of := d.near.event(d.object)
	var members []string
	for _, far := range slices.Concat(d.before, after) {
		transaction.Emit(ctx, transaction.Event{Resource: d.near.other.Path, Key: far.Key, Tenant: of.Tenant})
		if member := d.near.other.Path + "/" + far.Key; !slices.Contains(members, member) {
			members = append(members, member)
		}
	}
	transaction.Emit(ctx, of)
	row := d.near.relation.row
	return audit.Write(ctx, c, d.request, audit.Change{
		Tenant: cmp.Or(of.Tenant, d.tenant), Resource: of.Resource + "/" + d.list.Path, Object: of.Key,
		Keys: [][]string{rights.AliasesOf(d.near.Entity, d.object).Keys}, Sides: []string{of.Resource}, Also: members,
		Title:  d.near.collection.titleOf(d.object),
		Before: map[string]any{d.list.Field: row.Texts(d.before)}, After: map[string]any{d.list.Field: row.Texts(after)},
	})
}

// stored returns the links of the object in their order, or only that with the object of the other side that has a key.
func (d *diff) stored(ctx context.Context, c store.Conn, with any) ([]declaration.StoredLink, error) {
	s := d.near
	place, order, condition, args := "0", s.other.Refers, s.other.Refers+" IS NOT NULL", []any{s.Key(d.object)}
	if position := s.relation.Left.Position; position != "" {
		place = position
	}
	if s.Position != "" {
		order = s.Position + ", " + order
	}
	if with != nil {
		condition, args = s.other.Refers+" = $2", append(args, with)
	}
	return s.relation.row.Stored(ctx, c, "SELECT CAST("+s.other.Refers+" AS text) AS key, "+place+" AS place"+s.relation.row.Selected()+
		" FROM "+s.Joining+" WHERE "+s.Refers+" = $1 AND "+condition+" ORDER BY "+order, args...)
}

// all returns the objects that an object of this side is linked with.
func (s *DeclaredSide) all(ctx context.Context, c store.Conn, o any) ([]any, error) {
	return s.other.collection.rowsOf(ctx, c, s.among("$1"), s.Key(o))
}

// among returns the condition for the objects of the other side that are linked with one of this side.
func (s *DeclaredSide) among(placeholder string) string {
	return s.other.KeyColumn().Name + " IN (SELECT " + s.other.Refers + " FROM " + s.Joining + " WHERE " + s.Refers + " = " + placeholder + ")"
}

// linkedWith is among for the objects that the caller of ctx may know to be linked.
func (s *DeclaredSide) linkedWith(ctx context.Context, o any, add func(value any) (placeholder string)) string {
	shown := strings.Replace(s.among(add(s.Key(o))), " FROM "+s.Joining, " FROM {"+s.Joining+"} l", 1)
	return s.relation.engine.SQL(ctx, declaration.ParseSQL(shown), add)
}

// mayUnlink refuses a caller who is denied to end a link of an object that is deleted: what a denial keeps from being taken away is not
// taken away with it. Nobody needs more than the access of the deletion.
func (k *CollectionOf[T]) mayUnlink(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	if change.Request == nil || !rights.HasDenials(change.Request) {
		return nil
	}
	return k.eachLinked(ctx, c, change, func(d *diff, _ []any) error { return d.mayDo() })
}

// unlink does with the links of an object that is deleted what their relations say.
func (k *CollectionOf[T]) unlink(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	return k.eachLinked(ctx, c, change, func(d *diff, linked []any) error {
		if d.near.Deleted == Refuse {
			if err := d.near.refuseLinked(ctx, c, change.Old); err != nil {
				return err
			}
		}
		if err := d.apply(ctx, c); err != nil || d.near.Deleted != Cascade {
			return err
		}
		return d.near.cascade(ctx, c, d, linked)
	})
}

// eachLinked runs do for each relation by which an object that is deleted is linked, of those that operations change: with the end of its
// links, and with what it is linked with.
func (k *CollectionOf[T]) eachLinked(ctx context.Context, c store.Conn, change *declaration.Change[T], do func(d *diff, linked []any) error) error {
	var each []string
	for i, s := range k.sides {
		if len(s.relation.Only) > 0 {
			links := "SELECT 1 FROM " + s.Joining + " WHERE " + s.Refers + " = $1 AND " + s.other.Refers + " IS NOT NULL"
			each = append(each, fmt.Sprintf("SELECT %d AS side WHERE EXISTS (%s)", i, links))
		}
	}
	if len(each) == 0 {
		return nil
	}
	found, err := store.Select[int](ctx, c, strings.Join(each, " UNION ALL ")+" ORDER BY side", k.Key(change.Old))
	if err != nil {
		return err
	}
	for _, at := range found {
		d := &diff{request: change.Request, tenant: change.Tenant, near: k.sides[at], object: change.Old, unchecked: true, gone: true}
		linked, err := d.near.all(ctx, c, d.object)
		if err != nil {
			return err
		}
		d.end(linked...)
		if err := do(d, linked); err != nil {
			return err
		}
	}
	return nil
}

// cascade deletes the objects that one of this side was linked with.
func (s *DeclaredSide) cascade(ctx context.Context, c store.Conn, d *diff, linked []any) error {
	other := s.other
	if err := other.collection.ownOf(ctx, c, linked); err != nil {
		return err
	}
	for _, o := range linked {
		if err := rights.NotDenied(d.request, rights.Accesses(other.Entity, o, "delete")...); err != nil {
			return err
		}
		if err := other.collection.deleteOf(ctx, c, d.request, d.tenant, o); err != nil {
			return err
		}
	}
	return nil
}
