package authsvc

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// User can log in. The API never returns the password: only its hash is stored, beside the row.
type User struct {
	UUID                 string  `db:"uuid" json:"uuid" format:"uuid" fixed:"true" doc:"Taken from the body on create, when it is sent."`
	TenantUUID           string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Username             *string `db:"username" json:"username" minLength:"1" maxLength:"256" doc:"Login name, unique whatever its case."`
	Firstname            *string `db:"firstname" json:"firstname" maxLength:"256"`
	Lastname             *string `db:"lastname" json:"lastname" maxLength:"256"`
	Purpose              string  `db:"purpose" json:"purpose" enum:"user,internal,external_api" default:"user"`
	Enabled              bool    `db:"enabled" json:"enabled" default:"true" doc:"Whether it is in use: a user who is not enabled cannot log in."`
	AuthenticationMethod string  `db:"authentication_method" json:"authentication_method" enum:"default,native,ldap,saml"`
	Emails               []Email `json:"emails" readOnly:"true"`

	CreatedAt time.Time `db:"created_at" json:"-"`

	Password     *string `json:"password,omitempty" writeOnly:"true" minLength:"1" maxLength:"1024" fixed:"true" doc:"At least 8 characters, or as configured."`
	EmailAddress *string `json:"email_address,omitempty" writeOnly:"true" format:"email" maxLength:"254" fixed:"true" doc:"The main address, confirmed."`
}

// Email is one of a user's addresses.
type Email struct {
	UUID      string `db:"uuid" json:"uuid"`
	UserUUID  string `db:"user_uuid" json:"-"`
	Address   string `db:"address" json:"address"`
	Main      bool   `db:"main" json:"main" doc:"Whether it is the user's main address."`
	Confirmed bool   `db:"confirmed" json:"confirmed"`
}

func (s *Service) declareUsers(e *crud.Engine) {
	e.Reads(crud.Source{Table: "auth_email", Refers: map[string]string{"user_uuid": "users"}})
	s.users = crud.Collect(e, crud.Resource[User]{
		Path: "users", Singular: "user", Param: "user_uuid", Table: "auth_user", Keys: []string{"uuid"},
		About:  "People and programs who log in.",
		Lists:  []string{"username", "firstname", "lastname", "emails", "purpose", "enabled"},
		Order:  []string{"username", "firstname", "lastname"},
		Search: []string{"username", "firstname", "lastname", "emails"},
		Filters: []string{
			"uuid", "username", "firstname", "lastname", "purpose", "email_address", "group_uuid",
			"policy_uuid", "policy_slug", "has_policy_uuid", "has_policy_slug",
		},
		Matches: map[string]crud.Match{
			"email_address": {Condition: "uuid IN (SELECT e.user_uuid FROM {auth_email} e WHERE e.address = %s)"},
			"group_uuid":    {Condition: "uuid IN (SELECT m.user_uuid FROM {auth_group_user} m WHERE m.group_uuid = %s)", Type: "uuid"},
			// The user's own policies, and with `has` those of their groups too.
			"policy_uuid":     {Condition: "uuid IN (SELECT m.user_uuid FROM {auth_user_policy} m WHERE m.policy_uuid = %s)", Type: "uuid"},
			"policy_slug":     {Condition: "uuid IN (SELECT h.user_uuid FROM {auth_user_policy} h JOIN {auth_policy} p ON p.uuid = h.policy_uuid WHERE p.slug = %s)"},
			"has_policy_uuid": {Condition: "uuid IN (" + holdersVisible("%[1]s") + ")", Type: "uuid"},
			"has_policy_slug": {Condition: "uuid IN (" + holdersVisible("SELECT p.uuid FROM {auth_policy} p WHERE p.slug = %[1]s") + ")"},
		},
		Virtual: map[string]string{
			"emails": "SELECT coalesce(string_agg(e.address, ' '), '') FROM {auth_email} e WHERE e.user_uuid = auth_user.uuid",
		},
		Statuses: map[string][]int{"update": {http.StatusTooManyRequests}},
		Receive:  s.receiveUser, Prepare: s.prepareUser, Validate: s.validateUser, Save: s.saveUser, Guard: s.guardUser,
		Load: loadEmails, Changed: s.announceUser, Audited: auditEmails,
	})
}

