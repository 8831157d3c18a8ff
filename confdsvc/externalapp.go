package confdsvc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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
	resources = append(resources, declareExternalApps)
	docs["{app_name}"] = "The name of the program."
	words["/external/apps"], words["external_app"] = "programs elsewhere", "program elsewhere"
	words["/users/external/apps"], words["user_external_app"] = "programs elsewhere of users", "program elsewhere of a user"
}

func declareExternalApps(e *crud.Engine) {
	crud.Collect(e, crud.Resource[ExternalApp]{
		Path: "external/apps", Singular: "external_app", Param: "app_name", Title: "ExternalApp", Table: "confd_external_app",
		Keys: []string{"uuid"}, Names: []string{"name"}, MadeAs: "name",
		About: "What programs elsewhere keep for a tenant.", Lists: []string{"name", "label"},
		Order: []string{"name"}, Filters: []string{"name"}, Search: []string{"name"},
		Describe: summaries(map[string]string{"create": "Keep something for a program elsewhere"}),
	})
	crud.Collect(e, crud.Resource[UserExternalApp]{
		Path: "users/external/apps", Singular: "user_external_app", Param: "app_name", Title: "UserExternalApp", Table: "confd_user_external_app",
		Keys: []string{"uuid"}, MadeAs: "name", Only: []string{"none"}, // its operations are below users
		About: "What programs elsewhere keep for a user.", Order: []string{"name"}, Search: []string{"name"},
	})
	said := summaries(map[string]string{
		"list": "List what programs elsewhere keep for a user", "create": "Keep something of a user for a program elsewhere",
		"read": "Read what a program elsewhere keeps for a user", "update": "Change what a program elsewhere keeps for a user",
		"delete": "Delete what a program elsewhere keeps for a user",
	})
	crud.Children[User, UserExternalApp]{
		Column: "user_id", Path: "external/apps", Only: []string{"create", "read", "update", "delete"}, Most: 1000,
		Describe: func(action string, op *rest.Operation) {
			if said(action, op); action == "list" || action == "read" {
				e.View(op, "fallback", "`fallback`: what the user has not, the tenant has.", userOrTenantApps(e))
			}
		},
	}.On(e)
}

// userOrTenantApps returns what programs keep for the user whom the path names and, where they keep nothing, for the tenant: all, of which there are
// no pages, or that of the program that the path names.
func userOrTenantApps(e *crud.Engine) func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
	return func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
		users, name := crud.Of[User](e), r.Param("app_name")
		user, err := users.NamedIn(ctx, c, r, scope)
		if err != nil {
			return nil, err
		}
		apps, err := crud.Of[UserExternalApp](e).Select(ctx, c, "user_id = $1", user.ID)
		if err != nil {
			return nil, err
		}
		tenants, err := crud.Of[ExternalApp](e).AsRead(ctx, c, user.TenantUUID, "1 = 1")
		for _, app := range tenants {
			if !slices.ContainsFunc(apps, func(own *UserExternalApp) bool { return own.Name == app.Name }) {
				apps = append(apps, &UserExternalApp{appSettings: app.appSettings})
			}
		}
		apps = slices.DeleteFunc(apps, func(app *UserExternalApp) bool {
			return name != "" && app.Name != name || users.NotDenied(r, user, "external.apps."+rights.WordOf(app.Name)+".read") != nil
		})
		slices.SortFunc(apps, func(a, b *UserExternalApp) int { return strings.Compare(a.Name, b.Name) })
		switch {
		case err != nil || name == "":
			return rest.Listed(apps), err
		case len(apps) == 0:
			return nil, crud.Of[UserExternalApp](e).NotFound("name", name)
		}
		return apps[0], nil
	}
}
