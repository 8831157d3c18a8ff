package authsvc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/authsvc/external"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
)

// Backend checks a login and its password, and says whose they are. Its methods are
// called from many requests at once. What else a backend does, it says by the interfaces below.
type Backend interface {
	// Name is one word of lower-case letters, digits, - and _, the same for ever: GET /backends lists it, and identities
	// are bound under it.
	Name() string
	// Authenticate returns whom the login and the password prove. An error that wraps [ErrRefused] is the backend's no. Any
	// other says why it could not be asked: it is logged, so it holds no password, and the next backend is tried. If none of
	// them lets the login in, the answer is 503 then, and not 401. One made by [Refuse] with another status than 401 ends the login with that answer.
	//
	// ctx ends after some seconds, and not when the client leaves. As many may ask at once for one tenant as there are places.
	//
	// A refusal must take as long for a login that it does not know as for a wrong password.
	Authenticate(ctx context.Context, a Attempt) (Identity, error)
}

// BackendMethod is a backend for users of another authentication_method than "native": "ldap" or "saml".
type BackendMethod interface {
	Method() string
}

// BackendRechecker is a backend that can say without a password whether somebody for whom it has vouched could still log in. It is
// asked when a refresh token is given out or used, for the users bound to an entry of it, and for all those of its Method if
// that is not "native". Refresh tokens of users whom no backend of their method is configured for are good for nothing.
type BackendRechecker interface {
	// Recheck returns nil, [ErrRefused] for somebody who is gone or closed there, [ErrNoRecheck] where it cannot say without
	// a password, or why it could not be asked. The identity has the user, and what the user was bound by.
	Recheck(ctx context.Context, id Identity) error
}

// ErrNoRecheck is a backend's answer that it can never say anything without a password, as it is configured.
var ErrNoRecheck = errors.New("the backend answers nothing without a password")

// Attempt is what somebody who logs in has sent.
type Attempt struct {
	Login, Password string
	// TenantUUID is the tenant that the request names by domain_name or tenant_id; empty when it names none that exists.
	TenantUUID string
}

// String and GoString keep what was typed out of logs: people type passwords into either field.
func (Attempt) String() string { return "a login attempt" }

// GoString is String.
func (a Attempt) GoString() string { return a.String() }

// Identity is whom a backend vouches for: a user, or an entry of its own that a user is to be found for.
type Identity struct {
	// UserUUID is the user, for a backend that knows. Otherwise the user is found by the rest.
	UserUUID string
	// TenantUUID is whose directory has the entry: the user is one of that tenant. Empty: of any.
	TenantUUID string
	// ID is what the entry is called for ever. The first login binds the user to it, and from then on it alone says who
	// logs in, whatever addresses the entry has. Without one, each login goes by Logins.
	ID string
	// Logins are usernames and addresses. Of an entry that is bound to nobody, the user is the one that has any of
	// them, an address confirmed; several users are none.
	Logins []string
}

// ErrRefused is a backend's no to a login and a password. What wraps it may have the reason, which is for the log and
// never for the client.
var ErrRefused = errors.New("login refused")

// Refuse is a refusal with this status (429, 503...) and a sentence for the client. cause, which may be nil, is for the log alone.
func Refuse(status int, cause error, format string, args ...any) error {
	return external.Refuse(status, cause, format, args...)
}

func refusedFor(reason string) error { return fmt.Errorf("%w: %s", ErrRefused, reason) }

// UseBackends says which backends are tried, in order. It takes effect at once, for all that share the service; logins that
// are under way go on with the list that they began with.
func (s *Service) UseBackends(list []Backend) { s.backends.Store(&list) }

// backendNames are the backends in the order in which they are tried.
func (s *Service) backendNames() []string {
	names := []string{}
	for _, b := range *s.backends.Load() {
		names = append(names, b.Name())
	}
	return names
}

// DefaultBackends are tried where nobody says otherwise: database, then ldap, which asks nobody for tenants without a
// directory. In this order a local user's right password never gets to a tenant's directory. Which comes first changes no
// answer: a user's authentication_method is that of one of them.
func (s *Service) DefaultBackends() []Backend {
	return []Backend{s.DatabaseBackend(), s.LDAPBackend(nil)}
}

// DatabaseBackend checks the passwords that the service itself keeps.
func (s *Service) DatabaseBackend() Backend { return databaseBackend{s} }

type databaseBackend struct{ s *Service }

// databaseName is the name of the backend whose places are those of the hashes.
const databaseName = "database"