// auditEmails adds the addresses, which are logins, to what the audit keeps of a user. PUT /users/{user_uuid} does not change them.
func auditEmails(u *User, change *audit.Change) {
	for _, picture := range []any{change.Before, change.After} {
		if user, ok := picture.(map[string]any); ok {
			user["emails"] = u.Emails
		}
	}
}

// An existing user's password and address are not changed with the user. What is stored may be sent, since clients send again what they have
// made the user with; anything else is refused: nobody may believe that it was changed when it was not.

// keepsAddress refuses an email_address that is not the user's main one.
func keepsAddress(u *User, sent rest.Object) error {
	if !sent.Has("email_address") {
		return nil
	}
	var main any
	if i := slices.IndexFunc(u.Emails, func(e Email) bool { return e.Main }); i >= 0 {
		main = u.Emails[i].Address
	}
	if sent.Value("email_address") == main {
		return nil
	}
	return apierr.InvalidField("email_address", "create_only", "Is not the user's main address; addresses are changed by PUT /users/{user_uuid}/emails")
}

func notThePassword() error {
	return apierr.InvalidField("password", "create_only",
		"Is not the user's; it is set by PUT /users/{user_uuid}/password, or by POST /users/password/reset?user_uuid={user_uuid}")
}

// keepsLogin refuses a password and an address that are not those of the user whom the request names. A password counts as a guess, and only
// who may act on the user may guess.
func (s *Service) keepsLogin(ctx context.Context, r *rest.Request, sent rest.Object) error {
	if !sent.Has("password") && !sent.Has("email_address") {
		return nil
	}
	u, err := s.users.Named(ctx, r)
	if err != nil {
		return err
	}
	if err := firstError(s.mayActOn(ctx, s.db, r.Principal(), u.UUID), keepsAddress(u, sent)); err != nil || !sent.Has("password") {
		return err
	}
	k, err := credentialOf(ctx, s.db, u.UUID)
	if err != nil {
		return err
	}
	password, ok := sent.Value("password").(string)
	if !ok {
		if k.PasswordHash != nil {
			return notThePassword()
		}
		return nil
	}
	err = s.guessPassword(ctx, r, k, password)
	if e := apierr.As(err); e != nil && e.Kind == apierr.Unauthorized {
		err = notThePassword()
	}
	return err
}

// receiveUser hashes a new user's password, before the transaction: hashing takes tens of milliseconds and must hold no
// connection.
func (s *Service) receiveUser(ctx context.Context, change *crud.Change[User]) error {
	if change.New == nil {
		err := s.keepsLogin(ctx, change.Request, change.Sent)
		change.Sent = change.Sent.Without("password").Without("email_address")
		return err
	}
	if change.New.Password == nil {
		return nil
	}
	if err := s.checkPassword("password", *change.New.Password); err != nil {
		return err
	}
	hash, err := s.hasher.Hash(ctx, *change.New.Password)
	change.Carry = hash
	return err
}

// prepareUser tidies the username, and fills in what the server decides of a new user.
func (s *Service) prepareUser(ctx context.Context, c store.Conn, change *crud.Change[User]) error {
	if change.Old == nil {
		if err := s.prepareNewUser(ctx, c, change); err != nil {
			return err
		}
	}
	if change.New.Username == nil {
		return nil
	}
	var before *string
	if change.Old != nil {
		before = change.Old.Username
	}
	tidy, _, err := checkUsername(*change.New.Username, before)
	change.New.Username = &tidy
	return err
}

// prepareNewUser fills in what the server decides. Clients that keep one UUID for a person everywhere send it; only here it is known whether they did.
func (s *Service) prepareNewUser(ctx context.Context, c store.Conn, change *crud.Change[User]) (err error) {
	u := change.New
	u.CreatedAt = time.Now().UTC()
	fresh := u.UUID == ""
	u.UUID, err = newUUID(ctx, c, "users", u.UUID)
	if err != nil {
		return err
	}
	if login, ok := change.Carry.(*NewLogin); ok {
		fresh = login.fresh
	}
	if u.UUID == uuid.Nil.String() { // stands for users whom nobody here knows; see knownBy
		return apierr.InvalidField("uuid", "reserved", "Is the UUID that nobody has")
	}
	if u.AuthenticationMethod == "" {
		u.AuthenticationMethod = "default"
		if u.Purpose != "user" {
			u.AuthenticationMethod = "native"
		}
	}
	return s.mayCreate(ctx, c, change.Request.Principal(), u, fresh)
}

