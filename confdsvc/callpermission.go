package confdsvc

import (
	"context"
	"slices"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// CallPermission allows or refuses numbers to the users, groups and outgoing calls that it is given to.
type CallPermission struct {
	ID          ID                   `db:"id" json:"id" readOnly:"true"`
	TenantUUID  string               `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name        string               `db:"name" json:"name" required:"true" minLength:"1" maxLength:"128" example:"No premium numbers"`
	Password    *string              `db:"password" json:"password" pattern:"^[0-9#*]{1,40}$" example:"1234" doc:"The digits that lift a refusal. Null: none do."`
	Mode        string               `db:"mode" json:"mode" enum:"allow,deny" default:"deny" doc:"Whether the numbers are allowed or refused."`
	Extensions  store.JSON[[]string] `db:"extensions" json:"extensions" default:"[]" maxItems:"1000" items.format:"permitted-number"`
	Enabled     bool                 `db:"enabled" json:"enabled" default:"true"`
	Description *string              `db:"description" json:"description" multiline:"true" maxLength:"4096"`
	crud.Hrefs

	Groups   []GroupRef   `json:"groups" readOnly:"true"`
	Outcalls []OutcallRef `json:"outcalls" readOnly:"true" doc:"The outgoing calls."`
	Users    []UserRef    `json:"users" readOnly:"true"`
}

// CallPermissionRef is a call permission as users and groups show it.
type CallPermissionRef struct {
	ID   ID     `db:"id" json:"id"`
	Name string `db:"name" json:"name"`
	crud.Hrefs
}

const (
	userCallPermissions  crud.Relation[User, CallPermission]  = "confd_user_callpermission"
	groupCallPermissions crud.Relation[Group, CallPermission] = "confd_group_callpermission"
)

func init() {
	resources = append(resources, declareCallPermissions)
	words["callpermission"], words["callpermissions"] = "call permission", "call permissions"
}

func declareCallPermissions(e *crud.Engine) {
	columns := []string{"name", "id", "description", "enabled", "mode"}
	crud.Collect(e, crud.Resource[CallPermission]{
		Path: "callpermissions", Singular: "callpermission", Param: "callpermission_id", Title: "CallPermission", Table: "confd_callpermission", Keys: []string{"id"},
		About: "Which numbers may be called by whom.", Lists: []string{"name", "mode", "extensions", "enabled"},
		Order: columns, Filters: columns, Search: []string{"name", "id", "description", "mode"},
		Prepare: func(_ context.Context, _ store.Conn, change *crud.Change[CallPermission]) error {
			slices.Sort(change.New.Extensions.V)
			change.New.Extensions.V = slices.Compact(change.New.Extensions.V)
			return nil
		},
	})
	hasPermissions(e, userCallPermissions, func(u *User) *[]CallPermissionRef { return &u.CallPermissions },
		crud.Many(func(p *CallPermission) *[]UserRef { return &p.Users }))
	hasPermissions(e, groupCallPermissions, func(g *Group) *[]CallPermissionRef { return &g.CallPermissions },
		crud.Many(func(p *CallPermission) *[]GroupRef { return &p.Groups }))
}

// hasPermissions declares that objects may have some. R is a permission as they show it.
func hasPermissions[T, R any](e *crud.Engine, relation crud.Relation[T, CallPermission], field func(o *T) *[]R, shows crud.Show) {
	crud.Link[T, CallPermission]{Relation: relation, LeftShows: []crud.Show{crud.Many(field)}, RightShows: []crud.Show{shows}}.On(e)
}
