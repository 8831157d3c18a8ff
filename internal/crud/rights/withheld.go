package rights

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Restricted reports whether the caller of ctx is denied anything.
func Restricted(ctx context.Context) bool { return restricted(ctx) != nil }

// restricted returns the caller of ctx if their accesses deny anything, or nil.
func restricted(ctx context.Context) *principal.Principal {
	p := principal.FromContext(ctx)
	if p == nil || !p.HasDenials() {
		return nil
	}
	return p
}

// Objects are the objects of a resource as callers may know of them.
type Objects struct {
	*declaration.Entity
	registry *Registry
	// finds are the columns by which lists find and order objects, and reads is the SQL that does so.
	finds []string
	reads []declaration.SQL
	// apart are the attributes that clients also read by paths of their own.
	apart []apart
	// parents are the objects that have these.
	parents []parent
}

// parent is a resource whose objects have those of another, the column of these that refers to it, and the words by which an access below one
// means them.
type parent struct {
	objects *Objects
	column  string
	words   string
}

// NewObjects returns the objects of a resource.
func NewObjects[T declaration.Pointer](e *Registry, m *declaration.Model[T]) *Objects {
	k := &Objects{Entity: m.Entity, registry: e, finds: slices.Concat(m.Order, m.Search, m.Filters), reads: m.Reads()}
	for _, attribute := range slices.Sorted(maps.Keys(m.Apart)) {
		paths := m.Apart[attribute]
		k.apart = append(k.apart, apart{attribute: attribute, paths: func(o any) []string { return paths(o.(T)) }})
	}
	for _, attribute := range slices.Sorted(maps.Keys(m.Conceals)) {
		conceal := m.Conceals[attribute]
		k.apart = append(k.apart, apart{attribute: attribute, conceal: func(ctx context.Context, o any) (bool, error) { return conceal(ctx, o.(T)) }})
	}
	return k
}

// BelongTo says that the objects belong to others, to which a column refers. words are those of the access by which these are read below one.
func (k *Objects) BelongTo(others *Objects, column, words string) {
	k.parents = append(k.parents, parent{others, column, words})
}

// NotDenied refuses a caller who is denied an operation on an object that a request amounts to.
func (k *Objects) NotDenied(r *rest.Request, o any, action string) error {
	return NotDenied(r, Accesses(k.Entity, o, action)...)
}

// denied returns the condition for the rows whose objects the caller of ctx is denied to read, under any of their keys, or "" if nothing
// is denied. of is the name of the table in the statement; add adds a value. There are never more than acl.MaxPatterns values.
func (k *Objects) denied(ctx context.Context, of string, add func(value any) (placeholder string)) string {
	return k.deniedBy(ctx, of, "", add)
}

// everything is the condition for all rows.
const everything = "1 = 1"

// deniedBy is denied for a path below the object, as words: "forwards.busy". With "" it is for the object.
func (k *Objects) deniedBy(ctx context.Context, of, path string, add func(value any) (placeholder string)) string {
	p := restricted(ctx)
	if p == nil {
		return ""
	}
	after := ".read"
	if path != "" {
		after = "." + path + after
	}
	words, all := p.DeniedWords(k.Service+"."+declaration.Dotted(k.Path)+".", after)
	if all || path == "" && k.ReadBy != "" && p.Denies(k.ReadBy) {
		return everything
	}
	var conditions []string
	if path == "" {
		conditions = k.deniedParents(ctx, of, add)
	}
	for _, name := range k.PathNames() {
		if condition := k.hasWord(of, name, words, add); condition != "" {
			conditions = append(conditions, condition)
		}
	}
	for word, column := range k.Known {
		if slices.Contains(words, word) {
			conditions = append(conditions, of+"."+column)
		}
	}
	return strings.Join(conditions, " OR ")
}

// hasWord returns the condition for the rows of which a column has one of these words of accesses, or "" if none can have one.
func (k *Objects) hasWord(of, name string, words []string, add func(value any) (placeholder string)) string {
	col := k.Column(name)
	var values []any
	for _, word := range words {
		typed := strings.ReplaceAll(word, "%2E", ".") // as rest.WriteWord wrote it
		if value, ok := col.Argument(typed); ok && fmt.Sprint(value) == typed {
			values = append(values, value)
		}
	}
	list, err := json.Marshal(values)
	if err != nil || len(values) == 0 {
		return ""
	}
	return query.Listed(k.DB, of+"."+col.Name, col.Kind, add(string(list)))
}

