package crud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/pathtemplate"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// DocumentOf is one object that each tenant has at a path without a key, such as a configuration: GET, PUT and DELETE /{Path}, and
// POST if Blank is nil. A PUT must contain the required fields; fields that it does not contain stay as they are.
//
// The Resource declares the path, the names, the table, the scope and the hooks; its options for lists and keys have no effect
// here. The table has a column tenant_uuid, and a text column for each parameter of the path; together they are its key. A
// document that is not per tenant is stored as the master tenant's.
type DocumentOf[T declaration.Pointer] struct {
	Resource declaration.Resource[T]
	// Blank makes the document that is read, with 200, while nothing is stored, from one that has its keys and its defaults:
	// [Defaults] returns that one itself. A PUT then stores one, and a DELETE has nothing to do. If Blank is nil, a POST stores
	// the first one, and everything else is 404 before that.
	Blank func(fresh T) any
	// Allow refuses a change before any other check. Old is nil if nothing is stored.
	Allow func(ctx context.Context, c store.Conn, change *declaration.Change[T]) error
	// Audited returns what the audit keeps of a document, if that is not its fields.
	Audited func(o T) map[string]any
}

// Defaults is the Blank of documents that are read with their defaults while nothing is stored.
func Defaults[T any](fresh *T) any { return fresh }

// DocumentsOf are the documents of all tenants, on an engine.
type DocumentsOf[T declaration.Pointer] struct {
	DocumentOf[T]
	k *CollectionOf[T]
}

// On declares the document on an engine.
func (d DocumentOf[T]) On(e *Engine) *DocumentsOf[T] {
	template, err := pathtemplate.Parse("/" + d.Resource.Path)
	if err != nil {
		panic(err) // a mistake in the declaration, which every start reports
	}
	d.Resource.Keys = append([]string{declaration.TenantColumn}, template.Parameters()...)
	if len(d.Resource.Only) == 0 {
		d.Resource.Only = []string{"read", "update", "delete"}
		if d.Blank == nil {
			d.Resource.Only = append(d.Resource.Only, "create")
		}
	}
	all := &DocumentsOf[T]{DocumentOf: d, k: prepare(e, d.Resource)}
	all.k.document, all.k.Document = &all.DocumentOf, true
	e.documents = append(e.documents, all.k)
	e.declare(all.declare)
	return all
}

func (d *DocumentsOf[T]) declare() []rest.Operation {
	what, schema := d.k.Plural(d.k.Path), d.k.Schema
	all := []rest.Operation{
		{
			Method: http.MethodGet, ID: "read", Summary: "Read the " + what, Success: http.StatusOK, Reply: schema, Conditional: true, Fields: true,
			Handle: d.k.engine.Reading(d.read),
		},
		{
			Method: http.MethodPost, ID: "create", Summary: "Create the " + what, Body: schema, Success: d.k.Style.CreateStatus, Reply: schema, Tagged: true,
			Handle: d.put,
		},
		{
			Method: http.MethodPut, ID: "update", Summary: "Change the " + what, Description: "What is not sent and not required stays as it is.",
			Body: schema, Success: http.StatusNoContent, Statuses: []int{http.StatusPreconditionFailed}, Handle: d.put,
		},
		{
			Method: http.MethodDelete, ID: "delete", Summary: "Delete the " + what, Success: http.StatusNoContent,
			Statuses: []int{http.StatusPreconditionFailed}, Handle: d.remove,
		},
	}
	described := DescribedDocument{Entity: d.k.Entity, Blank: d.Blank != nil, Operations: map[string]rest.Operation{}}
	var out []rest.Operation
	for _, op := range all {
		action := op.ID
		if !slices.Contains(d.k.Only, action) {
			continue
		}
		op.Path, op.ID, op.Tag, op.Tenanted = "/"+d.k.Path, action+"_"+d.k.Singular, strings.SplitN(d.k.Path, "/", 2)[0], true
		op.Access, op.Master = rights.AccessOf(d.k.Service, op.Path, action), rights.Master(d.k.Entity, op.Method)
		switch {
		case action == "create":
			op.Statuses = append(op.Statuses, int(d.k.Style.Duplicate))
		case d.Blank == nil:
			op.Statuses = append(op.Statuses, http.StatusNotFound)
		}
		if action == "update" && d.k.Style.UpdateReply {
			op.Success, op.Reply, op.Tagged = http.StatusOK, schema, true
		}
		if d.Resource.Describe != nil {
			d.Resource.Describe(action, &op)
		}
		described.Operations[action] = op
		out = append(out, op)
	}
	d.k.drop = described.Operations["delete"].Access
	if described.Resource, described.Object = d.place(d.k.Keys[1:]); len(d.k.Keys) > 1 {
		described.Object = ""
	}
	d.k.engine.described.Documents = append(d.k.engine.described.Documents, described)
	return out
}

