package authsvc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/ringfence/ringfence/authsvc/mail"
	"github.com/ringfence/ringfence/authsvc/throttle"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

type passwordChange struct {
	Old string `json:"old_password" required:"true" minLength:"1" maxLength:"1024" doc:"The password that is valid now." example:"correct-horse"`
	New string `json:"new_password" required:"true" minLength:"1" maxLength:"1024" doc:"At least 8 characters, or as many as the installation asks for."`
	OTP string `json:"otp" maxLength:"64"`
}

func (s *Service) passwordOperations() []rest.Operation {
	return append([]rest.Operation{{
		Method: http.MethodPut, Path: "/users/{user_uuid}/password", Access: "auth.users.{user_uuid}.password.update",
		ID: "change_password", Tag: "users", Summary: "Change a user's password",
		Description: "Ends all of the user's sessions but the one that makes the change, and deletes the user's refresh tokens.",
		Body:        rest.SchemaOf[passwordChange](), MaxBody: maxAuthBody, Success: http.StatusNoContent, Tenanted: true,
		Statuses: []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusPreconditionFailed, http.StatusTooManyRequests},
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			return rest.Reply{}, s.changePassword(ctx, r)
		},
	}}, s.passwordResetOperations()...)
}

// changePassword counts the old password as a guess: a person who has a session but not the password may guess only as slowly as
// everybody else.
func (s *Service) changePassword(ctx context.Context, r *rest.Request) error {
	body, err := rest.Decode[passwordChange](r)
	if err != nil {
		return err
	}
	if err := s.checkPassword("new_password", body.New); err != nil {
		return err
	}
	// Otherwise users whose session stands on nobody would vouch for the password that somebody else has planted.
	if body.New == body.Old {
		return apierr.InvalidField("new_password", "unchanged", "Must be another than old_password")
	}
	u, err := s.users.Named(ctx, r)
	if err != nil {
		return err
	}
	// This comes before the old password is verified, or a caller could try passwords on everybody.
	if err := s.mayActOn(ctx, s.db, r.Principal(), u.UUID); err != nil {
		return err
	}
	k, err := credentialOf(ctx, s.db, u.UUID)
	if err != nil {
		return err
	}
	if err := k.managedHere(); err != nil {
		return err
	}
	if err := s.guessPassword(ctx, r, k, body.Old); err != nil {
		return err
	}
	factor, err := s.secondFactor(ctx, r, u.UUID, body.OTP)
	if err != nil {
		return err
	}
	hash, err := s.hasher.Hash(ctx, body.New)
	if err != nil {
		return err
	}
	p := r.Principal()
	return s.engine.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := firstError(s.unchangedUser(ctx, tx, r, u.UUID), stillProved(ctx, tx, u.UUID, factor)); err != nil {
			return err
		}
		// The caller's session stays if it is the user's own.
		n, err := tx.Exec(ctx, `UPDATE auth_user SET password_hash = $3 WHERE uuid = $1 AND password_hash = $2`, u.UUID, orEmpty(k.PasswordHash), hash)
		if err != nil || n == 0 {
			return firstError(err, errNoLogin()) // somebody else has changed it in the meantime
		}
		by, err := changedBy(ctx, tx, p, u.UUID)
		if err != nil {
			return err
		}
		if err := vouch(ctx, tx, u.UUID, vouchPassword, by); err != nil {
			return err
		}
		ended, err := s.endOldPassword(ctx, tx, u.UUID, p.SessionUUID)
		if err != nil {
			return err
		}
		return audit.Write(ctx, tx, r, passwordSet(u.TenantUUID, u.UUID, ended))
	})
}

// guessPassword refuses a password that is not the user's, as errNoLogin does, or that comes too soon after wrong ones.
func (s *Service) guessPassword(ctx context.Context, r *rest.Request, k credential, password string) error {
	return s.guarded(ctx, throttle.KeyOf("password of", k.UserUUID), s.clientNetwork(r.HTTP), func() error {
		ok, err := s.hasher.Verify(ctx, k.UserUUID, orEmpty(k.PasswordHash), password)
		if err == nil && !ok {
			err = errNoLogin()
		}
		return err
	})
}

// checkPassword refuses a new password that is too short to be safe, or too long to hash.
func (s *Service) checkPassword(field, password string) error {
	if shortest := s.settings.Load().Passwords.Shortest; utf8.RuneCountInString(password) < shortest {
		return apierr.InvalidField(field, "length", "Must have at least %d characters", shortest)
	}
	if len(password) > MaxPassword {
		return apierr.InvalidField(field, "length", "Must have at most %d bytes", MaxPassword)
	}
	return nil
}

