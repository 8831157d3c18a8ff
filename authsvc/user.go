package authsvc

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// User can log in. The password never leaves: only its hash is stored, beside the row.
type User struct {
	UUID                 string  `db:"uuid" json:"uuid" format:"uuid" doc:"Taken from the body on create, when it is sent."`
	TenantUUID           string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Username             *string `db:"username" json:"username" minLength:"1" maxLength:"256" doc:"Login name, unique whatever its case."`
	Firstname            *string `db:"firstname" json:"firstname" maxLength:"256"`
	Lastname             *string `db:"lastname" json:"lastname" maxLength:"256"`
	Purpose              string  `db:"purpose" json:"purpose" enum:"user,internal,external_api" default:"user"`
	Enabled              bool    `db:"enabled" json:"enabled" default:"true"`
	AuthenticationMethod string  `db:"authentication_method" json:"authentication_method" enum:"default,native,ldap,saml"`
	Emails               []Email `json:"emails" readOnly:"true"`

	CreatedAt time.Time `db:"created_at" json:"-"`

	Password     *string `json:"password,omitempty" writeOnly:"true" minLength:"1" maxLength:"1024" doc:"Taken on create alone."`
	EmailAddress *string `json:"email_address,omitempty" writeOnly:"true" format:"email" maxLength:"254" doc:"Taken on create alone: the main address, confirmed."`
}

// Email is one of a user's addresses.
type Email struct {
	UUID      string `db:"uuid" json:"uuid"`
	UserUUID  string `db:"user_uuid" json:"-"`
	Address   string `db:"address" json:"address"`
	Main      bool   `db:"main" json:"main"`
	Confirmed bool   `db:"confirmed" json:"confirmed"`
}

func (s *Service) users() crud.Resource[User] {
	return crud.Resource[User]{
		Path: "users", Singular: "user", Param: "user_uuid", Table: "auth_user", Keys: []string{"uuid"},
		Order:   []string{"username", "firstname", "lastname"},
		Search:  []string{"username", "firstname", "lastname", "emails"},
		Filters: []string{"uuid", "username", "firstname", "lastname", "purpose"},
		Virtual: map[string]string{
			"emails": "SELECT coalesce(string_agg(e.address, ' '), '') FROM auth_email e WHERE e.user_uuid = auth_user.uuid",
		},
		Unique:  map[string]string{"auth_user_pkey": "uuid", "auth_user.uuid": "uuid"},
		Receive: s.receiveUser, Prepare: s.prepareUser, Validate: s.validateUser, Save: s.saveUser, Guard: s.guardUser,
		Load: loadEmails, Changed: s.announceUser, Committed: s.forgetChangedUser,
	}
}

// receiveUser hashes a new user's password, before the transaction: it takes tens of milliseconds and holds no connection.
func (s *Service) receiveUser(ctx context.Context, change *crud.Change[User]) error {
	if change.New == nil || change.New.Password == nil {
		return nil
	}
	if len(*change.New.Password) > MaxPassword {
		return apierr.InvalidField("password", "length", "Must have at most %d bytes", MaxPassword)
	}
	hash, err := s.hasher.hash(ctx, *change.New.Password)
	change.Carry = hash
	return err
}

// prepareUser fills in what the server decides. Clients that keep one UUID for a person everywhere send it.
func (s *Service) prepareUser(_ context.Context, _ store.Conn, change *crud.Change[User]) error {
	u := change.New
	u.CreatedAt = time.Now().UTC()
	if u.UUID == "" {
		u.UUID = uuid.NewString()
	}
	u.UUID = strings.ToLower(u.UUID)
	if u.AuthenticationMethod == "" {
		u.AuthenticationMethod = "default"
		if u.Purpose != "user" {
			u.AuthenticationMethod = "native"
		}
	}
	return nil
}

// validateUser refuses a change of a user whose permissions exceed the caller's: a new name, method
// or state is a way into the account.
func (s *Service) validateUser(ctx context.Context, c store.Conn, change *crud.Change[User]) error {
	if change.Old == nil {
		return nil
	}
	return mayActOn(ctx, c, change.Request.Principal(), change.Old.UUID)
}

