package crud

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
)

// All runs the checks in this order and returns the first refusal.
func All[L, R pointer](checks ...CheckOf[L, R]) CheckOf[L, R] {
	return func(ctx context.Context, c store.Conn, pair *PairOf[L, R]) error {
		for _, check := range checks {
			if err := check(ctx, c, pair); err != nil {
				return err
			}
		}
		return nil
	}
}

// SameTenant refuses to link objects of different tenants.
func SameTenant[L, R pointer](_ context.Context, _ store.Conn, pair *PairOf[L, R]) error {
	j := pair.link
	left, right := j.left.tenantOf(pair.Left), j.right.tenantOf(pair.Right)
	if left == right || j.AcrossTenants {
		return nil
	}
	return j.engine.Style.DifferentTenants(j.left.Singular, left, j.right.Singular, right)
}

// LeftFree refuses if the left object is already linked with another.
func LeftFree[L, R pointer](ctx context.Context, c store.Conn, pair *PairOf[L, R]) error {
	j := pair.link
	if j.LeftHas == Any {
		return nil
	}
	held, err := held(ctx, c, j.near(), j.far(), j.left.Key(pair.Left), j.right.Key(pair.Right))
	if err != nil || held == nil {
		return err
	}
	return j.engine.Style.Associated(j.left.title(), j.title(), j.LeftColumn, j.left.Key(pair.Left), j.RightColumn, held)
}

// refuseFull refuses a link of an object that has MaxLinks already, if clients send its links as a list.
func (j *joint[L, R]) refuseFull(ctx context.Context, c store.Conn, p *PairOf[L, R]) error {
	if j.Set != nil {
		if err := refuseFull(ctx, c, j.engine.Style, j.near(), j.left.Singular, j.Set.field(), j.left.Key(p.Left)); err != nil {
			return err
		}
	}
	if j.SetBack == nil {
		return nil
	}
	return refuseFull(ctx, c, j.engine.Style, j.far(), j.right.Singular, j.SetBack.field(), j.right.Key(p.Right))
}

func refuseFull(ctx context.Context, c store.Conn, style Style, of *side, singular, list string, key any) error {
	if knows(ctx).unlinked(of, key) {
		return nil
	}
	n, err := store.Get[int](ctx, c, "SELECT count(*) FROM "+of.joining+" WHERE "+of.column+" = $1", key)
	if err != nil || n < MaxLinks {
		return err
	}
	return style.full(singular, list, of.column, key)
}

// full refuses to make a list longer than a client may send it.
func (s Style) full(singular, list, column string, key any) error {
	return s.NotPermitted(fmt.Sprintf("A %s has at most %d %s.", spaced(singular), MaxLinks, spaced(list)), column, key)
}

// title returns the name of the right side in refusals.
func (j *joint[L, R]) title() string {
	if j.Calls != "" {
		return j.Calls
	}
	return j.right.title()
}

// RightFree refuses if the right object is already linked with another.
func RightFree[L, R pointer](ctx context.Context, c store.Conn, pair *PairOf[L, R]) error {
	j := pair.link
	if j.RightHas == Any {
		return nil
	}
	held, err := held(ctx, c, j.far(), j.near(), j.right.Key(pair.Right), j.left.Key(pair.Left))
	if err != nil || held == nil {
		return err
	}
	return j.engine.Style.Associated(j.left.title(), j.title(), j.LeftColumn, held, j.RightColumn, j.right.Key(pair.Right))
}

