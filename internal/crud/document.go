package crud

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Document is one object that a tenant has at a path without a key: GET, PUT and DELETE /{Path}, and POST where Only names it. Its Resource says the
// path, the names, the table and the hooks; the other operations and options of a Resource mean nothing here. Of Keys the first is the
// column of the tenant, which is the one that the request acts in; each further one has the value of the path parameter of its name.
// A PUT makes the document when there is none, unless there is a POST for that.
type Document[T any] struct {
	Resource[T]
	// Blank, where it is set, is what is read, with 200, while there is none; its deletion is 204 then. Otherwise both are 404.
	Blank func() *T
	// Silent documents answer neither PUT nor POST with the document: PUT is 204, and POST answers what Made says.
	Silent bool
	// Made is the body of the answer to POST of a silent document.
	Made any
	// Whole documents are sent whole by a PUT too: what is required must be there.
	Whole bool
}

// On declares the document on an engine.
func (d Document[T]) On(e *Engine) {
	if len(d.Only) == 0 {
		d.Only = []string{"read", "update", "delete"}
	}
	e.declare(func() []rest.Operation {
		k := d.on(e)
		k.document = true
		return (&document[T]{Document: d, k: k}).operations()
	})
}

type document[T any] struct {
	Document[T]
	k *Collection[T]
}

func (d *document[T]) operations() []rest.Operation {
	e, path := d.k.engine, "/"+d.Path
	reply, updated := d.k.schema, http.StatusOK
	if d.Silent {
		reply, updated = nil, http.StatusNoContent
	}
	body := d.k.schema
	if !d.Whole {
		body = body.Partial()
	}
	all := map[string]rest.Operation{
		"read": {
			Method: http.MethodGet, Summary: "Read a " + spaced(d.Singular), Success: http.StatusOK, Reply: d.k.schema,
			Statuses: []int{404}, Conditional: true, Handle: d.read,
		},
		"create": {
			Method: http.MethodPost, Summary: "Create a " + spaced(d.Singular), Body: d.k.schema, Success: http.StatusCreated, Reply: reply,
			Statuses: []int{409}, Handle: d.create,
		},
		"update": {
			Method: http.MethodPut, Summary: "Set a " + spaced(d.Singular), Description: "What is not sent stays as it is.", Body: body,
			Success: updated, Reply: reply, Statuses: []int{404, 412}, Handle: d.update,
		},
		"delete": {
			Method: http.MethodDelete, Summary: "Delete a " + spaced(d.Singular), Success: http.StatusNoContent, Statuses: []int{404, 412}, Handle: d.remove,
		},
	}
	var out []rest.Operation
	for _, name := range []string{"read", "create", "update", "delete"} {
		if !slices.Contains(d.Only, name) {
			continue
		}
		op := all[name]
		op.Path, op.ID, op.Tag, op.Tenanted = path, name+"_"+d.Singular, strings.SplitN(d.Path, "/", 2)[0], true
		op.Access = accessOf(e.Service, path, name)
		if d.Silent && name == "create" && d.Made != nil {
			op.Reply = &rest.Schema{Type: "string", Doc: "Empty."}
		}
		out = append(out, op)
	}
	return out
}

// row returns the stored document of the tenant that the request acts in, or nil.
func (d *document[T]) row(ctx context.Context, c store.Conn, scope string, r *rest.Request) (*T, error) {
	args := &arguments{}
	conditions := []string{d.k.Keys[0] + " = " + args.add(scope)}
	for _, key := range d.k.Keys[1:] {
		conditions = append(conditions, key+" = "+args.add(r.Param(key)))
	}
	o, err := store.Get[*T](ctx, c, "SELECT "+d.k.selected()+" FROM "+d.k.Table+" WHERE "+strings.Join(conditions, " AND "), args.values...)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return o, d.k.own(ctx, c, []*T{o})
}

