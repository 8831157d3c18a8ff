package crud

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Leading is what leads to an object, in the own data of other objects: it ends with the object. It has nothing of what the caller is denied to read.
type Leading struct {
	Leading []LeadingObject `json:"leading" doc:"What leads to it, of what the token may read: at most 100 objects."`
	Others  int             `json:"others" doc:"How many more objects lead to it. Of a kind, the first 1000 are counted."`
}

// LeadingObject names one of them.
type LeadingObject struct {
	Resource string `json:"resource" example:"incalls" doc:"The collection, as the audit names it."`
	ID       string `json:"id" example:"17" doc:"The key of the object in it."`
	Title    string `json:"title" example:"Sales" doc:"What people call it, or nothing."`
}

const maxLeading, maxLeadingOfKind = 100, 1000

// leads reports whether own data of objects here may refer to objects of a path's collection.
func (k *CollectionOf[T]) leads(path string) bool {
	return slices.ContainsFunc(k.Beside, func(b declaration.Beside[T]) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(b.Refers)), func(ref string) bool { return strings.HasPrefix(ref, path+".") })
	})
}

// isLedTo reports whether own data of other objects may refer to objects of this collection.
func (k *CollectionOf[T]) isLedTo() bool {
	for _, t := range k.engine.byPath {
		if t.leads(k.Path) {
			return true
		}
	}
	return false
}

// leadingTo returns what leads to an object: what a dry run of its DELETE answers.
func (k *CollectionOf[T]) leadingTo(ctx context.Context, c store.Conn, change *declaration.Change[T]) (any, error) {
	out := &Leading{Leading: []LeadingObject{}}
	valueOf := func(attribute string) any { return k.Field(change.Old, attribute) }
	for _, path := range slices.Sorted(maps.Keys(k.engine.byPath)) {
		if err := k.engine.byPath[path].addLeading(ctx, c, change.Request, change.Tenant, k.Path, valueOf, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// addLeading adds the objects here, of a tenant and those below it, whose own data refers to an object of a path's collection.
func (k *CollectionOf[T]) addLeading(
	ctx context.Context, c store.Conn, r *rest.Request, scope, path string, valueOf func(attribute string) any, out *Leading,
) error {
	for _, b := range k.Beside {
		args, refers := &query.Arguments{}, []string(nil)
		for _, column := range slices.Sorted(maps.Keys(b.Refers)) {
			if of, attribute, _ := strings.Cut(b.Refers[column], "."); of == path {
				refers = append(refers, column+" = "+args.Add(valueOf(attribute)))
			}
		}
		if len(refers) == 0 {
			continue
		}
		where := k.Keys[0] + " IN (SELECT " + b.By + " FROM " + b.From + " WHERE " + strings.Join(refers, " OR ") + ") AND " + k.InScope(true, args.Add(scope))
		objects, err := store.Select[T](ctx, c, "SELECT "+k.Selected()+" FROM "+k.Table+" WHERE "+where+k.AndVisible(ctx, args.Add)+
			fmt.Sprintf(" ORDER BY %s LIMIT %d", k.Keys[0], maxLeadingOfKind), args.Values...)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if k.Path != path || k.Key(o) != valueOf(k.Keys[0]) { // what leads to itself goes with itself
				k.lead(r, o, b.Changes, out)
			}
		}
	}
	return nil
}

// lead adds an object, of which an operation changes what leads elsewhere, as the audit names it.
func (k *CollectionOf[T]) lead(r *rest.Request, o T, changes string, out *Leading) {
	a := audit.Change{Resource: k.Path}
	k.identify(&a, o)
	reads := rights.Accesses(k.Entity, o, "read")
	apart := rights.Accesses(k.Entity, o, strings.TrimSuffix(changes, "update")+"read")
	if k.Audited != nil {
		k.Audited(o, &a)
	}
	if of, part, _ := strings.Cut(a.Resource, "/"); a.Resource != k.Path { // a part of another object, which is read by its path alone
		apart, reads = append(apart, reads...), nil
		for _, key := range a.Keys[0] {
			reads = append(reads, k.Service+"."+of+"."+rights.WordOf(key)+"."+declaration.Dotted(part)+".read")
		}
	}
	switch {
	case rights.NotDenied(r, append(apart, reads...)...) != nil:
	case len(out.Leading) < maxLeading && slices.ContainsFunc(reads, r.Principal().Allows):
		out.Leading = append(out.Leading, LeadingObject{a.Resource, a.Object, k.titleOf(o)})
	default:
		out.Others++
	}
}
