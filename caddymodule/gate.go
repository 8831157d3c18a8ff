package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddytls"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/caddymodule/mended/listener"
	"github.com/ringfence/ringfence/caddymodule/mended/logs"
	_ "github.com/ringfence/ringfence/caddymodule/mended/proxy" // with the transport that reverse_proxy finds by its name
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/target"
	"github.com/ringfence/ringfence/internal/tenant"
)

func init() {
	caddy.RegisterModule(new(Gate))
	httpcaddyfile.RegisterHandlerDirective("ringfence_gate", parseGate)
	// Before everything that rewrites, so that the gate sees the client's own bytes.
	httpcaddyfile.RegisterDirectiveOrder("ringfence_gate", httpcaddyfile.Before, "method")
}

// Gate lets a request through if its token's ACL covers the access that the request needs (docs/design.md, The gate). Without a
// service it protects Ringfence's own services; with one, it protects any daemon that a later handler, such as reverse_proxy,
// passes the request to.
//
// It must see the request first: a request that another handler has rewritten is refused with 500.
type Gate struct {
	// Service is the upstream's name, the first word of its accesses: "calld". Empty: Ringfence's own services.
	Service string `json:"service,omitempty"`
	// Prefix is the path below which the upstream is served: "/api/calld/1.0". It is not part of any access.
	Prefix string `json:"prefix,omitempty"`
	// Definition is a file with the upstream's OpenAPI definition. Its documented accesses are then required. Without a
	// definition the access is derived from the path and the method.
	Definition string `json:"definition,omitempty"`
	// Public lists routes that need no token, as "<method> <path>"; {name} stands for one segment.
	Public []string `json:"public,omitempty"`
	// StripPrefix removes Prefix from the path that the upstream sees, after the access was checked.
	StripPrefix bool `json:"strip_prefix,omitempty"`
	// ForwardToken passes the caller's X-Auth-Token to the upstream, for a daemon that checks tokens itself. Other daemons do not
	// get it.
	ForwardToken bool `json:"forward_token,omitempty"`
	// ForwardHeaders names request headers that the upstream gets beside those of HTTP itself, of browsers, of tracing and of this
	// platform. All others are dropped; the debug log says which.
	ForwardHeaders []string `json:"forward_headers,omitempty"`
	// Identity names what the upstream is told of the caller, in X-Ringfence headers: user, tenant, session, purpose. Default: user and
	// tenant. The headers of the others are not sent, and those of the client are removed in any case.
	Identity []string `json:"identity,omitempty"`

	gate *gate.Gate
	app  *App
	log  *zap.Logger
}

// CaddyModule returns the Caddy module information.
func (*Gate) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.ringfence_gate", New: func() caddy.Module { return new(Gate) }}
}

// Provision builds the table of required accesses.
func (g *Gate) Provision(ctx caddy.Context) error {
	if err := g.check(); err != nil {
		return err
	}
	if err := checkProofs(ctx); err != nil {
		return err
	}
	g.log = ctx.Logger()
	app, err := loadApp(ctx)
	if err != nil {
		return err
	}
	g.app = app
	routers := gate.Services(app.services())
	if g.Service != "" {
		router, err := g.upstream()
		if err != nil {
			return fmt.Errorf("gate of %s: %w", g.Service, err)
		}
		routers = []gate.Router{router}
	}
	app.explains(routers)
	g.gate, err = gate.New(gate.Config{
		Routers: routers, Tokens: app.cache, Origins: app.Origins, Observer: observer{app.engine}, ForwardToken: g.ForwardToken, Identity: g.Identity,
		ForwardHeaders: g.ForwardHeaders, Dropped: g.dropped(),
		Tenant: func(ctx context.Context, who *principal.Principal, lines []string) (string, error) {
			return tenant.Named(ctx, app.engine.db, who, lines)
		},
		Within: app.cache.Within,
		Follow: func(ctx context.Context, who *principal.Principal, chosen string, within func(context.Context, string) (bool, error)) error {
			return tenant.Follow(ctx, app.engine.db, who, chosen, within)
		},
	})
	return err
}

// check refuses options that cannot be combined.
func (g *Gate) check() error {
	switch {
	case g.Service == "" && (g.Prefix != "" || g.Definition != "" || len(g.Public) > 0 || g.StripPrefix || g.ForwardToken ||
		len(g.ForwardHeaders) > 0 || len(g.Identity) > 0):
		return errors.New("ringfence_gate: prefix, definition, public, strip_prefix, forward_token, forward_headers and identity are for a named upstream service")
	case gate.CheckIdentity(g.Identity) != nil:
		return gate.CheckIdentity(g.Identity)
	case gate.CheckForwardHeaders(g.ForwardHeaders) != nil:
		return gate.CheckForwardHeaders(g.ForwardHeaders)
	case g.Service != "" && g.Prefix == "" && g.Definition == "":
		return fmt.Errorf("ringfence_gate %s: set the prefix below which it is served", g.Service)
	}
	return nil
}