// fresh is a document that has its keys, and is not stored.
func (d *document[T]) fresh(scope string, r *rest.Request) (*T, error) {
	o := new(T)
	if d.Blank != nil {
		o = d.Blank()
	} else if err := d.k.schema.SetDefaults(o); err != nil {
		return nil, err
	}
	v := reflect.ValueOf(o).Elem()
	for i, key := range d.k.Keys {
		value := scope
		if i > 0 {
			value = r.Param(key)
		}
		v.FieldByIndex(d.k.byName[key].index).SetString(value)
	}
	return o, nil
}

func (d *document[T]) read(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	scope, err := tenant.Of(ctx, d.k.engine.DB, r)
	if err != nil {
		return rest.Reply{}, err
	}
	var o *T
	err = d.k.engine.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		if o, err = d.row(ctx, c, scope, r); err != nil || o != nil {
			return err
		}
		if d.Blank == nil {
			return d.k.notFound("", nil)
		}
		o, err = d.fresh(scope, r)
		return err
	})
	return rest.Reply{Body: o}, err
}

// write finds the document and has do change it, in one transaction.
func (d *document[T]) write(ctx context.Context, change *Change[T], do func(ctx context.Context, c store.Conn) error) error {
	scope := change.Tenant
	if scope == "" {
		var err error
		if scope, err = tenant.Of(ctx, d.k.engine.DB, change.Request); err != nil {
			return err
		}
		change.Tenant = scope
	}
	err := d.k.engine.InTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
		change.New = nil
		if change.Old, err = d.row(ctx, c, scope, change.Request); err != nil {
			return err
		}
		return do(ctx, c)
	})
	if err != nil {
		return d.k.refused(err, change.New)
	}
	return nil
}

func (d *document[T]) create(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	change, err := d.receive(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	err = d.write(ctx, change, func(ctx context.Context, c store.Conn) error {
		if change.Old != nil {
			e := d.k.engine.Style.stored("%s already exists", d.k.said())
			e.Resource = d.Path
			return e
		}
		return d.make(ctx, c, change)
	})
	switch {
	case err != nil:
		return rest.Reply{}, err
	case d.Silent:
		return rest.Reply{Body: d.Made}, nil
	}
	return d.k.reply(change.New, false)
}

func (d *document[T]) receive(ctx context.Context, r *rest.Request) (*Change[T], error) {
	scope, sent, err := d.k.engine.begin(ctx, r)
	if err != nil {
		return nil, err
	}
	change := &Change[T]{Request: r, Sent: sent, Tenant: scope}
	return change, d.k.receive(ctx, change)
}

// make stores a document that there is not yet.
func (d *document[T]) make(ctx context.Context, c store.Conn, change *Change[T]) (err error) {
	if change.New, err = d.fresh(change.Tenant, change.Request); err != nil {
		return err
	}
	if err := change.Sent.Into(change.New); err != nil {
		return err
	}
	return d.k.insert(ctx, c, change)
}

func (d *document[T]) update(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	change, err := d.receive(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	err = d.write(ctx, change, func(ctx context.Context, c store.Conn) error {
		switch {
		case change.Old != nil:
			if err := rest.CheckIfMatch(r.HTTP.Header, change.Old); err != nil {
				return err
			}
			return d.k.edit(ctx, c, change, func(o *T) error { return change.Sent.Into(o) })
		case slices.Contains(d.Only, "create"):
			return d.k.notFound("", nil)
		case r.HTTP.Header.Get("If-Match") != "":
			return apierr.New(apierr.PreconditionFailed, "There is no %s yet", spaced(d.Singular))
		}
		return d.make(ctx, c, change)
	})
	if err != nil || d.Silent {
		return rest.Reply{}, err
	}
	return d.k.reply(change.New, false)
}

func (d *document[T]) remove(ctx context.Context, r *rest.Request) (rest.Reply, error) { //nolint:unparam // it is a rest.Handler
	change := &Change[T]{Request: r}
	return rest.Reply{}, d.write(ctx, change, func(ctx context.Context, c store.Conn) error {
		if change.Old == nil {
			if d.Blank != nil {
				return nil
			}
			return d.k.notFound("", nil)
		}
		if err := rest.CheckIfMatch(r.HTTP.Header, change.Old); err != nil {
			return err
		}
		return d.k.erase(ctx, c, change)
	})
}