// credential says how a user proves their identity.
type credential struct {
	UserUUID     string  `db:"uuid"`
	TenantUUID   string  `db:"tenant_uuid"`
	Method       string  `db:"method"` // native, ldap or saml: the tenant's if the user has the default
	PasswordHash *string `db:"password_hash"`
	Enabled      bool    `db:"enabled"`
}

// selectCredential selects credentials, up to further joins and the condition.
const selectCredential = `SELECT u.uuid, u.tenant_uuid, u.password_hash, u.enabled, ` + methodOf + ` AS method
	FROM auth_user u JOIN auth_tenant t ON t.uuid = u.tenant_uuid `

func credentialOf(ctx context.Context, c store.Conn, user string) (credential, error) {
	k, err := store.Get[credential](ctx, c, selectCredential+`WHERE u.uuid = $1`, user)
	return k, missing(err, unknownUser(user))
}

// managedHere refuses to set the password of a user whose password is kept elsewhere.
func (k credential) managedHere() error {
	if k.Method == nativeMethod {
		return nil
	}
	return apierr.New(apierr.MethodNotAllowed, "This user's password is managed elsewhere, by %s", k.Method).
		Named("password-managed-externally").Of("users")
}

// endOldPassword ends what the old password gave: sessions, except the one to keep, refresh tokens, and links to reset it. It
// announces that, and returns how many sessions ended.
func (s *Service) endOldPassword(ctx context.Context, tx store.Conn, user, keep string) (int64, error) {
	var session *string
	if keep != "" {
		session = &keep
	}
	ended, err := tx.Exec(ctx, `DELETE FROM auth_token WHERE user_uuid = $1 AND session_uuid IS DISTINCT FROM $2`, user, session)
	if err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM auth_refresh_token WHERE user_uuid = $1`, user); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM auth_single_use WHERE user_uuid = $1 AND kind = $2`, user, resetsPassword); err != nil {
		return 0, err
	}
	return ended, s.announce(ctx, tx, forgetUser(user))
}

// passwordSet returns the audit's entry for a password that was set.
func passwordSet(tenant, user string, ended int64) audit.Change {
	return audit.Change{Tenant: tenant, Resource: "users", Object: user, After: map[string]any{"uuid": user, "sessions_ended": ended}}
}

// resetAccess lets an administrator set a user's password.
const resetAccess = "auth.users.password.reset.{user_uuid}.create"

type newPassword struct {
	Password *string `json:"password" required:"true" minLength:"1" maxLength:"1024" doc:"At least 8 characters, or as configured. null: no login with one."`
}

var emailSchema = rest.Schema{Type: "string", Format: "email"}

func (s *Service) passwordResetOperations() []rest.Operation {
	text := func(name, doc string, schema rest.Schema) rest.Parameter {
		return rest.Parameter{Name: name, Description: doc, Schema: &schema}
	}
	return []rest.Operation{
		{
			Method: http.MethodGet, Path: "/users/password/reset", Public: true, ID: "request_password_reset", Tag: "users",
			Summary: "Send a user a mail with which to reset the password",
			Description: "Takes exactly one of the parameters. Answers the same, in the same time, whether there is such a user or not. " +
				"The mail goes to the confirmed address that was named, or to the user's main one, or to any that is confirmed.",
			Query: []rest.Parameter{
				text("username", "The user's name.", rest.Schema{Type: "string"}),
				text("email", "A confirmed address of the user's.", emailSchema),
				text("login", "Either.", rest.Schema{Type: "string"}),
			},
			Success: http.StatusNoContent, Statuses: []int{400, 429}, Handle: s.requestReset,
		},
		{
			Method: http.MethodPost, Path: "/users/password/reset", Public: true, Instead: resetAccess, ID: "reset_password", Tag: "users",
			Summary: "Set a user's password, with the token of a mail or as an administrator",
			Description: "Takes the token of the mail, which is good once, or the token of a user who holds " +
				resetAccess + ", and all that the user holds. " +
				"Ends all of the user's sessions, and deletes the user's refresh tokens.",
			Query: []rest.Parameter{
				{Name: "user_uuid", Description: "Whose password it is.", Required: true, Schema: &rest.Schema{Type: "string", Format: "uuid"}},
				tokenParameter,
			},
			Body: rest.SchemaOf[newPassword](), MaxBody: maxAuthBody, Success: http.StatusNoContent, Statuses: []int{401, 403, 404, 405, 409, 429},
			Handle: s.resetPassword,
		},
	}
}

// wanted says whose password to reset.
type wanted struct {
	by    string // username, email or login
	login string
}

