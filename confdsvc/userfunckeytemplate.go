package confdsvc

import (
	"context"
	"fmt"
	"net/http"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// UserFuncKeyTemplate says that a user has a template.
type UserFuncKeyTemplate struct {
	UserID     int64 `db:"user_id" json:"user_id"`
	TemplateID int64 `db:"template_id" json:"template_id" doc:"The number of the template."`

	UserUUID string `db:"user_uuid" json:"-"`
	crud.Hrefs
}

func init() { resources = append(resources, declareUserFuncKeyTemplates) }

// declareUserFuncKeyTemplates gives users templates: func_key_template_id, with its own paths.
func declareUserFuncKeyTemplates(e *crud.Engine) {
	const (
		ofUser   = "/users/{user_id}/funckeys/templates"
		access   = "confd.users.{user_id}.funckeys.templates"
		ofOthers = "/funckeys/templates/{template_id}/users"
	)
	list := rest.ListOf(rest.SchemaOf[UserFuncKeyTemplate](), false)
	for _, op := range []rest.Operation{
		{
			Method: http.MethodGet, Path: ofUser, Access: access + ".read", ID: "list_user_func_key_template_associations", Tag: "users",
			Summary: "List the function key template of a user", Success: http.StatusOK, Reply: list, Conditional: true,
			Handle: listAssociations(e, "id", func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (ID, error) {
				user, err := crud.Of[User](e).NamedIn(ctx, c, r, scope)
				if err != nil {
					return 0, err
				}
				return user.ID, nil
			}),
		},
		{
			Method: http.MethodGet, Path: ofOthers, Access: "confd.funckeys.templates.{template_id}.users.read", ID: "list_func_key_template_user_associations",
			Tag: "funckeys_templates", Summary: "List the users of a function key template", Success: http.StatusOK, Reply: list, Conditional: true,
			Handle: listAssociations(e, "func_key_template_id", func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (ID, error) {
				t, err := crud.Of[FuncKeyTemplate](e).NamedIn(ctx, c, r, scope)
				if err != nil {
					return 0, err
				}
				return t.ID, nil
			}),
		},
		{
			Method: http.MethodPut, Path: ofUser + "/{template_id}", Access: access + ".{template_id}.update", ID: "associate_user_func_key_template", Tag: "users",
			Summary: "Give a user a function key template", Description: "It takes the place of the one that they had.", Success: http.StatusNoContent,
			Handle: changeTemplate(e, giveTemplate),
		},
		{
			Method: http.MethodDelete, Path: ofUser + "/{template_id}", Access: access + ".{template_id}.delete", ID: "dissociate_user_func_key_template", Tag: "users",
			Summary: "Take a function key template from a user", Success: http.StatusNoContent,
			Handle: changeTemplate(e, func(u *User, t *FuncKeyTemplate) (*ID, error) {
				if u.FuncKeyTemplateID != nil && *u.FuncKeyTemplateID == t.ID {
					return nil, nil
				}
				return u.FuncKeyTemplateID, nil
			}),
		},
	} {
		op.Tenanted, op.Statuses = true, []int{404}
		if op.Method != http.MethodGet {
			op.Transactional = true
			op.Statuses = append(op.Statuses, 400, 412)
		}
		e.Add(op)
	}
}

// giveTemplate returns the id of the template that a user has after the change.
func giveTemplate(u *User, t *FuncKeyTemplate) (*ID, error) {
	switch {
	case t.UserID != nil:
		return nil, style.NotPermitted("Cannot associate a private template with a user", "template_id", t.ID)
	case u.TenantUUID != t.TenantUUID:
		return nil, style.DifferentTenants("user", u.TenantUUID, "template", t.TenantUUID)
	}
	return &t.ID, nil
}

// changeTemplate returns a handler that changes the template of a user.
func changeTemplate(e *crud.Engine, next func(u *User, t *FuncKeyTemplate) (*ID, error)) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		scope, err := e.TenantOf(ctx, r)
		if err != nil {
			return rest.Reply{}, err
		}
		return rest.Reply{}, crud.Of[User](e).Edit(ctx, r, nil, func(ctx context.Context, c store.Conn, u *User) error {
			t, err := crud.Of[FuncKeyTemplate](e).NamedIn(ctx, c, r, scope)
			if err == nil {
				u.FuncKeyTemplateID, err = next(u, t)
			}
			return err
		})
	}
}

// listAssociations returns a handler that lists users and their templates, for the users whose column has the value of named.
func listAssociations(
	e *crud.Engine, column string, named func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (ID, error),
) rest.Handler {
	return e.Reading(func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
		id, err := named(ctx, c, r, scope)
		if err != nil {
			return nil, err
		}
		query, args := e.Visible(ctx, `
			SELECT u.id AS user_id, CAST(u.uuid AS text) AS user_uuid, t.id AS template_id
			FROM {confd_user funckeys.templates} u JOIN {confd_func_key_template} t ON t.id = u.func_key_template_id
			WHERE u.`+column+` = $1 ORDER BY u.id`, id)
		items, err := store.Select[UserFuncKeyTemplate](ctx, c, query, args...)
		for i := range items {
			items[i].Links = []crud.Href{
				{Rel: "users", Href: fmt.Sprintf("%s/users/%d", prefix, items[i].UserID)},
				{Rel: "funckeys_templates", Href: fmt.Sprintf("%s/funckeys/templates/%d", prefix, items[i].TemplateID)},
			}
		}
		return rest.Listed(items), err
	})
}

// checkFuncKeyTemplate refuses to give a user a template that their tenant does not have, or somebody's own keys.
func checkFuncKeyTemplate(ctx context.Context, c store.Conn, change *crud.Change[User]) error {
	id := change.New.FuncKeyTemplateID
	if id == nil || change.Old != nil && change.Old.FuncKeyTemplateID != nil && *change.Old.FuncKeyTemplateID == *id {
		return nil
	}
	const common = `SELECT count(*) FROM confd_func_key_template WHERE id = $1 AND tenant_uuid = $2 AND user_id IS NULL`
	n, err := store.Get[int](ctx, c, common, *id, change.New.TenantUUID)
	if err != nil || n > 0 {
		return err
	}
	return crud.Missing("func_key_template_id", "FuncKeyTemplate", "func_key_template_id", *id)
}

// mayTakeFuncKeyTemplate refuses a caller who is denied to give a user their template by the operation for that, or to take it away.
func mayTakeFuncKeyTemplate(change *crud.Change[User]) error {
	u, old := change.New, (*ID)(nil)
	if change.Old != nil {
		old = change.Old.FuncKeyTemplateID
	}
	id, action := u.FuncKeyTemplateID, "update"
	switch {
	case id == nil && old == nil, id != nil && old != nil && *id == *old:
		return nil
	case id == nil:
		id, action = old, "delete"
	}
	return rights.NotDenied(change.Request,
		fmt.Sprintf("confd.users.%d.funckeys.templates.%d.%s", u.ID, *id, action), fmt.Sprintf("confd.users.%s.funckeys.templates.%d.%s", u.UUID, *id, action))
}
