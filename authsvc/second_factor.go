package authsvc

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pquerna/otp/hotp"

	"github.com/ringfence/ringfence/authsvc/throttle"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// A second factor is a secret from which an application on the user's telephone makes a code every 30 seconds (RFC 6238). Once it is in
// force, a password alone lets its user in nowhere, whichever backend has checked it. Only the user makes one, with the password, so that a stolen
// session cannot lock them out, and confirms it with a code; it ends by a code too, or by somebody who may act on the user. What changes the
// password leaves it as it is.
//
// Each code counts once: a code of the step of the last one, or of a step before, is refused. Wrong codes are counted for the user, whichever
// login was typed, and wherever codes are taken, beside those that the login counts.

const (
	codeStep      = 30 * time.Second
	recoveryCodes = 10 // each of 80 random bits
	secretBytes   = 20 // what RFC 4226 recommends
)

// SecondFactor tells whether a user has a second factor.
type SecondFactor struct {
	Enabled       bool     `json:"enabled" doc:"Whether the user logs in by a password only with a code."`
	RecoveryLeft  int      `json:"recovery_codes_left" doc:"How many recovery codes the user has not used."`
	RecoveryCodes []string `json:"recovery_codes,omitempty" doc:"Each counts once in place of a code. They are shown only when the second factor is confirmed."`
}

type newSecondFactor struct {
	Password string `json:"password" maxLength:"1024"`
	Login    string `json:"login" maxLength:"512" example:"alice"`
}

type madeSecondFactor struct {
	Secret string `json:"secret" doc:"The secret in base 32, to be typed into the application. It is never shown again."`
	URI    string `json:"uri" doc:"The same with what applications need besides, for a QR code."`
}

type changedSecondFactor struct {
	OTP     string `json:"otp" required:"true" minLength:"1" maxLength:"64"`
	Enabled bool   `json:"enabled" default:"true" doc:"true puts a new one in force, false removes it."`
}

func (s *Service) secondFactorOperations() []rest.Operation {
	operation := func(method, action, id, summary, description string, handle rest.Handler) rest.Operation {
		return rest.Operation{
			Method: method, Path: "/users/{user_uuid}/second_factor", Access: "auth.users.{user_uuid}.second_factor." + action, ID: id, Tag: "users",
			Summary: summary, Description: description, MaxBody: maxAuthBody, Success: http.StatusOK, Tenanted: true, Handle: handle,
		}
	}
	read := operation(http.MethodGet, "read", "read_second_factor", "Read whether a user has a second factor", "", s.readSecondFactor)
	read.Reply, read.Statuses = rest.SchemaOf[SecondFactor](), []int{http.StatusNotFound}
	create := operation(http.MethodPost, "create", "create_second_factor", "Make a second factor for oneself",
		"Returns a new secret, which counts once a PUT has confirmed it with a code. A secret that was not confirmed is replaced.", s.createSecondFactor)
	create.Body, create.Reply = rest.SchemaOf[newSecondFactor]().Exemplified(`{"password":"correct-horse"}`), rest.SchemaOf[madeSecondFactor]()
	create.Statuses = []int{http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests}
	update := operation(http.MethodPut, "update", "update_second_factor", "Confirm or remove one's own second factor, with a code",
		"Confirming returns the recovery codes. A code counts once, here and at logins.", s.changeSecondFactor)
	update.Body, update.Reply = rest.SchemaOf[changedSecondFactor](), rest.SchemaOf[SecondFactor]()
	update.Statuses = create.Statuses
	remove := operation(http.MethodDelete, "delete", "delete_second_factor", "Remove a user's second factor",
		"For a user who has lost it. The caller must hold all that the user holds, and cannot remove their own: that takes a code.", s.deleteSecondFactor)
	remove.Success, remove.Statuses, remove.MaxBody = http.StatusNoContent, []int{http.StatusNotFound}, 0
	return []rest.Operation{read, create, update, remove}
}

// factor is a user's second factor as it is stored.
type factor struct {
	UserUUID   string    `db:"user_uuid"`
	TenantUUID string    `db:"tenant_uuid"`
	Sealed     []byte    `db:"sealed"`
	Confirmed  bool      `db:"confirmed"`
	Left       int       `db:"recovery_left"`
	Now        time.Time `db:"now"` // the database's clock, which all nodes share
}