// AndVisibleBelow is AndVisible for what is denied by the paths below an object to which these belong: path leads there, as words, and a column
// names them.
func (k *Objects) AndVisibleBelow(
	ctx context.Context, parents *Objects, parent any, path, column string, add func(value any) (placeholder string),
) (sql string) {
	p := restricted(ctx)
	if p == nil {
		return ""
	}
	for _, prefix := range Accesses(parents.Entity, parent, path) {
		words, all := p.DeniedWords(prefix+".", ".read")
		condition := k.hasWord(k.Alias(), column, words, add)
		if all {
			condition = everything
		}
		sql += andNot(condition)
	}
	return sql
}

// deniedParents returns the conditions for the rows that belong to an object which the caller of ctx is denied to read, or of which they are
// denied to list what belongs to it.
func (k *Objects) deniedParents(ctx context.Context, of string, add func(value any) (placeholder string)) (out []string) {
	for _, p := range k.parents {
		for _, path := range []string{"", p.words} {
			if condition := keyed(p.objects.Entity, of+"."+p.column, p.objects.deniedBy(ctx, p.objects.Alias(), path, add)); condition != "" {
				out = append(out, condition)
			}
		}
	}
	return out
}

// AndVisibleParents is AndVisible for what is denied of the objects to which these belong alone.
func (k *Objects) AndVisibleParents(ctx context.Context, add func(value any) (placeholder string)) string {
	return andNot(strings.Join(k.deniedParents(ctx, k.Alias(), add), " OR "))
}

// AndVisible returns what a condition for rows of the table is followed by, for those whose objects the caller of ctx is not denied to read: ""
// if nothing is denied.
func (k *Objects) AndVisible(ctx context.Context, add func(value any) (placeholder string)) string {
	return andNot(k.denied(ctx, k.Alias(), add))
}

// andNot returns what a condition is followed by, for rows for which another one does not hold: "" if there is no other.
func andNot(condition string) string {
	if condition == "" {
		return ""
	}
	return " AND (" + condition + ") IS NOT TRUE" // a key may be null
}

// MayRead refuses if the caller of ctx is denied to read the object of a path's collection with this key, its only one.
func (e *Registry) MayRead(ctx context.Context, path, key string) error {
	access := e.base.Service + "." + declaration.Dotted(path) + "." + WordOf(key) + ".read"
	if p := restricted(ctx); p != nil && p.Denies(access) {
		return notAllowed("Your token denies %s, which this contains", p.Denial(access))
	}
	return nil
}

// Unrestricted returns a context in which objects are read as they are, whatever the caller is denied: for what is not shown to them.
func Unrestricted(ctx context.Context) context.Context { return principal.NewContext(ctx, nil) }

// apart is an attribute that clients also read by paths of their own below the object, or that conceals something.
type apart struct {
	attribute string
	// paths returns those of an object, as words after its key: "forwards", "forwards.busy".
	paths   func(o any) []string
	conceal func(ctx context.Context, o any) (bool, error)
}

// ReadApart adds an attribute that clients also read by these paths below the object.
func (k *Objects) ReadApart(attribute string, paths ...string) {
	if attribute != "" && len(paths) > 0 {
		k.apart = append(k.apart, apart{attribute: attribute, paths: func(any) []string { return paths }})
	}
}

// concealed returns an object as the caller of ctx reads it, and the attributes of which that is less. The object stays as it is.
func (k *Objects) concealed(ctx context.Context, o any) (shown any, less []string, err error) {
	p := restricted(ctx)
	if p == nil || len(k.apart) == 0 {
		return o, nil, nil
	}
	var unset reflect.Value // made once something is denied
	copied := reflect.New(k.Of)
	copied.Elem().Set(reflect.ValueOf(o).Elem())
	for _, a := range k.apart {
		if a.conceal != nil {
			some, err := a.conceal(ctx, copied.Interface())
			if err != nil {
				return nil, nil, err
			}
			if some {
				less = append(less, a.attribute)
			}
			continue
		}
		denied := slices.ContainsFunc(a.paths(o), func(path string) bool {
			return slices.ContainsFunc(Accesses(k.Entity, o, path+".read"), p.Denies)
		})
		if !denied {
			continue
		}
		if !unset.IsValid() {
			unset = reflect.New(k.Of)
			if err := k.Schema.SetDefaults(unset.Interface()); err != nil {
				return nil, nil, err
			}
		}
		index := k.Schema.Property(a.attribute).Index()
		copied.Elem().FieldByIndex(index).Set(unset.Elem().FieldByIndex(index))
		less = append(less, a.attribute)
	}
	return copied.Interface(), less, nil
}

