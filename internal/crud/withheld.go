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
func (k *CollectionOf[T]) forCaller(ctx context.Context, o T) (T, error) {
	names := k.withheld(ctx, o)
	if len(names) == 0 {
		return o, nil
	}
	shown := cloned(o)
	return shown, k.empty(shown, names)
}

// keepWithheld takes out of what was sent the attributes that the caller of ctx has read as empty because they are denied them, and sends
// back so: what was read can be written back. It returns the others of those that are nested.
func (k *CollectionOf[T]) keepWithheld(ctx context.Context, change *ChangeOf[T], nested []sentNested[T]) ([]sentNested[T], error) {
	names := k.withheld(ctx, change.Old)
	if len(names) == 0 {
		return nested, nil
	}
	shown, err := k.forCaller(ctx, change.Old)
	if err != nil {
		return nil, err
	}
	text, err := rest.Marshal(shown)
	if err != nil {
		return nil, err
	}
	read, err := rest.ParseJSON(text)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if change.Sent.Has(name) && reflect.DeepEqual(change.Sent.Value(name), read.(map[string]any)[name]) {
			change.Sent = change.Sent.Without(name)
			nested = slices.DeleteFunc(slices.Clone(nested), func(n sentNested[T]) bool { return n.Name == name })
		}
	}
	return nested, nil
}