// dropping returns the accesses of the operation that deletes a document.
func (k *CollectionOf[T]) dropping(o T) []string {
	var names []rights.Aliases
	for _, name := range k.Keys[1:] {
		names = append(names, rights.Aliases{Param: name, Keys: []string{fmt.Sprint(k.Field(o, name))}})
	}
	return rights.Filled(k.drop, names...)
}

// Of returns the document of a tenant, or nil. parameters are the values of the path's parameters, in their order.
func (d *DocumentsOf[T]) Of(ctx context.Context, c store.Conn, tenantUUID string, parameters ...string) (T, error) {
	o, err := d.fresh(tenantUUID, parameters)
	if err != nil {
		return o, err
	}
	args := &query.Arguments{}
	o, err = store.Get[T](ctx, c, "SELECT "+d.k.Selected()+" FROM "+d.k.Table+" WHERE "+d.k.Itself(o, args), args.Values...)
	if errors.Is(err, store.ErrNotFound) {
		return declaration.Null[T](), nil
	}
	if err != nil {
		return declaration.Null[T](), err
	}
	return o, d.k.LoadOwn(ctx, c, []T{o})
}

// parameters returns the values of the path's parameters.
func (d *DocumentsOf[T]) parameters(r *rest.Request) []string {
	out := make([]string, 0, len(d.k.Keys))
	for _, name := range d.k.Keys[1:] {
		out = append(out, r.Param(name))
	}
	return out
}

// fresh returns a document with its keys and its defaults that is not stored.
func (d *DocumentsOf[T]) fresh(tenantUUID string, parameters []string) (T, error) {
	o := declaration.Fresh[T]()
	if err := d.k.Schema.SetDefaults(o); err != nil {
		return declaration.Null[T](), err
	}
	for i, value := range append([]string{tenantUUID}, parameters...) {
		reflect.ValueOf(o).Elem().FieldByIndex(d.k.Column(d.k.Keys[i]).Index).SetString(value)
	}
	return o, nil
}

// shown returns what a client reads of a document, or while nothing is stored.
func (d *DocumentsOf[T]) shown(o T, r *rest.Request, tenantUUID string) (any, error) {
	if !declaration.IsNull(o) {
		return o, nil
	}
	if d.Blank == nil {
		return nil, d.k.NotFound("", nil)
	}
	o, err := d.fresh(tenantUUID, d.parameters(r))
	if err != nil {
		return nil, err
	}
	return d.Blank(o), nil
}

func (d *DocumentsOf[T]) read(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
	err := rights.MayRead(ctx, c, d.k.Entity, scope)
	if err == nil && d.k.Scope == declaration.Global {
		scope, err = tenant.Master(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	o, err := d.Of(ctx, c, scope, d.parameters(r)...)
	if err != nil {
		return nil, err
	}
	return d.shown(o, r, scope)
}

// write finds the document and lets do change it, in one transaction.
func (d *DocumentsOf[T]) write(ctx context.Context, change *declaration.Change[T], do func(ctx context.Context, c store.Conn) error) error {
	return d.k.refused(d.k.engine.InTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
		if err := rights.MayWrite(ctx, c, d.k.Entity, change.Tenant); err != nil {
			return err
		}
		change.New = declaration.Null[T]() // the transaction may run again
		if change.Old, err = d.Of(ctx, c, change.Tenant, d.parameters(change.Request)...); err != nil {
			return err
		}
		if declaration.IsNull(change.Old) && d.Blank != nil && change.Request.Op().Method == http.MethodDelete {
			return d.checkIfMatch(change) // nothing to delete, so nothing to check
		}
		if err := d.k.run(ctx, c, change, d.Allow); err != nil {
			return err
		}
		return do(ctx, c)
	}), change)
}

