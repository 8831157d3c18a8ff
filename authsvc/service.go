package authsvc

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/authsvc/external"
	"github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/authsvc/throttle"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

// prefix is the path at which the gate serves the service.
const prefix = "/api/auth/0.1"

// MaxPassword is the longest password, in bytes.
const MaxPassword = password.Max

// Sealer encrypts what must be decrypted again, bound to the place where it is kept; *sealed.Box implements it.
type Sealer = external.Sealer

// Options configure the service.
type Options struct {
	DB store.DB
	// Sealer encrypts refresh tokens and external credentials at rest. Nil: there is no key, and what needs one is refused.
	Sealer Sealer
	// Settings are the settings at the start; UseSettings changes them.
	Settings Settings
	// ClientIP returns the address of a request's client, which limits and tokens record. Default: the peer's.
	ClientIP func(*http.Request) string
	// External are the plugins that link users to external services.
	External []external.Plugin
	// PublicURL is the address at which browsers reach the gateway: https://pbx.example.com. External services send users back
	// there. external.CheckPublicURL says which values are allowed; without one no user can be sent to an external service.
	PublicURL string
	// TenantChanged is called after a tenant of this server was made, changed, moved or removed. It must not block. Nil: nobody wants
	// to know. Tenants of another auth server come and move with the requests that act in them (tenant.Follow), without this call:
	// they have nothing here but what those requests make.
	TenantChanged func()
	// Contents is what another service has for tenants. Nil: there is none.
	Contents Contents
	// People returns the telephone users of some numbers and UUIDs, for denials (principal.Elsewhere). Nil: there are none.
	People func(ctx context.Context, c store.Conn, names []string) ([]principal.Person, error)
}

// Service is the authentication service on one database. It is safe for concurrent use.
type Service struct {
	db       store.DB
	hasher   *password.Hasher
	throttle *throttle.Throttle
	sealer   Sealer
	cache    atomic.Pointer[tokens.Cache]
	acls     *tokens.ACLs
	live     tokens.Batches[foundToken]
	// audited are the services whose changes are in the audit.
	audited []audited
	// tenantChanged is that of the options, never nil.
	tenantChanged func()
	contents      Contents // nil: there are none
	people        func(ctx context.Context, c store.Conn, names []string) ([]principal.Person, error)
	// requirements returns what the gates require.
	requirements atomic.Pointer[Requirements]
	node         atomic.Pointer[func() Node]
	recent       recent
	server       atomic.Pointer[string] // this installation's UUID
	rest         *rest.Service
	engine       *crud.Engine
	users        *crud.Collection[User]
	groups       *crud.Collection[Group]
	policies     *crud.Collection[Policy]
	tenants      *crud.Collection[Tenant]
	directories  *crud.Documents[LDAPConfig]
	base         rest.Service // without external authentication
	described    atomic.Pointer[withoutPlugins]
	// external is the base of the plugins for external services.
	external *external.Host
	backends atomic.Pointer[[]Backend]
	places   places // at the backends
	// secrets limits the rate of look-ups of refresh tokens and of tokens in mails.
	secrets *tokens.Ration
	// directoryTimeout is how long a question to a directory may take, and how long one that fails takes.
	directoryTimeout time.Duration
	config           nodeConfig
	settings         atomic.Pointer[Settings]
	clientIP         func(*http.Request) string
	background       *background
	kept             keptCredentials
}

// secretsPerSecond is how many unknown refresh tokens and tokens in mails are looked up per second. More are refused with 429,
// first those from the addresses that send them.
const secretsPerSecond = 200

// New describes the service. Call Bootstrap afterwards, once the schema exists, and UseCache.
func New(o Options) (*Service, error) {
	h, err := password.NewHasher(o.Settings.Passwords)
	if err != nil {
		return nil, err
	}
	s := &Service{
		db: o.DB, hasher: h, throttle: throttle.New(o.DB), sealer: o.Sealer, acls: new(tokens.ACLs), clientIP: o.ClientIP,
		background: newBackground(), directoryTimeout: ldap.Timeout, secrets: tokens.NewRation(secretsPerSecond),
		tenantChanged: o.TenantChanged, contents: o.Contents, people: o.People,
	}
	s.live.Ask = s.findLive
	if s.sealer == nil {
		s.sealer = sealed.New(sealed.Options{})
	}
	if s.people == nil {
		s.people = func(context.Context, store.Conn, []string) ([]principal.Person, error) { return nil, nil }
	}
	if s.tenantChanged == nil {
		s.tenantChanged = func() {}
	}
	if err := s.UseSettings(o.Settings); err != nil {
		return nil, err
	}
	s.UseBackends(s.DefaultBackends())
	s.rest = &rest.Service{
		Name: "auth", Version: "0.1", Prefix: prefix,
		Title:       "Ringfence authentication",
		Description: "Users, policies and tokens. Get a token with `POST /token`, and send it in `X-Auth-Token`.",
		Examples:    examples,
		Docs:        docs,
		Helps:       helps,
		Tags:        tags,
		Columns:     map[string][]string{},
		Words:       words,
		Errors:      rest.AuthErrors,
	}
	s.declare()
	others := slices.Concat(
		s.tokenOperations(), s.policyAccessOperations(), s.passwordOperations(), s.secondFactorOperations(), s.emailOperations(), s.mailOperations(),
		s.registerOperations(), s.tenantOperations(), s.explainOperations(), s.statusOperations(), s.overviewOperations(), s.idpOperations(),
		s.configOperations(), samlOperations(),
	)
	s.engine.PathFirst(others)
	s.rest.Picture = s.engine.Picture
	s.engine.Describe(s.rest)
	s.rest.Operations = slices.Concat(s.engine.Operations(), others)
	if err := s.addExternal(o); err != nil {
		return nil, err
	}
	if err := s.rest.Mount(); err != nil {
		return nil, err
	}
	s.Audits(s.rest)
	return s, nil
}

// declare describes the service's collections, and their links.
func (s *Service) declare() {
	e := crud.New(crud.Base{
		Service: "auth", Prefix: prefix, DB: s.db, Words: words,
		Style: crud.Style{Filtered: true, CreateStatus: http.StatusOK, UpdateReply: true, SearchWords: true, Duplicate: apierr.Conflict},
	})
	s.engine = e
	s.declareUsers(e)
	s.declarePolicies(e)
	s.declareUserPolicies(e)
	s.declareSessions(e)
	s.declareRefreshTokens(e)
	s.declareGroups(e)
	s.declareTenants(e)
	s.declareAudit(e)
	s.declareDirectories(e)
	s.external = external.NewHost(e, s.sealer, externalRights{s})
}

// REST returns the service as the router, the gate and the definition see it.
func (s *Service) REST() *rest.Service { return s.rest }

// UseCache sets the cache that must forget what the service revokes.
func (s *Service) UseCache(c *tokens.Cache) { s.cache.Store(c) }

// Mend makes what is stored such as requests could have written, as far as schemas say that: see [crud.Engine.Mend]. Who may give what to whom is
// not asked: that was decided where the rows come from.
func Mend(ctx context.Context, db store.DB, tell func(m crud.Mended) error) error {
	s, err := New(Options{DB: db})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.engine.Mend(ctx, func(string) bool { return false }, tell)
}
