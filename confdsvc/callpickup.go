package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// CallPickup lets some users answer the calls of others.
type CallPickup struct {
	ID          ID      `db:"id" json:"id" readOnly:"true"`
	TenantUUID  string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name        string  `db:"name" json:"name" required:"true" maxLength:"128" doc:"No other call pickup of the tenant has it."`
	Description *string `db:"description" json:"description" multiline:"true" maxLength:"4096"`
	Enabled     bool    `db:"enabled" json:"enabled" default:"true"`
	crud.Hrefs

	Interceptors PickupMembers `json:"interceptors" readOnly:"true" doc:"Who may answer."`
	Targets      PickupMembers `json:"targets" readOnly:"true" doc:"Whose calls they may answer."`
}

// PickupMembers are the groups and users on one side of a call pickup: a group stands for the users in it.
type PickupMembers struct {
	Groups []PickupGroup `json:"groups" readOnly:"true"`
	Users  []PickupUser  `json:"users" readOnly:"true"`
}

// PickupGroup is a group as a call pickup shows it.
type PickupGroup struct {
	UUID string `db:"uuid" json:"-"`
	ID   int64  `db:"id" json:"id"`
	Name string `db:"name" json:"name"`
}

// PickupUser is a user as a call pickup shows them.
type PickupUser struct {
	ID        int64   `db:"id" json:"-"`
	UUID      string  `db:"uuid" json:"uuid" format:"uuid"`
	Firstname string  `db:"firstname" json:"firstname"`
	Lastname  *string `db:"lastname" json:"lastname"`
}

func init() {
	resources = append(resources, declareCallPickups)
	clientIDs["list_callpickups"] = "list_call_pickups"
	words["callpickup"], words["callpickups"] = "call pickup", "call pickups"
	words["/interceptors/groups"], words["/interceptors/users"] = "groups who may answer", "users who may answer"
	words["/targets/groups"], words["/targets/users"] = "groups whose calls they may answer", "users whose calls they may answer"
}

// callPickupTargets is the view of whose calls users may answer: see the migration that makes it.
var callPickupTargets = crud.Source{
	Table: "confd_user_callpickup_target",
	Query: `SELECT i.user_id, t.user_id AS target_id
			FROM {confd_callpickup_interceptor_user} i JOIN {confd_callpickup_target_user} t ON t.callpickup_id = i.callpickup_id
		UNION ALL SELECT i.user_id, m.user_id
			FROM {confd_callpickup_interceptor_user} i JOIN {confd_callpickup_target_group} t ON t.callpickup_id = i.callpickup_id
			JOIN {confd_group_user} m ON m.group_uuid = t.group_uuid
		UNION ALL SELECT m.user_id, t.user_id
			FROM {confd_group_user} m JOIN {confd_callpickup_interceptor_group} i ON i.group_uuid = m.group_uuid
			JOIN {confd_callpickup_target_user} t ON t.callpickup_id = i.callpickup_id
		UNION ALL SELECT m.user_id, o.user_id
			FROM {confd_group_user} m JOIN {confd_callpickup_interceptor_group} i ON i.group_uuid = m.group_uuid
			JOIN {confd_callpickup_target_group} t ON t.callpickup_id = i.callpickup_id JOIN {confd_group_user} o ON o.group_uuid = t.group_uuid`,
}

func declareCallPickups(e *crud.Engine) {
	columns := []string{"name", "id", "description", "enabled"}
	crud.Collect(e, crud.Resource[CallPickup]{
		Path: "callpickups", Singular: "callpickup", Param: "callpickup_id", Title: "CallPickup", Table: "confd_callpickup", Keys: []string{"id"},
		About: "Who may answer whose calls.", Lists: []string{"name", "interceptors", "targets", "enabled"},
		Order: columns, Filters: columns, Search: []string{"name", "description"},
	})
	for _, is := range []struct {
		one, several string
		members      func(p *CallPickup) *PickupMembers
	}{
		{"interceptor", "interceptors", func(p *CallPickup) *PickupMembers { return &p.Interceptors }},
		{"target", "targets", func(p *CallPickup) *PickupMembers { return &p.Targets }},
	} {
		crud.Link[CallPickup, Group]{
			Table: "confd_callpickup_" + is.one + "_group", Path: is.several + "/groups", Only: []string{"set"},
			LeftShows: []crud.Show{crud.Many(func(p *CallPickup) *[]PickupGroup { return &is.members(p).Groups })},
			Set:       &crud.List{ID: "update_call_pickup_" + is.one + "_groups", By: []string{"id"}, Repeated: "Cannot associate same group more than once."},
		}.On(e)
		crud.Link[CallPickup, User]{
			Table: "confd_callpickup_" + is.one + "_user", Path: is.several + "/users", Only: []string{"set"},
			LeftShows: []crud.Show{crud.Many(func(p *CallPickup) *[]PickupUser { return &is.members(p).Users })},
			Set:       &crud.List{ID: "update_call_pickup_" + is.one + "_users", By: []string{"uuid"}, Repeated: "Cannot associate same user more than once."},
		}.On(e)
	}
	e.Reads(callPickupTargets)
	crud.Link[User, User]{
		Table: "confd_user_callpickup_target", LeftColumn: "user_id", RightColumn: "target_id", Only: []string{}, // a view
		LeftShows: []crud.Show{crud.Many(func(u *User) *[]UserRef { return &u.CallPickupTargetUsers })},
	}.On(e)
}
