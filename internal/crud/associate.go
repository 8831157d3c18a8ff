package crud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// End is one side of an association: a collection whose objects the joining table names.
type End struct {
	// Column of the joining table, which refers to the collection's first key.
	Column string
	find   func(ctx context.Context, c store.Conn, scope, typed string) (Member, error)

	singular, path, param string
	me                    bool
}

// Member is an object that takes part in an association.
type Member struct {
	// Key is the value of the collection's first key.
	Key any
	// Tenant has the object.
	Tenant string
	// Object is the *T itself.
	Object any

	spelt spelling
}

// End makes the collection a side of an association, by the joining table's column.
func (r Resource[T]) End(e *Engine, column string) End {
	k := r.on(e)
	return End{
		Column: column, singular: r.Singular, path: r.Path, param: r.Param,
		find: func(ctx context.Context, c store.Conn, scope, typed string) (Member, error) {
			o, err := k.find(ctx, c, scope, typed)
			if err != nil {
				return Member{}, err
			}
			m := Member{Object: o, Key: k.field(o, k.Keys[0]), spelt: k.spelt(o)}
			if _, ok := k.byName[tenantColumn]; ok {
				m.Tenant, _ = k.field(o, tenantColumn).(string)
			}
			return m, nil
		},
	}
}

// named answers the one that a request's path names, unless the caller is denied it under another of its keys.
func (e End) named(ctx context.Context, c store.Conn, scope string, r *rest.Request) (Member, error) {
	if e.me {
		return e.find(ctx, c, scope, r.Principal().UserUUID)
	}
	m, err := e.find(ctx, c, scope, r.Param(e.param))
	if err != nil {
		return Member{}, err
	}
	return m, refuseDenied(r, m.spelt)
}

// Association joins the objects of two collections, by a table with a column for each side. PUT and DELETE on
// /{left}/{id}/{right}/{id} make and end it; both may be repeated. The joining table's unique constraints
// say how many an object may have.
type Association struct {
	Table       string
	Left, Right End
	// Action is the last word of PUT's access: "update" unless it is set.
	Action string
	// AcrossTenants lets the two belong to different tenants that the caller both sees.
	AcrossTenants bool
	// DropAll replaces DELETE of one pair by DELETE /{left}/{id}/{right}, which ends all.
	DropAll bool
	// Allow refuses a change; it runs in the transaction.
	Allow func(ctx context.Context, c store.Conn, pair *Pairing) error
	// Changed is the last in the transaction; Committed runs after it.
	Changed   func(ctx context.Context, c store.Conn, pair *Pairing) error
	Committed func(pair *Pairing)
}

// Pairing is one making or ending of an association. Right is empty when all of Left's are ended.
type Pairing struct {
	Request     *rest.Request
	Left, Right Member
	// Ends is true on DELETE.
	Ends bool
	// Carry is what one hook leaves for a later one.
	Carry any
}

// Operations are the association's operations on an engine.
func (a Association) Operations(e *Engine) []rest.Operation {
	all := "/" + a.Left.path + "/{" + a.Left.param + "}/" + a.Right.path
	one := all + "/{" + a.Right.param + "}"
	left, right := spaced(a.Left.singular), spaced(a.Right.singular)
	action := a.Action
	if action == "" {
		action = "update"
	}
	put := rest.Operation{
		Method: http.MethodPut, Path: one, Access: accessOf(e.Service, one, action),
		ID: "associate_" + a.Left.singular + "_" + a.Right.singular, Summary: "Associate a " + left + " with a " + right,
		Description: "To repeat it changes nothing.", Statuses: []int{400, 404}, Handle: a.put(e),
	}
	drop := rest.Operation{
		Method: http.MethodDelete, Path: one, Access: accessOf(e.Service, one, "delete"),
		ID: "dissociate_" + a.Left.singular + "_" + a.Right.singular, Summary: "Dissociate a " + left + " from a " + right,
		Description: "To repeat it changes nothing.", Statuses: []int{404}, Handle: a.drop(e),
	}
	if a.DropAll {
		drop.Path, drop.Access = all, accessOf(e.Service, all, "delete")
	}
	ops := []rest.Operation{put, drop}
	for i := range ops {
		ops[i].Tag, ops[i].Tenanted, ops[i].Success = strings.ReplaceAll(a.Left.path, "/", "_"), true, http.StatusNoContent
	}
	return ops
}

func (a Association) put(e *Engine) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		return a.change(ctx, e, &Pairing{Request: r}, func(ctx context.Context, c store.Conn, p *Pairing) error {
			return a.join(ctx, c, e, p)
		})
	}
}