// checkLine makes the checks of Provision while the line of the Caddyfile is known.
func (g *Gate) checkLine() error {
	if err := g.check(); err != nil || g.Service == "" {
		return err
	}
	once := &Gate{Service: g.Service, Prefix: g.Prefix, Definition: g.Definition, Public: g.Public, log: zap.NewNop()}
	if _, err := once.upstream(); err != nil && !errors.Is(err, fs.ErrNotExist) { // a Caddyfile may be adapted on another machine
		return fmt.Errorf("ringfence_gate %s: %w", g.Service, err)
	}
	return nil
}

// dropped returns what logs the names of the headers that an upstream does not get, or nil if nobody would read it.
func (g *Gate) dropped() func(requestID string, names []string) {
	if g.Service == "" || !g.log.Core().Enabled(zap.DebugLevel) {
		return nil
	}
	return func(requestID string, names []string) {
		g.log.Debug("the daemon does not get these headers; forward_headers can name them", zap.String("service", g.Service),
			zap.Strings("headers", slices.Sorted(slices.Values(names))), zap.String("request_id", requestID))
	}
}

func (g *Gate) upstream() (gate.Router, error) {
	var public []gate.Route
	for _, p := range g.Public {
		method, route, ok := strings.Cut(p, " ")
		if !ok {
			return nil, fmt.Errorf("public route %q is not of the form <method> <path>", p)
		}
		public = append(public, gate.Route{Method: method, Path: route})
	}
	if g.Definition == "" {
		return gate.NewDerived(g.Service, g.Prefix, public)
	}
	document, err := os.ReadFile(g.Definition)
	if err != nil {
		return nil, fmt.Errorf("reading its definition: %w", err)
	}
	d, err := gate.NewDefinition(g.Service, g.Prefix, document, public)
	if err != nil {
		return nil, fmt.Errorf("reading its definition %s: %w", g.Definition, err)
	}
	for _, w := range d.Warnings() {
		g.log.Warn("the definition has an access that cannot be checked as it is written", zap.String("service", g.Service), zap.String("warning", w))
	}
	g.Prefix = d.Prefix()
	return d, nil
}

var errRewritten = errors.New("another handler has rewritten this request before ringfence_gate saw it: " +
	"put ringfence_gate first, and use its strip_prefix in place of handle_path or uri strip_prefix")

func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if original, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok &&
		(original.RequestURI != r.RequestURI || original.Method != r.Method) {
		return caddyhttp.Error(http.StatusInternalServerError, errRewritten)
	}
	a, ok := g.gate.Admit(w, r)
	g.note(w, r, a.Principal)
	if !ok {
		return nil
	}
	if g.app.leaving.Load() && r.Header["Upgrade"] == nil {
		w.Header()["Connection"] = []string{"close"} // so that the client's next connection goes to the new configuration
	}
	if g.StripPrefix {
		stripPrefix(a.Request, g.Prefix)
	}
	failed := http.StatusInternalServerError // if the handler panics, as reverse_proxy does when an answer breaks off
	defer func() { a.Finish(failed) }()
	err := next.ServeHTTP(a.Writer, a.Request)
	if err != nil && g.gate.Blame(&a) {
		err = nil
	}
	failed = failure(err)
	return err
}

// failure returns the status with which Caddy responds to a handler's error, 0 for none.
func failure(err error) int {
	if err == nil {
		return 0
	}
	if failed, ok := errors.AsType[caddyhttp.HandlerError](err); ok && failed.StatusCode != 0 {
		return failed.StatusCode
	}
	return http.StatusInternalServerError
}

// note adds the request and its token to Caddy's logs and placeholders.
func (g *Gate) note(w http.ResponseWriter, r *http.Request, who *principal.Principal) {
	n := &noted{who: who}
	if id := w.Header()["X-Request-Id"]; len(id) == 1 {
		n.requestID = id[0]
	}
	if extra, ok := r.Context().Value(caddyhttp.ExtraLogFieldsCtxKey).(*caddyhttp.ExtraLogFields); ok && g.logs(r) {
		// One field for both: each field costs several allocations, whether or not anything is logged.
		extra.Set(zap.Field{Key: "ringfence", Type: zapcore.InlineMarshalerType, Interface: n})
	}
	if repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
		repl.Map(n.placeholder)
	}
}

// logs reports whether the fields that a gate adds may be logged: by the access log, if there is one, or by our own services.
func (g *Gate) logs(r *http.Request) bool {
	if g.Service == "" {
		return true
	}
	server, ok := r.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	return !ok || server.Logs != nil
}

// noted is what Caddy learns about a request.
type noted struct {
	requestID string
	who       *principal.Principal
}

// MarshalLogObject adds the fields of a log entry.
func (n *noted) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	enc.AddString("request_id", n.requestID)
	if n.who != nil {
		enc.AddString("token_id", n.who.TokenID.String())
	}
	return nil
}

// placeholder returns the value of Caddy's {http.auth.user.*}, or the request's ID.
func (n *noted) placeholder(key string) (any, bool) {
	if key == logs.RequestIDKey {
		return n.requestID, true
	}
	key, ok := strings.CutPrefix(key, "http.auth.user.")
	if !ok || n.who == nil {
		return nil, false
	}
	switch key {
	case "id":
		return n.who.UserUUID, true
	case "tenant":
		return n.who.TenantUUID, true
	case "session":
		return n.who.SessionUUID, true
	case "purpose":
		return n.who.Purpose, true
	default:
		return nil, false
	}
}

