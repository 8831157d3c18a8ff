package crud

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// NestedOf is an attribute of an object of type T by which a client writes more than the object: other objects that are linked with
// it, or a part of it. The body of a POST may have it, and that of a PUT with recursive=true; a DELETE with recursive=true takes
// away what it stands for. It all happens in the transaction of the object, in the order of the resource's Nested.
//
// [Nest] makes one for objects, a [List] for links with objects that exist, and [Part] for itself. An attribute that the resource lists and
// nobody declares is not read.
//
// A POST takes the access of the POST alone, and a caller who is denied an operation that it contains is refused. Under PUT and
// DELETE the caller must hold the accesses of all that they contain: those of a user's own object are often given to the user.
type NestedOf[T declaration.Pointer] struct {
	Name string
	// Body is the attribute's schema in a POST, Partial that in a PUT, and Reply that in the reply of a POST. Without Reply the
	// attribute is shown as a GET shows it.
	Body, Partial, Reply func() *rest.Schema
	// Receive runs before the transaction, for slow work. It turns what was sent, in a body, into the value for the other hooks.
	Receive func(ctx context.Context, r *rest.Request, body rest.Object, sent any) (value any, err error)
	// Prepare runs before the object is checked and stored, and changes it.
	Prepare func(ctx context.Context, c store.Conn, change *declaration.Change[T], value any) error
	// Write runs when the object is stored, and returns what it made. An attribute without it is still taken, and need not be sent: the
	// definition calls it deprecated.
	Write func(ctx context.Context, c store.Conn, change *declaration.Change[T], value any) (made any, err error)
	// Show turns what Write made, for each of some objects, into what the reply of each shows.
	Show func(ctx context.Context, c store.Conn, scope string, made []any) (shown []any, err error)
	// Remove runs before the object is deleted.
	Remove func(ctx context.Context, c store.Conn, change *declaration.Change[T]) error
	// Inside says that the attribute is read only where the object itself is nested in another.
	Inside bool
	// Asked says that a POST of the object reads the attribute only with recursive=true, and then takes the accesses of all that it
	// contains, as a PUT does: the attribute is one that clients send back as they have read it, and mean nothing by it.
	Asked bool
}

// On declares the attribute on an engine.
func (n NestedOf[T]) On(e *Engine) {
	at := attribute{declaration.StructOf[T](), n.Name}
	if e.nested[at] != nil {
		panic(fmt.Sprintf("%s: two declarations of what is nested as %s", at.of, n.Name)) // a mistake in the declaration, which every start reports
	}
	e.nested[at] = &n
}

// findNests returns the nested attributes that are declared, in their order.
func (k *CollectionOf[T]) findNests() (out []*NestedOf[T]) {
	for _, name := range k.Nested {
		if n, ok := k.engine.nested[attribute{k.Of, name}].(*NestedOf[T]); ok {
			out = append(out, n)
		}
	}
	return out
}

// DraftOf is an object as a client sent it, with what is nested in it: checked, and not yet stored.
type DraftOf[T declaration.Pointer] struct {
	request *rest.Request
	sent    rest.Object
	object  T
	carry   any
	nested  []sentNested[T]
}

// sentNested is what a client sent for one nested attribute.
type sentNested[T declaration.Pointer] struct {
	*NestedOf[T]
	value any
}

// MadeOf is an object that was made, with what was made for the attributes nested in it.
type MadeOf[T declaration.Pointer] struct {
	Object T
	nested map[string]any
}

// Draft checks a body as a POST does, and does the slow work of creating the object: it is called before the transaction. The
// values are as rest.ParseJSON returns them.
func (k *CollectionOf[T]) Draft(ctx context.Context, r *rest.Request, values map[string]any) (*DraftOf[T], error) {
	body := k.bodies().plain
	if wrong := body.Validate("", values); len(wrong) > 0 {
		return nil, &apierr.Error{Kind: apierr.Invalid, Fields: wrong}
	}
	return k.draft(ctx, r, body.Object(values), false)
}

// draft is Draft of a checked body.
func (k *CollectionOf[T]) draft(ctx context.Context, r *rest.Request, sent rest.Object, inside bool) (*DraftOf[T], error) {
	change := &declaration.Change[T]{Request: r, Sent: sent, New: declaration.Fresh[T]()}
	if err := k.Schema.SetDefaults(change.New); err != nil {
		return nil, err
	}
	if err := sent.Into(change.New); err != nil {
		return nil, err
	}
	if k.MadeAs != "" {
		k.Set(change.New, k.MadeAs, r.Param(k.Param))
	}
	if err := k.receive(ctx, change); err != nil {
		return nil, err
	}
	nested, err := k.receiveNested(ctx, r, sent, inside)
	if err != nil {
		return nil, err
	}
	return &DraftOf[T]{request: r, sent: sent, object: change.New, carry: change.Carry, nested: nested}, nil
}