func factorOf(ctx context.Context, c store.Conn, user string) (factor, error) {
	f, err := store.Get[factor](ctx, c, `
		SELECT f.user_uuid, u.tenant_uuid, f.sealed, f.confirmed, now_utc() AS now,
			(SELECT count(*) FROM auth_recovery_code r WHERE r.user_uuid = f.user_uuid) AS recovery_left
		FROM auth_second_factor f JOIN auth_user u ON u.uuid = f.user_uuid WHERE f.user_uuid = $1`, user)
	return f, missing(err, apierr.New(apierr.NotFound, "This user has no second factor").Of("users").With("uuid", user))
}

func notFound(err error) bool {
	e := apierr.As(err)
	return e != nil && e.Kind == apierr.NotFound
}

// entry returns the audit's entry for a change of a second factor. Neither picture has a secret.
func (f factor) entry(after any) audit.Change {
	before := SecondFactor{Enabled: f.Confirmed, RecoveryLeft: f.Left}
	return audit.Change{Tenant: f.TenantUUID, Resource: "users/second_factor", Object: f.UserUUID, Before: before, After: after}
}

// The refusals of a password that was right, and of a code that is not.
var (
	errNoCode    = needsCode("This user has a second factor: send its code, or a recovery code, as otp beside the password")
	errWrongCode = needsCode("The code of the second factor is wrong, or it was used already: wait for the next one")
)

func needsCode(message string) error {
	return apierr.New(apierr.Unauthorized, "%s", message).Named("second-factor-required")
}

// secondFactor refuses who has proved a user's password and not the second factor that is in force. It returns what stillProved asks for: the
// second factor that was proved, or nil if there is none.
func (s *Service) secondFactor(ctx context.Context, r *rest.Request, user, code string) (proved []byte, err error) {
	f, err := factorOf(ctx, s.db, user)
	switch {
	case notFound(err), err == nil && !f.Confirmed:
		return nil, nil
	case err != nil:
		return nil, err
	case code == "":
		return nil, errNoCode
	}
	return f.Sealed, s.proveCode(ctx, r, f, code, func(context.Context, store.Conn) error { return nil })
}

// stillProved refuses, in the transaction that does what a password and a second factor were proved for, if another second factor has come in
// force since.
func stillProved(ctx context.Context, tx store.Conn, user string, proved []byte) error {
	n, err := store.Get[int](ctx, tx, `SELECT count(*) FROM auth_second_factor WHERE user_uuid = $1 AND confirmed AND sealed IS DISTINCT FROM $2`, user, proved)
	if err == nil && n > 0 {
		err = errNoCode
	}
	return err
}

// proveCode uses a code up and, in the same transaction, does what it is for. A code that is wrong counts as a guess.
func (s *Service) proveCode(ctx context.Context, r *rest.Request, f factor, code string, then func(ctx context.Context, tx store.Conn) error) error {
	guess, err := s.throttle.Admit(ctx, &s.settings.Load().Limits, throttle.KeyOf("second factor of", f.UserUUID), s.clientNetwork(r.HTTP))
	if err != nil {
		return err
	}
	return guess.Try(ctx, func() error {
		step, err := s.stepOf(f, code)
		if err != nil {
			return err
		}
		return s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
			if err := useCode(ctx, tx, r, f, step, code); err != nil {
				return err
			}
			return then(ctx, tx)
		})
	})
}

// stepOf returns the step of a code: the present one, or one beside it, since clocks differ. 0: it is the code of none. The time that it takes
// does not depend on the code.
func (s *Service) stepOf(f factor, code string) (found int64, err error) {
	secret, err := s.sealer.Open(f.Sealed, factorContext(f.UserUUID))
	if err != nil {
		return 0, noFactorKey(err)
	}
	now := f.Now.Unix() / int64(codeStep.Seconds())
	for step := now - 1; step <= now+1; step++ {
		want, err := hotp.GenerateCode(base32.StdEncoding.EncodeToString(secret), uint64(step)) //nolint:gosec // after 1970
		if err != nil {
			return 0, fmt.Errorf("making a code: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(bare(code))) == 1 {
			found = step
		}
	}
	return found, nil
}

// bare is a code without what people put between its signs.
func bare(code string) string {
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(code))
}

