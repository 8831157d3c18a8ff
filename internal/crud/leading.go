package crud

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Leading is what leads to an object that is deleted: own data of other objects that refers to it, columns that name it, and links with it. It ends
// with the object, unless that refuses to be deleted. It has nothing of what the caller is denied to read.
type Leading struct {
	Leading []LeadingObject `json:"leading" doc:"What leads to it, or uses it, of what the token may read: at most 100 objects."`
	Others  int             `json:"others" doc:"How many more objects do. Of a kind, the first 1000 are counted."`
}

// LeadingObject names one of them.
type LeadingObject struct {
	Resource string `json:"resource" example:"incalls" doc:"The collection, as the audit names it."`
	ID       string `json:"id" example:"17" doc:"The key of the object in it."`
	Title    string `json:"title" example:"Sales" doc:"What people call it, or nothing."`
}

const maxLeading, maxLeadingOfKind = 100, 1000

// leading finds what leads to an object.
type leading struct {
	Leading
	request *rest.Request
	// scope is the tenant whose objects count, with those below it.
	scope string
	// of is the object's collection, and key its key.
	of   *declaration.Entity
	key  any
	told map[LeadingObject]bool
}

// leadsHere reports whether the objects that are linked with one of this side lead to it.
func (s *DeclaredSide) leadsHere() bool {
	return len(s.relation.Only) > 0 && (s == s.relation.Right || s.relation.rightLeads)
}

// isLedTo reports whether other objects may lead to objects of this collection.
func (k *CollectionOf[T]) isLedTo() bool {
	if slices.ContainsFunc(k.sides, (*DeclaredSide).leadsHere) {
		return true
	}
	return slices.ContainsFunc(k.engine.tables(), func(t table) bool { return len(t.referring(k.Path)) > 0 })
}

// leadingTo returns what leads to an object: what a dry run of its DELETE answers.
func (k *CollectionOf[T]) leadingTo(ctx context.Context, c store.Conn, change *declaration.Change[T]) (any, error) {
	l := &leading{
		Leading: Leading{Leading: []LeadingObject{}}, request: change.Request, scope: change.Tenant, of: k.Entity, key: k.Key(change.Old),
		told: map[LeadingObject]bool{},
	}
	for _, t := range k.engine.tables() {
		for _, ref := range t.referring(k.Path) {
			args := &query.Arguments{}
			where, changes, attributes := ref.where(args.Add(k.Field(change.Old, ref.attribute))), ref.changes, []string(nil)
			if changes == "" {
				changes, attributes = "update", []string{ref.column}
			}
			if err := t.addWhere(ctx, c, l, where, args, changes, attributes...); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range k.sides {
		if s.leadsHere() {
			args := &query.Arguments{}
			if err := s.other.collection.addWhere(ctx, c, l, s.linkedWith(ctx, change.Old, args.Add), args, "update"); err != nil {
				return nil, err
			}
		}
	}
	return &l.Leading, nil
}

// addWhere adds the objects for which a condition holds. changes is the operation that changes what leads elsewhere; what the caller may not know
// of these attributes leads nowhere.
func (k *CollectionOf[T]) addWhere(
	ctx context.Context, c store.Conn, l *leading, condition string, args *query.Arguments, changes string, attributes ...string,
) error {
	where := condition + " AND " + k.InScope(true, args.Add(l.scope))
	objects, err := store.Select[T](ctx, c, "SELECT "+k.Selected()+" FROM "+k.Table+" WHERE "+where+k.AndVisible(ctx, args.Add)+
		fmt.Sprintf(" ORDER BY %s LIMIT %d", k.Keys[0], maxLeadingOfKind), args.Values...)
	if err != nil {
		return err
	}
	for _, o := range objects {
		itself := k.Entity == l.of && k.Key(o) == l.key // which goes with itself
		withheld := func(attribute string) bool { return k.Withholds(ctx, o, attribute) }
		if !itself && !slices.ContainsFunc(attributes, withheld) {
			k.lead(l, o, changes)
		}
	}
	return nil
}

// lead adds an object, of which an operation changes what leads elsewhere, as the audit names it.
func (k *CollectionOf[T]) lead(l *leading, o T, changes string) {
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
	data := k.auditData(o)
	label := audit.Called(map[string]any{"label": data["label"]}) // by which people know what has a name that was made for it
	one := LeadingObject{a.Resource, a.Object, cmp.Or(label, audit.Called(data))}
	if l.told[one] || rights.NotDenied(l.request, append(apart, reads...)...) != nil {
		return
	}
	l.told[one] = true
	if len(l.Leading.Leading) < maxLeading && slices.ContainsFunc(reads, l.request.Principal().Allows) {
		l.Leading.Leading = append(l.Leading.Leading, one)
	} else {
		l.Others++
	}
}
