package caddymodule

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/ringfence/ringfence/console"
	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/rest"
)

func init() {
	caddy.RegisterModule(new(Local))
	httpcaddyfile.RegisterHandlerDirective("ringfence_local", parseBare(func() caddyhttp.MiddlewareHandler { return new(Local) }))
	httpcaddyfile.RegisterDirectiveOrder("ringfence_local", httpcaddyfile.Before, "header") // and so before all that answers
	for _, name := range []string{"auth", "confd", helperService, "call_records"} {
		caddy.RegisterModule(&Service{name: name})
		httpcaddyfile.RegisterHandlerDirective("ringfence_"+name, parseService(name))
		httpcaddyfile.RegisterDirectiveOrder("ringfence_"+name, httpcaddyfile.Before, "respond")
	}
	caddy.RegisterModule(new(Console))
	httpcaddyfile.RegisterHandlerDirective("ringfence_console", parseBare(func() caddyhttp.MiddlewareHandler { return new(Console) }))
	httpcaddyfile.RegisterDirectiveOrder("ringfence_console", httpcaddyfile.Before, "respond")
	caddy.RegisterModule(new(Health))
	httpcaddyfile.RegisterHandlerDirective("ringfence_health", parseBare(func() caddyhttp.MiddlewareHandler { return new(Health) }))
	httpcaddyfile.RegisterDirectiveOrder("ringfence_health", httpcaddyfile.Before, "redir") // and so before every gate
}

// Service serves one of Ringfence's own services to requests that a ringfence_gate has let through: the authentication service, the telephony
// configuration service, the helper endpoints or the call log. There is a module for each: http.handlers.ringfence_{auth,confd,helpers,call_records}.
type Service struct {
	// Accept is "lenient" if a request without an Accept header accepts any response. Empty: such a request gets 406.
	Accept string `json:"accept,omitempty"`
	// Open serves the helper endpoints at the root of the site, without a gate, to everybody who can reach the port, which must then be a loopback one.
	Open bool `json:"open,omitempty"`

	name    string
	service *rest.Service
	plain   http.Handler // of the helper endpoints, if Open is set
}

const (
	lenient       = "lenient"
	helperService = "helpers"
)

// CaddyModule returns the Caddy module information.
func (s *Service) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  caddy.ModuleID("http.handlers.ringfence_" + s.name),
		New: func() caddy.Module { return &Service{name: s.name} },
	}
}

// Provision takes the service from the app.
func (s *Service) Provision(ctx caddy.Context) error {
	app, err := loadApp(ctx)
	if err != nil {
		return err
	}
	s.service = map[string]*rest.Service{
		"auth": app.auth, "confd": app.engine.confd, helperService: app.engine.helpers.REST(), "call_records": app.engine.records.REST(),
	}[s.name]
	app.needsDatabase = true
	if !s.Open {
		return nil
	}
	s.plain = app.engine.helpers.Plain()
	return checkOpen(ctx)
}

// Validate checks the options.
func (s *Service) Validate() error {
	if s.Accept != "" && s.Accept != lenient {
		return fmt.Errorf("accept is %q; it must be lenient or left out", s.Accept)
	}
	if s.Open && s.name != helperService {
		return errors.New("only the helper endpoints may be open")
	}
	return nil
}

var errNoGate = errors.New("no ringfence_gate has let this request through: put ringfence_gate into the same route")

// ServeHTTP fails closed: it does not serve a request that no gate has matched with this service, unless it is open. With lenient, a missing Accept
// header means that any response is acceptable (RFC 7231, 5.3.2).
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	serves := s.plain
	if serves == nil {
		m := rest.FromContext(r.Context())
		if m == nil || m.Service != s.service {
			return caddyhttp.Error(http.StatusInternalServerError, errNoGate)
		}
		serves = s.service
	}
	if s.Accept == lenient && rest.AcceptsNothing(r.Header) {
		r.Header["Accept"] = []string{"*/*"}
	}
	serves.ServeHTTP(w, r)
	return nil
}

