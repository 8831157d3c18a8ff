package crud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

func (j *joint[L, R]) operations() []rest.Operation {
	all := "/" + j.left.Path + "/{" + j.left.Param + "}/" + j.Path
	one := all + "/{" + j.right.Param + "}"
	left, right := j.engine.one(j.left.Singular), j.engine.one(j.right.Singular)
	name := j.left.Singular + "_" + j.right.Singular
	if j.Path != j.right.Path {
		name = j.left.Singular + "_" + underscored(j.Path)
	}
	action := j.Action
	if action == "" {
		action = "update"
	}
	const again = "To repeat it changes nothing."
	put := rest.Operation{
		Method: http.MethodPut, Path: one, ID: "associate_" + name, Summary: "Associate " + left + " with " + right,
		Description: again, Success: http.StatusNoContent, Statuses: []int{400, 404, 412}, Handle: j.put,
	}
	if j.Row != nil {
		put.Description = "To repeat it changes what is sent of the association alone."
		put.Body, put.BodyOptional = j.Row.schema.Partial(), true
	}
	ended := []int{404, 412}
	if j.engine.Style.Duplicate == apierr.Invalid {
		ended = append(ended, 400)
	}
	made := map[string]rest.Operation{
		"put": put,
		"delete": {
			Method: http.MethodDelete, Path: one, ID: "dissociate_" + name, Summary: "Dissociate " + left + " from " + right,
			Description: again, Success: http.StatusNoContent, Statuses: ended, Handle: j.drop,
		},
		"delete_all": {
			Method: http.MethodDelete, Path: all, ID: "dissociate_" + name, Summary: "Dissociate " + left + " from every " + rest.Reading(j.engine.Words, j.right.Singular),
			Description: again, Success: http.StatusNoContent, Statuses: ended, Handle: j.dropAll,
		},
	}
	var out []rest.Operation
	for _, kind := range j.Only {
		op, ok := made[kind]
		if ok {
			word := "delete"
			if kind == "put" {
				word = action
			}
			op.Access, op.Tag, op.Tenanted = accessOf(j.engine.Service, op.Path, word), underscored(j.left.Path), true
			out = append(out, op)
			continue
		}
		out = append(out, j.further(kind, all))
	}
	return out
}

// further returns the operations that read, create or replace.
func (j *joint[L, R]) further(kind, path string) rest.Operation {
	left, right := underscored(j.left.Path), underscored(j.right.Path)
	switch kind {
	case "list":
		return listOf(j.right, parentOf(j.left, j.reads("one", j.right.Singular)...), path, "list_"+j.left.Singular+"_"+underscored(j.Path), left,
			func(placeholder string) string { return among(j.right.Keys[0], j.near(), j.far(), placeholder) })
	case "list_back":
		return listOf(j.left, parentOf(j.right), "/"+j.right.Path+"/{"+j.right.Param+"}/"+j.left.Path, "list_"+j.right.Singular+"_"+left, right,
			func(placeholder string) string { return among(j.left.Keys[0], j.far(), j.near(), placeholder) })
	case "one":
		return j.readOne()
	case "create":
		return j.createOne(path)
	case "set":
		return j.forward().operation()
	case "set_back":
		return j.backward().operation()
	default:
		panic(fmt.Sprintf("%s: a link has no operation %q", j.Table, kind)) // a mistake in the declaration, which every start reports
	}
}

// forward returns the setter of the list that the left side's objects have.
func (j *joint[L, R]) forward() *setter[L, R] {
	return &setter[L, R]{
		engine: j.engine, joining: j.Table, nearColumn: j.LeftColumn, farColumn: j.RightColumn, position: j.Position, row: j.Row,
		reverse: j.SetBack.field(), acrossTenants: j.AcrossTenants, near: j.left, far: j.right, list: j.Set,
		notDenied: func(r *rest.Request, near L, far R, action string) error {
			if err := j.SetBack.notDenied(r, j.right, far); err != nil {
				return err
			}
			return j.notDeniedPair(r, near, far, action)
		},
	}
}

