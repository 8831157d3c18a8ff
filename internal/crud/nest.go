package crud

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// NestOf is a [Nested] attribute of objects of L that stands for the objects of R that a relation joins with them, each with the attributes
// of its link, if the relation has a Row.
//
// A POST makes them, and links those that are named by their key; what else it has of these is not read. A PUT does so too, changes those that
// are linked already, and takes the others away: what is sent is the whole list. To take an object away ends its link, and deletes it with
// what is nested in it, unless it is linked with another object of L. A DELETE takes all of them away, unless the relation deletes them.
//
// Of a relation without operations, an object of R itself refers to that of L. Complete, Linked and Leave see to it: there are no links to make
// or, on a DELETE, to end.
type NestOf[L, R declaration.Pointer] struct {
	Name     string
	Relation RelationOf[L, R]
	// Many says that the attribute is a list, of at most [MaxLinks] objects. Without it the attribute is one object or null.
	Many bool
	// Fills are attributes of R that need not be sent, since Complete fills them in.
	Fills []string
	// Complete fills in a new object before it is made for of.New.
	Complete func(ctx context.Context, c store.Conn, of *declaration.Change[L], o R) error
	// Linked runs for an object that a client names by its key, before it is linked.
	Linked func(ctx context.Context, c store.Conn, of *declaration.Change[L], o R) error
	// Existing returns the object to be linked instead of a new one, or nil.
	Existing func(ctx context.Context, c store.Conn, of *declaration.Change[L], o R) (R, error)
	// Leave replaces what taking away does.
	Leave func(ctx context.Context, c store.Conn, change *declaration.Change[R]) error
	// Shown says that the reply of a POST shows the objects as that of their own POST does, and not as L shows them.
	Shown bool
	// Asked says that a POST reads the attribute only with recursive=true: see [Nested].
	Asked bool
	// Restore completes what was sent for an object that is there with what objects of L do not show of it: a client that sends back
	// what it has read changes nothing. sent is a copy of its own; the values in it are not.
	Restore func(o R, sent map[string]any)
}

// nest is a Nest on its engine.
type nest[L, R declaration.Pointer] struct {
	NestOf[L, R]
	of      *CollectionOf[L]
	objects *CollectionOf[R]
	// side returns that of the objects of L, when everything is declared.
	side func() *DeclaredSide
}

// On declares the attribute on an engine.
func (n NestOf[L, R]) On(e *Engine) {
	b := &nest[L, R]{NestOf: n, side: func() *DeclaredSide { return n.Relation.on(e).Left }}
	e.joins = append(e.joins, func() { b.of, b.objects = collectionOf[L](e), collectionOf[R](e) })
	nested := NestedOf[L]{
		Name: n.Name, Asked: n.Asked, Write: b.write, Remove: b.remove,
		Body:    func() *rest.Schema { return b.shaped(b.body()) },
		Partial: func() *rest.Schema { return b.shaped(b.partial()) },
	}
	if n.Shown {
		nested.Reply = func() *rest.Schema { return b.shaped(b.objects.bodies().reply) }
		nested.Show = b.show
	}
	nested.On(e)
}

// links reports whether there are links between the objects, which operations make and end.
func (n *nest[L, R]) links() bool { return len(n.side().relation.Only) > 0 }

// diff returns a change of the links of an object.
func (n *nest[L, R]) diff(change *declaration.Change[L], of L) *diff {
	return &diff{request: change.Request, tenant: change.Tenant, near: n.side(), object: of, nested: true}
}

// shaped returns the schema of the attribute, from that of one object.
func (n *nest[L, R]) shaped(one *rest.Schema) *rest.Schema {
	if n.Many {
		most := MaxLinks
		return &rest.Schema{Type: "array", Items: one, MaxItems: &most}
	}
	out := *one
	out.Nullable = true
	return &out
}