// Withholds reports whether the caller of ctx is denied to read an attribute of an object by one of the attribute's own paths.
func (k *Objects) Withholds(ctx context.Context, o any, attribute string) bool {
	_, less, err := k.concealed(ctx, o)
	return err != nil || slices.Contains(less, attribute)
}

// Withhold takes out of an object what the caller of ctx is denied to read.
func (k *Objects) Withhold(ctx context.Context, o any) error {
	shown, less, err := k.concealed(ctx, o)
	if len(less) > 0 {
		reflect.ValueOf(o).Elem().Set(reflect.ValueOf(shown).Elem())
	}
	return err
}

// ForCaller returns what the caller of ctx reads of an object, which stays as it is.
func (k *Objects) ForCaller(ctx context.Context, o any) (any, error) {
	shown, less, err := k.concealed(ctx, o)
	if err != nil {
		return nil, err
	}
	if len(less) == 0 {
		shown = o
	}
	body, _, err := k.registry.without(ctx, k.Schema, shown)
	return body, err
}

// without returns what the caller of ctx reads of a body: attributes name none of the objects that they are denied to read. It also returns
// the denial of one that the body names.
func (e *Registry) without(ctx context.Context, schema *rest.Schema, body any) (shown any, denied string, err error) {
	p := restricted(ctx)
	if p == nil {
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
		of := e.byPath[ref[:at]]
		access := of.Service + "." + declaration.Dotted(of.Path) + "." + WordOf(fmt.Sprint(value)) + ".read"
		denied = cmp.Or(p.Denial(access), of.Service+declaration.Dotted(of.OnePath())+".read") // hidden by another key
		return true
	})
	if err != nil || denied == "" {
		return body, "", err
	}
	return value, denied, nil
}

// hides returns what reports whether a value is that of an object that the caller of ctx is denied to read: ref is its collection and its
// attribute, "contexts.name". It is nil if there are none.
func (e *Registry) hides(ctx context.Context, ref string) (func(value any) bool, error) {
	at := strings.LastIndexByte(ref, '.')
	t, declared := e.byPath[ref[:at]]
	if !declared {
		return nil, nil
	}
	args := &query.Arguments{}
	condition := t.denied(ctx, t.Table, args.Add)
	switch condition {
	case "":
		return nil, nil
	case everything: // there may be many
		return func(any) bool { return true }, nil
	}
	col := t.Column(ref[at+1:])
	c := e.conn(ctx)
	values, err := store.Select[string](ctx, c, "SELECT CAST("+col.Name+" AS text) FROM "+t.Table+" WHERE "+condition, args.Values...)
	hidden := make(map[string]bool, len(values))
	for _, value := range values {
		hidden[value] = true
	}
	return func(value any) bool { return hidden[fmt.Sprint(value)] }, err
}