// join writes the pair; one that is there already stays.
func (a Association) join(ctx context.Context, c store.Conn, e *Engine, p *Pairing) error {
	if !a.AcrossTenants && p.Left.Tenant != p.Right.Tenant {
		return e.Style.stored("%s and %s are of different tenants ('%s_tenant_uuid': '%s', '%s_tenant_uuid': '%s')",
			title(a.Left.singular), title(a.Right.singular), a.Left.singular, p.Left.Tenant, a.Right.singular, p.Right.Tenant)
	}
	_, err := c.Exec(ctx, "INSERT INTO "+a.Table+" ("+a.Left.Column+", "+a.Right.Column+") VALUES ($1, $2) ON CONFLICT ("+
		a.Left.Column+", "+a.Right.Column+") DO NOTHING", p.Left.Key, p.Right.Key)
	if store.IsConstraint(err, store.Unique) {
		refusal := e.Style.stored("%s is associated with a %s already", title(a.Left.singular), title(a.Right.singular))
		refusal.Err = err
		return refusal
	}
	return err
}

func (a Association) drop(e *Engine) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		return a.change(ctx, e, &Pairing{Request: r, Ends: true}, func(ctx context.Context, c store.Conn, p *Pairing) error {
			if a.DropAll {
				_, err := c.Exec(ctx, "DELETE FROM "+a.Table+" WHERE "+a.Left.Column+" = $1", p.Left.Key)
				return err
			}
			_, err := c.Exec(ctx, "DELETE FROM "+a.Table+" WHERE "+a.Left.Column+" = $1 AND "+a.Right.Column+" = $2", p.Left.Key, p.Right.Key)
			return err
		})
	}
}

// change finds both sides, asks Allow, and does the work, in one transaction.
func (a Association) change(ctx context.Context, e *Engine, p *Pairing, do func(context.Context, store.Conn, *Pairing) error) (rest.Reply, error) {
	scope, err := tenant.Of(ctx, e.DB, p.Request)
	if err != nil {
		return rest.Reply{}, err
	}
	err = e.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		if p.Left, err = a.Left.find(ctx, c, scope, p.Request.Param(a.Left.param)); err != nil {
			return err
		}
		if !p.Ends || !a.DropAll {
			if p.Right, err = a.Right.find(ctx, c, scope, p.Request.Param(a.Right.param)); err != nil {
				return err
			}
		}
		if err := refuseDenied(p.Request, p.Left.spelt, p.Right.spelt); err != nil {
			return err
		}
		if a.Allow != nil {
			if err := a.Allow(ctx, c, p); err != nil {
				return err
			}
		}
		if err := do(ctx, c, p); err != nil {
			return err
		}
		if a.Changed != nil {
			if err := a.Changed(ctx, c, p); err != nil {
				return err
			}
		}
		if a.Committed != nil {
			afterCommit(ctx, func() { a.Committed(p) })
		}
		return a.record(ctx, c, scope, p)
	})
	return rest.Reply{}, err
}

// record keeps the change in the audit.
func (a Association) record(ctx context.Context, c store.Conn, scope string, p *Pairing) error {
	pair := map[string]any{a.Left.singular: p.Left.Key, a.Right.singular: p.Right.Key}
	change := audit.Change{
		Tenant: cmp.Or(p.Left.Tenant, scope), Resource: a.Left.path + "/" + a.Right.path, Object: fmt.Sprint(p.Left.Key),
		Keys: [][]string{p.Left.spelt.keys}, After: pair,
	}
	if p.Right.Key != nil {
		change.Object += "/" + fmt.Sprint(p.Right.Key)
		change.Keys = append(change.Keys, p.Right.spelt.keys)
	}
	if p.Ends {
		change.Before, change.After = pair, nil
	}
	return audit.Write(ctx, c, p.Request, change)
}

// Me is the collection's object that the caller is, as paths name it: /users/me.
func (r Resource[T]) Me(e *Engine) End {
	end := r.End(e, "")
	end.me = true
	return end
}

// one is the object's path, as a template.
func (e End) one() string {
	if e.me {
		return "/" + e.path + "/me"
	}
	return "/" + e.path + "/{" + e.param + "}"
}

// Related is the list of the objects of a collection that an association joins with one of another:
// GET /{of}/{id}/{collection}.
func Related[T any](e *Engine, r Resource[T], a Association, of, to End) rest.Operation {
	return under(e, r, of, func(one Member, args *arguments) string { return a.joined(r.Keys[0], of, to, one, args) })
}

// Under is the list of the objects of a collection that belong to one of another, by a column of theirs that has its
// key: GET /{of}/{id}/{collection}.
func Under[T any](e *Engine, r Resource[T], of End, by string) rest.Operation {
	return under(e, r, of, func(one Member, args *arguments) string { return by + " = " + args.add(one.Key) })
}