func (s *Service) guardUser(ctx context.Context, c store.Conn, change *crud.Change[User]) error {
	return mayActOn(ctx, c, change.Request.Principal(), change.Old.UUID)
}

// loadEmails reads the addresses of all the users of a list with one query.
func loadEmails(ctx context.Context, c store.Conn, users []*User) error {
	byUUID := make(map[string]*User, len(users))
	uuids := make([]any, len(users))
	for i, u := range users {
		u.Emails, u.Password, u.EmailAddress = []Email{}, nil, nil
		byUUID[u.UUID], uuids[i] = u, u.UUID
	}
	emails, err := store.Select[Email](ctx, c, `
		SELECT uuid, user_uuid, address, main, confirmed FROM auth_email
		WHERE user_uuid IN (`+crud.Placeholders(1, len(uuids))+`) ORDER BY main DESC, address`, uuids...)
	if err != nil {
		return err
	}
	for _, e := range emails {
		u := byUUID[e.UserUUID]
		u.Emails = append(u.Emails, e)
	}
	return nil
}

// saveUser keeps the logins in step with the user, and stores what a new user comes with.
func (s *Service) saveUser(ctx context.Context, c store.Conn, change *crud.Change[User]) error {
	u := change.New
	if change.Old == nil || different(change.Old.Username, u.Username) {
		if _, err := c.Exec(ctx, `DELETE FROM auth_login WHERE user_uuid = $1 AND email_uuid IS NULL`, u.UUID); err != nil {
			return err
		}
		if u.Username != nil {
			if err := addLogin(ctx, c, "username", *u.Username, u.UUID, nil); err != nil {
				return err
			}
		}
	}
	if change.Old == nil { // the group of all the tenant's users
		if _, err := c.Exec(ctx, `INSERT INTO auth_group_user (group_uuid, user_uuid) SELECT uuid, $2 FROM auth_group WHERE uuid = $1`, u.TenantUUID, u.UUID); err != nil {
			return err
		}
	} else {
		if !u.Enabled && change.Old.Enabled {
			_, err := c.Exec(ctx, `DELETE FROM auth_token WHERE user_uuid = $1`, u.UUID)
			return err
		}
		return nil
	}
	if hash, ok := change.Carry.(string); ok {
		if _, err := c.Exec(ctx, `UPDATE auth_user SET password_hash = $2 WHERE uuid = $1`, u.UUID, hash); err != nil {
			return err
		}
	}
	if u.EmailAddress == nil {
		return nil
	}
	email := uuid.NewString()
	if _, err := c.Exec(ctx, `INSERT INTO auth_email (uuid, user_uuid, address, main, confirmed) VALUES ($1, $2, $3, true, true)`,
		email, u.UUID, *u.EmailAddress); err != nil {
		return err
	}
	return addLogin(ctx, c, "email_address", *u.EmailAddress, u.UUID, &email)
}

// addLogin takes a login, which is one user's in the whole installation. The refusal says no more than that it is taken.
func addLogin(ctx context.Context, c store.Conn, field, login, user string, email *string) error {
	key := canonical(login)
	if key == "" {
		return apierr.InvalidField(field, "length", "May not be blank")
	}
	_, err := c.Exec(ctx, `INSERT INTO auth_login (login, user_uuid, email_uuid) VALUES ($1, $2, $3)`, key, user, email)
	if store.IsConstraint(err, store.Unique) {
		return &apierr.Error{
			Kind: apierr.Conflict, Resource: "users", Err: err,
			Fields: []apierr.Field{{Name: field, Constraint: "unique", Value: "unique", Message: "This login is already used"}},
		}
	}
	return err
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

func (s *Service) forgetChangedUser(change *crud.Change[User]) {
	if change.Old != nil {
		s.forgetHere(forgetUser(change.Old.UUID))
	}
}
