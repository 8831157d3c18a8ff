package crud

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// change finds both sides and runs do, in one transaction.
func (j *joint[L, R]) change(ctx context.Context, r *rest.Request, both bool, do func(context.Context, store.Conn, *PairOf[L, R]) error) (rest.Reply, error) { //nolint:unparam // as a rest.Handler returns it
	scope, err := j.engine.TenantOf(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	err = j.engine.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		p := &PairOf[L, R]{Request: r, Tenant: scope, link: j}
		if p.Left, err = j.left.row(ctx, c, scope, r.Param(j.left.Param)); err != nil {
			return err
		}
		named := []aliases{j.left.aliases(p.Left)}
		if both {
			if p.Right, err = j.right.row(ctx, c, scope, r.Param(j.right.Param)); err != nil {
				return err
			}
			named = append(named, j.right.aliases(p.Right))
		}
		if err := refuseDenied(r, named...); err != nil {
			return err
		}
		if err := j.left.Unchanged(ctx, c, r, scope, j.left.Key(p.Left)); err != nil {
			return err
		}
		if err := j.own(ctx, c, p); err != nil {
			return err
		}
		return do(ctx, c, p)
	})
	return rest.Reply{}, err
}

// own loads the fields of both objects that hooks and checks read.
func (j *joint[L, R]) own(ctx context.Context, c store.Conn, p *PairOf[L, R]) error {
	if err := j.left.own(ctx, c, []L{p.Left}); err != nil || isNull(p.Right) {
		return err
	}
	return j.right.own(ctx, c, []R{p.Right})
}

func (j *joint[L, R]) put(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	var sent *rest.Object
	if j.Row != nil {
		_, object, err := j.engine.begin(ctx, r)
		if err != nil {
			return rest.Reply{}, err
		}
		sent = &object
	}
	return j.change(ctx, r, true, func(ctx context.Context, c store.Conn, p *PairOf[L, R]) error {
		return j.associate(ctx, c, p, sent)
	})
}

// associate makes the link, or changes its row if it exists.
func (j *joint[L, R]) associate(ctx context.Context, c store.Conn, p *PairOf[L, R], sent *rest.Object) error {
	if j.Strict {
		return j.make(ctx, c, p)
	}
	left, right := j.left.Key(p.Left), j.right.Key(p.Right)
	there, err := j.Row.load(ctx, c, j.Table+" WHERE "+j.LeftColumn+" = $1 AND "+j.RightColumn+" = $2", left, right)
	if err != nil {
		return err
	}
	p.Row = there
	if there == nil {
		p.Row, err = j.Row.fresh()
		if err != nil {
			return err
		}
	}
	if sent != nil {
		if err := sent.Into(p.Row); err != nil {
			return err
		}
	}
	switch {
	case there == nil:
		return j.make(ctx, c, p)
	case sent == nil || len(j.Row.columns) == 0:
		return nil // it is so already
	default:
		args := &arguments{}
		sets := j.Row.sets(p.Row, args)
		if _, err := c.Exec(ctx, "UPDATE "+j.Table+" SET "+sets+" WHERE "+j.LeftColumn+" = "+args.add(left)+" AND "+
			j.RightColumn+" = "+args.add(right), args.values...); err != nil {
			return err
		}
	}
	return j.concludePair(ctx, c, p)
}

// make makes the link if it is allowed.
func (j *joint[L, R]) make(ctx context.Context, c store.Conn, p *PairOf[L, R]) error {
	if err := j.Allow(ctx, c, p); err != nil {
		return err
	}
	if err := j.refuseFull(ctx, c, p); err != nil {
		return err
	}
	made, err := j.insert(ctx, c, p)
	if err != nil || made == 0 {
		return err
	}
	return j.concludePair(ctx, c, p)
}

// insert writes the row of a link, and returns how many rows it wrote: none if a strict link exists already.
func (j *joint[L, R]) insert(ctx context.Context, c store.Conn, p *PairOf[L, R]) (int64, error) {
	left := j.left.Key(p.Left)
	args := &arguments{}
	names := []string{j.LeftColumn, j.RightColumn}
	values := []string{args.add(left), args.add(j.right.Key(p.Right))}
	for _, col := range j.Row.all() {
		names, values = append(names, col.name), append(values, args.add(j.Row.value(p.Row, col)))
	}
	if j.Position != "" && !slices.Contains(names, j.Position) {
		names = append(names, j.Position)
		values = append(values, "(SELECT coalesce(max("+j.Position+"), -1) + 1 FROM "+j.Table+" WHERE "+j.LeftColumn+" = "+args.add(left)+")")
	}
	sql := "INSERT INTO " + j.Table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
	if j.Strict {
		sql += " ON CONFLICT (" + j.LeftColumn + ", " + j.RightColumn + ") DO NOTHING"
	}
	made, err := c.Exec(ctx, sql, args.values...)
	if store.IsConstraint(err, store.Unique) { // two clients did it at once, and both had read before
		refusal := j.engine.Style.Storedf("%s is associated with a %s already", j.left.title(), j.title())
		refusal.Err = err
		return 0, refusal
	}
	knows(ctx).links(j.near(), left)
	knows(ctx).links(j.far(), j.right.Key(p.Right))
	return made, err
}

