package crud

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// What a caller is denied to read by its own path is not read by another path either: an object is in no list and in no other object, and
// an attribute is as if nothing was set. A caller whose accesses deny nothing pays nothing for it.

// caller returns the caller of ctx if their accesses deny anything, or nil.
func caller(ctx context.Context) *principal.Principal {
	p := principal.FromContext(ctx)
	if p == nil || !p.HasDenials() {
		return nil
	}
	return p
}

// denied returns the condition for the rows whose objects the caller of ctx is denied to read, under any of their keys, or "" if nothing
// is denied. of is the name of the table in the statement; add adds a value. There are never more than acl.MaxPatterns values.
func (k *CollectionOf[T]) denied(ctx context.Context, of string, add func(value any) (placeholder string)) string {
	return k.deniedBy(ctx, of, "", add)
}

// deniedBy is denied for a path below the object, as words: "forwards.busy". With "" it is for the object.
func (k *CollectionOf[T]) deniedBy(ctx context.Context, of, path string, add func(value any) (placeholder string)) string {
	p := caller(ctx)
	if p == nil {
		return ""
	}
	after := ".read"
	if path != "" {
		after = "." + path + after
	}
	words, all := p.DeniedWords(k.engine.Service+"."+dotted(k.Path)+".", after)
	if all {
		return "1 = 1"
	}
	var conditions []string
	if path == "" {
		conditions = k.deniedParents(ctx, of, add)
	}
	for _, name := range k.names() {
		col := k.byName[name]
		var values []any
		for _, word := range words {
			typed := strings.ReplaceAll(word, "%2E", ".") // as rest.WriteWord wrote it
			if value, ok := col.argument(typed); ok && fmt.Sprint(value) == typed {
				values = append(values, value)
			}
		}
		if list, err := json.Marshal(values); err == nil && len(values) > 0 {
			conditions = append(conditions, k.engine.listed(of+"."+col.name, col.kind, add(string(list))))
		}
	}
	for word, column := range k.Known {
		if slices.Contains(words, word) {
			conditions = append(conditions, of+"."+column)
		}
	}
	return strings.Join(conditions, " OR ")
}

// deniedParents returns the conditions for the rows that belong to an object which the caller of ctx is denied to read, or of which they are
// denied to list what belongs to it.
func (k *CollectionOf[T]) deniedParents(ctx context.Context, of string, add func(value any) (placeholder string)) (out []string) {
	for _, p := range k.parents {
		for _, path := range []string{"", dotted(k.Path)} {
			if condition := ofHidden(p.collection, of+"."+p.column, p.collection.deniedBy(ctx, p.collection.alias(), path, add)); condition != "" {
				out = append(out, condition)
			}
		}
	}
	return out
}

// visible returns the condition for the rows whose objects the caller of ctx is not denied to read, or "" if nothing is denied.
func (k *CollectionOf[T]) visible(ctx context.Context, of string, add func(value any) (placeholder string)) string {
	denied := k.denied(ctx, of, add)
	if denied == "" {
		return ""
	}
	return "(" + denied + ") IS NOT TRUE" // a key may be null
}

// Visible returns the condition for the rows of the collection of a path whose objects the caller of ctx is not denied to read, for
// statements that show them. of is the name of the table in the statement. The condition's values are appended to args.
func (e *Engine) Visible(ctx context.Context, path, of string, args *[]any) string {
	t, declared := e.byPath[path]
	if !declared {
		return "1 = 1"
	}
	all := arguments{*args}
	condition := t.visible(ctx, of, all.add)
	if *args = all.values; condition == "" {
		return "1 = 1"
	}
	return condition
}

// MayRead refuses if the caller of ctx is denied to read the object of a path's collection with this key, its only one.
func (e *Engine) MayRead(ctx context.Context, path, key string) error {
	access := e.Service + "." + dotted(path) + "." + wordOf(key) + ".read"
	if p := caller(ctx); p != nil && p.Denies(access) {
		return notAllowed("Your token denies %s, which this contains", access)
	}
	return nil
}

// Whole returns a context in which objects are read as they are, whatever the caller is denied: for what is not shown to them.
func Whole(ctx context.Context) context.Context { return principal.NewContext(ctx, nil) }

// apart is an attribute that clients also read by paths of their own below the object.
type apart[T pointer] struct {
	attribute string
	// paths returns those of an object, as words after its key: "forwards", "forwards.busy".
	paths func(o T) []string
}

