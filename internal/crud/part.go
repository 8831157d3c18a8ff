package crud

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// PartOf is a part of an object with its own path: GET and PUT /{collection}/{id}/{Path}. With Name each property of it has a path
// too: GET and PUT /{collection}/{id}/{Path}/{name}; all properties then have one type.
//
// A part is a field of the object: either a struct whose columns are the table's (tag `prefix`), or one that the resource's
// hooks load and save. A PUT of it is an update of the object, with the resource's hooks.
type PartOf[T, P declaration.Pointer] struct {
	Path string
	// ID is the part's name in the operations' ids, if that is not the path: "user_fallback". Without a final s it is the name of
	// one property. Only limits the operations to those named: read, update.
	ID   string
	Only []string
	// Field is the object's field that holds the part. The field is read-only in the object itself.
	Field func(o T) P
	// Name is the path parameter that names a property: "forward_name".
	Name string
	// Replaces says that a PUT replaces the part: a field that is not sent becomes null or, if it is required, is refused. Without
	// it, a field that is not sent stays.
	Replaces bool
	// Nested says that the body of the object may have the part too, under its path: see [Nested].
	Nested bool
	// Merge, if set, may merge what the client sent with what is stored, and refuse it.
	Merge func(ctx context.Context, c store.Conn, old, changed P, sent rest.Object) error
}

// On declares the part on an engine.
func (p PartOf[T, P]) On(e *Engine) {
	if p.Nested {
		p.nested(e).On(e)
	}
	e.declare(func() []rest.Operation {
		k := collectionOf[T](e)
		schema, attribute := p.schema(), declaration.AttributeOf(func(o T) any { return p.Field(o) })
		described := DescribedPart{Of: k.Path, Path: p.Path, Named: p.Name != "", Replaces: p.Replaces, Only: p.Only, Schema: schema}
		e.described.Parts = append(e.described.Parts, described)
		if shown := k.Schema.Property(attribute); shown != nil && !slices.Contains(k.audited, shown) {
			k.audited = append(k.audited, shown)
		}
		if len(p.Only) == 0 || slices.Contains(p.Only, "read") {
			k.ReadApart(attribute, append(p.readNamed(), declaration.Dotted(p.Path))...)
		}
		path, id := k.OnePath()+"/"+p.Path, cmp.Or(p.ID, k.Singular+"_"+declaration.Underscored(p.Path))
		what := e.Plural(p.Path) + " of " + e.One(k.Singular)
		var out []rest.Operation
		add := func(op rest.Operation) {
			action := "update"
			op.Tag, op.Tenanted, op.Success, op.Statuses = declaration.Underscored(k.Path), true, http.StatusNoContent, []int{404, 412}
			if op.Method == http.MethodGet {
				action, op.Success, op.Statuses, op.Conditional = "read", http.StatusOK, []int{404}, true
			}
			op.Access = rights.AccessOf(e.Service, op.Path, action)
			if len(p.Only) == 0 || slices.Contains(p.Only, action) {
				out = append(out, op)
			}
		}
		add(rest.Operation{Method: http.MethodGet, Path: path, ID: "get_" + id, Summary: "Read the " + what, Reply: schema, Handle: p.read(k, false)})
		add(rest.Operation{Method: http.MethodPut, Path: path, ID: "update_" + id, Summary: "Change the " + what, Body: p.body(), Handle: p.write(k, false)})
		if p.Name != "" {
			one, id, path, what := schema.Properties[0].Schema, strings.TrimSuffix(id, "s"), path+"/{"+p.Name+"}", "one of the "+what
			add(rest.Operation{Method: http.MethodGet, Path: path, ID: "get_" + id, Summary: "Read " + what, Reply: one, Handle: p.read(k, true)})
			add(rest.Operation{Method: http.MethodPut, Path: path, ID: "update_" + id, Summary: "Change " + what, Body: one, Handle: p.write(k, true)})
		}
		return out
	})
}

// readNamed returns the paths, as words, by which a client reads one property of the part.
func (p PartOf[T, P]) readNamed() (paths []string) {
	if p.Name != "" {
		for _, property := range p.schema().Properties {
			paths = append(paths, declaration.Dotted(p.Path)+"."+property.Name)
		}
	}
	return paths
}

// read returns the part, or the property of it that the path names.
func (p PartOf[T, P]) read(k *CollectionOf[T], named bool) rest.Handler {
	return k.engine.Reading(func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
		o, err := k.NamedIn(ctx, c, r, scope)
		if err != nil {
			return nil, err
		}
		shown, err := p.shown(r, named)
		if err != nil {
			return nil, err
		}
		for _, path := range p.readNamed() {
			if err := k.NotDenied(r, o, path+".read"); err != nil && !named {
				return nil, err
			}
		}
		return shown(p.Field(o)), nil
	})
}

