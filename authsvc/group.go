package authsvc

import (
	"context"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Group gives its policies to its users.
type Group struct {
	UUID       string  `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name       string  `db:"name" json:"name" required:"true" minLength:"1" maxLength:"128"`
	Slug       *string `db:"slug" json:"slug" minLength:"1" maxLength:"80" format:"slug" fixed:"true" doc:"Made from the name when it is not sent."`
	ReadOnly   bool    `json:"read_only" readOnly:"true"`
	// SystemManaged groups belong to the server: nobody changes their name or their users by hand.
	SystemManaged bool `db:"system_managed" json:"system_managed" readOnly:"true"`

	NameKey string `db:"name_key" json:"-" of:"name"`
	SlugKey string `db:"slug_key" json:"-" of:"slug" fixed:"true"`
	// ConfigManaged groups are the operator's gift to each tenant, which renames them and chooses their users. It can neither delete them nor
	// take their configured policies away.
	ConfigManaged bool `db:"config_managed" json:"-"`
}

func (s *Service) declareGroups(e *crud.Engine) {
	s.groups = crud.Collect(e, crud.Resource[Group]{
		Path: "groups", Singular: "group", Param: "group_uuid", Table: "auth_group", Keys: []string{"uuid"},
		About:   "Users who are given policies together.",
		Lists:   []string{"name", "slug", "read_only"},
		Order:   []string{"name", "slug", "uuid", "read_only"},
		Search:  []string{"name"},
		Filters: []string{"uuid", "name", "slug", "read_only", "user_uuid", "policy_uuid", "policy_slug"},
		Aliases: map[string]string{"read_only": "system_managed"},
		Matches: map[string]crud.Match{
			"user_uuid":   {Condition: "uuid IN (SELECT m.group_uuid FROM {auth_group_user} m WHERE m.user_uuid = %s)", Type: "uuid"},
			"policy_uuid": {Condition: "uuid IN (SELECT m.group_uuid FROM {auth_group_policy} m WHERE m.policy_uuid = %s)", Type: "uuid"},
			"policy_slug": {Condition: "uuid IN (SELECT gp.group_uuid FROM {auth_group_policy} gp JOIN {auth_policy} p ON p.uuid = gp.policy_uuid WHERE p.slug = %s)"},
		},
		Prepare: prepareGroup, Validate: s.validateGroup, Guard: s.guardGroup,
		Load: func(_ context.Context, _ store.Conn, groups []*Group) error {
			for _, g := range groups {
				g.ReadOnly = g.SystemManaged
			}
			return nil
		},
		Changed: s.announceGroup,
	})
	s.declareGroupUsers(e)
	s.declareGroupPolicies(e)
}

// prepareGroup tidies the name, and fills in what the server decides of a new group.
func prepareGroup(ctx context.Context, c store.Conn, change *crud.Change[Group]) (err error) {
	g := change.New
	if g.Name, g.NameKey, err = checkName("name", g.Name); err != nil || change.Old != nil {
		return err
	}
	g.Slug, g.SlugKey, err = newSlug(g.Slug, g.Name, func(key string) (bool, error) {
		n, err := store.Get[int](ctx, c, `SELECT count(*) FROM auth_group WHERE tenant_uuid = $1 AND slug_key = $2`, g.TenantUUID, key)
		return n > 0, err
	})
	return err
}

func (s *Service) validateGroup(ctx context.Context, c store.Conn, change *crud.Change[Group]) error {
	g := change.New
	if change.Old == nil {
		return firstError(notAllUsers("name", g.NameKey), notAllUsers("slug", g.SlugKey))
	}
	if g.NameKey != change.Old.NameKey {
		if err := notAllUsers("name", g.NameKey); err != nil {
			return err
		}
	}
	if err := groupWritable(change.Old); err != nil {
		return err
	}
	return s.mayDemote(ctx, c, change.Request.Principal(), membersOf(g.UUID))
}

// notAllUsers refuses a name or slug by which clients know a tenant's group of all users.
func notAllUsers(field, key string) error {
	if !strings.HasPrefix(key, allUsersPrefix) {
		return nil
	}
	return apierr.InvalidField(field, "reserved", "The names that begin with %s are those of the groups of all users", allUsersPrefix)
}

// groupWritable refuses to change the group that all users of a tenant are in, and who they are.
func groupWritable(g *Group) error {
	return refuseManaged(g.SystemManaged, "This group is managed by the server")
}

func refuseManaged(managed bool, message string) error {
	if !managed {
		return nil
	}
	return apierr.New(apierr.Forbidden, "%s", message).Named("forbidden-group").Of("groups")
}

// guardGroup checks a delete: with the group its users lose its policies.
func (s *Service) guardGroup(ctx context.Context, c store.Conn, change *crud.Change[Group]) error {
	if err := firstError(groupWritable(change.Old), refuseManaged(change.Old.ConfigManaged,
		"The operator's configuration makes this group (tenant_default_groups), so it cannot be deleted here")); err != nil {
		return err
	}
	accesses, err := accessesOfGroup(ctx, c, change.Old.UUID, false)
	if err != nil {
		return err
	}
	if err := s.mayTake(ctx, c, change.Request.Principal(), accesses, membersOf(change.Old.UUID)); err != nil {
		return err
	}
	gone, err := forgetUsers(ctx, c, membersOf(change.Old.UUID))
	change.Carry = gone
	return err
}

// accessesOfGroup returns what a group gives to its users; byHand, beside the operator's configuration.
func accessesOfGroup(ctx context.Context, c store.Conn, groupUUID string, byHand bool) ([]string, error) {
	return store.Select[string](ctx, c, `
		SELECT DISTINCT a.access FROM auth_group_policy gp JOIN auth_policy_access a ON a.policy_uuid = gp.policy_uuid
		WHERE gp.group_uuid = $1 AND NOT ($2 AND gp.config_managed) ORDER BY a.access`, groupUUID, byHand)
}

func (s *Service) announceGroup(ctx context.Context, c store.Conn, change *crud.Change[Group]) error {
	if change.New != nil { // a new name gives nothing
		return nil
	}
	return s.announceHoldings(ctx, c, membersOf(change.Old.UUID), change.Carry.([]forget)...)
}

// declareGroupUsers declares that groups have users. A caller may add a user to a group whose permissions the caller covers, and
// remove a user who holds no more than the caller.
func (s *Service) declareGroupUsers(e *crud.Engine) {
	crud.Link[Group, User]{
		Table: "auth_group_user", Only: []string{"put", "delete", "list", "list_back"}, GivesRights: true,
		Allow: crud.Each(s.mayJoin), MayEnd: crud.Each(s.mayLeave),
		Changed: crud.Each(func(ctx context.Context, c store.Conn, p *crud.Pair[Group, User]) error {
			return s.announceLinked(ctx, c, oneUser(p.Right.UUID))
		}),
	}.On(e)
}

func (s *Service) mayJoin(ctx context.Context, c store.Conn, p *crud.Pair[Group, User]) error {
	accesses, err := accessesToManage(ctx, c, p.Left)
	if err := firstError(err, notDeniedOf(p.Request.Principal(), p.Right.UUID, "update")); err != nil {
		return err
	}
	if err := s.mayGive(ctx, c, p.Request.Principal(), accesses, oneUser(p.Right.UUID)); err != nil {
		return err
	}
	// As with policies: a caller who gives the group more gives it to its users.
	ok, err := tenant.Within(ctx, c, p.Right.TenantUUID, p.Left.TenantUUID)
	if err == nil && !ok {
		err = apierr.New(apierr.Invalid, "A group has users of its own tenant and of those below it alone").Of("groups")
	}
	return err
}

func (s *Service) mayLeave(ctx context.Context, c store.Conn, p *crud.Pair[Group, User]) error {
	accesses, err := accessesToManage(ctx, c, p.Left)
	if err := firstError(err, notDeniedOf(p.Request.Principal(), p.Right.UUID, "update")); err != nil {
		return err
	}
	return s.mayTake(ctx, c, p.Request.Principal(), accesses, oneUser(p.Right.UUID))
}

// accessesToManage returns what a group gives to its users, unless only the server manages its users.
func accessesToManage(ctx context.Context, c store.Conn, g *Group) ([]string, error) {
	if err := groupWritable(g); err != nil {
		return nil, err
	}
	return accessesOfGroup(ctx, c, g.UUID, false)
}

// declareGroupPolicies declares that groups have policies, which they give to their users.
func (s *Service) declareGroupPolicies(e *crud.Engine) {
	crud.Link[Group, Policy]{
		Table: "auth_group_policy", Only: []string{"put", "delete", "list"}, GivesRights: true,
		Allow: crud.Each(func(ctx context.Context, c store.Conn, p *crud.Pair[Group, Policy]) error {
			if err := s.mayGive(ctx, c, p.Request.Principal(), p.Right.ACL, membersOf(p.Left.UUID)); err != nil {
				return err
			}
			return fromAbove(ctx, c, p.Right, p.Left.TenantUUID)
		}),
		MayEnd: crud.Each(func(ctx context.Context, c store.Conn, p *crud.Pair[Group, Policy]) error {
			configured, err := store.Get[int](ctx, c, `SELECT count(*) FROM auth_group_policy
				WHERE group_uuid = $1 AND policy_uuid = $2 AND config_managed`, p.Left.UUID, p.Right.UUID)
			if err := firstError(err, refuseManaged(configured > 0,
				"The operator's configuration gives this policy to this group, so it cannot be taken away here")); err != nil {
				return err
			}
			return s.mayTake(ctx, c, p.Request.Principal(), p.Right.ACL, membersOf(p.Left.UUID))
		}),
		Changed: crud.Each(func(ctx context.Context, c store.Conn, p *crud.Pair[Group, Policy]) error {
			return s.announceLinked(ctx, c, membersOf(p.Left.UUID))
		}),
	}.On(e)
}