// held returns the key of an object, other than except, that this one is linked with, or nil.
func held(ctx context.Context, c store.Conn, one, other *side, key, except any) (any, error) {
	if tx := transactionOf(ctx); tx != nil && tx.knows.unlinked(one, key) {
		return nil, nil
	}
	condition, args := "", []any{key}
	if except != nil {
		condition, args = " AND "+other.column+" IS DISTINCT FROM $2", append(args, except)
	}
	found, err := store.Select[string](ctx, c, "SELECT coalesce(CAST("+other.column+" AS text), '') FROM "+one.joining+" WHERE "+one.column+" = $1"+condition+
		" ORDER BY "+other.column+" LIMIT 1", args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return other.collection.key().typed(found[0]), nil
}

// Associated refuses because an object is linked with another: "User is associated with a Voicemail ('user_id': 1, ...)". keys
// are alternating names and values.
func (s Style) Associated(one, other string, keys ...any) error {
	return s.Storedf("%s is associated with a %s (%s)", one, other, pairs(keys)).On(namesOf(keys)...)
}

// NotAssociated refuses because an object is not linked with another that it needs.
func (s Style) NotAssociated(one, other string, keys ...any) error {
	return s.Storedf("%s must be associated with a %s (%s)", one, other, pairs(keys)).On(namesOf(keys)...)
}

// NotPermitted refuses with its own sentence.
func (s Style) NotPermitted(sentence string, keys ...any) *apierr.Error {
	if len(keys) == 0 {
		return s.Storedf("Operation not permitted. %s", sentence)
	}
	return s.Storedf("Operation not permitted. %s (%s)", sentence, pairs(keys)).On(namesOf(keys)...)
}

// DifferentTenants refuses because two objects, by their names in the singular, belong to different tenants.
func (s Style) DifferentTenants(one, oneTenant, other, otherTenant string) error {
	return s.Storedf("different tenants ('%s_tenant_uuid': '%s', '%s_tenant_uuid': '%s')", one, oneTenant, other, otherTenant)
}

// namesOf returns the names of names and values.
func namesOf(keys []any) []string {
	var names []string
	for two := range slices.Chunk(keys, 2) {
		names = append(names, fmt.Sprint(two[0]))
	}
	return names
}

// pairs writes names and values in the form that existing clients know.
func pairs(keys []any) string {
	parts := make([]string, 0, len(keys)/2)
	for two := range slices.Chunk(keys, 2) {
		parts = append(parts, fmt.Sprintf("'%v': %s", two[0], quoted(two[1])))
	}
	return strings.Join(parts, ", ")
}

// refuseAnyLinked is [RefuseLinked].
func refuseAnyLinked[P, O pointer](ctx context.Context, c store.Conn, e *Engine, o O) error {
	near, far, err := sidesOf[O, P](e)
	if err != nil {
		return err
	}
	return refuseLinked(ctx, c, e.Style, collectionOf[O](e), collectionOf[P](e).title(), near, far, o)
}

// sidesOf returns the sides of the link of two collections, which is declared in either direction.
func sidesOf[O, P pointer](e *Engine) (near, far *side, err error) {
	type sided interface {
		near() *side
		far() *side
	}
	of, other := structOf[O](), structOf[P]()
	if j, ok := e.links[[2]reflect.Type{of, other}].(sided); ok {
		return j.near(), j.far(), nil
	}
	if j, ok := e.links[[2]reflect.Type{other, of}].(sided); ok {
		return j.far(), j.near(), nil
	}
	return nil, nil, fmt.Errorf("no link of %s and %s is declared", of, other)
}

func refuseLinked[O pointer](ctx context.Context, c store.Conn, style Style, of *CollectionOf[O], other string, near, far *side, o O) error {
	linked, err := held(ctx, c, near, far, of.Key(o), nil)
	if err != nil || linked == nil {
		return err
	}
	return style.Associated(of.title(), other, near.column, of.Key(o), far.column, linked)
}

// guard makes a collection check a link when one of its objects is deleted.
func guard[O, P pointer](of *CollectionOf[O], other *CollectionOf[P], d Deletion, e *Engine, one, far *side) {
	switch d {
	case Refuse:
		of.guards = append(of.guards, func(ctx context.Context, c store.Conn, change *ChangeOf[O]) error {
			return refuseLinked(ctx, c, e.Style, of, other.title(), one, far, change.Old)
		})
	case Cascade:
		of.guards = append(of.guards, func(ctx context.Context, c store.Conn, change *ChangeOf[O]) error {
			linked, err := other.Select(ctx, c, other.Keys[0]+" IN (SELECT "+far.column+" FROM "+one.joining+" WHERE "+one.column+" = $1)", of.Key(change.Old))
			if err != nil {
				return err
			}
			knows(ctx).changes(one.joining)
			if _, err := c.Exec(ctx, "DELETE FROM "+one.joining+" WHERE "+one.column+" = $1 AND "+far.column+" IS NOT NULL", of.Key(change.Old)); err != nil {
				return err
			}
			for _, o := range linked {
				if err := other.NotDenied(change.Request, o, "delete"); err != nil {
					return err
				}
				if err := other.Delete(ctx, c, &ChangeOf[P]{Request: change.Request, Tenant: change.Tenant, Old: o}); err != nil {
					return err
				}
			}
			return nil
		})
	case Unlink: // the database does it
	}
}