// ofLink returns the attributes of the link itself, which are sent beside those of its object. They are none of the object's struct.
func (n *nest[L, R]) ofLink() (out []rest.Property) {
	if !n.links() {
		return nil
	}
	for _, p := range n.side().relation.row.Schema.Properties {
		out = append(out, rest.Property{Name: p.Name, Schema: p.Schema})
	}
	return out
}

// body returns the schema of an object in a POST: a new one, or one that is named by its key.
func (n *nest[L, R]) body() *rest.Schema {
	k := n.objects
	out := *k.bodies().inner
	out.Name, out.Key = n.of.Schema.Name+"Nested"+k.Schema.Name, k.Keys[0]
	out.Properties = slices.Concat(out.Properties, n.ofLink())
	for i := range out.Properties {
		p := &out.Properties[i]
		p.Required = p.Required && !slices.Contains(n.Fills, p.Name)
		if p.Name == out.Key {
			key := *p.Schema
			key.Nullable = true
			p.ReadOnly, p.Schema = false, &key
		}
	}
	return &out
}

// partial returns the schema of an object in a PUT: one that is named by its key, or a new one.
func (n *nest[L, R]) partial() *rest.Schema {
	k := n.objects
	out := *k.bodies().innerUpdate
	ofLink := n.ofLink()
	if out.Name = k.Schema.Name + "Nested"; len(ofLink) > 0 {
		out.Name = n.of.Schema.Name + out.Name
	}
	out.Properties = slices.Concat(out.Properties, ofLink)
	if key := out.Property(k.Keys[0]); key != nil {
		key.ReadOnly = false
	}
	return &out
}

// item is one object that was sent.
type item[R declaration.Pointer] struct {
	at     string // its place in the attribute: "[2]"
	values map[string]any
	// found is an object that is there; draft describes a new one.
	found R
	// named says that it is to be linked as it is.
	named bool
	draft *DraftOf[R]
	fresh R
}

// object returns the object that the item stands for.
func (i *item[R]) object() R {
	if declaration.IsNull(i.fresh) {
		return i.found
	}
	return i.fresh
}

// write makes, changes and takes away objects so that exactly those that were sent are linked.
func (n *nest[L, R]) write(ctx context.Context, c store.Conn, change *declaration.Change[L], sent any) (any, error) {
	k := n.objects
	linked, err := n.linked(ctx, c, change)
	if err != nil {
		return nil, err
	}
	items := n.items(sent)
	for i := range items {
		if err := n.resolve(ctx, c, change, &items[i], linked); err != nil {
			return nil, within(err, items[i].at)
		}
		if o := items[i].found; !declaration.IsNull(o) && n.among(items[:i], o) {
			return nil, n.of.Style.NotPermitted("Cannot associate same " + declaration.Spaced(k.Singular) + " more than once.")
		}
	}
	gone := slices.DeleteFunc(slices.Clone(linked), func(o R) bool { return n.among(items, o) })
	if err := n.leave(ctx, c, change, n.diff(change, change.New), gone); err != nil {
		return nil, err
	}
	made := make([]*MadeOf[R], 0, len(items))
	for i := range items {
		one, err := n.put(ctx, c, change, &items[i])
		if err != nil {
			return nil, within(k.Refused(err, items[i].object()), items[i].at)
		}
		made = append(made, one)
	}
	err = n.associate(ctx, c, change, made, items)
	if refused := (*linkError)(nil); errors.As(err, &refused) {
		at := slices.IndexFunc(made, func(one *MadeOf[R]) bool { return any(one.Object) == refused.far })
		if at >= 0 {
			err = within(refused.error, items[at].at)
		}
	}
	return made, err
}

// items returns the objects that were sent.
func (n *nest[L, R]) items(sent any) []item[R] {
	list, many := sent.([]any)
	if !many && sent != nil {
		list = []any{sent}
	}
	items := make([]item[R], len(list))
	for i := range list {
		items[i].values, _ = list[i].(map[string]any)
		if many {
			items[i].at = fmt.Sprintf("[%d]", i)
		}
	}
	return items
}