// stripPrefix shortens the canonical path by whole segments, so it stays canonical.
func stripPrefix(r *http.Request, prefix string) {
	rest := strings.TrimPrefix(r.URL.Path, strings.TrimSuffix(prefix, "/"))
	if rest == "" {
		rest = "/"
	}
	r.URL.Path = rest
	r.RequestURI = r.URL.RequestURI()
}

// services returns Ringfence's own services, for a gate in front of them.
func (a *App) services() []*rest.Service {
	return []*rest.Service{a.auth, a.engine.confd, a.engine.helpers.REST(), a.engine.records.REST()}
}

// parseGate parses
//
//	ringfence_gate [<service>] {
//	    prefix       <path>
//	    definition   <openapi file>
//	    public       <method> <path>
//	    strip_prefix
//	    forward_token
//	    forward_headers <name> ...
//	    identity     user|tenant|session|purpose ...
//	}
func parseGate(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	h.Next()
	g := new(Gate)
	if h.NextArg() {
		g.Service = h.Val()
	}
	if h.NextArg() {
		return nil, h.ArgErr()
	}
	for h.NextBlock(0) {
		if err := g.readOption(h.Dispenser); err != nil {
			return nil, err
		}
	}
	if err := g.checkLine(); err != nil {
		return nil, h.WrapErr(err)
	}
	return g, nil
}

func (g *Gate) readOption(d *caddyfile.Dispenser) error {
	return parse(d, []option{
		{"prefix", once(g.Prefix != "", word(&g.Prefix))},
		{"definition", once(g.Definition != "", word(&g.Definition))},
		{"public", func(d *caddyfile.Dispenser) error {
			var method, route string
			if !d.AllArgs(&method, &route) {
				return d.ArgErr()
			}
			g.Public = append(g.Public, strings.ToUpper(method)+" "+route)
			return nil
		}},
		{"strip_prefix", line(flag(&g.StripPrefix))},
		{"forward_token", line(flag(&g.ForwardToken))},
		{"forward_headers", once(len(g.ForwardHeaders) > 0, texts(&g.ForwardHeaders))},
		{"identity", once(len(g.Identity) > 0, texts(&g.Identity))},
	})
}

// requirements returns what this configuration's gates would require of a request. The explanation of a decision uses the same
// routers as the decision itself.
func (a *App) requirements(method, path string) (authsvc.Requirement, error) {
	t, err := target.Parse(path)
	if err != nil {
		refusal := apierr.InvalidField("path", "path", "%s", err)
		refusal.Err = err
		return authsvc.Requirement{}, refusal
	}
	a.mu.Lock()
	routers := a.routers
	a.mu.Unlock()
	best := -1
	var found gate.Need
	for _, r := range routers {
		if need, ok := r.Route(method, &t); ok && len(r.Prefix()) > best {
			best, found = len(r.Prefix()), need
		}
	}
	if best < 0 {
		return authsvc.Requirement{}, apierr.New(apierr.NotFound, "No service is served at this path")
	}
	if err := gate.Check(method, &t, &found); err != nil {
		return authsvc.Requirement{}, err
	}
	need := authsvc.Requirement{Service: found.Service, Access: found.Access, Public: found.Public}
	if found.Match != nil && found.Match.Op != nil {
		need.Master = found.Match.Op.Master
	}
	return need, nil
}

func (a *App) explains(routers []gate.Router) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.routers = append(a.routers, routers...)
}

// checkProofs refuses a configuration whose certificate no authority would ever give. Caddy has the proofs of a site's own issuer listen where
// the site is bound, and what listens there knows no network but tcp. Global options know nothing of the site's address
// (docs/certificates.md, A certificate of a public authority).
func checkProofs(ctx caddy.Context) error {
	app, err := ctx.App("tls")
	if err != nil {
		return fmt.Errorf("loading the tls app: %w", err)
	}
	automation := app.(*caddytls.TLS).Automation
	if automation == nil {
		return nil
	}
	for _, policy := range automation.Policies {
		for _, issuer := range policy.Issuers {
			by, ok := issuer.(interface{ GetACMEIssuer() *caddytls.ACMEIssuer })
			if !ok {
				continue
			}
			proofs := by.GetACMEIssuer().Challenges
			if proofs != nil && proofs.DNS == nil && strings.HasPrefix(proofs.BindHost, listener.Network+"/") {
				return fmt.Errorf("no authority could give a certificate for %s: with `bind %s`, "+
					"set email, acme_ca and acme_ca_root in the global options, and not in the site's tls block",
					strings.Join(policy.Subjects(), ", "), proofs.BindHost)
			}
		}
	}
	return nil
}

var (
	_ caddyhttp.MiddlewareHandler = (*Gate)(nil)
	_ caddy.Provisioner           = (*Gate)(nil)
)