func under[T any](e *Engine, r Resource[T], of End, condition func(one Member, args *arguments) string) rest.Operation {
	k := r.on(e)
	k.list.Recurse = false
	path := of.one() + "/" + r.Path
	id := "list_" + of.singular + "_" + strings.ReplaceAll(r.Path, "/", "_")
	if of.me {
		id = "list_my_" + strings.ReplaceAll(r.Path, "/", "_")
	}
	return rest.Operation{
		Method: http.MethodGet, Path: path, Access: accessOf(e.Service, path, "read"), ID: id, Tag: strings.ReplaceAll(of.path, "/", "_"),
		Summary: "List the " + spaced(strings.ReplaceAll(r.Path, "/", "_")) + " of a " + spaced(of.singular),
		Query:   k.list.Parameters(), Success: http.StatusOK, Reply: rest.ListOf(k.schema, e.Style.Filtered),
		Statuses: []int{404}, Tenanted: true,
		Handle: func(ctx context.Context, req *rest.Request) (rest.Reply, error) {
			return k.answerList(ctx, req, func(ctx context.Context, c store.Conn, scope string, args *arguments) (string, error) {
				one, err := of.named(ctx, c, scope, req)
				if err != nil {
					return "", err
				}
				return condition(one, args), nil
			})
		},
	}
}

// TheRelated is the one object of a collection that an association joins with one of another, which has at most one:
// GET /{of}/{id}/{name}. It is not found when there is none.
func TheRelated[T any](e *Engine, r Resource[T], a Association, of, to End, name string) rest.Operation {
	k := r.on(e)
	path := "/" + of.path + "/{" + of.param + "}/" + name
	return rest.Operation{
		Method: http.MethodGet, Path: path, Access: accessOf(e.Service, path, "read"),
		ID: "get_" + of.singular + "_" + name, Tag: strings.ReplaceAll(of.path, "/", "_"),
		Summary: "Read the " + spaced(r.Singular) + " of a " + spaced(of.singular),
		Success: http.StatusOK, Reply: k.schema, Statuses: []int{404}, Tenanted: true, Conditional: true,
		Handle: func(ctx context.Context, req *rest.Request) (rest.Reply, error) {
			scope, err := tenant.Of(ctx, e.DB, req)
			if err != nil {
				return rest.Reply{}, err
			}
			var object *T
			err = e.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
				one, err := of.named(ctx, c, scope, req)
				if err != nil {
					return err
				}
				args := &arguments{}
				where := k.inScope(true, args.add(scope)) + " AND " + a.joined(k.Keys[0], of, to, one, args)
				object, err = store.Get[*T](ctx, c, "SELECT "+k.selected()+" FROM "+k.Table+" WHERE "+where, args.values...)
				if errors.Is(err, store.ErrNotFound) {
					return k.notFound("", nil)
				}
				if err != nil {
					return err
				}
				return k.decorate(ctx, c, scope, []*T{object})
			})
			return rest.Reply{Body: object}, err
		},
	}
}

// joined is the condition for the rows on one side that the association joins with one of the other.
func (a Association) joined(key string, of, to End, one Member, args *arguments) string {
	return key + " IN (SELECT " + to.Column + " FROM " + a.Table + " WHERE " + of.Column + " = " + args.add(one.Key) + ")"
}

// CreateRelated makes an object of the right-hand collection and associates it, in one transaction:
// POST /{left}/{id}/{collection}. The object belongs to the tenant of the left one.
func CreateRelated[T any](e *Engine, r Resource[T], a Association) rest.Operation {
	k := r.on(e)
	path := "/" + a.Left.path + "/{" + a.Left.param + "}/" + r.Path
	return rest.Operation{
		Method: http.MethodPost, Path: path, Access: accessOf(e.Service, path, "create"),
		ID: "create_" + a.Left.singular + "_" + r.Singular, Tag: strings.ReplaceAll(a.Left.path, "/", "_"),
		Summary: "Create a " + spaced(r.Singular) + " for a " + spaced(a.Left.singular),
		Body:    k.schema, Success: e.Style.CreateStatus, Reply: k.schema, Statuses: []int{404}, Tenanted: true,
		Handle: func(ctx context.Context, req *rest.Request) (rest.Reply, error) {
			return k.createIn(ctx, req, func(ctx context.Context, c store.Conn, change *Change[T]) error {
				left, err := a.Left.named(ctx, c, change.Tenant, req)
				if err != nil {
					return err
				}
				change.Tenant = left.Tenant
				if err := k.insert(ctx, c, change); err != nil {
					return err
				}
				pair := &Pairing{Request: req, Left: left, Right: Member{Key: k.field(change.New, k.Keys[0]), Tenant: left.Tenant, Object: change.New}}
				if a.Allow != nil {
					if err := a.Allow(ctx, c, pair); err != nil {
						return err
					}
				}
				if err := a.join(ctx, c, e, pair); err != nil {
					return err
				}
				return k.decorate(ctx, c, change.Tenant, []*T{change.New})
			})
		},
	}
}