// linked returns the objects that the object is linked with: none if it is new.
func (n *nest[L, R]) linked(ctx context.Context, c store.Conn, change *declaration.Change[L]) ([]R, error) {
	if declaration.IsNull(change.Old) {
		return nil, nil
	}
	return n.objects.Select(ctx, c, n.side().among("$1"), n.of.Key(change.Old))
}

func (n *nest[L, R]) among(items []item[R], o R) bool {
	k := n.objects
	return slices.ContainsFunc(items, func(i item[R]) bool { return !declaration.IsNull(i.found) && k.Key(i.found) == k.Key(o) })
}

// resolve finds the object that an item stands for, or drafts a new one.
func (n *nest[L, R]) resolve(ctx context.Context, c store.Conn, change *declaration.Change[L], i *item[R], linked []R) (err error) {
	k := n.objects
	if key := i.values[k.Keys[0]]; key != nil {
		for _, o := range linked {
			if fmt.Sprint(k.Key(o)) == strings.ToLower(fmt.Sprint(key)) {
				i.found = o
				return nil
			}
		}
		i.named = true
		i.found, err = n.named(ctx, c, change, i.values)
		return err
	}
	if !declaration.IsNull(change.Old) && !n.Many && len(linked) > 0 {
		i.found = linked[0]
		return nil
	}
	body := n.body()
	if !declaration.IsNull(change.Old) { // a PUT has checked what an update takes
		if wrong := body.Validate("", i.values); len(wrong) > 0 {
			return &apierr.Error{Kind: apierr.Invalid, Fields: wrong}
		}
	}
	if i.draft, err = k.draft(ctx, change.Request, body.Object(i.values), true); err != nil {
		return err
	}
	i.fresh = declaration.Cloned(i.draft.object)
	if n.Complete != nil {
		if err := n.Complete(ctx, c, change, i.fresh); err != nil {
			return err
		}
	}
	if n.Existing == nil {
		return nil
	}
	if i.found, err = n.Existing(ctx, c, change, i.fresh); err != nil || declaration.IsNull(i.found) {
		return err
	}
	return k.NotDenied(change.Request, i.found, "read")
}

// named returns an object that is to be linked.
func (n *nest[L, R]) named(ctx context.Context, c store.Conn, change *declaration.Change[L], values map[string]any) (R, error) {
	l, k := n.of, n.objects
	found, err := k.pick(ctx, c, change.Tenant, &List{Field: n.Name, By: k.Keys[:1]}, []any{values})
	if err != nil {
		return declaration.Null[R](), err
	}
	o := found[0].(R)
	if err := k.NotDenied(change.Request, o, "read"); err != nil {
		return declaration.Null[R](), err
	}
	if owner, theirs := l.TenantOf(change.New), k.TenantOf(o); owner != theirs {
		return declaration.Null[R](), n.of.Style.DifferentTenants(l.Singular, owner, k.Singular, theirs)
	}
	if n.Linked == nil {
		return o, nil
	}
	return o, n.Linked(ctx, c, change, o)
}

// put makes or changes the object of an item.
func (n *nest[L, R]) put(ctx context.Context, c store.Conn, change *declaration.Change[L], i *item[R]) (*MadeOf[R], error) {
	l, k := n.of, n.objects
	r, owner := change.Request, l.TenantOf(change.New)
	switch {
	case declaration.IsNull(i.found):
		if err := rights.MayNest(r, rights.AccessOf(n.of.Service, "/"+k.Path, "create")); err != nil {
			return nil, err
		}
		if of := n.side().relation; slices.Contains(of.Only, "create") {
			if err := l.NotDenied(r, change.New, declaration.Dotted(of.Path)+".create"); err != nil {
				return nil, err
			}
		}
		return k.make(ctx, c, owner, i.draft, i.fresh)
	case i.named:
		return &MadeOf[R]{Object: i.found}, nil
	case i.draft != nil: // it is there already
		nested, err := writeNested(ctx, c, &declaration.Change[R]{Request: r, Sent: i.draft.sent, Tenant: owner, Old: i.found, New: i.found}, i.draft.nested)
		return &MadeOf[R]{i.found, nested}, err
	default:
		return n.edit(ctx, c, r, owner, i)
	}
}