// checkOpen refuses open helper endpoints on a server that other machines can reach.
func checkOpen(ctx caddy.Context) error {
	server, ok := ctx.Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if !ok {
		return nil
	}
	for _, listen := range server.Listen {
		at, err := caddy.ParseNetworkAddress(listen)
		if err != nil {
			return fmt.Errorf("reading the server's address %q: %w", listen, err)
		}
		if ip := net.ParseIP(at.Host); !at.IsUnixNetwork() && at.Host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return fmt.Errorf("ringfence_helpers open has no ringfence_gate, so it may be served on loopback alone, not on %s: bind it to 127.0.0.1 and [::1]", listen)
		}
	}
	return nil
}

func loadApp(ctx caddy.Context) (*App, error) {
	app, err := ctx.App("ringfence")
	if err != nil {
		return nil, fmt.Errorf("loading ringfence app: %w", err)
	}
	return app.(*App), nil
}

// parseBare parses a directive without arguments and options.
func parseBare(module func() caddyhttp.MiddlewareHandler) httpcaddyfile.UnmarshalHandlerFunc {
	return func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		h.Next()
		if h.NextArg() {
			return nil, h.ArgErr()
		}
		if h.NextBlock(0) {
			return nil, h.Errf("this directive takes no options")
		}
		return module(), nil
	}
}

// parseService parses the directive of a service, of which only the helper endpoints may be open:
//
//	ringfence_helpers [open] {
//	    accept lenient
//	}
//	ringfence_confd {
//	    accept lenient
//	}
func parseService(name string) httpcaddyfile.UnmarshalHandlerFunc {
	return func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		h.Next()
		s := &Service{name: name}
		if name == helperService && h.NextArg() {
			if s.Open = h.Val() == "open"; !s.Open {
				return nil, h.Errf("ringfence_helpers takes nothing, or the word open")
			}
		}
		if h.NextArg() {
			return nil, h.ArgErr()
		}
		for h.NextBlock(0) {
			if err := parse(h.Dispenser, []option{{"accept", once(s.Accept != "", word(&s.Accept))}}); err != nil {
				return nil, err
			}
			if err := s.Validate(); err != nil {
				return nil, h.WrapErr(err)
			}
		}
		return s, nil
	}
}

// Local keeps web pages away from a plain port: it passes on what tools of this machine ask for, and responds to everybody else with 403. Web
// pages in a browser on this machine are told by their Host, Origin, Referer and Sec-Fetch-Site.
type Local struct{}

// CaddyModule returns the Caddy module information.
func (*Local) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.ringfence_local", New: func() caddy.Module { return new(Local) }}
}

func (*Local) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) (err error) {
	helpers.Local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { err = next.ServeHTTP(w, r) })).ServeHTTP(w, r)
	return err
}

// Console serves the console below /console/, to everybody: it holds nothing secret, and requests made in it go through the
// gate.
type Console struct {
	// handler is made at the first request: all gates of the configuration are known then, with the definitions that they were given.
	handler func() (http.Handler, error)
}

// CaddyModule returns the Caddy module information.
func (*Console) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.ringfence_console", New: func() caddy.Module { return new(Console) }}
}

// Provision looks for the services.
func (c *Console) Provision(ctx caddy.Context) error {
	app, err := loadApp(ctx)
	if err != nil {
		return err
	}
	c.handler = sync.OnceValues(app.console)
	return nil
}

// console returns the console of all services that this configuration's gates guard and that have a definition.
func (a *App) console() (http.Handler, error) {
	var entries []console.Entry
	for _, s := range a.services() {
		entries = append(entries, console.Entry{
			Name: s.Name, Title: s.Title, Prefix: s.Prefix, Definition: s.Prefix + "/api/openapi.json",
			Mails: s.Name == "auth" && a.Mail != nil, Unserved: a.unserved(s.Name),
		})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, router := range a.routers {
		d, ok := router.(*gate.Definition)
		if !ok || slices.ContainsFunc(entries, func(e console.Entry) bool { return e.Name == d.Name() }) {
			continue
		}
		document, err := d.Shown()
		if err != nil {
			return nil, fmt.Errorf("showing the definition of %s: %w", d.Name(), err)
		}
		entries = append(entries, console.Entry{Name: d.Name(), Title: d.Name(), Prefix: d.Prefix(), Document: document})
	}
	return console.New(entries)
}

func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	handler, err := c.handler()
	if err != nil {
		return err
	}
	handler.ServeHTTP(w, r)
	return nil
}

