package authsvc

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Tenant is a node of the tree that everything belongs to.
type Tenant struct {
	UUID          string   `db:"uuid" json:"uuid" format:"uuid" fixed:"true" doc:"Taken from the body on create, when it is sent."`
	ParentUUID    string   `db:"parent_uuid" json:"parent_uuid" format:"uuid" names:"tenants.uuid" readOnly:"true" doc:"The master tenant is its own parent."`
	Name          *string  `db:"name" json:"name" minLength:"1" maxLength:"128" doc:"Other tenants may have it too."`
	Slug          *string  `db:"slug" json:"slug" minLength:"1" maxLength:"10" pattern:"^[a-zA-Z0-9_]+$" fixed:"true" doc:"Unique in the installation."`
	Phone         *string  `db:"phone" json:"phone" minLength:"1" maxLength:"32" doc:"The telephone number." example:"+15551234"`
	ContactUUID   *string  `db:"contact_uuid" json:"contact" format:"uuid" names:"users.uuid" doc:"The UUID of the user to turn to."`
	DefaultMethod string   `db:"default_authentication_method" json:"default_authentication_method" enum:"native,ldap,saml" default:"native"`
	DomainNames   []string `json:"domain_names" default:"[]" maxItems:"100" items.maxLength:"253" doc:"Unique in the installation."`
	Address       address  `json:"address" prefix:""`
}

type address struct {
	Line1   *string `db:"line_1" json:"line_1" minLength:"1" maxLength:"256" doc:"The first line of the address." example:"1 Rue de la Gare"`
	Line2   *string `db:"line_2" json:"line_2" minLength:"1" maxLength:"256" doc:"The second line of the address." example:"Second floor"`
	City    *string `db:"city" json:"city" minLength:"1" maxLength:"128" doc:"The city." example:"Lyon"`
	State   *string `db:"state" json:"state" minLength:"1" maxLength:"128"`
	Country *string `db:"country" json:"country" minLength:"1" maxLength:"128" doc:"The country." example:"France"`
	ZipCode *string `db:"zip_code" json:"zip_code" minLength:"1" maxLength:"16" doc:"The postal code." example:"69000"`
}

func (s *Service) declareTenants(e *crud.Engine) {
	e.Reads(crud.Source{Table: "auth_tenant_domain", Refers: map[string]string{"tenant_uuid": "tenants"}})
	s.tenants = crud.Collect(e, crud.Resource[Tenant]{
		Path: "tenants", Singular: "tenant", Param: "tenant_uuid", Table: "auth_tenant", Keys: []string{"uuid"},
		About: "Customers or parts of a company, who see only what is theirs and what is below them.",
		Lists: []string{"name", "slug", "domain_names", "phone"},
		Owner: "uuid", Subtree: true,
		Order:   []string{"name", "slug"},
		Search:  []string{"name", "slug", "domains"},
		Filters: []string{"uuid", "uuids", "name", "slug", "domain_name"},
		Virtual: map[string]string{"domains": "SELECT coalesce(string_agg(d.name, ' '), '') FROM {auth_tenant_domain} d WHERE d.tenant_uuid = auth_tenant.uuid"},
		Matches: map[string]crud.Match{
			"domain_name": {Condition: "uuid IN (SELECT d.tenant_uuid FROM {auth_tenant_domain} d WHERE d.name = lower(%s))"},
		},
		Aliases: map[string]string{"uuids": "uuid"}, Several: []string{"uuids"},
		Prepare: prepareTenant, Validate: s.validateTenant, Save: saveTenant, Guard: s.guardTenant, Shrink: s.shrinkTenant, Load: loadTenants,
		Preview: &crud.Preview[Tenant]{Reply: rest.SchemaOf[tenantPreview](), Show: s.previewTenant},
		Changed: s.announceTenant,
	})
}

// announceTenants announces what is gone by a transaction that makes, changes, moves or removes tenants, and then who wants to know of tenants.
func (s *Service) announceTenants(ctx context.Context, tx store.Conn, gone ...forget) error {
	err := s.announce(ctx, tx, gone...)
	transaction.AfterCommit(ctx, s.tenantChanged)
	return err
}

