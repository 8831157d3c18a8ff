package authsvc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/store"
)

// Recovery says whose account the operator of the machine recovers, without anybody's permission.
type Recovery struct {
	// Username is the user's username or an address.
	Username string
	// Password is the new password. When empty, one is generated.
	Password string
	// Administrator also gives the user the policy of the first administrator.
	Administrator bool
	// DropSecondFactor also removes the user's second factor, which otherwise stays in force.
	DropSecondFactor bool
}

// Recovered is the user who can log in now.
type Recovered struct {
	Username string
	// Password is the generated one, to be shown once.
	Password string
	// Denials are what the user's policies deny, if an administrator was asked for: they still apply.
	Denials []string
}

// Errors of Recover, in words for the operator.
var (
	ErrNoSuchUser = errors.New("there is no such user")
	ErrNotMaster  = errors.New("the user is not in the master tenant, and only its users can be administrators")
)

// Recover gives a user a new password, enables the user, and makes that password the way to log in from now on, whatever the
// method was before. The user's sessions, refresh tokens and links to reset the password end, on every node.
func (s *Service) Recover(ctx context.Context, o Recovery) (Recovered, error) {
	var out Recovered
	made := ""
	if o.Password == "" {
		made = rand.Text()
		o.Password = made
	} else if err := s.checkPassword("password", o.Password); err != nil {
		return out, err
	}
	login, _ := Canonical(o.Username)
	hash, err := s.hasher.Hash(ctx, o.Password)
	if err != nil {
		return out, fmt.Errorf("hashing the password: %w", err)
	}
	var user string
	err = s.engine.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		user, err = store.Get[string](ctx, tx, `SELECT user_uuid FROM auth_login WHERE login = $1`, login)
		if err = missing(err, ErrNoSuchUser); err != nil {
			return err
		}
		const restore = `UPDATE auth_user SET password_hash = $2, enabled = true, authentication_method = 'native' WHERE uuid = $1`
		if _, err := tx.Exec(ctx, restore, user, hash); err != nil {
			return err
		}
		for _, subject := range []string{vouchPassword, vouchMethod} { // set by the operator
			if err := vouch(ctx, tx, user, subject, nil); err != nil {
				return err
			}
		}
		ended, err := s.endOldPassword(ctx, tx, user, "")
		if err != nil {
			return err
		}
		if out, err = recovered(ctx, tx, user, o); err != nil {
			return err
		}
		if o.DropSecondFactor {
			if err := loseFactor(ctx, tx, user); err != nil {
				return err
			}
		}
		return auditRecovery(ctx, tx, user, ended)
	})
	if err != nil {
		return out, fmt.Errorf("recovering a user: %w", err)
	}
	out.Password = made
	s.forgiveGuesses(ctx, user)
	return out, nil
}

func recovered(ctx context.Context, tx store.Conn, user string, o Recovery) (out Recovered, err error) {
	if out.Username, err = store.Get[string](ctx, tx, `SELECT coalesce(username, $2) FROM auth_user WHERE uuid = $1`, user, o.Username); err != nil {
		return out, err
	}
	if !o.Administrator {
		return out, nil
	}
	if err := giveAdministratorPolicy(ctx, tx, user, "Every access. Made again for an administrator who was locked out."); err != nil {
		return out, err
	}
	held, err := accessesOf(ctx, tx, oneUser(user))
	for _, access := range held {
		if isDenial(access) {
			out.Denials = append(out.Denials, access)
		}
	}
	return out, err
}