func (databaseBackend) Name() string { return databaseName }

func (b databaseBackend) Authenticate(ctx context.Context, a Attempt) (Identity, error) {
	leave, err := b.s.hasher.Enter()
	if err != nil {
		return Identity{}, err
	}
	defer leave()
	user, err := b.s.authenticate(ctx, credentials{a.Login, a.Password})
	return Identity{UserUUID: user}, err
}

// logIn returns the UUID of the user whom the first of the backends vouches for, and that backend's name. All of them are tried before the one
// answer to every failure, so that the time tells no more than the answer does. That is 401 when all have refused, and 503 when any
// could not be asked, whatever the others have said: it might have let the login in.
func (s *Service) logIn(ctx context.Context, a Attempt) (user, backend string, err error) {
	looked := false
	var undecided error
	for _, b := range *s.backends.Load() {
		user, err := s.vouched(ctx, b, a)
		e := apierr.As(err)
		refused := errors.Is(err, ErrRefused) || (e != nil && e.Kind == apierr.Unauthorized)
		switch {
		case err == nil:
			return user, b.Name(), nil
		case refused:
			looked = true
			if s.config.debug.Load() {
				slog.InfoContext(ctx, "a backend refused a login", "backend", b.Name(), "tenant_uuid", a.TenantUUID, "error", err)
			}
		case e != nil, errors.Is(err, store.ErrUnavailable), errors.Is(err, errLeft):
			if looked {
				s.leaveUndecided(ctx, a)
			}
			return "", "", err
		default:
			undecided = err
			slog.WarnContext(ctx, "a backend could not be asked", "backend", b.Name(), "tenant_uuid", a.TenantUUID, "error", err)
		}
		if ctx.Err() != nil { // nobody waits for what the next one says
			break
		}
	}
	switch {
	case undecided != nil:
		if looked {
			s.leaveUndecided(ctx, a)
		}
		return "", "", errUndecided(undecided)
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	}
	return "", "", errNoLogin()
}

// errLeft says that the client has gone before the end.
var errLeft = errors.New("the client has left")

// vouched returns the UUID of the user whom a backend vouches for.
func (s *Service) vouched(ctx context.Context, b Backend, a Attempt) (string, error) {
	vouch := func(ctx context.Context) (string, error) {
		id, err := b.Authenticate(ctx, a)
		if err != nil {
			return "", err
		}
		return s.userOf(ctx, b, id)
	}
	if b.Name() == databaseName {
		user, err := vouch(ctx)
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", errLeft, err)
		}
		return user, err
	}
	return ask(ctx, &s.places, b, a.TenantUUID, vouch)
}

// namedTenant is the tenant that the login names, or "" when there is no such tenant: that is no answer of its own.
func (s *Service) namedTenant(ctx context.Context, req *tokenRequest) (string, error) {
	var sql, arg string
	switch {
	case req.DomainName != "":
		sql, arg = `SELECT tenant_uuid FROM auth_tenant_domain WHERE name = $1`, strings.ToLower(req.DomainName)
	case req.TenantID == "":
		return "", nil
	case isUUID(req.TenantID):
		sql, arg = `SELECT uuid FROM auth_tenant WHERE uuid = $1`, strings.ToLower(req.TenantID)
	default:
		sql, arg = `SELECT uuid FROM auth_tenant WHERE slug = $1`, req.TenantID
	}
	found, err := store.Get[string](ctx, s.db, sql, arg)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return found, err
}

func isUUID(text string) bool {
	_, err := uuid.Parse(text)
	return err == nil && len(text) == 36
}

const nativeMethod = "native"

// methodOfBackend is the authentication_method of a backend's users.
func methodOfBackend(b Backend) string {
	if m, ok := b.(BackendMethod); ok {
		return m.Method()
	}
	return nativeMethod
}

// methodOf is a user u's own method, where t is the tenant.
const methodOf = `CASE u.authentication_method WHEN 'default' THEN t.default_authentication_method ELSE u.authentication_method END`