// Health serves GET /healthz, 200 while the process lives, and GET /readyz, 200 while the database is reachable and the folders of the data
// and of the database can be written, and 503 with the reason otherwise, as of a second ago at most. Both are for load balancers: they need
// no token, and reveal only the state. It passes other paths on.
type Health struct {
	app     *App
	unready atomic.Bool
}

// CaddyModule returns the Caddy module information.
func (*Health) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.ringfence_health", New: func() caddy.Module { return new(Health) }}
}

// Provision takes the app.
func (h *Health) Provision(ctx caddy.Context) (err error) {
	h.app, err = loadApp(ctx)
	return err
}

func (h *Health) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	switch r.URL.Path {
	case "/healthz":
		return state(w, r, http.StatusOK, "alive")
	case "/readyz":
		err := h.app.ready(r.Context())
		if r.Context().Err() != nil { // the client has left, which says nothing of the database
			return nil
		}
		h.log(err)
		if err != nil {
			w.Header().Set("Retry-After", "2")
			return state(w, r, http.StatusServiceUnavailable, unreadiness(err))
		}
		return state(w, r, http.StatusOK, "ready")
	default:
		return next.ServeHTTP(w, r)
	}
}

// log reports a change of state once, not at every probe. The start has its own messages.
func (h *Health) log(err error) {
	if errors.Is(err, errNotStarted) || h.unready.Swap(err != nil) == (err != nil) {
		return
	}
	if err != nil {
		h.app.log.Warn("not ready: "+unreadiness(err), "error", err)
		return
	}
	h.app.log.Info("ready again")
}

// errUnwritable is that the data folder, or that of an SQLite database, cannot be written, and errNoRoom that its disk is full.
var (
	errUnwritable = errors.New("disk not writable")
	errNoRoom     = errors.New("disk full")
)

// unreadiness says in a few words why no requests can be served now.
func unreadiness(err error) string {
	for _, reason := range []error{errNoRoom, errUnwritable} {
		if errors.Is(err, reason) {
			return reason.Error()
		}
	}
	return "database unavailable"
}

// roomTried is how much is written to see whether there is room: more than an ordinary transaction adds to a database.
const roomTried = 64 << 10

// tryRoom returns an error if one of the folders cannot take another file. It tries, because quotas and broken disks do not show in numbers.
func tryRoom(folders []string) error {
	for _, folder := range folders {
		name := filepath.Join(folder, ".room")
		err := os.WriteFile(name, make([]byte, roomTried), 0o600)
		if removed := os.Remove(name); err == nil { // what was written of it too
			err = removed
		}
		switch {
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
			return fmt.Errorf("%w: %w", errNoRoom, err)
		case err != nil:
			return fmt.Errorf("%w: %w", errUnwritable, err)
		}
	}
	return nil
}

func state(w http.ResponseWriter, r *http.Request, status int, text string) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, err := w.Write([]byte(`{"status":"` + text + `"}`))
	return err
}

var (
	_ interface {
		caddyhttp.MiddlewareHandler
		caddy.Provisioner
		caddy.Validator
	} = (*Service)(nil)
	_ caddyfile.Unmarshaler       = (*RemoteTokens)(nil)
	_ caddyhttp.MiddlewareHandler = (*Local)(nil)
	_ caddyhttp.MiddlewareHandler = (*Console)(nil)
	_ caddy.Provisioner           = (*Console)(nil)
	_ caddyhttp.MiddlewareHandler = (*Health)(nil)
	_ caddy.Provisioner           = (*Health)(nil)
)
