package crud

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// ChildrenOf serves the objects of a collection, C, that belong to one object of another, P, below that: GET /{parents}/{id}/{children}, and what
// Only names. Both collections are declared on the engine, before or after.
type ChildrenOf[P, C declaration.Pointer] struct {
	// Column is the column of C that refers to the first key of the parent.
	Column string
	// Path is where they are below a parent, by default as the path of C; Access are the words of their accesses there, by default those of the path,
	// which names one of them in accesses too.
	Path, Access string
	// Me is for parents that are the users who log in: it adds the list of the caller's own children, GET
	// /{parents}/me/{children}.
	Me bool
	// Only are further operations: create, read, update and delete of a child, below a parent or, with Me, of one's own alone. A path names a child
	// by MadeAs of its collection, which is unique below a parent, or else by its first key.
	Only []string
	// Most is how many children a client makes for one parent, or 0: any number.
	Most int
	// Describe adapts an operation, by the names that Only has, and "list".
	Describe func(action string, op *rest.Operation)
}

// On declares them on an engine.
func (l ChildrenOf[P, C]) On(e *Engine) {
	e.declare(func() []rest.Operation {
		b := &below[P, C]{ChildrenOf: l, parents: collectionOf[P](e), children: collectionOf[C](e)}
		b.Path = cmp.Or(l.Path, b.children.Path)
		b.words = cmp.Or(l.Access, declaration.Dotted(b.Path))
		b.children.BelongTo(b.parents.Objects, l.Column, b.words)
		e.described.Children = append(e.described.Children, DescribedChildren{
			Parent: b.parents.Path, Child: b.children.Path, Path: b.Path, Column: l.Column, Me: l.Me, Only: l.Only,
		})
		of := b.parents.place()
		of.belongs = b.belongs
		me := place{b.parents.Entity, "/" + b.parents.Path + "/me", b.caller, b.belongs}
		ops := []rest.Operation{b.list(of, "list_"+b.parents.Singular+"_"+declaration.Underscored(b.Path))}
		if l.Me {
			of = me
			ops = append(ops, b.list(me, "list_my_"+declaration.Underscored(b.Path)))
		}
		for _, action := range l.Only {
			ops = append(ops, b.operation(of, action))
		}
		return ops
	})
}

// below are children on an engine.
type below[P, C declaration.Pointer] struct {
	ChildrenOf[P, C]
	parents  *CollectionOf[P]
	children *CollectionOf[C]
	words    string
}

// caller returns the object that is the caller themselves.
func (b *below[P, C]) caller(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
	return b.parents.Row(ctx, c, scope, r.Principal().UserUUID)
}

// belongs returns the condition for the children of an object that a list shows.
func (b *below[P, C]) belongs(ctx context.Context, o any, add func(value any) (placeholder string)) string {
	where := b.Column + " = " + add(b.parents.Key(o))
	if slices.Contains(b.Only, "read") && b.Access == "" {
		where += b.children.AndVisibleBelow(ctx, b.parents.Objects, o, b.words, b.named(), add)
	}
	return where
}

// list returns the operation that lists the children of the object at a place.
func (b *below[P, C]) list(of place, id string) rest.Operation {
	op := b.children.listBelow(of, of.path+"/"+b.Path, id)
	op.Access = rights.AccessOf(b.children.Service, of.path+"/"+b.words, "read")
	b.describe("list", &op)
	return op
}

func (b *below[P, C]) describe(action string, op *rest.Operation) {
	if b.Describe != nil {
		b.Describe(action, op)
	}
}

// named is the column by which a path names a child.
func (b *below[P, C]) named() string { return cmp.Or(b.children.MadeAs, b.children.Keys[0]) }

// operation returns one on a child of the object at a place.
func (b *below[P, C]) operation(of place, action string) rest.Operation {
	op := b.children.operation(action)
	op.Path, op.Tag = of.path+"/"+b.Path+strings.TrimPrefix(op.Path, "/"+b.children.Path), declaration.Underscored(b.parents.Path)
	if op.Access = rights.AccessOf(b.children.Service, op.Path, action); b.Access != "" {
		op.Access = rights.AccessOf(b.children.Service, of.path+"/"+b.words, action)
	}
	if b.Me {
		op.ID = strings.Replace(op.ID, "_", "_my_", 1)
	}
	if action == "create" {
		op.Handle, op.Statuses = b.create(of), append(op.Statuses, 404)
	} else {
		b.children.below[op.Path] = b.key(of)
	}
	b.describe(action, &op)
	return op
}

// key returns what returns the key of the child that a request's path names.
func (b *below[P, C]) key(of place) keyIn {
	return func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (string, error) {
		o, err := of.find(ctx, c, r, scope)
		if err != nil {
			return "", err
		}
		typed, col := r.Param(b.children.Param), b.children.Column(b.named())
		value, ok := col.Argument(typed)
		if !ok || fmt.Sprint(value) != typed {
			return "", b.children.NotFound("", nil)
		}
		found, err := b.children.Rows(ctx, c, b.Column+" = $1 AND "+col.Name+" = $2", b.parents.Key(o), value)
		if err != nil {
			return "", err
		}
		if len(found) == 0 {
			return "", b.children.NotFound(b.named(), value)
		}
		return fmt.Sprint(b.children.Key(found[0])), nil
	}
}

// create makes a child of the object at a place.
func (b *below[P, C]) create(of place) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		var made C
		reply, err := b.children.createIn(ctx, r, func(ctx context.Context, c store.Conn, change *declaration.Change[C]) error {
			o, err := of.find(ctx, c, r, change.Tenant)
			if err != nil {
				return err
			}
			if err := b.refuseFull(ctx, c, o); err != nil {
				return err
			}
			b.children.Set(change.New, b.Column, b.parents.Key(o))
			made = change.New
			return b.children.Insert(ctx, c, change)
		})
		if err != nil || !b.children.Style.Location {
			return reply, err
		}
		at := r.Op().Path
		for _, name := range []string{b.parents.Param, b.children.Param} {
			at = strings.Replace(at, "{"+name+"}", url.PathEscape(r.Param(name)), 1)
		}
		if b.children.MadeAs == "" {
			at += "/" + url.PathEscape(fmt.Sprint(b.children.Key(made)))
		}
		reply.Header.Set("Location", b.children.Prefix+at)
		return reply, nil
	}
}

// refuseFull refuses another child of an object that has Most.
func (b *below[P, C]) refuseFull(ctx context.Context, c store.Conn, o any) error {
	if b.Most == 0 {
		return nil
	}
	k := b.children
	there, err := k.Count(ctx, c, b.Column+" = $1", query.Arguments{Values: []any{b.parents.Key(o)}})
	if err == nil && there >= b.Most {
		err = k.Style.Storedf("%s has at most %d %s", declaration.Capitalized(k.One(b.parents.Singular)), b.Most, k.Plural(k.Path))
	}
	return err
}