// requestReset leaves everything that depends on the user for after the response.
func (s *Service) requestReset(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	var w []wanted
	for _, by := range []string{"username", "email", "login"} {
		if value, sent := r.Query(by); sent {
			w = append(w, wanted{by, value})
		}
	}
	if len(w) != 1 || w[0].login == "" || len(w[0].login) > maxUsername {
		return rest.Reply{}, apierr.New(apierr.Invalid, "Send exactly one of username, email and login, of at most %d bytes", maxUsername).Of("reset")
	}
	if wrong := emailSchema.Validate("email", w[0].login); w[0].by == "email" && len(wrong) > 0 {
		return rest.Reply{}, &apierr.Error{Kind: apierr.Invalid, Resource: "reset", Fields: wrong}
	}
	if r.HTTP.Method == http.MethodHead { // HEAD only asks whether the operation exists, and sends no mail
		return rest.Reply{}, nil
	}
	limits := &s.settings.Load().Limits
	if err := s.throttle.Spend(ctx, throttle.KeyOf("resets from", s.clientNetwork(r.HTTP)), limits.MailRequests); err != nil {
		return rest.Reply{}, err
	}
	if !s.background.start(func(ctx context.Context) { s.sendReset(ctx, w[0]) }) {
		slog.WarnContext(ctx, "too many mails wait to be sent; a password reset was dropped")
	}
	return rest.Reply{}, nil
}

// addressee is an address, and what a mail needs to know about its user.
type addressee struct {
	UserUUID   string  `db:"user_uuid"`
	TenantUUID string  `db:"tenant_uuid"`
	EmailUUID  string  `db:"email_uuid"`
	Address    string  `db:"address"`
	Confirmed  bool    `db:"confirmed"`
	Username   *string `db:"username"`
	Firstname  *string `db:"firstname"`
	Lastname   *string `db:"lastname"`
}

// selectAddressee selects addressees, up to further joins and the condition.
const selectAddressee = `SELECT u.uuid AS user_uuid, u.tenant_uuid, e.uuid AS email_uuid, e.address, e.confirmed, u.username, u.firstname, u.lastname
	FROM auth_email e JOIN auth_user u ON u.uuid = e.user_uuid `

func (a addressee) recipient() mail.Recipient {
	return mail.Recipient{Address: a.Address, Firstname: orEmpty(a.Firstname), Lastname: orEmpty(a.Lastname), Username: orEmpty(a.Username)}
}

// sendReset sends the mail if there is a recipient. The client is gone by then, so failures are only logged.
func (s *Service) sendReset(ctx context.Context, w wanted) {
	settings := s.settings.Load()
	if !settings.Mailer.Enabled() {
		slog.WarnContext(ctx, "somebody wants to reset a password, and no mail server is configured")
		return
	}
	to, err := s.findAddressee(ctx, w)
	if errors.Is(err, store.ErrNotFound) {
		return
	}
	if err == nil {
		err = s.throttle.Spend(ctx, mailsTo(to.Address), settings.Limits.Mails)
	}
	if e := apierr.As(err); e != nil {
		slog.InfoContext(ctx, "a password reset was not mailed: there were too many before", "user_uuid", to.UserUUID)
		return
	}
	var token string
	if err == nil {
		token, err = newSingleUse(ctx, s.db, resetsPassword, to.UserUUID, to.EmailUUID)
	}
	if err == nil {
		err = settings.Mailer.PasswordReset(ctx, to.recipient(), to.UserUUID, token)
	}
	if err != nil {
		slog.ErrorContext(ctx, "a password reset could not be mailed", "user_uuid", to.UserUUID, "error", err)
	}
}

// findAddressee finds the user, if they are enabled and have a password here, and the first confirmed address that stands: the one
// that was named, if any. An address that is also its user's username has one login, that of the username.
func (s *Service) findAddressee(ctx context.Context, w wanted) (addressee, error) {
	login, ok := Canonical(w.login)
	if !ok {
		return addressee{}, store.ErrNotFound
	}
	kind := map[string]string{
		"username": `l.email_uuid IS NULL`,
		"email":    `(l.email_uuid = e.uuid OR l.email_uuid IS NULL AND e.login = l.login)`,
		"login":    `(l.email_uuid = e.uuid OR l.email_uuid IS NULL)`,
	}[w.by]
	found, err := store.Select[addressee](ctx, s.db, selectAddressee+`
		JOIN auth_login l ON l.user_uuid = u.uuid
		JOIN auth_tenant t ON t.uuid = u.tenant_uuid
		WHERE l.login = $1 AND e.confirmed AND `+kind+` AND u.enabled AND `+methodOf+` = 'native'
		ORDER BY CASE WHEN e.login = l.login THEN 0 ELSE 1 END, e.main DESC, e.address`, login)
	if err != nil {
		return addressee{}, err
	}
	for _, to := range found {
		if ok, err := s.emailStands(ctx, s.db, to.UserUUID, to.EmailUUID); err != nil || ok {
			return to, err
		}
	}
	return addressee{}, store.ErrNotFound
}