// edit changes an object that is linked.
func (n *nest[L, R]) edit(ctx context.Context, c store.Conn, r *rest.Request, owner string, i *item[R]) (*MadeOf[R], error) {
	k := n.objects
	values := i.values
	if n.Restore != nil {
		values = maps.Clone(values)
		n.Restore(i.found, values)
	}
	sent := k.bodies().innerUpdate.Object(values)
	nested, err := k.receiveNested(ctx, r, sent, true)
	if err != nil {
		return nil, err
	}
	change := &declaration.Change[R]{Request: r, Sent: sent, Tenant: owner, Old: i.found}
	if err := k.editNested(ctx, c, change, nested); err != nil {
		return nil, k.Refused(err, change.New)
	}
	if !reflect.DeepEqual(k.auditData(change.Old), k.auditData(change.New)) {
		if err := rights.MayNest(r, rights.Accesses(k.Entity, change.Old, "update")...); err != nil {
			return nil, err
		}
	}
	made, err := writeNested(ctx, c, change, nested)
	return &MadeOf[R]{change.New, made}, err
}

// associate links the object with what was made of the items, in this order.
func (n *nest[L, R]) associate(ctx context.Context, c store.Conn, change *declaration.Change[L], made []*MadeOf[R], items []item[R]) (err error) {
	if !n.links() {
		return nil
	}
	objects, sent := make([]any, len(made)), make([]any, len(made))
	for i, one := range made {
		objects[i], sent[i] = one.Object, items[i].values
	}
	d := n.diff(change, change.New)
	if !declaration.IsNull(change.Old) {
		if d.before, err = d.stored(ctx, c, nil); err != nil {
			return err
		}
	}
	return d.replace(ctx, c, objects, sent)
}

// show returns what was made for each of some objects of L, as the reply of a POST shows it.
func (n *nest[L, R]) show(ctx context.Context, c store.Conn, scope string, made []any) ([]any, error) {
	var all []*MadeOf[R]
	for _, of := range made {
		all = append(all, of.([]*MadeOf[R])...)
	}
	objects, err := n.objects.showMade(ctx, c, scope, all)
	if err != nil {
		return nil, err
	}
	shown := make([]any, len(made))
	for i, of := range made {
		count := len(of.([]*MadeOf[R]))
		switch {
		case n.Many:
			shown[i] = objects[:count:count]
		case count > 0:
			shown[i] = objects[0]
		}
		objects = objects[count:]
	}
	return shown, nil
}

// remove takes all the objects away, before the object is deleted.
func (n *nest[L, R]) remove(ctx context.Context, c store.Conn, change *declaration.Change[L]) error {
	if !n.links() || n.side().Deleted == Cascade {
		return nil
	}
	linked, err := n.linked(ctx, c, change)
	if err != nil {
		return err
	}
	d := n.diff(change, change.Old)
	d.unchecked = true
	return n.leave(ctx, c, change, d, linked)
}

// leave takes objects away: d ends their links.
func (n *nest[L, R]) leave(ctx context.Context, c store.Conn, change *declaration.Change[L], d *diff, gone []R) error {
	k := n.objects
	if n.Leave == nil {
		d.end(untypedAll(gone)...)
		if err := d.apply(ctx, c); err != nil {
			return err
		}
	}
	for _, o := range gone {
		left := &declaration.Change[R]{Request: change.Request, Tenant: k.TenantOf(o), Old: o}
		if n.Leave != nil {
			if err := k.NotDenied(change.Request, o, "read"); err != nil {
				return err // what the caller read does not have it
			}
			if err := rights.MayNest(change.Request, rights.Accesses(k.Entity, o, "update")...); err != nil {
				return err
			}
			if err := n.Leave(ctx, c, left); err != nil {
				return err
			}
			continue
		}
		others, err := d.near.other.held(ctx, c, k.Key(o), nil)
		if err != nil {
			return err
		}
		if others != nil {
			continue
		}
		if err := rights.MayNest(change.Request, rights.Accesses(k.Entity, o, "delete")...); err != nil {
			return err
		}
		if err := k.removeNested(ctx, c, left); err != nil {
			return err
		}
		if err := k.Delete(ctx, c, left); err != nil {
			return err
		}
	}
	return nil
}

