package authsvc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/authsvc/external"
	"github.com/ringfence/ringfence/authsvc/throttle"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
)

// Backend checks a login and its password, and says to whom they belong. Its methods are called concurrently. A backend with more
// abilities implements the interfaces below.
type Backend interface {
	// Name is one word of lower-case letters, digits, - and _. It never changes: GET /backends lists it, and identities are bound
	// under it.
	Name() string
	// Authenticate returns the identity that the login and the password prove. An error that wraps [ErrRefused] is a refusal. Any
	// other error says why the backend could not be asked. It is logged, so it must hold no password, and the next backend is
	// tried; if none of them lets the login in, the response is 503 instead of 401. An error made by [Refuse] with another status
	// than 401 ends the login with that response.
	//
	// ctx ends after some seconds, and does not end when the client leaves. The number of concurrent calls for one tenant is
	// limited.
	//
	// Refusing an unknown login must take as long as refusing a wrong password.
	Authenticate(ctx context.Context, a Attempt) (Identity, error)
}

// BackendMethod is a backend for users of another authentication_method than "native": "ldap" or "saml".
type BackendMethod interface {
	Method() string
}

// BackendRechecker is a backend that can say, without a password, whether a user whom it has authenticated could still log in. It
// is asked when a refresh token is issued or used: for the users bound to one of its entries, and, if its Method is not "native",
// for all users of that method. A refresh token is useless if no backend is configured for its user's method.
type BackendRechecker interface {
	// Recheck returns nil, [ErrRefused] if the user's entry is gone or closed, [ErrNoRecheck] if the backend cannot say without a
	// password, or an error that says why it could not be asked. The identity names the user and the entry that the user is bound
	// to.
	Recheck(ctx context.Context, id Identity) error
}

// ErrNoRecheck says that the backend, as configured, can say nothing without a password.
var ErrNoRecheck = errors.New("the backend cannot be asked without a password")

// Attempt is what a client sends to log in.
type Attempt struct {
	Login, Password string
	// TenantUUID is the tenant that the request names by domain_name or tenant_id; empty if it names none that exists.
	TenantUUID string
}

// String and GoString keep both fields out of logs: people type passwords into either.
func (Attempt) String() string { return "a login attempt" }

// GoString returns the same as String.
func (a Attempt) GoString() string { return a.String() }

// Identity is the identity that a backend has verified: a user, or a directory entry whose user is still to be found.
type Identity struct {
	// UserUUID is the user, if the backend knows. Otherwise the other fields find the user.
	UserUUID string
	// TenantUUID is the tenant whose directory has the entry: the user must belong to that tenant. Empty: to any tenant.
	TenantUUID string
	// ID identifies the entry for ever. The first login binds the user to it; from then on the ID alone decides which user logs
	// in, whatever addresses the entry has. Without an ID, each login uses Logins.
	ID string
	// Logins are usernames and addresses. If no user is bound to the entry, the user is the one who has any of them (an address
	// must be confirmed). If several users do, none of them logs in.
	Logins []string

	// hash is what the database backend verified the password against, and rehashed what it may have replaced that with. A token is
	// issued only while the user has one of them. Empty: another backend checked.
	hash, rehashed string
	// by vouch for the directory that has verified the identity, as it was when it was asked; once the user is found, for all on
	// which this login stands, unless that is the password.
	by []voucher
}

// ErrRefused is a backend's refusal of a login and a password. An error that wraps it may hold the reason, which is for the log
// and never for the client.
var ErrRefused = errors.New("login refused")

// Refuse returns a refusal with this status (429, 503...) and a sentence for the client. cause, which may be nil, is only logged.
func Refuse(status int, cause error, format string, args ...any) error {
	return external.Refuse(status, cause, format, args...)
}

func refusedFor(reason string) error { return fmt.Errorf("%w: %s", ErrRefused, reason) }

// UseBackends sets the backends, in the order in which they are tried. It takes effect at once, for everybody who shares the
// service; logins in progress keep the list that they began with.
func (s *Service) UseBackends(list []Backend) { s.backends.Store(&list) }

// backendNames returns the backends' names, in the order in which they are tried.
func (s *Service) backendNames() []string {
	names := []string{}
	for _, b := range *s.backends.Load() {
		names = append(names, b.Name())
	}
	return names
}

// DefaultBackends returns the default backends: database, then ldap, which contacts nobody for tenants without a directory. In
// this order a local user's correct password never reaches a tenant's directory. The order changes no response: a user's
// authentication_method is that of only one of them.
func (s *Service) DefaultBackends() []Backend {
	return []Backend{s.DatabaseBackend(), s.LDAPBackend(nil)}
}

