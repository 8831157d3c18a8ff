package authsvc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/authsvc/throttle"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

type registration struct {
	Username     string  `json:"username" minLength:"1" maxLength:"256" doc:"Left out, the user logs in with the confirmed address. It may be no other address."`
	Password     string  `json:"password" required:"true" minLength:"1" maxLength:"1024" doc:"At least 8 characters, or as many as the installation asks for."`
	Firstname    *string `json:"firstname" maxLength:"256"`
	Lastname     *string `json:"lastname" maxLength:"256"`
	EmailAddress string  `json:"email_address" required:"true" format:"email" maxLength:"254" doc:"An address to begin with; it is confirmed."`
}

func (s *Service) registerOperations() []rest.Operation {
	return []rest.Operation{{
		Method: http.MethodPost, Path: "/users/register", Public: true, ID: "register_user", Tag: "users",
		Summary: "Make an account of one's own, where the operator lets everybody do so",
		Description: "Makes a tenant for the user, named after the user, and sends a mail with which to confirm the address. " +
			"When the mail cannot be sent, there is no account.",
		Body: rest.SchemaOf[registration](), MaxBody: maxAuthBody, Success: http.StatusOK, Reply: rest.SchemaOf[User](),
		Statuses: []int{404, 409, 429}, Handle: s.register,
	}}
}

func (s *Service) register(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	settings := s.settings.Load()
	if !settings.SelfRegistration {
		return rest.Reply{}, registrationClosed()
	}
	body, err := rest.Decode[registration](r)
	if err != nil {
		return rest.Reply{}, err
	}
	u, err := body.user()
	if err != nil {
		return rest.Reply{}, err
	}
	if err := s.checkPassword("password", body.Password); err != nil {
		return rest.Reply{}, err
	}
	if !settings.Mailer.Enabled() {
		return rest.Reply{}, noMail()
	}
	// What exists already is revealed only as fast as accounts can be created.
	if err := s.throttle.Spend(ctx, throttle.KeyOf("registrations from", s.clientNetwork(r.HTTP)), settings.Limits.Registrations); err != nil {
		return rest.Reply{}, err
	}
	hash, err := s.hasher.Hash(ctx, body.Password)
	if err != nil {
		return rest.Reply{}, err
	}
	err = s.engine.InTx(ctx, func(ctx context.Context, tx store.Conn) error { return s.createRegistered(ctx, tx, r, u, hash) })
	if err != nil {
		return rest.Reply{}, err
	}
	err = s.sendConfirmation(ctx, addressee{u.UUID, u.TenantUUID, u.Emails[0].UUID, u.Emails[0].Address, false, u.Username, u.Firstname, u.Lastname})
	if err != nil {
		return rest.Reply{}, errors.Join(err, s.unregister(ctx, r, u))
	}
	return rest.Reply{Body: u}, nil
}

func registrationClosed() error {
	return apierr.New(apierr.NotFound, "Nobody can register on this gateway; its operator can allow it").Of("users").With("registration", "closed")
}

// user returns the new user, in a new tenant. A stranger's username is never an address: it would be an unconfirmed login.
func (b *registration) user() (*User, error) {
	_, address, err := checkName("email_address", b.EmailAddress)
	if err != nil {
		return nil, err
	}
	u := &User{
		UUID: uuid.NewString(), TenantUUID: uuid.NewString(), Firstname: b.Firstname, Lastname: b.Lastname,
		Purpose: "user", Enabled: true, AuthenticationMethod: "default", CreatedAt: time.Now().UTC(),
	}
	u.Emails = []Email{{UUID: uuid.NewString(), UserUUID: u.UUID, Address: b.EmailAddress, Main: true}}
	if b.Username == "" {
		return u, nil
	}
	username, key, err := checkUsername(b.Username, nil)
	if err != nil || key == address {
		return u, err
	}
	if strings.Contains(key, "@") {
		return nil, apierr.InvalidField("username", "address", "May not be another address than email_address")
	}
	u.Username = &username
	return u, nil
}

// createRegistered writes a user and the user's tenant, below the master tenant.
func (s *Service) createRegistered(ctx context.Context, tx store.Conn, r *rest.Request, u *User, hash string) error {
	name := u.Emails[0].Address
	if u.Username != nil {
		name = *u.Username
	}
	if runes := []rune(name); len(runes) > maxTenantName {
		name = string(runes[:maxTenantName])
	}
	slug, err := freeSlug(ctx, tx, &name)
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, `INSERT INTO auth_tenant (uuid, parent_uuid, name, slug) SELECT $1, uuid, $2, $3 FROM auth_tenant WHERE uuid = parent_uuid`,
		u.TenantUUID, name, slug)
	if err == nil && n == 0 {
		err = tenant.ErrNoMaster()
	}
	if err != nil {
		return err
	}
	if err := createAllUsers(ctx, tx, u.TenantUUID); err != nil {
		return err
	}
	if err := s.mayCreate(ctx, tx, nil, u, true); err != nil {
		return err
	}
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO auth_user (uuid, tenant_uuid, username, firstname, lastname, purpose, enabled, authentication_method, password_hash, created_at)
		  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, []any{
			u.UUID, u.TenantUUID, u.Username, u.Firstname, u.Lastname, u.Purpose, u.Enabled, u.AuthenticationMethod, hash, u.CreatedAt,
		}},
		{
			`INSERT INTO auth_email (uuid, user_uuid, address, main, confirmed) VALUES ($1, $2, $3, true, false)`,
			[]any{u.Emails[0].UUID, u.UUID, u.Emails[0].Address},
		},
		{`INSERT INTO auth_group_user (group_uuid, user_uuid) VALUES ($1, $2)`, []any{u.TenantUUID, u.UUID}},
	} {
		if _, err := tx.Exec(ctx, step.sql, step.args...); err != nil {
			return err
		}
	}
	if err := writeLogins(ctx, tx, u.UUID); err != nil {
		return err
	}
	return firstError(audit.Write(ctx, tx, r, audit.Change{Tenant: u.TenantUUID, Resource: "users", Object: u.UUID, After: u}),
		s.announceTenants(ctx, tx))
}

const maxTenantName = 128

// unregisterTimeout bounds the removal of an account for a client that may be gone.
const unregisterTimeout = 5 * time.Second

// unregister removes an account whose mail could not be sent, whether the client is still there or not. Somebody may have logged in
// by the username meanwhile: the tokens end everywhere.
func (s *Service) unregister(ctx context.Context, r *rest.Request, u *User) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unregisterTimeout)
	defer cancel()
	err := s.engine.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		for _, sql := range []string{
			`DELETE FROM auth_user WHERE tenant_uuid = $1`, `DELETE FROM auth_group WHERE tenant_uuid = $1`, `DELETE FROM auth_tenant WHERE uuid = $1`,
		} {
			if _, err := tx.Exec(ctx, sql, u.TenantUUID); err != nil {
				return err
			}
		}
		return firstError(audit.Write(ctx, tx, r, audit.Change{Tenant: u.TenantUUID, Resource: "users", Object: u.UUID, Before: u}),
			s.announceTenants(ctx, tx, forgetUser(u.UUID)))
	})
	if err != nil {
		slog.ErrorContext(ctx, "an account whose mail could not be sent was not removed; its address cannot be used until it is",
			"user_uuid", u.UUID, "error", err)
	}
	return nil
}