// nestList lets the body of an object have the list of this side of a relation: of the left one as a GET shows it, and in a POST only with
// recursive=true.
func nestList[T declaration.Pointer](e *Engine, list *List, side func() *DeclaredSide, left bool) {
	if list == nil || list.Nested == "" {
		return
	}
	name, inside, _ := strings.Cut(list.Nested, ".")
	body := func() *rest.Schema {
		schema := side().listSchema()
		if left {
			schema = side().shownSchema()
		}
		if inside == "" {
			return schema
		}
		return &rest.Schema{Type: "object", Nullable: true, Name: schema.Items.Name + "s", Properties: []rest.Property{{Name: inside, Schema: schema}}}
	}
	NestedOf[T]{
		Name: name, Asked: left, Body: body, Partial: body,
		Write: func(ctx context.Context, c store.Conn, change *declaration.Change[T], value any) (any, error) {
			if sent, ok := value.(map[string]any); ok {
				value = sent[inside]
			}
			return nil, setNested(ctx, c, side(), change, value, left)
		},
	}.On(e)
}

// shownSchema is the schema of the list, of objects as they are shown: what is none of the list's own is taken, and ignored.
func (s *DeclaredSide) shownSchema() *rest.Schema {
	list, shown := s.listSchema(), *rest.SchemaFor(s.item)
	shown.Name, shown.Properties = s.Schema.Name+"Nested"+s.other.Schema.Name, slices.Clone(shown.Properties)
	for i := range shown.Properties {
		p := &shown.Properties[i]
		if own := list.Items.Property(p.Name); own != nil {
			p.Schema = own.Schema
		} else {
			p.ReadOnly = true
		}
	}
	list.Items = &shown
	return list
}

// NestedSchema describes the list of the relation's Set, for an attribute that has it beside other things: see Nested of [List].
func (n RelationOf[L, R]) NestedSchema(e *Engine) *rest.Schema { return n.on(e).Left.shownSchema() }

// SetNested replaces the list of an object, as the operation of the relation's Set does, for a request that contains it: nil is none.
func (n RelationOf[L, R]) SetNested(ctx context.Context, c store.Conn, e *Engine, change *declaration.Change[L], value any) error {
	return setNested(ctx, c, n.on(e).Left, change, value, true)
}

// SetOwn replaces the list of an object that has it as an attribute of its own, for the Save of its resource: that of the relation's Set, which is
// no operation. It takes no access beside that of the object's change, which the audit tells. It refuses a caller who is denied to read an object
// that comes or goes.
func (n RelationOf[L, R]) SetOwn(ctx context.Context, c store.Conn, e *Engine, change *declaration.Change[L], items []any) error {
	d := &diff{request: change.Request, tenant: change.Tenant, near: n.on(e).Left, object: change.New, nested: true, own: true}
	return d.replaceList(ctx, c, items)
}

// setNested replaces the list of an object, if the caller may do that by the list's own operation.
func setNested[T declaration.Pointer](ctx context.Context, c store.Conn, s *DeclaredSide, change *declaration.Change[T], value any, nested bool) error {
	items, sent := value.([]any)
	if !sent || len(items) == 0 && declaration.IsNull(change.Old) {
		return nil
	}
	r := change.Request
	if err := rights.MayNest(r, rights.Accesses(s.Entity, change.New, declaration.Dotted(s.Set.Path)+".update")...); err != nil {
		return err
	}
	return (&diff{request: r, tenant: change.Tenant, near: s, object: change.New, nested: nested}).replaceList(ctx, c, items)
}