// DatabaseBackend returns the backend that checks the passwords in the service's own database.
func (s *Service) DatabaseBackend() Backend { return databaseBackend{s} }

type databaseBackend struct{ s *Service }

// databaseName is the name of the backend that hashes, and so uses the places of the hasher.
const databaseName = "database"

func (databaseBackend) Name() string { return databaseName }

func (b databaseBackend) Authenticate(ctx context.Context, a Attempt) (Identity, error) {
	leave, err := b.s.hasher.Enter()
	if err != nil {
		return Identity{}, err
	}
	defer leave()
	return b.s.authenticate(ctx, credentials{a.Login, a.Password})
}

// logIn returns the user whom the first of the backends authenticates, and that backend's name. It tries all backends
// before it fails, so that the time reveals no more than the response. It fails with 401 if all have refused, and with 503 if any
// could not be asked, since that one might have let the login in.
func (s *Service) logIn(ctx context.Context, a Attempt) (user Identity, backend string, err error) {
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
			return Identity{}, "", err
		default:
			undecided = err
			slog.WarnContext(ctx, "a backend could not be asked", "backend", b.Name(), "tenant_uuid", a.TenantUUID, "error", err)
		}
		if ctx.Err() != nil { // the client is gone, so do not ask the next backend
			break
		}
	}
	switch {
	case undecided != nil:
		if looked {
			s.leaveUndecided(ctx, a)
		}
		return Identity{}, "", errUndecided(undecided)
	case ctx.Err() != nil:
		return Identity{}, "", ctx.Err()
	}
	return Identity{}, "", errNoLogin()
}

// errLeft says that the client left before the login was decided.
var errLeft = errors.New("the client has left")

