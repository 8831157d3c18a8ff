package gate

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/target"
	"github.com/ringfence/ringfence/internal/tenant"
	"github.com/ringfence/ringfence/internal/tokens"
)

// Tokens finds the principal of a token; *tokens.Cache implements it. It is safe for concurrent use.
type Tokens interface {
	// Principal returns the principal of the token now. The error is tokens.ErrUnknown or, for a text that cannot be a token,
	// tokens.ErrMalformed (both 401), or an *apierr.Error; any other error says nothing about the token (503).
	Principal(ctx context.Context, token string) (*principal.Principal, error)
	// Shape reports whether a text could be a token.
	Shape(text string) bool
}

// Observer counts the gate's decisions and the responses. It is safe for concurrent use.
type Observer interface {
	// Decided is called once for each request. The service is empty where no service was reached.
	// Both words are from small fixed sets: the services of the configuration; "allowed", "public",
	// "preflight", and the reasons for a denial.
	Decided(service, outcome string)
	// Answered is called once for each request, when its response begins: with the final status, and the time since the request
	// came to the gate.
	Answered(service string, status int, took time.Duration)
}

// Config configures a gate.
type Config struct {
	Routers []Router
	Tokens  Tokens
	// Origins are the origins whose pages may call the services from a browser: see CheckOrigins. Default: none.
	Origins []string
	// Observer may be nil.
	Observer Observer
	// ForwardToken passes the caller's token to upstreams, for those that check tokens themselves.
	ForwardToken bool
	// ForwardHeaders names headers of the client that go on beside those that every upstream gets. See CheckForwardHeaders.
	ForwardHeaders []string
	// Dropped, if set, is called with the names of the headers that do not go on.
	Dropped func(requestID string, names []string)
	// Identity names what upstreams are told of the caller: "user", "tenant", "session", "purpose". None is the first two.
	Identity []string
	// Tenant returns the tenant that a Wazo-Tenant header chooses for a principal, in the form in which an upstream is told, or
	// the reason for which the principal may not act in it. If it is nil, nobody may act in any tenant but their own.
	Tenant func(ctx context.Context, who *principal.Principal, lines []string) (string, error)
	// Within is asked instead of Tenant for the principals of another auth server: it reports whether that server has the tenant,
	// a UUID in lower case, as the token's own or below it. If it is nil, they may act in their own tenant only.
	Within func(ctx context.Context, token, tenant string) (bool, error)
	// Follow, if set, is called before a tenanted operation of one of our own services for a principal of another auth server. The
	// service then sees the tree of tenants as that server has it. within asks that server, for the principal's token.
	Follow func(ctx context.Context, who *principal.Principal, tenant string, within func(context.Context, string) (bool, error)) error
}

// Gate decides about requests. It is safe for concurrent use.
type Gate struct {
	config  Config // with the names of ForwardHeaders as net/http spells them
	routers []Router
	cors    cors
	watches watches
	told    [len(identities)]bool // which of the identities upstreams are told
}

// New makes a gate. The error is a mistake in the configuration.
func New(c Config) (*Gate, error) {
	routers, err := byPrefix(c.Routers)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(CheckOrigins(c.Origins), CheckIdentity(c.Identity), CheckForwardHeaders(c.ForwardHeaders)); err != nil {
		return nil, err
	}
	if c.Tokens == nil {
		return nil, errors.New("the gate has no source of tokens")
	}
	g := &Gate{config: c, routers: routers, cors: newCORS(c.Origins, c.ForwardHeaders), told: told(c.Identity)}
	g.config.ForwardHeaders = nil
	for _, name := range c.ForwardHeaders {
		g.config.ForwardHeaders = append(g.config.ForwardHeaders, http.CanonicalHeaderKey(name))
	}
	if g.config.Tenant == nil {
		g.config.Tenant = ownTenant
	}
	return g, nil
}