// useCode refuses a code that was used, and what is no code. Of several requests with one code, one gets through.
func useCode(ctx context.Context, tx store.Conn, r *rest.Request, f factor, step int64, code string) error {
	if step > 0 {
		n, err := tx.Exec(ctx, `UPDATE auth_second_factor SET used_step = $2 WHERE user_uuid = $1 AND sealed = $3 AND used_step < $2`, f.UserUUID, step, f.Sealed)
		if err == nil && n == 0 {
			err = errWrongCode
		}
		return err
	}
	d := recoveryDigest(f.UserUUID, code)
	n, err := tx.Exec(ctx, `DELETE FROM auth_recovery_code WHERE user_uuid = $1 AND digest = $2`, f.UserUUID, d[:])
	if err != nil || n == 0 {
		return firstError(err, errWrongCode)
	}
	return audit.Write(ctx, tx, r, f.entry(SecondFactor{Enabled: true, RecoveryLeft: f.Left - 1}))
}

func recoveryDigest(user, code string) [sha256.Size]byte {
	return sha256.Sum256([]byte(user + " " + bare(code)))
}

func factorContext(user string) []byte { return []byte("auth_second_factor." + user) }

func noFactorKey(cause error) error {
	e := apierr.New(apierr.Unavailable, "This node has no key to keep second factors with; ask another node")
	e.Err = cause
	return e
}