// prepareTenant gives the domains their stored form, and fills in what the server decides of a new tenant.
func prepareTenant(ctx context.Context, c store.Conn, change *crud.Change[Tenant]) (err error) {
	t := change.New
	if t.DomainNames, err = checkDomains(t.DomainNames); err != nil || change.Old != nil {
		return err
	}
	if t.UUID, err = newUUID(ctx, c, "tenants", t.UUID); err != nil {
		return err
	}
	t.ParentUUID = change.Tenant
	if t.Slug == nil {
		slug, err := freeSlug(ctx, c, t.Name)
		if err != nil {
			return err
		}
		t.Slug = &slug
	}
	return nil
}

// newUUID returns the UUID of a new tenant or user: the one that was sent, in lower case, or a new one. It refuses one that any tenant or user
// has or had, hidden or not, in one way. The database refuses it too: clients may send one at once.
func newUUID(ctx context.Context, c store.Conn, resource, sent string) (string, error) {
	if sent == "" {
		return uuid.NewString(), nil
	}
	sent = strings.ToLower(sent)
	n, err := store.Get[int](ctx, c, `SELECT count(*) FROM auth_used_uuid WHERE uuid = $1`, sent)
	if err == nil && n > 0 {
		err = apierr.New(apierr.Conflict, "This UUID is, or was before it was deleted, that of a tenant or a user. None is used twice: "+
			"leave uuid out for a new one, or choose another").
			Of(resource).With("uuid", map[string]any{"constraint_id": "unique", "constraint": "unique", "message": "Is or was already used"})
	}
	return sent, err
}

var notTenantSlug = regexp.MustCompile(`[^a-zA-Z0-9_]+`)

// freeSlug makes a slug from a name, or a random one if the name gives none that is free.
func freeSlug(ctx context.Context, c store.Conn, name *string) (string, error) {
	if name != nil {
		slug := notTenantSlug.ReplaceAllString(*name, "")
		if slug = slug[:min(len(slug), 10)]; slug != "" {
			n, err := store.Get[int](ctx, c, `SELECT count(*) FROM auth_tenant WHERE slug = $1`, slug)
			if err != nil || n == 0 {
				return slug, err
			}
		}
	}
	return strings.ToLower(rand.Text()[:10]), nil
}