// readApart adds an attribute that clients also read by these paths below the object.
func (k *CollectionOf[T]) readApart(attribute string, paths ...string) {
	if attribute != "" && len(paths) > 0 {
		k.apart = append(k.apart, apart[T]{attribute, func(T) []string { return paths }})
	}
}

// withheld returns the attributes of an object that the caller of ctx is denied to read by one of their own paths.
func (k *CollectionOf[T]) withheld(ctx context.Context, o T) []string {
	p := caller(ctx)
	if p == nil {
		return nil
	}
	var out []string
	for _, a := range k.apart {
		denied := slices.ContainsFunc(a.paths(o), func(path string) bool {
			return slices.ContainsFunc(k.accesses(o, path+".read"), p.Denies)
		})
		if denied {
			out = append(out, a.attribute)
		}
	}
	return out
}

// Withholds reports whether the caller of ctx is denied to read an attribute of an object by one of the attribute's own paths.
func (k *CollectionOf[T]) Withholds(ctx context.Context, o T, attribute string) bool {
	return slices.Contains(k.withheld(ctx, o), attribute)
}

// withhold empties the attributes of objects that the caller of ctx is denied to read.
func (k *CollectionOf[T]) withhold(ctx context.Context, objects []T) error {
	for _, o := range objects {
		if err := k.empty(o, k.withheld(ctx, o)); err != nil {
			return err
		}
	}
	return nil
}

// empty makes attributes of an object what they are where nothing was set.
func (k *CollectionOf[T]) empty(o T, names []string) error {
	if len(names) == 0 {
		return nil
	}
	unset := fresh[T]()
	if err := k.schema.SetDefaults(unset); err != nil {
		return err
	}
	for _, name := range names {
		index := k.schema.Property(name).Index()
		reflect.ValueOf(o).Elem().FieldByIndex(index).Set(reflect.ValueOf(unset).Elem().FieldByIndex(index))
	}
	return nil
}

// forCaller returns what the caller of ctx reads of an object, which stays as it is.
func (k *CollectionOf[T]) forCaller(ctx context.Context, o T) (any, error) {
	if names := k.withheld(ctx, o); len(names) > 0 {
		o = cloned(o)
		if err := k.empty(o, names); err != nil {
			return nil, err
		}
	}
	body, _, err := k.engine.without(ctx, k.schema, o)
	return body, err
}

// without returns what the caller of ctx reads of a body: attributes name none of the objects that they are denied to read. It also returns
// the access to read one that the body names.
func (e *Engine) without(ctx context.Context, schema *rest.Schema, body any) (shown any, denied string, err error) {
	if caller(ctx) == nil {
		return body, "", nil
	}
	value, err := asRead(body)
	if err != nil {
		return nil, "", err
	}
	known := map[string]func(value any) bool{}
	value = schema.Without(value, func(ref string, value any) bool {
		hides, asked := known[ref]
		if !asked && err == nil {
			hides, err = e.hides(ctx, ref)
			known[ref] = hides
		}
		if hides == nil || !hides(value) {
			return false
		}
		at := strings.LastIndexByte(ref, '.')
		denied = e.Service + "." + dotted(ref[:at]) + "." + wordOf(fmt.Sprint(value)) + ".read"
		return true
	})
	if err != nil || denied == "" {
		return body, "", err
	}
	return value, denied, nil
}

// hides returns what reports whether a value is that of an object that the caller of ctx is denied to read: ref is its collection and its
// attribute, "contexts.name". It is nil if there are none.
func (e *Engine) hides(ctx context.Context, ref string) (func(value any) bool, error) {
	at := strings.LastIndexByte(ref, '.')
	t, declared := e.byPath[ref[:at]]
	if !declared {
		return nil, nil
	}
	args := &arguments{}
	condition := t.denied(ctx, t.tableName(), args.add)
	if condition == "" {
		return nil, nil
	}
	col, _ := t.column(ref[at+1:])
	var c store.Conn = e.DB
	if tx := transactionOf(ctx); tx != nil {
		c = tx.conn
	}
	values, err := store.Select[string](ctx, c, "SELECT CAST("+col.name+" AS text) FROM "+t.tableName()+" WHERE "+condition, args.values...)
	hidden := make(map[string]bool, len(values))
	for _, value := range values {
		hidden[value] = true
	}
	return func(value any) bool { return hidden[fmt.Sprint(value)] }, err
}