// Picture returns what the caller of ctx reads of what the audit has kept of a resource: the attributes of an object, lists of members, or what
// a schema describes. members and schema may be nil.
func (e *Registry) Picture(ctx context.Context, resource string, picture any, members *declaration.Entity, schema *rest.Schema) (any, error) {
	if !Restricted(ctx) || picture == nil {
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
	if k, declared := e.byPath[resource]; declared {
		return k.picture(ctx, fields)
	}
	if members != nil {
		return e.members(ctx, members, fields)
	}
	if schema != nil {
		value, _, err = e.without(ctx, schema, fields)
	}
	return value, err
}

// picture is [Registry.Picture] of an object of the collection: nil of one that is denied. One that an earlier release has kept in another form shows no
// attribute that has a path of its own.
func (k *Objects) picture(ctx context.Context, fields map[string]any) (any, error) {
	for _, name := range k.PathNames() {
		hides, err := k.registry.hides(ctx, k.Path+"."+name)
		if err != nil {
			return nil, err
		}
		if value, kept := fields[name]; kept && hides != nil && hides(value) {
			return nil, nil
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	o, unset := reflect.New(k.Of).Interface(), reflect.New(k.Of)
	if err := k.Schema.SetDefaults(unset.Interface()); err != nil {
		return nil, err
	}
	readable := json.Unmarshal(text, o) == nil
	seen, withheld, err := k.concealed(ctx, o)
	if err != nil {
		return nil, err
	}
	if !readable {
		seen = unset.Interface()
	}
	for _, a := range k.apart {
		if _, kept := fields[a.attribute]; kept && (!readable || slices.Contains(withheld, a.attribute)) {
			at := reflect.ValueOf(seen).Elem().FieldByIndex(k.Schema.Property(a.attribute).Index())
			if fields[a.attribute], err = asRead(at.Interface()); err != nil {
				return nil, err
			}
		}
	}
	shown, _, err := k.registry.without(ctx, k.Schema, fields)
	return shown, err
}

// members is [Registry.Picture] of lists of objects: each begins with the object's key.
func (e *Registry) members(ctx context.Context, of *declaration.Entity, fields map[string]any) (any, error) {
	hides, err := e.hides(ctx, of.Path+"."+of.KeyColumn().Name)
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

// Shown makes the handler of an operation one that names no object which its caller is denied to read, neither in replies nor in refusals.
func (e *Registry) Shown(op *rest.Operation) rest.Handler {
	handle, schema := op.Handle, op.Reply
	return func(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
		if reply, err = handle(ctx, r); err != nil {
			return reply, e.Refusal(ctx, err)
		}
		if schema != nil && op.Produces == "" && reply.Body != nil {
			reply.Body, _, err = e.without(ctx, schema, reply.Body)
		}
		return reply, err
	}
}

// Refusal returns an error as the caller of ctx is told it: without names if it names an object that they are denied to read.
func (e *Registry) Refusal(ctx context.Context, err error) error {
	refusal := apierr.As(err)
	if refusal == nil || restricted(ctx) == nil {
		return err
	}
	for key := range slices.Chunk(refusal.Names, 2) {
		for _, ref := range e.named[fmt.Sprint(key[0])] {
			hides, failed := e.hides(ctx, ref)
			if failed != nil {
				return failed
			}
			if hides != nil && hides(key[1]) {
				unnamed := *refusal
				unnamed.Message = refusal.Unnamed
				return &unnamed
			}
		}
	}
	return err
}

// KeepWithheld takes out of what was sent for an object the attributes that the caller of ctx has read as less than they are because they
// are denied the rest, and sends back so: what was read can be written back. It returns their names too. A list of which the caller has not
// read all is not replaced by another.
func (k *Objects) KeepWithheld(ctx context.Context, old any, sent rest.Object) (_ rest.Object, kept []string, err error) {
	if restricted(ctx) == nil {
		return sent, nil, nil
	}
	body, err := k.ForCaller(ctx, old)
	if err != nil {
		return sent, nil, err
	}
	shown, err := asRead(body)
	if err != nil {
		return sent, nil, err
	}
	whole, err := asRead(old)
	if err != nil {
		return sent, nil, err
	}
	_, denied, err := k.registry.without(ctx, k.Schema, old)
	if err != nil {
		return sent, nil, err
	}
	_, withheld, err := k.concealed(ctx, old)
	if err != nil {
		return sent, nil, err
	}
	for i := range k.Schema.Properties {
		p := &k.Schema.Properties[i]
		read, is := shown.(map[string]any)[p.Name], whole.(map[string]any)[p.Name]
		if !sent.Has(p.Name) || !slices.Contains(withheld, p.Name) && reflect.DeepEqual(read, is) {
			continue
		}
		if p.Schema.Writes(sent.Value(p.Name), read) {
			sent = sent.Without(p.Name)
			kept = append(kept, p.Name)
		} else if _, list := is.([]any); list && denied != "" && !p.ReadOnly {
			return sent, nil, notAllowed("Your token denies %s, which this replaces", denied)
		}
	}
	return sent, kept, nil
}