// receiveNested reads the nested attributes that were sent.
func (k *CollectionOf[T]) receiveNested(ctx context.Context, r *rest.Request, sent rest.Object, inside bool) ([]sentNested[T], error) {
	var out []sentNested[T]
	for _, n := range k.nests() {
		if !sent.Has(n.Name) || !inside && (n.Inside || n.Asked && !k.recursive(r)) {
			continue
		}
		value := sent.Value(n.Name)
		if n.Receive != nil {
			var err error
			if value, err = n.Receive(ctx, r, sent, value); err != nil {
				return nil, within(err, n.Name)
			}
		}
		out = append(out, sentNested[T]{n, value})
	}
	return out, nil
}

// Make creates an object and what is nested in it, in a transaction of Engine.InTx, for a request in a tenant. It fills in what is
// stored; Find reads the object as a client does.
func (k *CollectionOf[T]) Make(ctx context.Context, c store.Conn, tenantUUID string, d *DraftOf[T]) (*MadeOf[T], error) {
	if err := rights.MayWrite(ctx, c, k.Entity, tenantUUID); err != nil {
		return nil, err
	}
	return k.make(ctx, c, tenantUUID, d, declaration.Cloned(d.object))
}

// make is Make of an object that a draft describes.
func (k *CollectionOf[T]) make(ctx context.Context, c store.Conn, tenantUUID string, d *DraftOf[T], fresh T) (*MadeOf[T], error) {
	change := &declaration.Change[T]{Request: d.request, Sent: d.sent, Tenant: tenantUUID, New: fresh, Carry: d.carry}
	if err := prepareNested(ctx, c, change, d.nested); err != nil {
		return nil, err
	}
	load := func(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
		return k.RunLoad(ctx, c, []T{change.New})
	}
	if err := k.run(ctx, c, change, k.insertRow, k.save, load, k.conclude); err != nil {
		return nil, k.Refused(err, change.New)
	}
	nested, err := writeNested(ctx, c, change, d.nested)
	return &MadeOf[T]{change.New, nested}, err
}

// prepareNested lets the nested attributes change the object before it is checked.
func prepareNested[T declaration.Pointer](ctx context.Context, c store.Conn, change *declaration.Change[T], sent []sentNested[T]) error {
	for _, n := range sent {
		if n.Prepare == nil {
			continue
		}
		if err := n.Prepare(ctx, c, change, n.value); err != nil {
			return within(err, n.Name)
		}
	}
	return nil
}

// writeNested writes what is nested in a stored object, and returns what it made, by the attributes' names.
func writeNested[T declaration.Pointer](ctx context.Context, c store.Conn, change *declaration.Change[T], sent []sentNested[T]) (map[string]any, error) {
	made := make(map[string]any, len(sent))
	for _, n := range sent {
		if n.Write == nil {
			continue
		}
		one, err := n.Write(ctx, c, change, n.value)
		if err != nil {
			return nil, within(err, n.Name)
		}
		made[n.Name] = one
	}
	return made, nil
}

// removeNested takes away what is nested in an object before it is deleted.
func (k *CollectionOf[T]) removeNested(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	for _, n := range k.nests() {
		if n.Remove != nil {
			if err := n.Remove(ctx, c, change); err != nil {
				return err
			}
		}
	}
	return nil
}

// bodies are the schemas of the bodies and the reply of a collection with nested attributes.
type bodies struct {
	// create and reply are those of a POST, and plain that of one without recursive=true; update is that of a PUT with it. inner and
	// innerUpdate are those of an object that is nested in another.
	create, plain, reply, update, inner, innerUpdate *rest.Schema
}

// asked reports whether a POST reads some attributes only with recursive=true.
func (k *CollectionOf[T]) asked() bool {
	return slices.ContainsFunc(k.nests(), func(n *NestedOf[T]) bool { return n.Asked })
}

// makeBodies makes them, once, when everything is declared.
func (k *CollectionOf[T]) makeBodies() *bodies {
	if len(k.Nested) == 0 {
		return &bodies{create: k.Schema, plain: k.Schema, reply: k.Schema, update: k.Partial, inner: k.Schema, innerUpdate: k.Partial}
	}
	body := func(n *NestedOf[T]) func() *rest.Schema { return n.Body }
	partial := func(n *NestedOf[T]) func() *rest.Schema { return n.Partial }
	all := func(*NestedOf[T]) bool { return true }
	alone := func(n *NestedOf[T]) bool { return !n.Inside }
	out := &bodies{
		create: k.nesting(k.Schema, "Create", body, alone), update: k.nesting(k.Partial, "", partial, alone),
		reply: k.nesting(k.Schema, "Created", func(n *NestedOf[T]) func() *rest.Schema { return n.Reply }, alone),
	}
	out.plain, out.inner, out.innerUpdate = out.create, out.create, out.update
	if k.asked() {
		out.plain = k.nesting(k.Schema, "Create", body, func(n *NestedOf[T]) bool { return alone(n) && !n.Asked })
	}
	if slices.ContainsFunc(k.nests(), func(n *NestedOf[T]) bool { return n.Inside }) {
		out.inner, out.innerUpdate = k.nesting(k.Schema, "Inside", body, all), k.nesting(k.Partial, "Inside", partial, all)
	}
	return out
}