// Picture returns what the caller of ctx reads of what the audit has kept: the attributes of an object, the other objects of a list of links, or
// what a GET of a part shows.
func (e *Engine) Picture(ctx context.Context, resource string, picture any) (any, error) {
	if caller(ctx) == nil || picture == nil {
		return picture, nil
	}
	value, err := asRead(picture)
	if err != nil {
		return nil, err
	}
	fields, named := value.(map[string]any)
	if !named {
		return picture, nil
	}
	if t, declared := e.byPath[resource]; declared {
		return t.picture(ctx, fields)
	}
	for _, r := range e.relations {
		for _, s := range []*side{r.left, r.right} {
			if s.list != nil && s.collection.path()+"/"+s.list.Path == resource {
				return s.other.picture(ctx, fields)
			}
		}
	}
	if schema := e.replies[resource]; schema != nil {
		value, _, err = e.without(ctx, schema, fields)
	}
	return value, err
}

// picture is [Engine.Picture] of an object of the collection. One that an earlier release has kept in another form shows no attribute that has
// a path of its own.
func (k *CollectionOf[T]) picture(ctx context.Context, fields map[string]any) (any, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	o, unset := fresh[T](), fresh[T]()
	if err := k.schema.SetDefaults(unset); err != nil {
		return nil, err
	}
	empty, err := asRead(unset)
	if err != nil {
		return nil, err
	}
	readable := json.Unmarshal(text, o) == nil
	withheld := k.withheld(ctx, o)
	for _, a := range k.apart {
		if _, kept := fields[a.attribute]; kept && (!readable || slices.Contains(withheld, a.attribute)) {
			fields[a.attribute] = empty.(map[string]any)[a.attribute]
		}
	}
	shown, _, err := k.engine.without(ctx, k.schema, fields)
	return shown, err
}

// picture is [Engine.Picture] of lists of objects of this side: each begins with the object's key.
func (s *side) picture(ctx context.Context, fields map[string]any) (any, error) {
	hides, err := s.collection.on().hides(ctx, s.collection.path()+"."+s.collection.key().name)
	if err != nil || hides == nil {
		return fields, err
	}
	for name, list := range fields {
		if items, ok := list.([]any); ok {
			fields[name] = slices.DeleteFunc(items, func(item any) bool {
				key, _, _ := strings.Cut(fmt.Sprint(item), " ")
				return hides(key)
			})
		}
	}
	return fields, nil
}

// asRead returns a body in the form of rest.ParseJSON.
func asRead(body any) (any, error) {
	text, err := rest.Marshal(body)
	if err != nil {
		return nil, err
	}
	return rest.ParseJSON(text)
}

// shown makes the handler of an operation one that names no object which its caller is denied to read.
func (e *Engine) shown(op *rest.Operation) rest.Handler {
	handle, schema := op.Handle, op.Reply
	return func(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
		if reply, err = handle(ctx, r); err == nil && reply.Body != nil {
			reply.Body, _, err = e.without(ctx, schema, reply.Body)
		}
		return reply, err
	}
}

// keepWithheld takes out of what was sent the attributes that the caller of ctx has read as less than they are because they are denied the
// rest, and sends back so: what was read can be written back. It returns the others of those that are nested. A list of which the caller has
// not read all is not replaced by another.
func (k *CollectionOf[T]) keepWithheld(ctx context.Context, change *ChangeOf[T], nested []sentNested[T]) ([]sentNested[T], error) {
	if caller(ctx) == nil {
		return nested, nil
	}
	body, err := k.forCaller(ctx, change.Old)
	if err != nil {
		return nil, err
	}
	shown, err := asRead(body)
	if err != nil {
		return nil, err
	}
	whole, err := asRead(change.Old)
	if err != nil {
		return nil, err
	}
	_, denied, err := k.engine.without(ctx, k.schema, change.Old)
	if err != nil {
		return nil, err
	}
	withheld := k.withheld(ctx, change.Old)
	for i := range k.schema.Properties {
		p := &k.schema.Properties[i]
		read, is := shown.(map[string]any)[p.Name], whole.(map[string]any)[p.Name]
		if !change.Sent.Has(p.Name) || !slices.Contains(withheld, p.Name) && reflect.DeepEqual(read, is) {
			continue
		}
		if p.Schema.Writes(change.Sent.Value(p.Name), read) {
			change.Sent = change.Sent.Without(p.Name)
			nested = slices.DeleteFunc(slices.Clone(nested), func(n sentNested[T]) bool { return n.Name == p.Name })
		} else if _, list := is.([]any); list && denied != "" && !p.ReadOnly {
			return nil, notAllowed("Your token denies %s, which this replaces", denied)
		}
	}
	return nested, nil
}