// vouched returns the identity that a backend authenticates, with the UUID of its user.
func (s *Service) vouched(ctx context.Context, b Backend, a Attempt) (Identity, error) {
	vouch := func(ctx context.Context) (Identity, error) {
		id, err := b.Authenticate(ctx, a)
		if err == nil {
			id.UserUUID, id.by, err = s.userOf(ctx, b, id)
		}
		return id, err
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

// namedTenant returns the tenant that the login names, or "" if there is no such tenant, which must not show in the response.
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
	return found, missing(err, nil)
}

func isUUID(text string) bool {
	_, err := uuid.Parse(text)
	return err == nil && len(text) == 36
}

const nativeMethod = "native"

// methodOfBackend returns the authentication_method of a backend's users.
func methodOfBackend(b Backend) string {
	if m, ok := b.(BackendMethod); ok {
		return m.Method()
	}
	return nativeMethod
}

// backendsOf returns the names of the backends of a method whose users are bound to entries.
func (s *Service) backendsOf(method string) []string {
	var names []string
	if method == ldapName { // a directory's, also while it is not configured
		names = append(names, ldapName)
	}
	for _, b := range *s.backends.Load() {
		if name := b.Name(); methodOfBackend(b) == method && name != databaseName && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// methodOf is the SQL for the method of a user u in tenant t.
const methodOf = `CASE u.authentication_method WHEN 'default' THEN t.default_authentication_method ELSE u.authentication_method END`

// userOf finds the user of an identity, and binds the two. The user must be enabled, and of the backend's method. by vouch for the
// way in.
func (s *Service) userOf(ctx context.Context, b Backend, id Identity) (user string, by []voucher, err error) {
	if id.UserUUID != "" && !isUUID(id.UserUUID) {
		return "", nil, errors.New("the backend returned an invalid user UUID")
	}
	method := methodOfBackend(b)
	if b.Name() == databaseName { // its users are not bound to entries
		user = strings.ToLower(id.UserUUID)
		return user, nil, s.mayEnter(ctx, s.db, user, method, b.Name())
	}
	err = s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) (err error) {
		var names []voucher
		if user, names, err = entryUser(ctx, tx, b.Name(), id); err != nil {
			return err
		}
		if by, err = vouchForEntry(ctx, tx, user, b.Name(), slices.Concat(names, id.by)); err != nil {
			return err
		}
		return s.mayEnter(ctx, tx, user, method, b.Name())
	})
	return user, by, err
}

// entryUser returns the user of an identity: the one whom the backend names, or who is bound to the entry, or who has a name of the
// entry and is now bound to it. names vouch for that name.
func entryUser(ctx context.Context, tx store.Conn, backend string, id Identity) (user string, names []voucher, err error) {
	if id.UserUUID != "" {
		return strings.ToLower(id.UserUUID), nil, nil
	}
	if user, err = boundUser(ctx, tx, backend, id); err != nil || user != "" {
		return user, nil, err
	}
	if user, names, err = namedUser(ctx, tx, backend, id); err != nil || id.ID == "" {
		return user, names, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO auth_identity (backend, realm, external_id, user_uuid) VALUES ($1, $2, $3, $4)`,
		backend, id.TenantUUID, id.ID, user)
	return user, names, err
}

// mayEnter refuses a user who is disabled, gone, or of another method, or whose way in was set up by somebody who holds less than the user.
func (s *Service) mayEnter(ctx context.Context, c store.Conn, user, method, backend string) error {
	k, err := credentialOf(ctx, c, user)
	switch {
	case notFound(err), err == nil && (!k.Enabled || k.Method != method):
		return refusedFor("the user is disabled, or has another authentication_method")
	case err != nil:
		return err
	}
	ok, err := s.entryStands(ctx, c, user, backend)
	if err == nil && !ok {
		err = refusedFor("the user's way to log in was set up by somebody who does not hold all that the user holds")
	}
	return err
}

// boundUser returns the user whom an earlier login has bound to the entry, or "".
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

// namedUser returns the one user who has any of the logins and is not bound to another entry, with those who vouch for the
// logins.
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
		key, ok := Canonical(login)
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

// Backends may hang. Each has its own places for each tenant, separate from those for hashing, so that a backend that hangs for a
// tenant holds up only the logins that use it.

const (
	// placesOfBackend is how many logins of one tenant may ask a backend at once.
	placesOfBackend = 32
	// backendTimeout is how long to wait for a backend.
	backendTimeout = 10 * time.Second
	// askAgain is how long a client should wait after a backend could not be asked.
	askAgain = 10 * time.Second
)

var (
	errFull    = errors.New("too many logins of this tenant are asking it")
	errTooLate = fmt.Errorf("it did not answer within %s", backendTimeout)
)

// places counts the places in use. The zero value is ready.
type places struct {
	mu    sync.Mutex
	taken map[string]int
}

// enter takes one of a key's places without waiting. leave gives it back.
func (p *places) enter(key string) (leave func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[key] >= placesOfBackend {
		return nil, false
	}
	if p.taken == nil {
		p.taken = map[string]int{}
	}
	p.taken[key]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.taken[key]--; p.taken[key] == 0 {
			delete(p.taken, key)
		}
	}, true
}

// ask puts a question to a backend, on behalf of a tenant. It does not stop when the client leaves, because the result decides
// how the attempt is counted. A question that takes too long is abandoned, and keeps its place until it ends.
func ask[T any](ctx context.Context, p *places, b Backend, tenantUUID string, question func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	leave, ok := p.enter(b.Name() + " " + tenantUUID)
	if !ok {
		return none, errFull
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), backendTimeout)
	defer cancel()
	answered := make(chan answer, 1)
	go func() {
		defer leave()
		defer func() {
			if r := recover(); r != nil { // no handler is above to recover, so the process would end
				answered <- answer{err: fmt.Errorf("it panicked: %v", r)}
			}
		}()
		value, err := question(ctx)
		answered <- answer{value, err}
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		return none, errTooLate
	}
}

// errUndecided says that the login cannot be decided: one backend might have let it in, and could not be asked. The response does
// not depend on what the other backends said, so that it reveals to nobody which of them knows the login.
func errUndecided(cause error) error {
	return &apierr.Error{
		Kind: apierr.Unavailable, ID: "backend-unavailable", RetryAfter: askAgain, Err: cause,
		Message: "The login cannot be checked now; try again shortly",
	}
}

// undecidedGuesses limits the undecided logins of one name by one tenant's backends. They do not count as wrong guesses, although
// other backends have checked the password. Without a limit, the owner of a directory that never responds could try any number of
// passwords on the other backends.
var undecidedGuesses = throttle.Rate{Burst: 100, Every: time.Minute}

func undecidedKey(a Attempt) throttle.Key {
	name, ok := Canonical(a.Login)
	if !ok {
		name = a.Login
	}
	return throttle.KeyOf("undecided at "+a.TenantUUID, name)
}

// mayStayUndecided refuses, with errUndecided, a login that was left undecided too often. No backend checks its password.
func (s *Service) mayStayUndecided(ctx context.Context, a Attempt) error {
	err := s.throttle.Left(ctx, undecidedKey(a), undecidedGuesses)
	if e := apierr.As(err); e != nil && e.Kind == apierr.TooMany {
		return errUndecided(nil)
	}
	return err
}

// leaveUndecided counts a login that some backends have refused and others could not decide. It runs before the guess is taken
// back (throttle.Attempt.Try): a node that dies in between has counted too much, never too little.
func (s *Service) leaveUndecided(ctx context.Context, a Attempt) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), backendTimeout)
	defer cancel()
	if err := s.throttle.Spend(ctx, undecidedKey(a), undecidedGuesses); err != nil && apierr.As(err) == nil {
		slog.WarnContext(ctx, "a login that could not be decided was not counted", "error", err)
	}
}

// A refresh token stands for a password that was proved long ago. If a directory checked that password, it is asked on each use
// whether the user could still log in. Tokens issued earlier stay valid until they expire: anything sooner would take a question
// per request.

// mayRefresh returns nil if the backends would still let a refresh token's user log in.
func (s *Service) mayRefresh(ctx context.Context, user string) error {
	return refreshRefusal(ctx, user, s.recheck(ctx, user))
}

// mayGoOffline refuses a refresh token to a user who has just logged in, if the token would be useless.
func (s *Service) mayGoOffline(ctx context.Context, user string) error {
	err := s.recheck(ctx, user)
	if errors.Is(err, ErrNoRecheck) {
		e := apierr.New(apierr.NotImplemented, "Refresh tokens need a directory that can be asked without the password: "+
			"set bind_dn and bind_password of the tenant's; or ask for access_type online")
		e.Err = err
		return e
	}
	return refreshRefusal(ctx, user, err)
}

// refreshRefusal returns what the client is told of the result of recheck.
func refreshRefusal(ctx context.Context, user string, err error) error {
	e := apierr.As(err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrRefused), errors.Is(err, ErrNoRecheck):
		slog.InfoContext(ctx, "a refresh token was refused", "user_uuid", user, "error", err)
		return errNoLogin()
	case e != nil, errors.Is(err, store.ErrUnavailable), ctx.Err() != nil:
		return err
	default:
		return &apierr.Error{
			Kind: apierr.Unavailable, ID: "backend-unavailable", RetryAfter: askAgain, Err: err,
			Message: "Whether the user may still log in cannot be checked now; try again shortly",
		}
	}
}

// recheck asks the backends of a user's method about the user.
func (s *Service) recheck(ctx context.Context, user string) error {
	u, err := credentialOf(ctx, s.db, user)
	switch {
	case notFound(err), err == nil && !u.Enabled:
		return refusedFor("the user is disabled or gone")
	case err != nil:
		return err
	}
	anybody := false
	for _, b := range *s.backends.Load() {
		if methodOfBackend(b) != u.Method {
			continue
		}
		anybody = true
		asked, ok := b.(BackendRechecker)
		if !ok {
			continue
		}
		id, err := s.identityOf(ctx, b.Name(), user)
		if err != nil {
			return err
		}
		if id.ID == "" && u.Method == nativeMethod {
			continue // of another backend, or of the database itself
		}
		if id.ID == "" {
			id.TenantUUID = u.TenantUUID
		}
		if _, err := ask(ctx, &s.places, b, u.TenantUUID, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, asked.Recheck(ctx, id)
		}); err != nil {
			return err
		}
	}
	if !anybody {
		return refusedFor("no backend is configured for the user's authentication_method")
	}
	return nil
}

// identityOf returns a user as a backend knows them: the entry that the user is bound to, if any, and the user's logins.
func (s *Service) identityOf(ctx context.Context, backend, user string) (Identity, error) {
	type bound struct {
		Realm string `db:"realm"`
		ID    string `db:"external_id"`
	}
	b, err := store.Get[bound](ctx, s.db, `SELECT realm, external_id FROM auth_identity WHERE backend = $1 AND user_uuid = $2`, backend, user)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Identity{}, err
	}
	logins, err := store.Select[string](ctx, s.db, `SELECT l.login FROM auth_login l LEFT JOIN auth_email e ON e.uuid = l.email_uuid
		WHERE l.user_uuid = $1 AND (l.email_uuid IS NULL OR e.confirmed) ORDER BY l.login`, user)
	return Identity{UserUUID: user, TenantUUID: b.Realm, ID: b.ID, Logins: logins}, err
}
