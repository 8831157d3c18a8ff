package confdsvc

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// ExternalApp is what a program elsewhere, such as a client on the telephone, keeps for a tenant. Nothing here reads it.
type ExternalApp struct {
	UUID       string `db:"uuid" json:"-" format:"uuid"`
	TenantUUID string `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	appSettings
	crud.Hrefs
}

// UserExternalApp is the same for a user.
type UserExternalApp struct {
	UUID       string `db:"uuid" json:"-" format:"uuid"`
	TenantUUID string `db:"tenant_uuid" json:"-" format:"uuid"`
	UserID     ID     `db:"user_id" json:"-" ref:"users.id" owner:"true"`
	appSettings
}

// appSettings are what is kept under the name of a program.
type appSettings struct {
	Name          string           `db:"name" json:"name" readOnly:"true" doc:"The name of the program, as paths have it."`
	Label         *string          `db:"label" json:"label" maxLength:"256" example:"Directory"`
	Configuration appConfiguration `db:"configuration" json:"configuration" example:"{\"color\": \"blue\"}"`
}

// appConfiguration is any object, or null.
type appConfiguration struct{ store.JSON[json.RawMessage] }

// JSONSchema returns the schema of an object of any kind.
func (appConfiguration) JSONSchema() *rest.Schema {
	const longest = 64 << 10
	doc := fmt.Sprintf("Whatever the program wants, at most %d bytes in all.", longest)
	return &rest.Schema{
		Type: "object", Nullable: true, Multiline: true, Values: &rest.Schema{Nullable: true, Multiline: true, Doc: doc}, Default: json.RawMessage("null"),
		Doc: doc,
		Check: func(value any) []apierr.Field {
			if text, err := json.Marshal(value); err != nil || len(text) > longest {
				return []apierr.Field{{Constraint: "length", Value: longest, Message: "Is too long"}}
			}
			return nil
		},
	}
}

func init() {
	resources = append(resources, declareExternalApps, declareUserExternalApps)
	docs["{app_name}"] = "The name of the program."
	words["/external/apps"], words["external_app"] = "programs elsewhere", "program elsewhere"
	words["/users/external/apps"], words["user_external_app"] = "programs elsewhere of users", "program elsewhere of a user"
}

func declareExternalApps(e *crud.Engine) {
	apps := crud.Collect(e, crud.Resource[ExternalApp]{
		Path: "external/apps", Singular: "external_app", Param: "app_name", Title: "ExternalApp", Rel: "external_apps", Table: "confd_external_app",
		Keys: []string{"uuid"}, Names: []string{"name"}, Only: []string{"list", "read", "update", "delete"},
		About: "What programs elsewhere keep for a tenant.", Lists: []string{"name", "label"},
		Order: []string{"name"}, Filters: []string{"name"}, Search: []string{"name"},
		Present: func(_ context.Context, _ store.Conn, _ string, apps []*ExternalApp) error {
			for _, app := range apps {
				app.Links[0].Href = e.Prefix + "/external/apps/" + url.PathEscape(app.Name)
			}
			return nil
		},
	})
	e.Add(rest.Operation{
		Method: http.MethodPost, Path: "/external/apps/{app_name}", Access: "confd.external.apps.{app_name}.create", ID: "create_external_app",
		Tag: "external_apps", Summary: "Keep something for a program elsewhere", Body: apps.Schema, Success: http.StatusCreated, Reply: apps.Schema,
		Tenanted: true, Transactional: true, Located: true, Tagged: true,
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			scope, sent, err := e.Begin(ctx, r)
			if err != nil {
				return rest.Reply{}, err
			}
			change := &crud.Change[ExternalApp]{Request: r, Sent: sent, Tenant: scope}
			return keepApp(ctx, e, r, func(ctx context.Context, c store.Conn) (any, error) {
				change.New = &ExternalApp{UUID: uuid.NewString()}
				if err := sent.Into(change.New); err != nil {
					return nil, err
				}
				change.New.Name = r.Param("app_name")
				return change.New, apps.Insert(ctx, c, change)
			})
		},
	})
}

// keepApp makes what is kept for the program that a request's path names.
func keepApp(ctx context.Context, e *crud.Engine, r *rest.Request, insert func(ctx context.Context, c store.Conn) (any, error)) (reply rest.Reply, err error) {
	if err := e.InTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
		reply.Body, err = insert(ctx, c)
		return err
	}); err != nil {
		return rest.Reply{}, err
	}
	tag, err := rest.ETag(reply.Body)
	reply.Header = http.Header{"Etag": {tag}, "Location": {r.HTTP.URL.EscapedPath()}}
	return reply, err
}

// userApps are the programs' settings of users.
type userApps struct {
	engine *crud.Engine
	apps   *crud.Collection[UserExternalApp]
}

func declareUserExternalApps(e *crud.Engine) {
	columns := []string{"name"}
	u := &userApps{e, crud.Collect(e, crud.Resource[UserExternalApp]{
		Path: "users/external/apps", Singular: "user_external_app", Param: "user_app_uuid", Title: "UserExternalApp", Table: "confd_user_external_app",
		Keys: []string{"uuid"}, Only: []string{"none"}, // its operations are those below
		About: "What programs elsewhere keep for a user.", Order: columns, Filters: columns, Search: columns,
	})}
	const (
		all = "/users/{user_id}/external/apps"
		one = all + "/{app_name}"
	)
	view := rest.ViewParameter([]string{"fallback"}, "`fallback`: what the user has not, the tenant has.")
	schema := u.apps.Schema
	for _, op := range []rest.Operation{
		{
			Method: http.MethodGet, Path: all, ID: "list_user_external_apps", Summary: "List what programs elsewhere keep for a user",
			Query: append(rest.ListSpec{Order: columns}.Parameters(), view...), Reply: rest.ListOf(schema, false), Handle: e.Reading(u.list),
		},
		{
			Method: http.MethodPost, Path: one, ID: "create_user_external_app",
			Summary: "Keep something of a user for a program elsewhere", Body: schema, Reply: schema, Handle: u.create,
		},
		{
			Method: http.MethodGet, Path: one, ID: "get_user_external_app",
			Summary: "Read what a program elsewhere keeps for a user", Query: view, Reply: schema, Handle: e.Reading(u.read),
		},
		{
			Method: http.MethodPut, Path: one, ID: "update_user_external_app",
			Summary: "Change what a program elsewhere keeps for a user", Body: u.apps.Partial, Handle: u.update,
		},
		{Method: http.MethodDelete, Path: one, ID: "delete_user_external_app", Summary: "Delete what a program elsewhere keeps for a user", Handle: u.remove},
	} {
		action := map[string]string{http.MethodGet: "read", http.MethodPost: "create", http.MethodPut: "update", http.MethodDelete: "delete"}[op.Method]
		op.Access, op.Tag, op.Tenanted, op.Statuses = rights.AccessOf("confd", op.Path, action), "users", true, []int{http.StatusNotFound}
		op.Transactional, op.Conditional = op.Method != http.MethodGet, op.Method == http.MethodGet && op.Path == one
		op.Success = map[string]int{http.MethodGet: http.StatusOK, http.MethodPost: http.StatusCreated}[op.Method]
		if op.Success == 0 {
			op.Success = http.StatusNoContent
		}
		op.Located, op.Tagged = op.Method == http.MethodPost, op.Method == http.MethodPost
		e.Add(op)
	}
}

// of returns what programs keep for the user whom the path names: all, or what the one keeps that the path names.
func (u *userApps) of(ctx context.Context, c store.Conn, r *rest.Request, scope string) ([]*UserExternalApp, error) {
	user, err := crud.Of[User](u.engine).NamedIn(ctx, c, r, scope)
	if err != nil {
		return nil, err
	}
	apps, err := u.apps.Select(ctx, c, "user_id = $1", user.ID)
	fallback, err := u.falls(r, err)
	if err != nil {
		return nil, err
	}
	if fallback {
		tenants, err := crud.Of[ExternalApp](u.engine).AsRead(ctx, c, user.TenantUUID, "1 = 1")
		if err != nil {
			return nil, err
		}
		for _, app := range tenants {
			if !slices.ContainsFunc(apps, func(own *UserExternalApp) bool { return own.Name == app.Name }) {
				apps = append(apps, &UserExternalApp{appSettings: app.appSettings})
			}
		}
	}
	p := r.Principal()
	apps = slices.DeleteFunc(apps, func(app *UserExternalApp) bool { // what is denied by its own path
		return slices.ContainsFunc([]string{fmt.Sprint(user.ID), user.UUID}, func(key string) bool {
			return p.Denies("confd.users." + key + ".external.apps." + rights.WordOf(app.Name) + ".read")
		})
	})
	if name, one := r.Param("app_name"), r.Param("app_name") != ""; one {
		apps = slices.DeleteFunc(apps, func(app *UserExternalApp) bool { return app.Name != name })
		if len(apps) == 0 {
			return nil, apierr.New(apierr.NotFound, "UserExternalApp was not found ('name': '%s')", name)
		}
	}
	slices.SortFunc(apps, func(a, b *UserExternalApp) int { return strings.Compare(a.Name, b.Name) })
	return apps, nil
}

// falls reports whether the tenant's are asked for too.
func (u *userApps) falls(r *rest.Request, err error) (bool, error) {
	if err != nil || r.Op().Method != http.MethodGet {
		return false, err
	}
	view, err := r.View([]string{"fallback"})
	return view == "fallback", err
}

func (u *userApps) list(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
	asked, err := r.List(rest.ListSpec{Order: []string{"name"}, Views: []string{"fallback"}})
	if err != nil {
		return nil, err
	}
	apps, err := u.of(ctx, c, r, scope)
	if err != nil {
		return nil, err
	}
	if asked.View == "fallback" { // of which there are no pages
		return rest.Listed(apps), nil
	}
	apps = slices.DeleteFunc(apps, func(app *UserExternalApp) bool {
		return !strings.Contains(strings.ToLower(app.Name), strings.ToLower(asked.Search))
	})
	if asked.Desc {
		slices.Reverse(apps)
	}
	total := len(apps)
	apps = apps[min(asked.Offset, total):]
	if asked.Limit > 0 {
		apps = apps[:min(asked.Limit, len(apps))]
	}
	return map[string]any{"items": append([]*UserExternalApp{}, apps...), "total": total}, nil
}

func (u *userApps) read(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
	apps, err := u.of(ctx, c, r, scope)
	if err != nil {
		return nil, err
	}
	return apps[0], nil
}

// mostApps is how many programs may keep something for one user.
const mostApps = 1000

func (u *userApps) create(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	scope, sent, err := u.engine.Begin(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	return keepApp(ctx, u.engine, r, func(ctx context.Context, c store.Conn) (any, error) {
		user, err := crud.Of[User](u.engine).NamedIn(ctx, c, r, scope)
		if err != nil {
			return nil, err
		}
		there, err := store.Get[int](ctx, c, `SELECT count(*) FROM confd_user_external_app WHERE user_id = $1`, user.ID)
		if err == nil && there >= mostApps {
			err = style.Storedf("At most %d programs may keep something for a user", mostApps)
		}
		if err != nil {
			return nil, err
		}
		change := &crud.Change[UserExternalApp]{Request: r, Sent: sent, Tenant: scope, New: &UserExternalApp{UUID: uuid.NewString(), UserID: user.ID}}
		if err := sent.Into(change.New); err != nil {
			return nil, err
		}
		change.New.Name = r.Param("app_name")
		return change.New, u.apps.Insert(ctx, c, change)
	})
}

// change changes what the path names.
func (u *userApps) change(ctx context.Context, r *rest.Request, do func(ctx context.Context, c store.Conn, change *crud.Change[UserExternalApp]) error) error {
	scope, err := u.engine.TenantOf(ctx, r)
	if err != nil {
		return err
	}
	return u.engine.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		apps, err := u.of(ctx, c, r, scope)
		if err != nil {
			return err
		}
		return do(ctx, c, &crud.Change[UserExternalApp]{Request: r, Tenant: scope, Old: apps[0]})
	})
}

func (u *userApps) update(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	sent, err := r.Object() // before the transaction, which may run again
	if err != nil {
		there := func(context.Context, store.Conn, *crud.Change[UserExternalApp]) error { return nil }
		if first := u.change(ctx, r, there); first != nil { // no body would do
			err = first
		}
		return rest.Reply{}, err
	}
	return rest.Reply{}, u.change(ctx, r, func(ctx context.Context, c store.Conn, change *crud.Change[UserExternalApp]) error {
		change.Sent = sent
		return u.apps.Update(ctx, c, change, func(app *UserExternalApp) error { return change.Sent.Into(app) })
	})
}

func (u *userApps) remove(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	return rest.Reply{}, u.change(ctx, r, u.apps.Delete)
}