var domainName = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.?$`)

// checkDomains returns domain names as they are stored, in lower case. It refuses one that is there twice.
func checkDomains(names []string) ([]string, error) {
	seen := make(map[string]bool, len(names))
	stored := make([]string, len(names))
	for i, name := range names {
		if stored[i] = strings.ToLower(name); !domainName.MatchString(name) {
			return nil, apierr.InvalidField("domain_names", "regex", "Item %d must be a domain name", i+1)
		}
		if seen[stored[i]] {
			return nil, apierr.InvalidField("domain_names", "unique", "Item %d is there twice", i+1)
		}
		seen[stored[i]] = true
	}
	return stored, nil
}

func (s *Service) validateTenant(ctx context.Context, c store.Conn, change *crud.Change[Tenant]) error {
	t := change.New
	if change.Old != nil && t.DefaultMethod != change.Old.DefaultMethod {
		if err := s.mayActOnAll(ctx, c, change.Request.Principal(), usersWhere(t.UUID, "u.authentication_method = 'default'")); err != nil {
			return err
		}
	}
	if t.ContactUUID != nil && (change.Old == nil || different(change.Old.ContactUUID, t.ContactUUID)) {
		return checkContact(ctx, c, change)
	}
	return nil
}

// checkContact refuses a contact who is neither of the tenant, nor of one below or above it. Of those above, only whom the caller may see by
// their own tenant: nobody learns of users whom they cannot see. A new tenant has no users yet, so its first contact may be any user of the
// tenant that makes it, and of those below that.
func checkContact(ctx context.Context, c store.Conn, change *crud.Change[Tenant]) error {
	t, within, sight := change.New, change.New.UUID, change.Tenant
	if change.Old == nil {
		within = change.Tenant
	}
	if p := change.Request.Principal(); p.Affiliation != nil && !p.Remote {
		sight = p.TenantUUID
	}
	n, err := store.Get[int](ctx, c, `SELECT count(*) FROM auth_user WHERE uuid = $1
		AND (`+tenant.Below("tenant_uuid", "$2")+` OR tenant_uuid IN (`+tenant.Above("$2")+`) AND `+tenant.Below("tenant_uuid", "$3")+`)`,
		*t.ContactUUID, within, sight)
	if err == nil && n == 0 {
		err = apierr.InvalidField("contact", "reference", "Names no user of the tenant, or of one below or above it")
	}
	return err
}

// saveTenant writes the domains, and creates the group of all users of a new tenant.
func saveTenant(ctx context.Context, c store.Conn, change *crud.Change[Tenant]) error {
	t := change.New
	if change.Old == nil || change.Old.DefaultMethod != t.DefaultMethod {
		by, err := vouchersBy(ctx, c, change.Request.Principal(), "")
		if err != nil {
			return err
		}
		if err := vouchForTenant(ctx, c, t.UUID, vouchDefaultMethod, by); err != nil {
			return err
		}
	}
	var before []string
	if change.Old != nil {
		before = change.Old.DomainNames
	} else if err := createAllUsers(ctx, c, t.UUID); err != nil {
		return err
	}
	for _, d := range difference(before, t.DomainNames) {
		if _, err := c.Exec(ctx, `DELETE FROM auth_tenant_domain WHERE tenant_uuid = $1 AND name = $2`, t.UUID, d); err != nil {
			return err
		}
	}
	for _, d := range difference(t.DomainNames, before) {
		_, err := c.Exec(ctx, `INSERT INTO auth_tenant_domain (uuid, tenant_uuid, name) VALUES ($1, $2, $3)`, uuid.NewString(), t.UUID, d)
		if store.IsConstraint(err, store.Unique) {
			return &apierr.Error{
				Kind: apierr.Conflict, Resource: "tenants", Err: err,
				Fields: []apierr.Field{{Name: "domain_names", Constraint: "unique", Value: "unique", Message: "Has a domain that is already used"}},
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// allUsersPrefix begins the names of the groups of all users.
const allUsersPrefix = "wazo-all-users-tenant-"

// allUsersName returns the name of a tenant's group of all its users.
func allUsersName(tenantUUID string) string { return allUsersPrefix + tenantUUID }

// createAllUsers creates the group of all users of a tenant, which has the tenant's UUID, and what the configuration gives every
// tenant.
func createAllUsers(ctx context.Context, c store.Conn, tenantUUID string) error {
	_, err := c.Exec(ctx, `INSERT INTO auth_group (uuid, tenant_uuid, name, name_key, slug, slug_key, system_managed)
		VALUES ($1, $1, $2, $2, $2, $2, true)`, tenantUUID, allUsersName(tenantUUID))
	if err != nil {
		return err
	}
	return createConfigured(ctx, c, tenantUUID)
}

// mayDeleteTenant refuses to delete one's own tenant, and one that has tenants below it, or what the caller may not take away. The access to delete a
// tenant stands for those to delete all that is in it, but a denial of one of these holds.
func (s *Service) mayDeleteTenant(ctx context.Context, c store.Conn, change *crud.Change[Tenant]) error {
	t := change.Old
	if t.UUID == change.Tenant || t.UUID == t.ParentUUID { // the caller's own tenant is in reach only if the request acts in it
		return apierr.New(apierr.Forbidden, "Deleting its own tenant is forbidden").Named("deleting-own-tenant-forbidden").Of("tenants")
	}
	children, err := store.Get[int](ctx, c, `SELECT count(*) FROM auth_tenant WHERE parent_uuid = $1`, t.UUID)
	if err != nil {
		return err
	}
	if children > 0 {
		return apierr.New(apierr.Invalid, "The tenant has others below it; delete them first").Named("tenant-has-children").Of("tenants")
	}
	accesses, err := store.Select[string](ctx, c, `SELECT DISTINCT a.access FROM auth_policy p
		JOIN auth_policy_access a ON a.policy_uuid = p.uuid WHERE p.tenant_uuid = $1`, t.UUID)
	if err != nil {
		return err
	}
	if err := s.tenantContents().MayDelete(ctx, c, change.Request, t.UUID); err != nil {
		return err
	}
	if err := s.mayTake(ctx, c, change.Request.Principal(), accesses, usersOf(t.UUID)); err != nil || s.contents == nil {
		return err
	}
	return s.contents.MayEmpty(ctx, c, change.Request, t.UUID)
}

// tenantContents is what a tenant has in this service.
func (s *Service) tenantContents() crud.Contents {
	return slices.Concat(crud.Contents{s.users, s.groups, s.policies}, s.engine.Settings())
}

// Contents is what another service has for tenants.
type Contents interface {
	// MayEmpty refuses what Empty refuses.
	MayEmpty(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error
	// Shrink deletes all that a tenant has, in short transactions of its own; if it fails, some of it is gone. It does not ask MayEmpty.
	Shrink(ctx context.Context, r *rest.Request, tenantUUID string) error
	// Empty deletes all that a tenant has, in the transaction that deletes the tenant.
	Empty(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error
	// Count returns how many objects Empty would delete, by kind.
	Count(ctx context.Context, c store.Conn, tenantUUID string) ([]crud.Kind, error)
}

// tenantPreview is what goes with a tenant.
type tenantPreview struct {
	UUID     string      `json:"uuid"`
	Name     *string     `json:"name"`
	Objects  []crud.Kind `json:"objects" doc:"How many objects are deleted with the tenant, by kind. Kinds of which it has none are not there."`
	LoggedIn []loggedIn  `json:"logged_in" doc:"The users of the tenant who are logged in now, at most 100 of them: their sessions end."`
	Sessions int         `json:"sessions" doc:"How many sessions end."`
}

// loggedIn is a user with sessions.
type loggedIn struct {
	UserUUID string  `db:"uuid" json:"user_uuid"`
	Username *string `db:"username" json:"username" doc:"Or the main address, if the user logs in by address only."`
	Sessions int     `db:"sessions" json:"sessions" doc:"How many sessions the user has."`
}

// previewTenant says what is deleted with a tenant.
func (s *Service) previewTenant(ctx context.Context, c store.Conn, change *crud.Change[Tenant]) (any, error) {
	if err := s.mayDeleteTenant(ctx, c, change); err != nil {
		return nil, err
	}
	t := change.Old
	out := tenantPreview{UUID: t.UUID, Name: t.Name}
	var err error
	if out.Objects, err = s.goesWith(ctx, c, t.UUID); err != nil {
		return nil, err
	}
	const live = ` FROM auth_token k JOIN auth_user u ON u.uuid = k.user_uuid WHERE u.tenant_uuid = $1 AND k.expires_at > now_utc()`
	if out.Sessions, err = store.Get[int](ctx, c, `SELECT count(*)`+live, t.UUID); err != nil {
		return nil, err
	}
	out.LoggedIn, err = store.Select[loggedIn](ctx, c, `
		SELECT u.uuid, coalesce(u.username, (SELECT e.address FROM auth_email e WHERE e.user_uuid = u.uuid AND e.main AND e.confirmed)) AS username,
			count(*) AS sessions`+
		live+` GROUP BY u.uuid, u.username ORDER BY u.username, u.uuid LIMIT 100`, t.UUID)
	return out, err
}

// goesWith returns how many objects are deleted with a tenant, by kind.
func (s *Service) goesWith(ctx context.Context, c store.Conn, tenantUUID string) ([]crud.Kind, error) {
	out := []crud.Kind{}
	for _, kind := range []struct{ resource, from string }{
		{"users", "auth_user WHERE tenant_uuid = $1"},
		{"groups", "auth_group WHERE NOT system_managed AND tenant_uuid = $1"},
		{"policies", "auth_policy WHERE tenant_uuid = $1"},
		{"tokens", "auth_refresh_token r JOIN auth_user u ON u.uuid = r.user_uuid WHERE u.tenant_uuid = $1"},
	} {
		n, err := store.Get[int](ctx, c, "SELECT count(*) FROM "+kind.from, tenantUUID)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, crud.Kind{Service: "auth", Resource: kind.resource, Count: n})
		}
	}
	settings, err := s.engine.Settings().Count(ctx, c, tenantUUID)
	if out = append(out, settings...); err != nil || s.contents == nil {
		return out, err
	}
	more, err := s.contents.Count(ctx, c, tenantUUID)
	return append(out, more...), err
}

// shrinkTenant deletes most of what a tenant has, before the tenant, if it has more than a few objects: a transaction that deletes them all
// would keep all others from writing. Its users are first, so nobody is logged in there while the rest goes. If it is interrupted, the
// tenant is still there with what is left, which a dry run counts, and the next DELETE goes on.
func (s *Service) shrinkTenant(ctx context.Context, change *crud.Change[Tenant]) (err error) {
	t, total := change.Old, 0
	if err := s.db.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		kinds, err := s.goesWith(ctx, c, t.UUID)
		for _, kind := range kinds {
			total += kind.Count
		}
		if err == nil && total > crud.ErasedAtOnce {
			err = s.mayDeleteTenant(ctx, c, change)
		}
		return err
	}); err != nil || total <= crud.ErasedAtOnce {
		return err
	}
	defer func() {
		if err != nil {
			s.tenantChanged()
		}
	}()
	if err := s.engine.InPieces(ctx, func(ctx context.Context, c store.Conn) (int, error) { return s.eraseUsers(ctx, c, change) }); err != nil {
		return err
	}
	for _, erase := range []struct {
		where func(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID, condition string, args ...any) (int, error)
		which string
	}{{s.groups.EraseWhere, "NOT system_managed AND "}, {s.policies.EraseWhere, ""}} {
		if err := s.engine.InPieces(ctx, func(ctx context.Context, c store.Conn) (int, error) {
			return erase.where(ctx, c, change.Request, t.UUID, erase.which+"tenant_uuid = $1 LIMIT $2", t.UUID, crud.ErasedAtOnce)
		}); err != nil {
			return err
		}
	}
	if s.contents == nil {
		return nil
	}
	return s.contents.Shrink(ctx, change.Request, t.UUID)
}

// eraseUsers deletes a few users of a tenant that is being deleted, and returns how many.
func (s *Service) eraseUsers(ctx context.Context, c store.Conn, change *crud.Change[Tenant]) (int, error) {
	uuids, err := store.Select[any](ctx, c, `SELECT CAST(uuid AS text) FROM auth_user WHERE tenant_uuid = $1 LIMIT $2`, change.Old.UUID, crud.ErasedAtOnce)
	if err != nil || len(uuids) == 0 {
		return 0, err
	}
	which := "uuid IN (" + crud.Placeholders(1, len(uuids)) + ")"
	if err := depart(ctx, c, users{sql: "SELECT uuid AS user_uuid FROM auth_user WHERE " + which, args: uuids}); err != nil {
		return 0, err
	}
	n, err := s.users.EraseWhere(ctx, c, change.Request, change.Old.UUID, which, uuids...)
	if err != nil {
		return 0, err
	}
	if err := keepAdministrator(ctx, c); err != nil {
		return 0, err
	}
	return n, s.announce(ctx, c, forgetAll())
}

// guardTenant deletes with a tenant its own users, groups, policies and settings, and what other services have for it. The audit has each.
func (s *Service) guardTenant(ctx context.Context, c store.Conn, change *crud.Change[Tenant]) error {
	if err := s.mayDeleteTenant(ctx, c, change); err != nil {
		return err
	}
	t := change.Old
	if s.contents != nil {
		if err := s.contents.Empty(ctx, c, change.Request, t.UUID); err != nil {
			return err
		}
	}
	if _, err := s.tenantContents().RecordGone(ctx, c, change.Request, t.UUID); err != nil {
		return err
	}
	if err := depart(ctx, c, usersOf(t.UUID)); err != nil {
		return err
	}
	for _, table := range []string{"auth_user", "auth_group", "auth_policy"} {
		if _, err := c.Exec(ctx, "DELETE FROM "+table+" WHERE tenant_uuid = $1", t.UUID); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) announceTenant(ctx context.Context, c store.Conn, change *crud.Change[Tenant]) error {
	var gone []forget
	if change.New == nil {
		gone = append(gone, forgetAll())
	}
	// A user's method may be the tenant's default.
	if change.New == nil || change.Old != nil && change.New.DefaultMethod != change.Old.DefaultMethod {
		if err := keepAdministrator(ctx, c); err != nil {
			return err
		}
	}
	return s.announceTenants(ctx, c, gone...)
}

func loadTenants(ctx context.Context, c store.Conn, tenants []*Tenant) error {
	type row struct {
		TenantUUID string `db:"tenant_uuid"`
		Name       string `db:"name"`
	}
	byUUID := make(map[string]*Tenant, len(tenants))
	for _, t := range tenants {
		t.DomainNames = []string{}
		byUUID[t.UUID] = t
	}
	rows, err := selectOf[row](ctx, c, byUUID, `SELECT tenant_uuid, name FROM auth_tenant_domain WHERE tenant_uuid IN (%s) ORDER BY name`)
	for _, r := range rows {
		byUUID[r.TenantUUID].DomainNames = append(byUUID[r.TenantUUID].DomainNames, r.Name)
	}
	return err
}

type domain struct {
	UUID string `db:"uuid" json:"uuid"`
	Name string `db:"name" json:"name"`
}

type domainsAnswer struct {
	Items []domain `json:"items"`
	Total int      `json:"total"`
}

func (s *Service) tenantOperations() []rest.Operation {
	return []rest.Operation{
		{
			Method: http.MethodGet, Path: "/tenants/{tenant_uuid}/domains", Access: "auth.tenants.{tenant_uuid}.domains.read",
			ID: "list_tenant_domains", Tag: "tenants", Summary: "List the domains of a tenant", Tenanted: true,
			Success: http.StatusOK, Reply: rest.SchemaOf[domainsAnswer](), Statuses: []int{404},
			Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
				t, err := s.tenants.Named(ctx, r)
				if err != nil {
					return rest.Reply{}, err
				}
				items, err := store.Select[domain](ctx, s.db, `SELECT uuid, name FROM auth_tenant_domain WHERE tenant_uuid = $1 ORDER BY name`, t.UUID)
				return rest.Reply{Body: domainsAnswer{items, len(items)}}, err
			},
		},
		{
			Method: http.MethodPut, Path: "/tenants/{tenant_uuid}/parent/{parent_tenant_uuid}",
			Access: "auth.tenants.{tenant_uuid}.parent.{parent_tenant_uuid}.update",
			ID:     "move_tenant", Tag: "tenants", Summary: "Put a tenant below another", Tenanted: true,
			Success: http.StatusNoContent, Statuses: []int{404, 409, 412}, Handle: s.moveTenant,
		},
	}
}

// missing returns err, or instead if err says that nothing was found.
func missing(err, instead error) error {
	if errors.Is(err, store.ErrNotFound) {
		return instead
	}
	return err
}

func firstError(errs ...error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if i < 0 {
		return nil
	}
	return errs[i]
}

// moveTenant moves a tenant, with all tenants below it, below another one. Both are the request's tenant or below it, so nothing
// leaves the caller's reach or enters it.
func (s *Service) moveTenant(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	moved, err := r.UUIDParam("tenant_uuid")
	if err != nil {
		return rest.Reply{}, err
	}
	parent, err := r.UUIDParam("parent_tenant_uuid")
	if err != nil {
		return rest.Reply{}, unknownTenant(nil)
	}
	return rest.Reply{}, s.engine.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		scope, err := tenant.Of(ctx, tx, r)
		if err != nil {
			return err
		}
		for _, t := range []string{moved, parent} {
			if ok, err := tenant.Within(ctx, tx, t, scope); err != nil || !ok {
				return firstError(err, unknownTenant(t))
			}
		}
		if err := s.tenants.Unchanged(ctx, tx, r, scope, moved); err != nil {
			return err
		}
		// A tenant that is moved below itself would leave the tree.
		if loop, err := tenant.Within(ctx, tx, parent, moved); err != nil || loop {
			return firstError(err, stays("The new parent is the tenant itself or below it"))
		}
		before, err := store.Get[string](ctx, tx, `SELECT parent_uuid FROM auth_tenant WHERE uuid = $1`, moved)
		if err != nil || before == parent {
			return err
		}
		// Whoever gains the tenant reaches more by all that they hold.
		if err := s.exceeds(ctx, tx, r.Principal(), touchedByMove(moved, before, parent), comparison{gains: true}); err != nil {
			return err
		}
		if err := mayMove(ctx, tx, moved, parent); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE auth_tenant SET parent_uuid = $2 WHERE uuid = $1`, moved, parent); err != nil {
			return err
		}
		return firstError(audit.Write(ctx, tx, r, audit.Change{
			Tenant: moved, Resource: "tenants", Object: moved,
			Before: map[string]any{"uuid": moved, "parent_uuid": before}, After: map[string]any{"uuid": moved, "parent_uuid": parent},
		}), s.announceTenants(ctx, tx, forgetAll()))
	})
}