// backward returns the setter of the list that the right side's objects have.
func (j *joint[L, R]) backward() *setter[R, L] {
	return &setter[R, L]{
		engine: j.engine, joining: j.Table, nearColumn: j.RightColumn, farColumn: j.LeftColumn, backward: j.Position, row: j.Row,
		reverse: j.Set.field(), acrossTenants: j.AcrossTenants, near: j.right, far: j.left, list: j.SetBack,
		notDenied: func(r *rest.Request, near R, far L, action string) error {
			if err := j.Set.notDenied(r, j.left, far); err != nil {
				return err
			}
			return j.notDeniedPair(r, far, near, action)
		},
	}
}

// reads returns the words of a path below an object that reads its links, if Only names the operation.
func (j *joint[L, R]) reads(kind, path string) []string {
	if !slices.Contains(j.Only, kind) {
		return nil
	}
	return []string{dotted(path)}
}

func (j *joint[L, R]) readOne() rest.Operation {
	path := "/" + j.left.Path + "/{" + j.left.Param + "}/" + j.right.Singular
	return rest.Operation{
		Method: http.MethodGet, Path: path, Access: accessOf(j.engine.Service, path, "read"),
		ID: "get_" + j.left.Singular + "_" + j.right.Singular, Tag: underscored(j.left.Path),
		Summary: "Read the " + rest.Reading(j.engine.Words, j.right.Singular) + " of " + j.engine.one(j.left.Singular),
		Success: http.StatusOK, Reply: j.right.schema, Statuses: []int{404}, Tenanted: true, Conditional: true, Fields: true,
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			scope, err := j.engine.TenantOf(ctx, r)
			if err != nil {
				return rest.Reply{}, err
			}
			var object R
			err = j.engine.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
				key, err := parentOf(j.left, j.reads("list", j.Path)...).key(ctx, c, scope, r)
				if err != nil {
					return err
				}
				args := &arguments{}
				where := j.right.inScope(true, args.add(scope)) + " AND " + among(j.right.Keys[0], j.near(), j.far(), args.add(key))
				object, err = store.Get[R](ctx, c, "SELECT "+j.right.selected()+" FROM "+j.right.Table+" WHERE "+where, args.values...)
				if errors.Is(err, store.ErrNotFound) {
					return j.right.notFound("", nil)
				}
				if err != nil {
					return err
				}
				if err := j.right.NotDenied(r, object, "read"); err != nil {
					return err
				}
				return j.right.decorate(ctx, c, scope, []R{object})
			})
			if err != nil {
				return rest.Reply{}, err
			}
			object, err = j.right.forCaller(ctx, object)
			return rest.Reply{Body: object}, err
		},
	}
}

// among returns the condition for the keys on the far side that a link joins with an object of the near side.
func among(key string, near, far *side, placeholder string) string {
	return key + " IN (SELECT " + far.column + " FROM " + near.joining + " WHERE " + near.column + " = " + placeholder + ")"
}

func (j *joint[L, R]) createOne(path string) rest.Operation {
	return rest.Operation{
		Method: http.MethodPost, Path: path, Access: accessOf(j.engine.Service, path, "create"),
		ID: "create_" + j.left.Singular + "_" + j.right.Singular, Tag: underscored(j.left.Path),
		Summary: "Create " + j.engine.one(j.right.Singular) + " for " + j.engine.one(j.left.Singular),
		Body:    j.right.schema, Success: j.engine.Style.CreateStatus, Reply: j.right.schema, Statuses: []int{404}, Tenanted: true,
		Tagged: true, Located: j.engine.Style.Location,
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			return j.right.createIn(ctx, r, func(ctx context.Context, c store.Conn, change *ChangeOf[R]) error {
				left, err := j.left.row(ctx, c, change.Tenant, r.Param(j.left.Param))
				if err != nil {
					return err
				}
				if err := refuseDenied(r, j.left.aliases(left)); err != nil {
					return err
				}
				if err := NotDenied(r, accessOf(j.engine.Service, "/"+j.right.Path, "create")); err != nil {
					return err
				}
				change.Tenant = j.left.tenantOf(left)
				if err := j.right.insert(ctx, c, change); err != nil {
					return err
				}
				if err := j.notDeniedPair(r, left, change.New, "update"); err != nil {
					return err
				}
				pair := &PairOf[L, R]{Request: r, Tenant: change.Tenant, Left: left, Right: change.New, link: j}
				if err := j.left.own(ctx, c, []L{left}); err != nil {
					return err
				}
				if err := j.associate(ctx, c, pair, nil); err != nil {
					return err
				}
				return j.right.decorate(ctx, c, change.Tenant, []R{change.New})
			})
		},
	}
}
