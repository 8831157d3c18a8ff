package confdsvc

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Group rings several users and numbers under one.
type Group struct {
	ID                   ID      `db:"id" json:"id" readOnly:"true"`
	UUID                 string  `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID           string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name                 string  `db:"name" json:"name" readOnly:"true" doc:"Made from the tenant and the UUID."`
	Label                string  `db:"label" json:"label" maxLength:"128" pattern:"^[-_.a-zA-Z0-9 ]+$" example:"Sales" required:"true" or:"name"`
	PreprocessSubroutine *string `db:"preprocess_subroutine" json:"preprocess_subroutine" maxLength:"79"`

	// In which order members ring.
	Strategy string `db:"ring_strategy" json:"ring_strategy" enum:"all,random,least_recent,linear,fewest_calls,memorized_round_robin,weight_random" default:"all"`

	CallerIDMode          *string `db:"caller_id_mode" json:"caller_id_mode" enum:"prepend,overwrite,append"`
	CallerIDName          *string `db:"caller_id_name" json:"caller_id_name" maxLength:"80"`
	DTMFRecordToggle      bool    `db:"dtmf_record_toggle" json:"dtmf_record_toggle" default:"false" doc:"Whether members start and stop a recording by a key."`
	Timeout               *int64  `db:"timeout" json:"timeout" minimum:"0" maximum:"2147483647" doc:"In seconds. Null and 0: 3 hours, which is the longest."`
	UserTimeout           *int64  `db:"user_timeout" json:"user_timeout" minimum:"0" maximum:"2147483647" default:"15" doc:"In seconds: how long one rings."`
	RetryDelay            *int64  `db:"retry_delay" json:"retry_delay" minimum:"0" maximum:"2147483647" default:"5" doc:"In seconds, before all ring again."`
	MusicOnHold           *string `db:"music_on_hold" json:"music_on_hold" maxLength:"128" names:"moh.name" doc:"The name of a music on hold, or default."`
	RingInUse             bool    `db:"ring_in_use" json:"ring_in_use" default:"true" doc:"Whether it rings members who are on the telephone."`
	MarkAnsweredElsewhere bool    `db:"mark_answered_elsewhere" json:"mark_answered_elsewhere" default:"false"`
	Enabled               bool    `db:"enabled" json:"enabled" default:"true"`
	IgnoreForward         bool    `db:"ignore_forward" json:"ignore_forward" default:"false"`
	MaxCalls              *int64  `db:"max_calls" json:"max_calls" minimum:"0" maximum:"2147483647" default:"0" doc:"At once; 0: any number."`
	crud.Hrefs

	Extensions []ExtensionRef `json:"extensions" readOnly:"true"`
	Fallbacks  GroupFallbacks `json:"fallbacks" readOnly:"true"`
	Incalls    []IncallTo     `json:"incalls" readOnly:"true"`
	Members    GroupMembers   `json:"members" readOnly:"true" doc:"What rings."`
	Schedules  []ScheduleRef  `json:"schedules" readOnly:"true"`

	CallPermissions []CallPermissionRef `json:"call_permissions" readOnly:"true"`
}

// GroupRef is a group as other objects show it.
type GroupRef struct {
	UUID string `db:"uuid" json:"uuid" format:"uuid"`
	ID   int64  `db:"id" json:"id"`
	Name string `db:"name" json:"name"`
	crud.Hrefs
}

// GroupFallbacks are where calls go that a group does not take.
type GroupFallbacks struct {
	NoAnswer   *Destination `json:"noanswer_destination"`
	Congestion *Destination `json:"congestion_destination"`
}

// ToGroup leads calls to a group.
type ToGroup struct {
	GroupID  ID       `json:"group_id" required:"true" ref:"groups.id"`
	RingTime *float64 `json:"ring_time" minimum:"0" maximum:"2147483647" doc:"In seconds."`
	Name     *string  `json:"group_name,omitempty" readOnly:"true" shows:"name"`
	Label    *string  `json:"group_label,omitempty" readOnly:"true" shows:"label"`
}

type keyToGroup struct {
	keyHref

	GroupID ID      `json:"group_id" required:"true" ref:"groups.id"`
	Name    *string `json:"group_name" readOnly:"true" shows:"name"`
	Label   *string `json:"group_label" readOnly:"true" shows:"label"`
}

// KeyGroupMember lets the user of a function key join or leave a group.
type KeyGroupMember struct {
	keyHref

	GroupID ID     `json:"group_id" required:"true" ref:"groups.id"`
	Action  string `json:"action" required:"true" enum:"join,leave,toggle"`
}

func init() {
	resources = append(resources, declareGroups, declareGroupMembers)
	destinationKinds = append(destinationKinds, kind[ToGroup]("group", ""))
	funcKeyKinds = append(funcKeyKinds, kind[keyToGroup]("group", ""), kind[KeyGroupMember]("groupmember", ""))
	words["Group.timeout"], words["Group.user_timeout"] = "ringing time, in seconds", "ringing time of each, in seconds"
	words["Group.retry_delay"], words["ring_in_use"] = "pause before all ring again, in seconds", "ring who is on the telephone"
	helps["Group.user_timeout"], helps["Group.retry_delay"] = "", ""
}

const groupExtensions crud.Relation[Group, Extension] = "confd_group_extension"

var groupExtension = usesExtensions(groupExtensions, extensionUse{Kind: "group", Owner: "group", Type: "internal", Ranges: "group"})

func declareGroups(e *crud.Engine) {
	columns := []string{"label", "id", "name", "preprocess_subroutine", "exten"}
	crud.Collect(e, crud.Resource[Group]{
		Path: "groups", Singular: "group", Param: "group_uuid", Table: "confd_group", Keys: []string{"uuid", "id"},
		About: "Users and numbers that ring together.", Lists: []string{"label", "extensions", "members", "ring_strategy", "enabled"},
		Order: columns, Filters: columns, SearchText: "search_text",
		Virtual: map[string]string{
			"exten": `SELECT x.exten FROM {confd_group_extension} gx JOIN {confd_extension} x ON x.id = gx.extension_id
				WHERE gx.group_uuid = confd_group.uuid`,
		},
		Found: []crud.Elsewhere{
			{Query: `SELECT gx.group_uuid FROM {confd_group_extension} gx JOIN {confd_extension} x ON x.id = gx.extension_id
				WHERE %s`, Table: "confd_extension", Characters: extenCharacters},
		},
		Beside:   []crud.Beside[Group]{holds[Group]("of_group_uuid").beside(e), groupNumbers()},
		Nested:   []string{"extensions", "members"},
		Prepare:  nameGroup,
		Validate: every(musicIsKnown[Group](e), checkGroupNumbers),
	})
	crud.Part[Group, GroupFallbacks]{
		Path: "fallbacks", ID: "group_fallback", Replaces: true, Field: func(g *Group) *GroupFallbacks { return &g.Fallbacks },
	}.On(e)
	crud.Link[Group, Extension]{
		Relation: groupExtensions, LeftHas: crud.AtMostOne, RightHas: crud.AtMostOne, RightLeads: true,
		LeftShows:  []crud.Show{crud.Many(func(g *Group) *[]ExtensionRef { return &g.Extensions })},
		RightShows: []crud.Show{crud.One(func(x *Extension) **GroupRef { return &x.Group })},
		Allow:      crud.All(crud.LeftFree, crud.RightFree, fits[Group](groupExtension), crud.SameTenant),
	}.On(e)
	nestsNumbers(e, groupExtensions).On(e)
	shownByTarget(e, "", "confd_group_incall", "group_uuid", func(g *Group) *[]IncallTo { return &g.Incalls })
}

func nameGroup(ctx context.Context, c store.Conn, change *crud.Change[Group]) error {
	g := change.New
	if change.Old != nil {
		return relabelled(change, g.Name, &g.Label)
	}
	slug, err := tenant.Slug(ctx, c, change.Tenant)
	g.Name = fmt.Sprintf("grp-%s-%s", slug, g.UUID)
	return err
}

// GroupMembers are the users and numbers that a group rings, in the order of their priorities.
type GroupMembers struct {
	Users      []GroupUser   `json:"users" readOnly:"true"`
	Extensions []GroupNumber `json:"extensions" required:"true" maxItems:"1000"`
}

// GroupUser is a user as their group shows them.
type GroupUser struct {
	UserRef

	Priority int64 `db:"priority" json:"priority" joining:"true" doc:"The order among the members."`
}

// GroupNumber is a number that a group rings, whether it exists here or not.
type GroupNumber struct {
	Exten    string `db:"exten" json:"exten" required:"true" format:"exten"`
	Context  string `db:"context" json:"context" required:"true" format:"context-name" names:"contexts.name"`
	Priority int64  `db:"priority" json:"priority" minimum:"0" maximum:"2147483647" doc:"Its place in the list, unless it is sent."`
}

// memberPriority is the attribute of a user's membership that a client may set.
type memberPriority struct {
	Priority int64 `db:"priority" json:"priority" minimum:"0" maximum:"2147483647" doc:"Its place in the list, unless it is sent."`
}

const groupUsers crud.Relation[Group, User] = "confd_group_user"

func declareGroupMembers(e *crud.Engine) {
	crud.Link[Group, User]{
		Relation: groupUsers, Position: "priority", Row: crud.RowOf[memberPriority](), Only: []string{"set", "set_back"},
		LeftShows:  []crud.Show{crud.Many(func(g *Group) *[]GroupUser { return &g.Members.Users })},
		RightShows: []crud.Show{crud.Many(func(u *User) *[]GroupRef { return &u.Groups })},
		Set:        &crud.List{Path: "members/users", ID: "update_group_member_users", By: []string{"uuid"}, Repeated: "Cannot associate same user more than once."},
		SetBack: &crud.List{
			Path: "groups", ID: "update_user_groups", By: []string{"uuid", "id"}, Nested: "groups", Repeated: "Cannot associate same group more than once.",
		},
		Allow:   crud.All(crud.SameTenant, membersHaveLines[Group]),
		Changed: membersShareNoLine("confd_group_user", "group_uuid", func(g *Group) any { return g.UUID }),
	}.On(e)
	crud.Part[Group, GroupMembers]{
		Path: "members/extensions", ID: "group_member_extensions", Only: []string{"update"}, Replaces: true,
		Field: func(g *Group) *GroupMembers { return &g.Members }, Merge: orderNumbers,
	}.On(e)
	nestedMembers(e).On(e)
}

// nestedMembers lets a client write a group together with its members, with recursive=true: its users and its numbers, or one of them.
func nestedMembers(e *crud.Engine) crud.Nested[Group] {
	body := func() *rest.Schema {
		users := groupUsers.NestedSchema(e)
		numbers := *rest.SchemaOf[GroupMembers]().Property("extensions")
		numbers.Required = false
		return &rest.Schema{Type: "object", Name: "GroupNestedMembers", Nullable: true, Properties: []rest.Property{{Name: "users", Schema: users}, numbers}}
	}
	return crud.Nested[Group]{
		Name: "members", Asked: true, Body: body, Partial: body,
		Prepare: func(ctx context.Context, c store.Conn, change *crud.Change[Group], value any) error {
			sent, _ := value.(map[string]any)
			if sent["extensions"] == nil {
				return nil
			}
			numbers := rest.SchemaOf[GroupMembers]().Object(map[string]any{"extensions": sent["extensions"]})
			old := change.New.Members
			if err := numbers.Into(&change.New.Members); err != nil {
				return err
			}
			return orderNumbers(ctx, c, &old, &change.New.Members, numbers)
		},
		Write: func(ctx context.Context, c store.Conn, change *crud.Change[Group], value any) (any, error) {
			sent, _ := value.(map[string]any)
			if sent["extensions"] != nil {
				if err := rights.MayNest(change.Request, rights.Accesses(crud.Of[Group](e).Entity, change.New, "members.extensions.update")...); err != nil {
					return nil, err
				}
			}
			return nil, groupUsers.SetNested(ctx, c, e, change, sent["users"])
		},
	}
}

func membersHaveLines[L any](ctx context.Context, c store.Conn, pairs []*crud.Pair[L, User]) error {
	ids := make([]any, len(pairs))
	for i, p := range pairs {
		ids[i] = p.Right.ID
	}
	have, err := store.Select[ID](ctx, c, "SELECT DISTINCT user_id FROM confd_user_line WHERE user_id IN ("+crud.Placeholders(1, len(ids))+")", ids...)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		if !slices.Contains(have, p.Right.ID) {
			return style.NotAssociated("User", "Line", "user_uuid", p.Right.UUID)
		}
	}
	return nil
}

// membersShareNoLine refuses a group, or a queue, of which two members have one main line. The table joins it with its users, by its key
// in a column.
func membersShareNoLine[L any](table, column string, key func(o *L) any) crud.Check[L, User] {
	return func(ctx context.Context, c store.Conn, pairs []*crud.Pair[L, User]) error {
		var with []any
		for _, p := range pairs {
			if !p.Ends && !slices.Contains(with, key(p.Left)) {
				with = append(with, key(p.Left))
			}
		}
		shared, err := store.Select[int64](ctx, c, `
			SELECT ul.line_id FROM `+table+` gu JOIN confd_user_line ul ON ul.user_id = gu.user_id
			WHERE gu.`+column+` IN (`+crud.Placeholders(1, len(with))+`)
				AND NOT EXISTS (SELECT 1 FROM confd_user_line f WHERE f.user_id = ul.user_id AND f.position < ul.position)
			GROUP BY gu.`+column+`, ul.line_id HAVING count(*) > 1 LIMIT 1`, with...)
		if err == nil && len(shared) > 0 {
			err = style.NotPermitted("Cannot associate different users with the same line.", "line_id", shared[0])
		}
		return err
	}
}

// orderNumbers sets the priority of numbers that are sent without one to their place in the list, and sorts the list by
// priority.
func orderNumbers(_ context.Context, _ store.Conn, old, changed *GroupMembers, sent rest.Object) error {
	changed.Users = old.Users
	items, _ := sent.Value("extensions").([]any)
	for i, item := range items {
		if given, _ := item.(map[string]any); given["priority"] == nil {
			changed.Extensions[i].Priority = int64(i)
		}
	}
	slices.SortStableFunc(changed.Extensions, compareNumbers)
	return nil
}

func compareNumbers(a, b GroupNumber) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Exten, b.Exten), cmp.Compare(a.Context, b.Context))
}

// checkGroupNumbers refuses a repeated number, and one in another tenant's part of the dialplan.
func checkGroupNumbers(ctx context.Context, c store.Conn, change *crud.Change[Group]) error {
	if change.Old != nil && slices.Equal(change.Old.Members.Extensions, change.New.Members.Extensions) {
		return nil
	}
	seen := map[[2]string]bool{}
	for _, n := range change.New.Members.Extensions {
		if seen[[2]string{n.Exten, n.Context}] {
			return style.NotPermitted("Cannot associate same extensions more than once.", "exten", n.Exten, "context", n.Context)
		}
		seen[[2]string{n.Exten, n.Context}] = true
		if err := notForeign(ctx, c, change.New.TenantUUID, "extensions", "extensions", n.Context); err != nil {
			return err
		}
	}
	return nil
}

// groupNumbers are the numbers of groups, stored in a table of their own.
func groupNumbers() crud.Beside[Group] {
	return crud.Beside[Group]{
		From: "confd_group_number", By: "group_uuid", Save: saveGroupNumbers,
		Blank: func(g *Group) { g.Members.Extensions = []GroupNumber{} },
		Load: func(ctx context.Context, c store.Conn, groups []*Group) error {
			type row struct {
				Group string `db:"owner"`
				GroupNumber
			}
			byUUID, uuids := map[string]*Group{}, make([]any, len(groups))
			for i, g := range groups {
				byUUID[g.UUID], uuids[i] = g, g.UUID
				g.Members.Extensions = []GroupNumber{}
			}
			rows, err := store.Select[row](ctx, c, "SELECT CAST(group_uuid AS text) AS owner, exten, context, priority FROM confd_group_number WHERE group_uuid IN ("+
				crud.Placeholders(1, len(uuids))+") ORDER BY group_uuid, priority, exten, context", uuids...)
			for _, r := range rows {
				g := byUUID[r.Group]
				g.Members.Extensions = append(g.Members.Extensions, r.GroupNumber)
			}
			return err
		},
	}
}

func saveGroupNumbers(ctx context.Context, c store.Conn, change *crud.Change[Group]) error {
	g := change.New
	if change.Old != nil && slices.Equal(change.Old.Members.Extensions, g.Members.Extensions) {
		return nil
	}
	if _, err := c.Exec(ctx, `DELETE FROM confd_group_number WHERE group_uuid = $1`, g.UUID); err != nil {
		return err
	}
	for _, n := range g.Members.Extensions {
		if _, err := c.Exec(ctx, `INSERT INTO confd_group_number (group_uuid, exten, context, priority) VALUES ($1, $2, $3, $4)`,
			g.UUID, n.Exten, n.Context, n.Priority); err != nil {
			return err
		}
	}
	return nil
}