// touchedByMove returns the users of the moved tenant and of all tenants below it, those of the tenants above it that lose it,
// and those of the tenants above it that gain it. The latter may then do there what they may do now: the caller must hold as much
// as they do over both tenants.
func touchedByMove(moved, before, after string) users {
	was, will := "("+tenant.Above("$2")+")", "("+tenant.Above("$3")+")"
	return users{sql: `SELECT uuid AS user_uuid FROM auth_user WHERE ` + tenant.Below("tenant_uuid", "$1") + `
		OR tenant_uuid IN ` + was + ` AND tenant_uuid NOT IN ` + will + `
		OR tenant_uuid IN ` + will + ` AND tenant_uuid NOT IN ` + was, args: []any{moved, before, after}}
}

// mayMove refuses a move whose result nobody could have created: a policy or group given to a tenant that is not its own or below
// it, where others could change what users of that tenant may do (see fromAbove); and two policies of one name in one tenant's
// sight.
func mayMove(ctx context.Context, c store.Conn, moved, parent string) error {
	below := func(column string) string { return tenant.Below(column, "$1") }
	strange := func(column string) string {
		return "NOT " + below(column) + " AND " + column + " NOT IN (" + tenant.Above("$2") + ")"
	}
	for _, rule := range []struct{ broken, message string }{
		{
			`auth_user_policy h JOIN auth_user u ON u.uuid = h.user_uuid JOIN auth_policy p ON p.uuid = h.policy_uuid
			WHERE ` + below("u.tenant_uuid") + ` AND ` + strange("p.tenant_uuid"),
			"Its users hold policies of a tenant that it would no longer be below",
		},
		{
			`auth_group_policy h JOIN auth_group g ON g.uuid = h.group_uuid JOIN auth_policy p ON p.uuid = h.policy_uuid
			WHERE ` + below("g.tenant_uuid") + ` AND ` + strange("p.tenant_uuid"),
			"Its groups hold policies of a tenant that it would no longer be below",
		},
		{
			`auth_group_user h JOIN auth_user u ON u.uuid = h.user_uuid JOIN auth_group g ON g.uuid = h.group_uuid
			WHERE ` + below("u.tenant_uuid") + ` AND ` + strange("g.tenant_uuid"),
			"Its users are in groups of a tenant that it would no longer be below",
		},
		{
			`auth_policy mine JOIN auth_policy shared ON shared.name_key = mine.name_key OR shared.slug_key = mine.slug_key
			WHERE ` + below("mine.tenant_uuid") + ` AND shared.shared AND shared.tenant_uuid IN (` + tenant.Above("$2") + `)`,
			"It has a policy with the name or slug of one that the new parent shares",
		},
	} {
		n, err := store.Get[int](ctx, c, `SELECT count(*) FROM `+rule.broken, moved, parent)
		if err != nil || n > 0 {
			return firstError(err, stays(rule.message))
		}
	}
	return nil
}

// stays returns the error that refuses to move a tenant.
func stays(message string) error {
	return apierr.New(apierr.Conflict, "%s", message).Of("tenants")
}

func unknownTenant(uuid any) error {
	return apierr.New(apierr.NotFound, "Tenant was not found").Named("unknown-tenant").Of("tenants").With("uuid", uuid)
}