func (j *joint[L, R]) drop(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	return j.change(ctx, r, true, func(ctx context.Context, c store.Conn, p *PairOf[L, R]) error {
		p.Ends = true
		return j.dissociate(ctx, c, p, j.LeftColumn+" = $1 AND "+j.RightColumn+" = $2", j.left.Key(p.Left), j.right.Key(p.Right))
	})
}

func (j *joint[L, R]) dropAll(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	return j.change(ctx, r, false, func(ctx context.Context, c store.Conn, p *PairOf[L, R]) error {
		p.Ends = true
		return j.dissociate(ctx, c, p, j.LeftColumn+" = $1", j.left.Key(p.Left))
	})
}

// dissociate ends the links for which the condition holds. Ending a link that does not exist changes nothing, and only MayEnd of a
// strict link refuses it.
func (j *joint[L, R]) dissociate(ctx context.Context, c store.Conn, p *PairOf[L, R], condition string, args ...any) error {
	if !j.Strict {
		there, err := store.Get[int](ctx, c, "SELECT count(*) FROM "+j.Table+" WHERE "+condition, args...)
		if err != nil || there == 0 {
			return err
		}
	}
	if j.MayEnd != nil {
		if err := j.MayEnd(ctx, c, p); err != nil {
			return err
		}
	}
	knows(ctx).changes(j.Table)
	ended, err := c.Exec(ctx, "DELETE FROM "+j.Table+" WHERE "+condition, args...)
	if err != nil || ended == 0 {
		return err
	}
	return j.concludePair(ctx, c, p)
}

// concludePair ends every change of a link: it runs the hooks, emits the events, and writes the change to the audit.
func (j *joint[L, R]) concludePair(ctx context.Context, c store.Conn, p *PairOf[L, R]) error {
	if j.Changed != nil {
		if err := j.Changed(ctx, c, p); err != nil {
			return err
		}
	}
	if j.Committed != nil {
		AfterCommit(ctx, func() { j.Committed(p) })
	}
	left := fmt.Sprint(j.left.Key(p.Left))
	emit(ctx, Event{Resource: j.left.Path, Key: left, Tenant: j.left.tenantOf(p.Left)})
	pair := map[string]any{j.left.Singular: j.left.Key(p.Left)}
	change := audit.Change{
		Tenant: cmp.Or(j.left.tenantOf(p.Left), p.Tenant), Resource: j.left.Path + "/" + j.Path, Object: left,
		Keys: [][]string{j.left.aliases(p.Left).keys}, Sides: []string{j.left.Path, j.right.Path}, After: pair, Title: audit.Called(j.left.auditData(p.Left)),
	}
	if !isNull(p.Right) {
		right := fmt.Sprint(j.right.Key(p.Right))
		emit(ctx, Event{Resource: j.right.Path, Key: right, Tenant: j.right.tenantOf(p.Right)})
		pair[j.right.Singular] = j.right.Key(p.Right)
		change.Object += "/" + right
		change.Keys = append(change.Keys, j.right.aliases(p.Right).keys)
		change.Title += " " + audit.Called(j.right.auditData(p.Right))
	}
	if p.Ends {
		change.Before, change.After = pair, nil
	}
	return audit.Write(ctx, c, p.Request, change)
}

// Associate links two objects, as put does, in a transaction of Engine.InTx. It refuses a caller who may not do so under [MayNest].
func Associate[L, R pointer](ctx context.Context, c store.Conn, e *Engine, r *rest.Request, tenantUUID string, left L, right R) error {
	j, err := jointOf[L, R](e)
	if err != nil {
		return err
	}
	if err := j.mayNestPair(r, left, right, "update"); err != nil {
		return err
	}
	return j.associate(ctx, c, &PairOf[L, R]{Request: r, Tenant: tenantUUID, Left: left, Right: right, link: j}, nil)
}