// validateUser refuses a change of a user whose permissions exceed the caller's: a new name, method
// or state is a way into the account.
func (s *Service) validateUser(ctx context.Context, c store.Conn, change *crud.Change[User]) error {
	if change.Old == nil {
		return nil // prepareNewUser has asked
	}
	return s.mayActOn(ctx, c, change.Request.Principal(), change.Old.UUID)
}

func (s *Service) guardUser(ctx context.Context, c store.Conn, change *crud.Change[User]) error {
	if err := s.mayDemote(ctx, c, change.Request.Principal(), oneUser(change.Old.UUID)); err != nil {
		return err
	}
	return depart(ctx, c, oneUser(change.Old.UUID))
}

// loadEmails reads the addresses of all the users of a list with one query.
func loadEmails(ctx context.Context, c store.Conn, users []*User) error {
	byUUID := make(map[string]*User, len(users))
	for _, u := range users {
		u.Emails, u.Password, u.EmailAddress = []Email{}, nil, nil
		byUUID[u.UUID] = u
	}
	emails, err := selectOf[Email](ctx, c, byUUID, `SELECT uuid, user_uuid, address, main, confirmed FROM auth_email
		WHERE user_uuid IN (%s) ORDER BY main DESC, address`)
	for _, e := range emails {
		byUUID[e.UserUUID].Emails = append(byUUID[e.UserUUID].Emails, e)
	}
	return err
}

// selectOf selects what other tables have of all the objects of a list. In the query %s stands for their UUIDs.
func selectOf[R, T any](ctx context.Context, c store.Conn, byUUID map[string]*T, query string) ([]R, error) {
	uuids := make([]any, 0, len(byUUID))
	for uuid := range byUUID {
		uuids = append(uuids, uuid)
	}
	return store.Select[R](ctx, c, fmt.Sprintf(query, crud.Placeholders(1, len(uuids))), uuids...)
}

// saveUser stores what a user has beside the row, and ends the sessions of a user who is disabled.
func (s *Service) saveUser(ctx context.Context, c store.Conn, change *crud.Change[User]) error {
	u, old := change.New, change.Old
	by, err := vouchersBy(ctx, c, change.Request.Principal(), u.UUID) // by the caller's session, which may end below
	if err != nil {
		return err
	}
	if old == nil {
		for i := range by {
			by[i].Fresh = true
		}
		if err := saveNewUser(ctx, c, change, by); err != nil {
			return err
		}
	}
	if err := vouchForUser(ctx, c, old, u, by); err != nil {
		return err
	}
	if old != nil && old.Enabled && !u.Enabled {
		if _, err := c.Exec(ctx, `DELETE FROM auth_token WHERE user_uuid = $1`, u.UUID); err != nil {
			return err
		}
	}
	if old == nil || different(old.Username, u.Username) {
		return writeLogins(ctx, c, u.UUID)
	}
	return nil
}

// saveNewUser stores what a new user has: the password, the address, for which by vouch, and membership in the group of all the
// tenant's users.
func saveNewUser(ctx context.Context, c store.Conn, change *crud.Change[User], by []voucher) error {
	u := change.New
	hash, ok := change.Carry.(string)
	if login, nested := change.Carry.(*NewLogin); nested {
		hash, ok = login.hash, login.hash != ""
	}
	if ok {
		if _, err := c.Exec(ctx, `UPDATE auth_user SET password_hash = $2 WHERE uuid = $1`, u.UUID, hash); err != nil {
			return err
		}
	}
	if u.EmailAddress != nil {
		email := uuid.NewString()
		if _, err := c.Exec(ctx, `INSERT INTO auth_email (uuid, user_uuid, address, main, confirmed) VALUES ($1, $2, $3, true, true)`,
			email, u.UUID, *u.EmailAddress); err != nil {
			return err
		}
		if err := vouch(ctx, c, u.UUID, vouchEmail(email), by); err != nil {
			return err
		}
	}
	const join = `INSERT INTO auth_group_user (group_uuid, user_uuid) SELECT uuid, $2 FROM auth_group WHERE uuid = $1`
	if _, err := c.Exec(ctx, join, u.TenantUUID, u.UUID); err != nil {
		return err
	}
	return checkTotals(ctx, c, oneUser(u.UUID)) // the group may have been given its policies while it had no users
}