// Admission is a request that may go on.
type Admission struct {
	// Request is the request to pass on. Its URL and RequestURI are canonical, and its headers hold no identity that the gate did
	// not write; its X-Request-Id is also in the response. For our own service its context holds the principal and the
	// *rest.Match; for an upstream its X-Ringfence headers hold the identity.
	Request *http.Request
	// Writer is the response writer. For an upstream it drops the headers that the upstream may not send, and cuts off what
	// outlives the token: it closes a hijacked connection, and ends a stream.
	Writer http.ResponseWriter
	// Principal is nil on a public route.
	Principal *principal.Principal
	Need      Need

	answer   *measured
	upstream *upstreamWriter // Writer, for an upstream
}

// Finish is called once, when the handler has returned, or panics. A handler that has written nothing leaves an empty response with status
// 200 to the server, or fails: then failed is the status with which the caller responds in its place, otherwise 0.
func (a *Admission) Finish(failed int) {
	if a.upstream != nil {
		a.upstream.finish()
	}
	a.answer.tell(cmp.Or(failed, http.StatusOK))
}

// passage holds what one request needs, so that it costs one allocation.
type passage struct {
	gate     *Gate
	request  *http.Request
	need     Need
	who      *principal.Principal // nil on a public route
	own      bool                 // it goes to a service of ours
	token    string
	tenant   string // what Wazo-Tenant says, if it was sent to an upstream
	target   target.Target
	ids      [2]string // the request id, once for the request's header and once for the answer's
	identity [len(identities)]string
	answer   measured
	writer   upstreamWriter
	body     body
}

// Admit decides about a request that no other handler has changed. If it returns false, it has responded to the request itself.
// It changes r in place.
func (g *Gate) Admit(w http.ResponseWriter, r *http.Request) (Admission, bool) {
	upgrade, dropped := g.sanitise(r)
	p := new(passage)
	p.answer = measured{ResponseWriter: w, observer: g.config.Observer, came: time.Now()}
	w = &p.answer
	id := rest.RequestID(r.Header[rest.RequestIDHeader], g.config.Tokens.Shape)
	p.ids = [...]string{id, id} // not one slice for both: a handler may write into its header's values
	r.Header[rest.RequestIDHeader], w.Header()[rest.RequestIDHeader] = p.ids[0:1:1], p.ids[1:2:2]
	if len(dropped) > 0 {
		g.config.Dropped(id, dropped)
	}
	origin := g.cors.answer(w.Header(), r.Header)

	var err error
	if p.target, err = target.Parse(r.RequestURI); err != nil {
		g.refuse(w, r, Need{Errors: g.errorsBelow(r.RequestURI)}, malformed(err))
		return Admission{}, false
	}
	canonicalise(r, &p.target)
	if origin != "" && isPreflight(r) {
		g.observe("", "preflight")
		g.cors.preflight(w)
		return Admission{}, false
	}
	need, known := g.route(r.Method, &p.target)
	p.answer.service = need.Service
	who, denied := g.decide(r, &p.target, &need, known)
	if upgrade && denied == nil {
		denied = g.checkUpgrade(r)
	}
	if denied != nil {
		g.refuse(w, r, need, denied)
		return Admission{}, false
	}
	if who == nil {
		g.observe(need.Service, "public")
	} else {
		g.observe(need.Service, "allowed")
	}
	p.gate, p.request, p.need, p.who, p.own = g, r, need, who, need.Match != nil
	a := Admission{Request: r, Writer: w, Principal: who, Need: need, answer: &p.answer}
	if p.own {
		if who != nil {
			p.token = r.Header["X-Auth-Token"][0]
			p.takeBody()
		}
		a.Request = r.WithContext(serviceContext(r, who, need.Match))
		return a, true
	}
	p.token = g.withhold(r.Header, who) // before anything is added: beyond eight entries a map grows into another, dearer kind
	g.setIdentity(p, r.Header, who)
	if named := r.Header[tenant.Header]; len(named) == 1 {
		p.tenant = named[0]
	}
	u := &p.writer
	u.ResponseWriter, u.p, u.id, u.origin = w, p, id, origin
	if who != nil {
		if r.ProtoMajor > 1 || r.ContentLength < 0 || r.ContentLength > serverEnds {
			ctx, cancel := context.WithCancel(r.Context())
			p.request, u.cancel = r.WithContext(ctx), cancel
		}
		u.watch.writer, u.watch.latest = u, latest{who, p.answer.came}
		g.watches.add(&u.watch)
	}
	p.takeBody()
	a.Request, a.Writer, a.upstream = p.request, u, u
	return a, true
}