func (s *Service) readSecondFactor(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	u, err := s.users.Named(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	f, err := factorOf(ctx, s.db, u.UUID)
	if err != nil && !notFound(err) {
		return rest.Reply{}, err
	}
	return rest.Reply{Body: SecondFactor{Enabled: f.Confirmed, RecoveryLeft: f.Left}}, nil
}

// ownAccount returns the user whom a request names, who must be its caller.
func (s *Service) ownAccount(ctx context.Context, r *rest.Request) (*User, error) {
	u, err := s.users.Named(ctx, r)
	if err == nil && u.UUID != r.Principal().UserUUID {
		err = apierr.New(apierr.Forbidden, "Users make, confirm and give up their second factors themselves; DELETE removes another's")
	}
	return u, err
}

func (s *Service) createSecondFactor(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	body, err := rest.Decode[newSecondFactor](r)
	if err != nil {
		return rest.Reply{}, err
	}
	u, err := s.ownAccount(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	if err := wrong("password", "Is not your password", s.proveOwn(ctx, r, u, body)); err != nil {
		return rest.Reply{}, err
	}
	secret := make([]byte, secretBytes)
	rand.Read(secret) // never fails
	sealed, err := s.sealer.Seal(secret, factorContext(u.UUID))
	if err != nil {
		return rest.Reply{}, noFactorKey(err)
	}
	n, err := s.db.Exec(ctx, `INSERT INTO auth_second_factor (user_uuid, sealed, confirmed, used_step) VALUES ($1, $2, false, 0)
		ON CONFLICT (user_uuid) DO UPDATE SET sealed = excluded.sealed, used_step = 0 WHERE NOT auth_second_factor.confirmed`, u.UUID, sealed)
	switch {
	case store.IsConstraint(err, store.ForeignKey): // the user was deleted in the meantime
		return rest.Reply{}, unknownUser(u.UUID)
	case err == nil && n == 0:
		return rest.Reply{}, errInForce()
	case err != nil:
		return rest.Reply{}, err
	}
	text := base32.StdEncoding.EncodeToString(secret)
	uri := url.URL{Scheme: "otpauth", Host: "totp", Path: "/Ringfence:" + nameOf(u), RawQuery: url.Values{"secret": {text}, "issuer": {"Ringfence"}}.Encode()}
	return rest.Reply{Body: madeSecondFactor{text, uri.String()}}, nil
}

// proveOwn refuses, as errNoLogin does, a password that is not the user's. One that is not kept here is checked as at a login, by the backends.
func (s *Service) proveOwn(ctx context.Context, r *rest.Request, u *User, body newSecondFactor) error {
	if body.Password == "" {
		return errNoLogin()
	}
	k, err := credentialOf(ctx, s.db, u.UUID)
	if err != nil {
		return err
	}
	if k.Method == nativeMethod && k.PasswordHash != nil {
		return s.guessPassword(ctx, r, k, body.Password)
	}
	a := Attempt{Login: body.Login, Password: body.Password, TenantUUID: k.TenantUUID}
	if a.Login == "" {
		a.Login = nameOf(u)
	}
	return s.guardedLogin(ctx, a, s.clientNetwork(r.HTTP), func() error {
		id, _, err := s.logIn(ctx, a)
		if err == nil && id.UserUUID != u.UUID {
			err = errNoLogin()
		}
		return err
	})
}

// nameOf returns the name by which a user logs in: the username, or an address.
func nameOf(u *User) string {
	name := orEmpty(u.Username)
	if name == "" && len(u.Emails) > 0 {
		name = u.Emails[0].Address
	}
	return name
}

func errInForce() error {
	return apierr.New(apierr.Conflict, "A second factor is in force already: remove it before you make another").Of("users")
}

// wrong makes of the refusal of a guess one of a field: a request that has a good token is never 401, or clients would log out.
func wrong(field, message string, err error) error {
	if e := apierr.As(err); e != nil && e.Kind == apierr.Unauthorized {
		return apierr.InvalidField(field, "wrong", "%s", message)
	}
	return err
}

func (s *Service) changeSecondFactor(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	body, err := rest.Decode[changedSecondFactor](r)
	if err != nil {
		return rest.Reply{}, err
	}
	u, err := s.ownAccount(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	f, err := factorOf(ctx, s.db, u.UUID)
	if err == nil && f.Confirmed && body.Enabled {
		err = errInForce()
	}
	if err != nil {
		return rest.Reply{}, err
	}
	var now SecondFactor
	err = s.proveCode(ctx, r, f, body.OTP, func(ctx context.Context, tx store.Conn) error {
		if !body.Enabled {
			now = SecondFactor{}
			return firstError(dropFactor(ctx, tx, f.UserUUID), audit.Write(ctx, tx, r, f.entry(nil)))
		}
		now, err = confirmFactor(ctx, tx, r, f)
		return err
	})
	return rest.Reply{Body: now}, wrong("otp", "Is not a code that counts now: it is wrong, or it was used already", err)
}

// confirmFactor puts a second factor in force, and returns its recovery codes. It reads the user's sessions, for stillProved: of a login without
// the factor and a confirmation that run at once, one sees the other, or the database runs one of them again.
func confirmFactor(ctx context.Context, tx store.Conn, r *rest.Request, f factor) (SecondFactor, error) {
	if _, err := store.Get[int](ctx, tx, `SELECT count(*) FROM auth_token WHERE user_uuid = $1`, f.UserUUID); err != nil {
		return SecondFactor{}, err
	}
	n, err := tx.Exec(ctx, `UPDATE auth_second_factor SET confirmed = true WHERE user_uuid = $1 AND NOT confirmed`, f.UserUUID)
	if err == nil && n == 0 {
		err = errInForce()
	}
	if err != nil {
		return SecondFactor{}, err
	}
	now := SecondFactor{Enabled: true, RecoveryLeft: recoveryCodes}
	entry := f.entry(now)
	for range recoveryCodes {
		text := rand.Text()
		code := text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:16]
		d := recoveryDigest(f.UserUUID, code)
		if _, err := tx.Exec(ctx, `INSERT INTO auth_recovery_code (user_uuid, digest) VALUES ($1, $2)`, f.UserUUID, d[:]); err != nil {
			return SecondFactor{}, err
		}
		now.RecoveryCodes = append(now.RecoveryCodes, code)
	}
	return now, audit.Write(ctx, tx, r, entry)
}

func dropFactor(ctx context.Context, tx store.Conn, user string) error {
	_, err := tx.Exec(ctx, `DELETE FROM auth_second_factor WHERE user_uuid = $1`, user)
	return err
}

func (s *Service) deleteSecondFactor(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	u, err := s.users.Named(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	if u.UUID == r.Principal().UserUUID {
		return rest.Reply{}, apierr.New(apierr.Forbidden, "Your own second factor ends by a code: PUT it with enabled false; or ask somebody else to remove it")
	}
	return rest.Reply{}, s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := s.mayActOn(ctx, tx, r.Principal(), u.UUID); err != nil {
			return err
		}
		f, err := factorOf(ctx, tx, u.UUID)
		if err != nil {
			return err
		}
		return firstError(dropFactor(ctx, tx, u.UUID), audit.Write(ctx, tx, r, f.entry(nil)))
	})
}