// checkIfMatch refuses a change if the document is not the one that the client has read, or does not exist.
func (d *DocumentsOf[T]) checkIfMatch(change *declaration.Change[T]) error {
	read, err := d.shown(change.Old, change.Request, change.Tenant)
	if err != nil {
		return err
	}
	return rest.CheckIfMatch(change.Request.HTTP.Header, read)
}

// put stores what was sent: a POST the first document, a PUT the first or the next.
func (d *DocumentsOf[T]) put(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	scope, sent, err := d.k.engine.Begin(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	change := &declaration.Change[T]{Request: r, Sent: sent, Tenant: scope}
	if err := d.k.receive(ctx, change); err != nil {
		return rest.Reply{}, err
	}
	creates := r.Op().Method == http.MethodPost
	err = d.write(ctx, change, func(ctx context.Context, c store.Conn) (err error) {
		if creates && !declaration.IsNull(change.Old) {
			e := d.k.Style.Storedf("%s already exists", d.k.Title)
			e.Resource = d.k.Path
			return e
		}
		if !creates {
			if err := d.checkIfMatch(change); err != nil {
				return err
			}
		}
		if !declaration.IsNull(change.Old) {
			return d.k.Update(ctx, c, change, func(o T) error { return change.Sent.Into(o) })
		}
		if change.New, err = d.fresh(scope, d.parameters(r)); err == nil {
			err = change.Sent.Into(change.New)
		}
		if err != nil {
			return err
		}
		return d.k.Insert(ctx, c, change)
	})
	if err != nil || !creates && !d.k.Style.UpdateReply {
		return rest.Reply{}, err
	}
	return d.reply(ctx, change.New)
}

func (d *DocumentsOf[T]) remove(ctx context.Context, r *rest.Request) (rest.Reply, error) { //nolint:unparam // it is a rest.Handler
	scope, err := d.k.engine.TenantOf(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	change := &declaration.Change[T]{Request: r, Tenant: scope}
	return rest.Reply{}, d.write(ctx, change, func(ctx context.Context, c store.Conn) error {
		if err := d.checkIfMatch(change); err != nil {
			return err
		}
		return d.k.Delete(ctx, c, change)
	})
}

// reply returns a written document without its write-only fields.
func (d *DocumentsOf[T]) reply(ctx context.Context, o T) (rest.Reply, error) {
	for i := range d.k.Schema.Properties {
		if p := &d.k.Schema.Properties[i]; p.WriteOnly {
			reflect.ValueOf(o).Elem().FieldByIndex(p.Index()).SetZero()
		}
	}
	return d.k.reply(ctx, o, false)
}

// place returns how the audit names the document with these values of the path's parameters. The words of the path are the
// resource. The values are the object or, if there are none, the last word is.
func (d *DocumentOf[T]) place(parameters []string) (resource, object string) {
	words := slices.DeleteFunc(strings.Split(d.Resource.Path, "/"), func(segment string) bool { return strings.HasPrefix(segment, "{") })
	if len(parameters) > 0 {
		return strings.Join(words, "/"), strings.Join(parameters, "/")
	}
	last := len(words) - 1
	return strings.Join(words[:max(last, 1)], "/"), words[last]
}

// ofAll is [OfAll].
func ofAll[T declaration.Pointer](ctx context.Context, c store.Conn, e *Engine) (T, error) {
	for _, one := range e.documents {
		k, ok := one.(*CollectionOf[T])
		if !ok {
			continue
		}
		stored, err := k.Select(ctx, c, "tenant_uuid = (SELECT uuid FROM auth_tenant WHERE uuid = parent_uuid)")
		if err != nil || len(stored) == 0 {
			fresh, wrong := (&DocumentsOf[T]{k: k}).fresh("", nil)
			return fresh, errors.Join(err, wrong)
		}
		return stored[0], nil
	}
	return declaration.Null[T](), fmt.Errorf("%s: no document %s is declared", e.Service, declaration.StructOf[T]())
}