// takeBody has the token asked about again as the body comes.
func (p *passage) takeBody() {
	if r := p.request; r.Body != nil && r.Body != http.NoBody {
		p.body.ReadCloser, p.body.p, p.body.latest = r.Body, p, latest{p.who, p.answer.came}
		r.Body = &p.body
	}
}

func (g *Gate) route(method string, t *target.Target) (Need, bool) {
	for _, router := range g.routers {
		if need, ok := router.Route(method, t); ok {
			return need, true
		}
	}
	return Need{Errors: g.errorsBelow(t.Path())}, false
}

// errorsBelow returns the form of refusals for a target that leads to no service: that of our own service below whose path it is, whatever
// version it names and whatever is wrong with the rest. It is nil for all others.
func (g *Gate) errorsBelow(uri string) rest.ErrorForm {
	path, _, _ := strings.Cut(uri, "?")
	for _, router := range g.routers {
		own, ok := router.(inTree)
		if !ok {
			continue
		}
		if _, ok := below(strings.TrimSuffix(own.service.Prefix, "/"+own.service.Version), path); ok {
			return own.service.Errors
		}
	}
	return nil
}

// decide checks that the method, the token and the access are allowed (docs/design.md, The gate). It returns no principal for a
// public route.
func (g *Gate) decide(r *http.Request, t *target.Target, need *Need, known bool) (*principal.Principal, *denial) {
	switch {
	case action(r.Method) == "":
		return nil, g.badMethod()
	case !known:
		return nil, deny("not_found", apierr.NotFound, "No service is served at this path")
	case wrongLength(r.Header["Content-Length"]):
		return nil, deny("content_length", apierr.Invalid, "The header content-length is no number, or has several values that differ")
	case t.HasWild() && !need.Pattern:
		return nil, deny("pattern", apierr.Invalid, noPattern)
	case t.RawQuery() != "" && overridesMethod(t.RawQuery()):
		return nil, deny("method_override", apierr.Invalid, noOverride)
	case len(r.Header["X-Auth-Token"]) > 1:
		return nil, deny("token_duplicate", apierr.Invalid, "The header X-Auth-Token was sent twice")
	case len(r.Header["Wazo-Tenant"]) > 1:
		return nil, deny("tenant_duplicate", apierr.Invalid, "The header Wazo-Tenant was sent twice")
	case need.Public:
		return nil, nil
	}
	who, denied := g.authenticate(r, need)
	if denied != nil {
		return nil, denied
	}
	if !who.Holds(need.Access) {
		return nil, lacks(need.Access)
	}
	if need.Match == nil || who.Remote { // our own services know the tenants of our own tokens
		if denied := g.chooseTenant(r, who); denied != nil {
			return nil, denied
		}
	}
	if need.Match != nil && need.Match.Op != nil && need.Match.Op.Tenanted && who.Remote && g.config.Follow != nil {
		if denied := g.followTenants(r, who); denied != nil {
			return nil, denied
		}
	}
	return who, nil
}

// wrongLength reports whether the length of a body is not one number. In HTTP/2 net/http takes the first of several, and 0 for what is none.
func wrongLength(values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return v != values[0] || v == "" || strings.Trim(v, "0123456789") != "" })
}

const (
	noPattern  = "The path has *, # or ! or a segment longer than 128 bytes, and takes no ACL pattern there"
	noOverride = "The query parameter _method is not taken; send the method itself"
)

// Check returns why every gate refuses a method on a target, whatever the token, that needs this, or nil: an error of the field "method" or
// "path".
func Check(method string, t *target.Target, need *Need) error {
	switch {
	case action(method) == "":
		return apierr.InvalidField("method", "enum", "Must be one of %s", allowedMethods)
	case t.HasWild() && !need.Pattern:
		return apierr.InvalidField("path", "path", noPattern)
	case overridesMethod(t.RawQuery()):
		return apierr.InvalidField("path", "path", noOverride)
	default:
		return nil
	}
}

