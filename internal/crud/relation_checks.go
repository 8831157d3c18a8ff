package crud

import (
	"context"
	"fmt"
	"slices"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/store"
)

// All runs the checks in this order, each for all links, and returns the first refusal.
func All[L, R declaration.Pointer](checks ...CheckOf[L, R]) CheckOf[L, R] {
	return func(ctx context.Context, c store.Conn, pairs []*PairOf[L, R]) error {
		for _, check := range checks {
			if err := check(ctx, c, pairs); err != nil {
				return err
			}
		}
		return nil
	}
}

// Each makes a check of a check of one link.
func Each[L, R declaration.Pointer](check func(ctx context.Context, c store.Conn, pair *PairOf[L, R]) error) CheckOf[L, R] {
	return func(ctx context.Context, c store.Conn, pairs []*PairOf[L, R]) error {
		for _, pair := range pairs {
			if err := check(ctx, c, pair); err != nil {
				return &linkError{err, pair.link.far}
			}
		}
		return nil
	}
}

// linkError is the refusal of the link with an object.
type linkError struct {
	error

	far any
}

func (r *linkError) Unwrap() error { return r.error }

// SameTenant refuses to link objects of different tenants.
func SameTenant[L, R declaration.Pointer](ctx context.Context, c store.Conn, pairs []*PairOf[L, R]) error {
	return Each(func(_ context.Context, _ store.Conn, p *PairOf[L, R]) error {
		d := p.link.change
		near, far := d.near, d.near.other
		one, other := near.TenantOf(d.object), far.TenantOf(p.link.far)
		if one == other || d.near.relation.GivesRights {
			return nil
		}
		return near.Style.DifferentTenants(near.Singular, one, far.Singular, other)
	})(ctx, c, pairs)
}

// LeftFree refuses if the left object is already linked with another.
func LeftFree[L, R declaration.Pointer](ctx context.Context, c store.Conn, pairs []*PairOf[L, R]) error {
	return Each(func(ctx context.Context, c store.Conn, p *PairOf[L, R]) error {
		return p.link.refuseHeld(ctx, c, p.link.change.near.relation.Left)
	})(ctx, c, pairs)
}

// RightFree refuses if the right object is already linked with another.
func RightFree[L, R declaration.Pointer](ctx context.Context, c store.Conn, pairs []*PairOf[L, R]) error {
	return Each(func(ctx context.Context, c store.Conn, p *PairOf[L, R]) error {
		return p.link.refuseHeld(ctx, c, p.link.change.near.relation.Right)
	})(ctx, c, pairs)
}

// refuseHeld refuses if the link's object of one side, which may be linked with one object at most, is linked with another.
func (l *link) refuseHeld(ctx context.Context, c store.Conn, one *DeclaredSide) error {
	if one.Has == Any {
		return nil
	}
	left, right := l.keys()
	key, other := left, &right
	if one == one.relation.Right {
		key, other = right, &left
	}
	held, err := one.held(ctx, c, key, *other)
	if err != nil {
		return err
	}
	if first := l.change.added[0]; held == nil && one == l.change.near && first != l {
		held = one.other.Key(first.far) // another of the same change
	}
	if held == nil {
		return nil
	}
	*other = held
	r := one.relation
	return r.engine.Style.Associated(r.Left.title, r.Right.title, r.Left.Refers, left, r.Right.Refers, right)
}

// held returns the key of an object, other than except, that one of this side is linked with, or nil.
func (s *DeclaredSide) held(ctx context.Context, c store.Conn, key, except any) (any, error) {
	if transaction.Inside(ctx) && transaction.MemoryOf(ctx).Unlinked(&s.Side, key) {
		return nil, nil
	}
	other, condition, args := s.other.Refers, "", []any{key}
	if except != nil {
		condition, args = " AND "+other+" IS DISTINCT FROM $2", append(args, except)
	}
	found, err := store.Select[string](ctx, c, "SELECT coalesce(CAST("+other+" AS text), '') FROM "+s.Joining+" WHERE "+s.Refers+" = $1"+condition+
		" ORDER BY "+other+" LIMIT 1", args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return s.other.KeyColumn().Typed(found[0]), nil
}

// refuseLinked refuses if an object of this side is linked.
func (s *DeclaredSide) refuseLinked(ctx context.Context, c store.Conn, o any) error {
	key := s.Key(o)
	linked, err := s.held(ctx, c, key, nil)
	if err != nil || linked == nil {
		return err
	}
	return s.relation.engine.Style.Associated(s.Title, s.other.Title, s.Refers, key, s.other.Refers, linked)
}

// refuseFull refuses new links of objects that have MaxLinks then, if clients send these as a list.
func (d *diff) refuseFull(ctx context.Context, c store.Conn) error {
	if len(d.added) == 0 {
		return nil
	}
	if d.list == nil && d.near.Set != nil {
		if err := d.near.refuseFull(ctx, c, MaxLinks-len(d.added), d.near.Key(d.object)); err != nil {
			return err
		}
	}
	if d.near.other.Set == nil {
		return nil
	}
	keys := make([]any, len(d.added))
	for i, l := range d.added {
		keys[i] = d.near.other.Key(l.far)
	}
	return d.near.other.refuseFull(ctx, c, MaxLinks-1, keys...)
}

// refuseFull refuses if one of some objects of this side has more links than so many.
func (s *DeclaredSide) refuseFull(ctx context.Context, c store.Conn, most int, keys ...any) error {
	memory := transaction.MemoryOf(ctx)
	keys = slices.DeleteFunc(keys, func(key any) bool { return most >= 0 && memory.Unlinked(&s.Side, key) })
	if len(keys) == 0 {
		return nil
	}
	full, err := store.Select[string](ctx, c, "SELECT CAST("+s.Refers+" AS text) FROM "+s.Joining+" WHERE "+s.Refers+" IN ("+query.Placeholders(1, len(keys))+
		") GROUP BY "+s.Refers+fmt.Sprintf(" HAVING count(*) > %d LIMIT 1", most), keys...)
	if err != nil || len(full) == 0 {
		return err
	}
	sentence := fmt.Sprintf("A %s has at most %d %s.", declaration.Spaced(s.Singular), MaxLinks, declaration.Spaced(s.Set.Field))
	return s.relation.engine.Style.NotPermitted(sentence, s.Refers, s.KeyColumn().Typed(full[0]))
}