// nesting returns the schema with those of some nested attributes. An attribute without one keeps its schema.
func (k *CollectionOf[T]) nesting(s *rest.Schema, suffix string, of func(n *NestedOf[T]) func() *rest.Schema, some func(n *NestedOf[T]) bool) *rest.Schema {
	out := *s
	out.Properties = slices.Clone(s.Properties)
	changed := false
	for _, n := range k.nests() {
		schema := of(n)
		if schema == nil || !some(n) {
			continue
		}
		at := slices.IndexFunc(out.Properties, func(q rest.Property) bool { return q.Name == n.Name })
		p := rest.Property{Name: n.Name, Deprecated: n.Write == nil, Schema: schema()}
		changed = true
		if at >= 0 {
			if doc := out.Properties[at].Schema.Doc; p.Schema.Doc == "" && doc != "" {
				described := *p.Schema
				described.Doc, p.Schema = doc, &described
			}
			out.Properties[at] = p
		} else {
			p.WriteOnly = suffix != "Created"
			out.Properties = append(out.Properties, p)
		}
	}
	if changed {
		out.Name += suffix
	}
	return &out
}

// recursive reports whether a request changes what is nested too.
func (k *CollectionOf[T]) recursive(r *rest.Request) bool {
	return len(k.Nested) > 0 && r.Bool("recursive")
}

var recursiveParameter = rest.Parameter{
	Name: "recursive", Description: "`true`: what is nested in the object too.", Boolean: true, Schema: &rest.Schema{Type: "string"},
}

// within puts a refusal's fields under the attribute or the item that they are in: "exten" becomes "extensions[0].exten".
func within(err error, name string) error {
	e := apierr.As(err)
	if e == nil {
		return err
	}
	out := *e
	out.Fields, out.About = slices.Clone(e.Fields), slices.Clone(e.About)
	inside := func(field *string) {
		if *field == "" || strings.HasPrefix(*field, "[") {
			*field = name + *field
		} else {
			*field = name + "." + *field
		}
	}
	for i := range out.Fields {
		inside(&out.Fields[i].Name)
	}
	for i := range out.About {
		inside(&out.About[i])
	}
	return &out
}

// madeReply is the reply of a POST: the object, with what was made for the attributes nested in it. shown is nil until it is read.
type madeReply[T declaration.Pointer] struct {
	of    *CollectionOf[T]
	scope string
	made  *MadeOf[T]
	shown *nestedReply
}

func (m *madeReply[T]) WasRead() bool { return m.shown != nil }

func (m *madeReply[T]) ReadAll(ctx context.Context, others []transaction.Reading) error {
	var same []*madeReply[T]
	var made []*MadeOf[T]
	for _, other := range others {
		if o, ok := other.(*madeReply[T]); ok && o.of == m.of && o.scope == m.scope {
			same, made = append(same, o), append(made, o.made)
		}
	}
	return m.of.engine.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		shown, err := m.of.showMade(ctx, c, m.scope, made)
		for i := range shown {
			same[i].shown = shown[i]
		}
		return err
	})
}

// showMade returns the replies for what was made. It returns not found if one of the objects was deleted since.
func (k *CollectionOf[T]) showMade(ctx context.Context, c store.Conn, scope string, made []*MadeOf[T]) ([]*nestedReply, error) {
	keys := make([]any, len(made))
	for i, m := range made {
		keys[i] = k.Key(m.Object)
	}
	objects, err := k.FindAll(ctx, c, scope, keys)
	if err != nil {
		return nil, err
	}
	replies := make([]*nestedReply, len(made))
	for i, o := range objects {
		replies[i] = &nestedReply{object: o, nested: map[string]any{}}
	}
	for _, n := range k.nests() {
		if n.Show == nil {
			continue
		}
		var of []*nestedReply
		var what []any
		for i, m := range made {
			if one, ok := m.nested[n.Name]; ok {
				of, what = append(of, replies[i]), append(what, one)
			}
		}
		if len(what) == 0 {
			continue
		}
		shown, err := n.Show(ctx, c, scope, what)
		if err != nil {
			return nil, err
		}
		for i := range of {
			of[i].nested[n.Name] = shown[i]
		}
	}
	return replies, nil
}

// nestedReply is an object with attributes that are shown differently, or added.
type nestedReply struct {
	object any
	nested map[string]any
}

// MarshalJSON writes the object with those attributes in it.
func (r *nestedReply) MarshalJSON() ([]byte, error) {
	text, err := rest.Marshal(r.object)
	if err != nil || len(r.nested) == 0 {
		return text, err
	}
	return rest.WithAttributes(text, r.nested)
}