func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, need Need, d *denial) {
	g.observe(need.Service, d.outcome)
	rest.WriteError(w, r, need.Errors, d.err)
}

func (g *Gate) observe(service, outcome string) {
	if g.config.Observer != nil {
		g.config.Observer.Decided(service, outcome)
	}
}

// canonicalise makes everybody after the gate read what the gate has read.
func canonicalise(r *http.Request, t *target.Target) {
	u := r.URL
	u.Scheme, u.Opaque, u.User, u.Host = "", "", nil, ""
	u.Path, u.RawPath = t.Path(), ""
	u.RawQuery, u.ForceQuery = t.RawQuery(), false
	u.Fragment, u.RawFragment = "", ""
	r.RequestURI = t.RequestURI()
}

func serviceContext(r *http.Request, who *principal.Principal, m *rest.Match) context.Context {
	ctx := r.Context()
	if who != nil {
		ctx = principal.NewContext(ctx, who)
		if who.Remote {
			ctx = principal.WithTenant(ctx, actsIn(r, who))
		}
	}
	return rest.NewContext(ctx, m)
}

// denial is a refusal, and its word for the metrics.
type denial struct {
	outcome string
	err     error
}

func deny(outcome string, kind apierr.Kind, message string) *denial {
	return &denial{outcome, &apierr.Error{Kind: kind, Message: message}}
}

func malformed(err error) *denial {
	refused, ok := errors.AsType[*target.Refusal](err)
	if !ok {
		return deny("malformed", apierr.Invalid, "The request target is malformed")
	}
	return deny(refused.Reason, apierr.Kind(refused.Status), refused.Error())
}

func (g *Gate) badMethod() *denial {
	allow := allowedMethods
	if g.cors.enabled() {
		allow += ", " + http.MethodOptions
	}
	return &denial{"method", &apierr.Error{
		Kind: apierr.MethodNotAllowed, Allow: strings.Split(allow, ", "),
		Message: "This method is not served; the methods are " + allow,
	}}
}

// authenticate takes the one token of a request and finds its principal (docs/design.md, The gate).
func (g *Gate) authenticate(r *http.Request, need *Need) (*principal.Principal, *denial) {
	token := ""
	if sent := r.Header["X-Auth-Token"]; len(sent) == 1 {
		token = sent[0]
	}
	if token == "" {
		return nil, unauthorized("token_missing", need.Access,
			"Send a token in the X-Auth-Token header; the authentication service issues one on POST /token")
	}
	return g.principal(r.Context(), token, need.Access)
}

func (g *Gate) principal(ctx context.Context, token, access string) (*principal.Principal, *denial) {
	who, err := g.config.Tokens.Principal(ctx, token)
	switch {
	case err == nil && who != nil:
		return who, nil
	case err == nil:
		return nil, &denial{"unavailable", unavailable("token", errors.New("the source of tokens answered nobody"))}
	case errors.Is(err, tokens.ErrMalformed):
		return nil, unauthorized("token_malformed", access, "What the X-Auth-Token header holds is not a token; send exactly one")
	case errors.Is(err, tokens.ErrUnknown):
		return nil, unauthorized("token_unknown", access, "The token is unknown, expired or revoked; get a new one")
	case apierr.As(err) != nil && apierr.As(err).Kind == apierr.TooMany:
		return nil, &denial{"too_many", err}
	default:
		return nil, &denial{"unavailable", unavailable("token", err)}
	}
}

// unauthorized has the details that existing clients read, without the token.
func unauthorized(outcome, access, message string) *denial {
	return &denial{outcome, &apierr.Error{
		Kind: apierr.Unauthorized, Message: message,
		Details: map[string]any{"reason": "not_found_or_expired", "required_access": access},
	}}
}

func lacks(access string) *denial {
	return &denial{"access_denied", rest.Lacks(access)}
}

// unavailable is for errors that say nothing about the token, or the tenant: never 401, or clients would log out.
func unavailable(what string, err error) *apierr.Error {
	return &apierr.Error{
		Kind: apierr.Unavailable, RetryAfter: 2 * time.Second, Err: err, Message: "The " + what + " cannot be checked now; try again shortly",
	}
}