func (s *Service) resetPassword(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	body, err := rest.Decode[newPassword](r)
	if err != nil {
		return rest.Reply{}, err
	}
	asked, _ := r.Query("user_uuid")
	if !isUUID(asked) {
		return rest.Reply{}, errBadLink()
	}
	user, token := strings.ToLower(asked), sentToken(r)
	// This is checked before a stranger causes the work of a hash. Only a mail's token may be in a URL.
	bearer, access := r.HTTP.Header.Get("X-Auth-Token"), strings.ReplaceAll(resetAccess, "{user_uuid}", user)
	by, err := s.presented(ctx, r, resetsPassword, token, bearer, access, func(link singleUse) bool { return link.UserUUID == user })
	if err != nil {
		return rest.Reply{}, err
	}
	byMail := by == nil
	if !byMail {
		if err := s.mayReset(ctx, s.db, by, user); err != nil {
			return rest.Reply{}, err
		}
	}
	hash, err := s.newHash(ctx, body.Password)
	if err != nil {
		return rest.Reply{}, err
	}
	err = s.engine.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		var link singleUse
		if byMail {
			if link, err = s.takeSingleUse(ctx, tx, resetsPassword, token); err != nil {
				return err
			}
		} else if err := s.mayReset(ctx, tx, by, user); err != nil { // the user may hold more by now
			return err
		}
		vouchers, err := vouchersBy(ctx, tx, by, user)
		if err == nil && byMail {
			vouchers, err = vouchersOf(ctx, tx, user, vouchEmail(link.EmailUUID))
		}
		if err != nil {
			return err
		}
		if err := vouch(ctx, tx, user, vouchPassword, vouchers); err != nil {
			return err
		}
		return s.setPassword(ctx, tx, r, user, hash, byMail)
	})
	if err != nil {
		return rest.Reply{}, err
	}
	s.forgiveGuesses(ctx, user)
	return rest.Reply{}, nil
}

// newHash returns the hash of a new password, or nil for none.
func (s *Service) newHash(ctx context.Context, password *string) (*string, error) {
	if password == nil {
		return nil, nil //nolint:nilnil // no password has no hash
	}
	if err := s.checkPassword("password", *password); err != nil {
		return nil, err
	}
	hash, err := s.hasher.Hash(ctx, *password)
	return &hash, err
}

// mayReset refuses a caller who may not see the user, or whose permissions do not cover the user's.
func (s *Service) mayReset(ctx context.Context, c store.Conn, by *principal.Principal, user string) error {
	k, err := credentialOf(ctx, c, user)
	if err != nil {
		return err
	}
	if visible, err := tenant.Within(ctx, c, k.TenantUUID, by.TenantUUID); err != nil || !visible {
		return firstError(err, unknownUser(user))
	}
	return firstError(notDeniedOf(by, user, "password.update"), s.mayActOn(ctx, c, by, user))
}

// setPassword sets a password, or removes it. A mail sets only an enabled user's.
func (s *Service) setPassword(ctx context.Context, tx store.Conn, r *rest.Request, user string, hash *string, byMail bool) error {
	k, err := credentialOf(ctx, tx, user)
	if err != nil {
		return err
	}
	if byMail && !k.Enabled {
		return errBadLink()
	}
	if err := k.managedHere(); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE auth_user SET password_hash = $2 WHERE uuid = $1`, user, hash); err != nil {
		return err
	}
	if hash == nil {
		if err := keepAdministrator(ctx, tx); err != nil {
			return err
		}
	}
	ended, err := s.endOldPassword(ctx, tx, user, "")
	if err != nil {
		return err
	}
	return audit.Write(ctx, tx, r, passwordSet(k.TenantUUID, user, ended))
}

// forgiveGuesses lets a user with a new password log in at once, whatever the number of wrong ones before. Its failure is only
// logged: the password is set, and the user has to wait at most.
func (s *Service) forgiveGuesses(ctx context.Context, user string) {
	logins, err := store.Select[string](ctx, s.db, `SELECT login FROM auth_login WHERE user_uuid = $1`, user)
	keys := make([]throttle.Key, len(logins))
	for i, login := range logins {
		keys[i] = loginKey(login)
	}
	if err == nil {
		err = s.throttle.Forgive(ctx, keys...)
	}
	if err != nil {
		slog.WarnContext(ctx, "a password was set, but earlier wrong guesses still delay its user's login", "user_uuid", user, "error", err)
	}
}