// schema describes the part.
func (p PartOf[T, P]) schema() *rest.Schema { return rest.SchemaFor(declaration.StructOf[P]()) }

// body describes what clients send of it.
func (p PartOf[T, P]) body() *rest.Schema {
	if p.Replaces {
		return p.schema()
	}
	return p.schema().Partial()
}

// shown returns what a request shows of the part, or changes: all of it, or the property that the path names.
func (p PartOf[T, P]) shown(r *rest.Request, named bool) (func(part P) any, error) {
	if !named {
		return func(part P) any { return part }, nil
	}
	property := p.schema().Property(r.Param(p.Name))
	if property == nil {
		return nil, apierr.New(apierr.NotFound, "%s has no such part", declaration.Capitalized(p.Path))
	}
	return func(part P) any { return reflect.ValueOf(part).Elem().FieldByIndex(property.Index()).Interface() }, nil
}

// write changes the part, or the property of it that the path names, of the object that the path names: what a GET of the path shows.
func (p PartOf[T, P]) write(k *CollectionOf[T], named bool) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		shown, err := p.shown(r, named)
		if err != nil {
			return rest.Reply{}, err
		}
		sent, err := r.Object()
		if err != nil {
			return rest.Reply{}, err
		}
		if named {
			sent = p.schema().Object(map[string]any{r.Param(p.Name): sent.Values()})
		}
		show := func(o T) any { return shown(p.Field(o)) }
		return rest.Reply{}, k.Edit(ctx, r, show, func(ctx context.Context, c store.Conn, o T) error {
			if err := p.notDenied(k, r, o, sent); err != nil {
				return err
			}
			return p.take(ctx, c, p.Field(o), sent, p.Replaces && !named)
		})
	}
}

// take changes the part as a client sent it. whole says that nothing else of it stays.
func (p PartOf[T, P]) take(ctx context.Context, c store.Conn, part P, sent rest.Object, whole bool) error {
	old := declaration.Cloned(part)
	if whole {
		reflect.ValueOf(part).Elem().SetZero()
	}
	if err := sent.Into(part); err != nil || p.Merge == nil {
		return err
	}
	return p.Merge(ctx, c, old, part, sent)
}

// nested returns the attribute by which the object's body has the part.
func (p PartOf[T, P]) nested(e *Engine) NestedOf[T] {
	schema := func() *rest.Schema {
		body := *p.body()
		body.Nullable = true
		return &body
	}
	return NestedOf[T]{
		Name: p.Path, Body: schema, Partial: schema,
		Prepare: func(ctx context.Context, c store.Conn, change *declaration.Change[T], value any) error {
			values, sent := value.(map[string]any)
			if !sent {
				return nil
			}
			part := schema().Object(values)
			if !declaration.IsNull(change.Old) {
				if err := p.mayNest(collectionOf[T](e), change.Request, change.Old, part); err != nil {
					return err
				}
			}
			return p.take(ctx, c, p.Field(change.New), part, p.Replaces)
		},
		Write: func(_ context.Context, _ store.Conn, change *declaration.Change[T], value any) (any, error) {
			values, sent := value.(map[string]any)
			if !sent || !declaration.IsNull(change.Old) {
				return nil, nil
			}
			return nil, p.mayNest(collectionOf[T](e), change.Request, change.New, schema().Object(values)) // now the object has its keys
		},
	}
}

// mayNest refuses a caller who may not change the part, as it was sent, by its own operations.
func (p PartOf[T, P]) mayNest(k *CollectionOf[T], r *rest.Request, o T, sent rest.Object) error {
	if err := rights.MayNest(r, rights.Accesses(k.Entity, o, declaration.Dotted(p.Path)+".update")...); err != nil {
		return err
	}
	return p.notDenied(k, r, o, sent)
}

// notDenied refuses a caller who is denied to change a property that was sent by its own operation.
func (p PartOf[T, P]) notDenied(k *CollectionOf[T], r *rest.Request, o T, sent rest.Object) error {
	if p.Name == "" {
		return nil
	}
	for _, property := range p.schema().Properties {
		if !sent.Has(property.Name) {
			continue
		}
		if err := rights.NotDenied(r, rights.Accesses(k.Entity, o, declaration.Dotted(p.Path)+"."+property.Name+".update")...); err != nil {
			return err
		}
	}
	return nil
}