// userOf finds the user of an identity, and binds the two. The user must be enabled, and one whom a backend of this
// method may vouch for.
func (s *Service) userOf(ctx context.Context, b Backend, id Identity) (user string, err error) {
	if id.UserUUID != "" && !isUUID(id.UserUUID) {
		return "", errors.New("the backend answered what is no UUID of a user")
	}
	method := methodOfBackend(b)
	if id.UserUUID != "" {
		user = strings.ToLower(id.UserUUID)
		return user, s.mayEnter(ctx, s.db, user, method, b.Name())
	}
	err = s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		user, err = boundUser(ctx, tx, b.Name(), id)
		if err != nil || user != "" {
			return firstError(err, s.mayEnter(ctx, tx, user, method, b.Name()))
		}
		var by []voucher
		if user, by, err = namedUser(ctx, tx, b.Name(), id); err != nil {
			return err
		}
		if err := bind(ctx, tx, b.Name(), id, user, by); err != nil {
			return err
		}
		return s.mayEnter(ctx, tx, user, method, b.Name())
	})
	return user, err
}

// mayEnter refuses a user who may not log in, or not by a way that somebody has set up who holds less than the user.
func (s *Service) mayEnter(ctx context.Context, c store.Conn, user, method, backend string) error {
	if err := mayLogIn(ctx, c, user, method); err != nil {
		return err
	}
	ok, err := s.entryStands(ctx, c, user, backend)
	if err == nil && !ok {
		err = refusedFor("who set up the user's way in does not hold all that the user holds")
	}
	return err
}

// bind has the entry be the user from now on, if it has an ID, and keeps who vouches for the name by which the user was found.
func bind(ctx context.Context, tx store.Conn, backend string, id Identity, user string, by []voucher) error {
	if err := vouch(ctx, tx, user, vouchIdentity(backend), by); err != nil || id.ID == "" {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO auth_identity (backend, realm, external_id, user_uuid) VALUES ($1, $2, $3, $4)`,
		backend, id.TenantUUID, id.ID, user)
	return err
}

// mayLogIn refuses a user who is disabled, gone, or of another method.
func mayLogIn(ctx context.Context, c store.Conn, user, method string) error {
	n, err := store.Get[int](ctx, c, `
		SELECT count(*) FROM auth_user u JOIN auth_tenant t ON t.uuid = u.tenant_uuid
		WHERE u.uuid = $1 AND u.enabled AND `+methodOf+` = $2`, user, method)
	if err == nil && n == 0 {
		err = refusedFor("the user is disabled, or has another authentication_method")
	}
	return err
}

// boundUser is the user whom an earlier login has bound to the entry, or "".
func boundUser(ctx context.Context, c store.Conn, backend string, id Identity) (string, error) {
	if id.ID == "" {
		return "", nil
	}
	user, err := store.Get[string](ctx, c, `SELECT user_uuid FROM auth_identity WHERE backend = $1 AND realm = $2 AND external_id = $3`,
		backend, id.TenantUUID, id.ID)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return user, err
}

// namedUser is the one user who has any of the logins, and is not bound to another entry, with those who vouch for the logins.
func namedUser(ctx context.Context, c store.Conn, backend string, id Identity) (string, []voucher, error) {
	type named struct {
		UserUUID   string  `db:"uuid"`
		TenantUUID string  `db:"tenant_uuid"`
		EmailUUID  *string `db:"email_uuid"`
		Bound      bool    `db:"bound"`
	}
	var found named
	var subjects []string
	for _, login := range id.Logins {
		key, ok := canonical(login)
		if !ok {
			continue
		}
		u, err := store.Get[named](ctx, c, `
			SELECT u.uuid, u.tenant_uuid, l.email_uuid, EXISTS (SELECT 1 FROM auth_identity i WHERE i.user_uuid = u.uuid AND i.backend = $2) AS bound
			FROM auth_login l
			JOIN auth_user u ON u.uuid = l.user_uuid
			LEFT JOIN auth_email e ON e.uuid = l.email_uuid
			WHERE l.login = $1 AND (l.email_uuid IS NULL OR e.confirmed)`, key, backend)
		switch {
		case errors.Is(err, store.ErrNotFound), err == nil && id.TenantUUID != "" && u.TenantUUID != id.TenantUUID:
			continue
		case err != nil:
			return "", nil, err
		case found.UserUUID != "" && found.UserUUID != u.UserUUID:
			return "", nil, refusedFor("several users have an address of the entry")
		}
		found = u
		if u.EmailUUID != nil {
			subjects = append(subjects, vouchEmail(*u.EmailUUID))
		} else {
			subjects = append(subjects, vouchUsername)
		}
	}
	switch {
	case found.UserUUID == "":
		return "", nil, refusedFor("no user has an address of the entry")
	case found.Bound:
		return "", nil, refusedFor("the user is bound to another entry")
	}
	by, err := vouchersOf(ctx, c, found.UserUUID, subjects...)
	return found.UserUUID, by, err
}