// writeLogins replaces the logins of a user: the username, and the confirmed addresses. An address that is also the user's own
// username is one login. An unconfirmed address is no login, and any number of users may have it: the first who confirms it gets it, and the
// others' links are refused from then on. A new one that is another user's login is refused at once.
func writeLogins(ctx context.Context, c store.Conn, user string) error {
	username, err := store.Get[*string](ctx, c, `SELECT username FROM auth_user WHERE uuid = $1`, user)
	if err != nil {
		return err
	}
	if _, err := c.Exec(ctx, `DELETE FROM auth_login WHERE user_uuid = $1`, user); err != nil {
		return err
	}
	mine := ""
	if username != nil {
		if _, mine, err = checkName("username", *username); err != nil {
			return err
		}
		if err := addLogin(ctx, c, "username", mine, user, nil); err != nil {
			return err
		}
	}
	emails, err := emailsOf(ctx, c, user)
	if err != nil {
		return err
	}
	for _, e := range emails {
		_, key, err := checkName("email_address", e.Address)
		if err != nil {
			return err
		}
		fresh, err := c.Exec(ctx, `UPDATE auth_email SET login = $2 WHERE uuid = $1 AND login IS NULL`, e.UUID, key)
		switch {
		case err != nil || key == mine:
		case e.Confirmed:
			err = addLogin(ctx, c, "email_address", key, user, &e.UUID)
		case fresh > 0:
			var n int
			if n, err = store.Get[int](ctx, c, `SELECT count(*) FROM auth_login WHERE login = $1`, key); err == nil && n > 0 {
				err = loginTaken("email_address", nil)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addLogin takes a login, which belongs to one user in the whole installation.
func addLogin(ctx context.Context, c store.Conn, field, key, user string, email *string) error {
	_, err := c.Exec(ctx, `INSERT INTO auth_login (login, user_uuid, email_uuid) VALUES ($1, $2, $3)`, key, user, email)
	if store.IsConstraint(err, store.Unique) {
		return loginTaken(field, err)
	}
	return err
}

// unchangedUser refuses if If-Match says that the client has read another version of a user.
func (s *Service) unchangedUser(ctx context.Context, tx store.Conn, r *rest.Request, user string) error {
	scope, err := tenant.Of(ctx, tx, r)
	if err != nil {
		return err
	}
	return s.users.Unchanged(ctx, tx, r, scope, user)
}

// loginTaken returns an error that says only that a login is taken.
func loginTaken(field string, cause error) error {
	return &apierr.Error{
		Kind: apierr.Conflict, Resource: "users", Err: cause,
		Fields: []apierr.Field{{Name: field, Constraint: "unique", Value: "unique", Message: "This login is already used"}},
	}
}

func different(a, b *string) bool {
	if a == nil || b == nil {
		return a != b
	}
	return *a != *b
}

func (s *Service) announceUser(ctx context.Context, c store.Conn, change *crud.Change[User]) error {
	if change.Old == nil {
		return nil
	}
	if err := keepAdministrator(ctx, c); err != nil {
		return err
	}
	return s.announce(ctx, c, forgetUser(change.Old.UUID))
}

// A login is the account of a telephone user: it has that user's UUID. The configuration service keeps it together with the user, in the
// user's own transaction, by the functions of this file. They do all that the API's own operations do, and need their accesses: a token that
// may write telephone users may not therefore write accounts.

// NewLogin is the account of a telephone user as a client sent it.
type NewLogin struct {
	sent rest.Object
	user User
	hash string
	// fresh says that the telephone user is made in the same transaction: nothing has referred to its UUID before.
	fresh bool
}

// LoginSchema returns the schema of an account, which must not be changed. It says what its attributes are, since another service's
// definition shows it.
func (s *Service) LoginSchema() *rest.Schema { return loginSchema() }

var loginSchema = sync.OnceValue(func() *rest.Schema {
	out := explained(rest.SchemaOf[User]())
	out.Name = "UserAuth"
	out.Property("uuid").ReadOnly = true
	return out
})

// explained returns a schema with the descriptions of this service's definition.
func explained(s *rest.Schema) *rest.Schema {
	out := *s
	if s.Items != nil {
		out.Items = explained(s.Items)
	}
	out.Properties = slices.Clone(s.Properties)
	for i := range out.Properties {
		p := &out.Properties[i]
		p.Schema = explained(p.Schema)
		p.Schema.Doc = cmp.Or(p.Schema.Doc, docs[s.Name+"."+p.Name], docs[p.Name])
	}
	return &out
}

// ReceiveLogin reads an account, and hashes its password, before the transaction. What was not sent is in usual, for a new account.
func (s *Service) ReceiveLogin(ctx context.Context, r *rest.Request, sent, usual map[string]any) (any, error) {
	if p := r.Principal(); p != nil && p.Affiliation != nil && p.Remote {
		return nil, apierr.New(apierr.Invalid, "field 'auth': accounts are kept by the authentication server that issued your token").On("auth")
	}
	schema := s.LoginSchema()
	whole := map[string]any{}
	for _, values := range []map[string]any{usual, sent} {
		for name, value := range values {
			if value != nil || usual[name] == nil {
				whole[name] = value
			}
		}
	}
	if wrong := schema.Validate("", whole); len(wrong) > 0 {
		return nil, &apierr.Error{Kind: apierr.Invalid, Fields: wrong}
	}
	login := &NewLogin{sent: schema.Partial().Object(sent)}
	if err := schema.SetDefaults(&login.user); err != nil {
		return nil, err
	}
	if err := schema.Object(whole).Into(&login.user); err != nil {
		return nil, err
	}
	change := &crud.Change[User]{Request: r, Sent: login.sent, New: &login.user}
	if err := s.receiveUser(ctx, change); err != nil {
		return nil, err
	}
	login.hash, _ = change.Carry.(string)
	return login, nil
}

// WriteLogin makes the account of a telephone user, or changes it, in the transaction of the user, and returns it as its API shows it.
// fresh says that the telephone user is made in the same transaction.
func (s *Service) WriteLogin(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID, userUUID string, fresh bool, received any) (any, error) {
	login := *received.(*NewLogin)
	old, err := s.loginOf(ctx, c, tenantUUID, userUUID)
	if err != nil {
		return nil, err
	}
	if old == nil {
		if err := needs(r, "auth.users.create"); err != nil {
			return nil, err
		}
		user := login.user
		user.UUID, login.fresh = userUUID, fresh
		change := &crud.Change[User]{Request: r, Sent: login.sent, Tenant: tenantUUID, New: &user, Carry: &login}
		return &user, s.users.Insert(ctx, c, change)
	}
	if err := needs(r, fmt.Sprintf("auth.users.%s.update", userUUID)); err != nil {
		return nil, err
	}
	change := &crud.Change[User]{Request: r, Sent: login.sent, Tenant: tenantUUID, Old: old}
	if login.sent.Has("password") { // whether it is the stored one is not found out within the transaction: hashing takes long
		return nil, notThePassword()
	}
	if err := keepsAddress(old, login.sent); err != nil {
		return nil, err
	}
	err = s.users.Update(ctx, c, change, func(u *User) error {
		if err := login.sent.Without("email_address").Into(u); err != nil {
			return err
		}
		u.UUID = userUUID
		return nil
	})
	return change.New, err
}

// DeleteLogin deletes the account of a telephone user, if there is one in the user's tenant.
func (s *Service) DeleteLogin(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID, userUUID string) error {
	if p := r.Principal(); p != nil && p.Affiliation != nil && p.Remote {
		return nil // it is not kept here
	}
	old, err := s.loginOf(ctx, c, tenantUUID, userUUID)
	if err != nil || old == nil {
		return err
	}
	if err := needs(r, fmt.Sprintf("auth.users.%s.delete", userUUID)); err != nil {
		return err
	}
	return s.users.Delete(ctx, c, &crud.Change[User]{Request: r, Tenant: tenantUUID, Old: old})
}

func (s *Service) loginOf(ctx context.Context, c store.Conn, tenantUUID, userUUID string) (*User, error) {
	found, err := s.users.Select(ctx, c, "uuid = $1 AND tenant_uuid = $2", userUUID, tenantUUID)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], loadEmails(ctx, c, found)
}

// needs refuses a caller who does not hold an access.
func needs(r *rest.Request, access string) error {
	if p := r.Principal(); p == nil || p.Allows(access) {
		return nil
	}
	return apierr.New(apierr.Forbidden, "You also need %s, for the account", access).With("required_access", access)
}
