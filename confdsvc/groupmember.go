package confdsvc

import (
	"cmp"
	"context"
	"slices"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

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

func init() { resources = append(resources, declareGroupMembers) }

func declareGroupMembers(e *crud.Engine) {
	crud.Link[Group, User]{
		Relation: groupUsers, Position: "priority", Row: crud.RowOf[memberPriority](), Only: []string{"set", "set_back"},
		LeftShows:  []crud.Show{crud.Many(func(g *Group) *[]GroupUser { return &g.Members.Users })},
		RightShows: []crud.Show{crud.Many(func(u *User) *[]GroupRef { return &u.Groups })},
		Set:        &crud.List{Path: "members/users", ID: "update_group_member_users", By: []string{"uuid"}, Repeated: "Cannot associate same user more than once."},
		SetBack:    &crud.List{Path: "groups", ID: "update_user_groups", By: []string{"uuid", "id"}, Repeated: "Cannot associate same group more than once."},
		Allow:      crud.All(crud.SameTenant, membersHaveLines), Changed: membersShareNoLine,
	}.On(e)
	crud.NestList[Group, User]{Name: "groups", Relation: groupUsers}.On(e)
	crud.Part[Group, GroupMembers]{
		Path: "members/extensions", ID: "group_member_extensions", Only: []string{"update"}, Replaces: true,
		Field: func(g *Group) *GroupMembers { return &g.Members }, Merge: orderNumbers,
	}.On(e)
}

func membersHaveLines(ctx context.Context, c store.Conn, pairs []*crud.Pair[Group, User]) error {
	ids := make([]any, len(pairs))
	for i, p := range pairs {
		ids[i] = p.Right.ID
	}
	have, err := store.Select[int64](ctx, c, "SELECT DISTINCT user_id FROM confd_user_line WHERE user_id IN ("+crud.Placeholders(1, len(ids))+")", ids...)
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

// membersShareNoLine refuses a group of which two members have one main line.
func membersShareNoLine(ctx context.Context, c store.Conn, pairs []*crud.Pair[Group, User]) error {
	var groups []any
	for _, p := range pairs {
		if !p.Ends && !slices.Contains(groups, any(p.Left.UUID)) {
			groups = append(groups, p.Left.UUID)
		}
	}
	shared, err := store.Select[int64](ctx, c, `
		SELECT ul.line_id FROM confd_group_user gu JOIN confd_user_line ul ON ul.user_id = gu.user_id
		WHERE gu.group_uuid IN (`+crud.Placeholders(1, len(groups))+`)
			AND NOT EXISTS (SELECT 1 FROM confd_user_line f WHERE f.user_id = ul.user_id AND f.position < ul.position)
		GROUP BY gu.group_uuid, ul.line_id HAVING count(*) > 1 LIMIT 1`, groups...)
	if err == nil && len(shared) > 0 {
		err = style.NotPermitted("Cannot associate different users with the same line.", "line_id", shared[0])
	}
	return err
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