// giveAdministratorPolicy gives a user of the master tenant every access, through the policy of the first administrator, which is
// created with this description if there is none.
func giveAdministratorPolicy(ctx context.Context, tx store.Conn, user, description string) error {
	master, err := store.Get[string](ctx, tx, `SELECT t.uuid FROM auth_tenant t JOIN auth_user u ON u.tenant_uuid = t.uuid
		WHERE u.uuid = $1 AND t.uuid = t.parent_uuid`, user)
	if err = missing(err, ErrNotMaster); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO auth_policy (uuid, tenant_uuid, name, name_key, slug, slug_key, description, shared, config_managed)
		VALUES ($1, $2, $3, $4, $3, $4, $5, false, true)
		ON CONFLICT DO NOTHING`, uuid.NewString(), master, AdministratorPolicy, AdministratorPolicy, description); err != nil {
		return err
	}
	policy, err := store.Get[string](ctx, tx, `SELECT uuid FROM auth_policy WHERE tenant_uuid = $1 AND slug_key = $2`, master, AdministratorPolicy)
	if err != nil {
		return err
	}
	for _, sql := range []string{
		`INSERT INTO auth_policy_access (policy_uuid, access) SELECT uuid, '#' FROM auth_policy WHERE uuid = $1 ON CONFLICT DO NOTHING`,
		`INSERT INTO auth_user_policy (policy_uuid, user_uuid) SELECT $1, uuid FROM auth_user WHERE uuid = $2 ON CONFLICT DO NOTHING`,
	} {
		args := []any{policy, user}
		if _, err := tx.Exec(ctx, sql, args[:strings.Count(sql, "$")]...); err != nil {
			return err
		}
	}
	return nil
}

// auditRecovery records that the recovery was done on the machine itself: there is no request and no token.
func auditRecovery(ctx context.Context, tx store.Conn, user string, ended int64) error {
	tenantUUID, err := store.Get[string](ctx, tx, `SELECT CAST(tenant_uuid AS text) FROM auth_user WHERE uuid = $1`, user)
	if err != nil {
		return err
	}
	return audit.Note(ctx, tx, "auth", "admin_reset_password", passwordSet(tenantUUID, user, ended))
}

// loseFactor removes a user's second factor, if there is one.
func loseFactor(ctx context.Context, tx store.Conn, user string) error {
	f, err := factorOf(ctx, tx, user)
	if notFound(err) {
		return nil
	}
	if err == nil {
		err = dropFactor(ctx, tx, user)
	}
	if err == nil {
		err = audit.Note(ctx, tx, "auth", "admin_reset_password", f.entry(nil))
	}
	return err
}

// Vouching names the user who has set up logins of others.
type Vouching struct {
	User string `json:"user"`
}

// Answered is for how many ways to log in the user vouched.
type Answered struct {
	Ways int64 `json:"ways"`
}

// AnswerFor makes the operator of the machine answer for all that a user has set up: the passwords, addresses and directories by which
// others log in. It is the way back in for many at once whose administrator has lost rights, or is no longer above them. The user
// may be deleted, and is named by username, address or UUID.
func (s *Service) AnswerFor(ctx context.Context, by Vouching) (Answered, error) {
	who, ways := by.User, int64(0)
	login, _ := Canonical(who)
	err := s.engine.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		ways = 0
		user, err := store.Get[string](ctx, tx, `SELECT CAST(user_uuid AS text) FROM auth_login WHERE login = $1`, login)
		if errors.Is(err, store.ErrNotFound) && isUUID(who) {
			user, err = strings.ToLower(who), nil
		}
		if err = missing(err, ErrNoSuchUser); err != nil {
			return err
		}
		for _, table := range []string{"auth_voucher", "auth_tenant_voucher"} {
			n, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE by_uuid = $1`, user)
			if err != nil {
				return err
			}
			ways += n
		}
		if ways == 0 {
			return nil
		}
		of, err := store.Get[string](ctx, tx, `SELECT coalesce((SELECT CAST(tenant_uuid AS text) FROM auth_user WHERE uuid = $1),
			(SELECT CAST(uuid AS text) FROM auth_tenant WHERE uuid = parent_uuid))`, user)
		if err != nil {
			return err
		}
		if err := audit.Note(ctx, tx, "auth", "admin_answer_for", audit.Change{
			Tenant: of, Resource: "users", Object: user, After: map[string]any{"uuid": user, "ways_to_log_in": ways},
		}); err != nil {
			return err
		}
		return s.announce(ctx, tx, forgetAll())
	})
	if err != nil {
		return Answered{}, fmt.Errorf("answering for what a user has set up: %w", err)
	}
	return Answered{ways}, nil
}
