package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
	"go.uber.org/zap"

	"github.com/ringfence/ringfence/caddymodule/mended/transport"
)

func init() {
	caddy.RegisterModule(new(Proxy))
	httpcaddyfile.RegisterHandlerDirective("ringfence_proxy", parseCaddyfile)
	httpcaddyfile.RegisterDirectiveOrder("ringfence_proxy", httpcaddyfile.Before, "reverse_proxy")
}

// Proxy takes the options of Caddy's reverse_proxy, in the Caddyfile and in JSON:
//
//	ringfence_proxy 127.0.0.1:9500
//
// Its transport is `transport ringfence` unless another is named.
type Proxy struct {
	reverseproxy.Handler

	// short is nil if the options leave no request to it.
	short *short
}

// CaddyModule returns the Caddy module information.
func (*Proxy) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.ringfence_proxy", New: func() caddy.Module { return new(Proxy) }}
}

func parseCaddyfile(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	p := new(Proxy)
	if err := p.UnmarshalCaddyfile(h.Dispenser); err != nil {
		return nil, err
	}
	return p, p.FinalizeUnmarshalCaddyfile(h)
}

// Provision sets up both ways.
func (p *Proxy) Provision(ctx caddy.Context) error {
	if p.TransportRaw == nil {
		p.TransportRaw = json.RawMessage(`{"protocol":"ringfence"}`)
	}
	plain := p.plain() // Caddy forgets the configuration of the modules that it loads
	if err := p.Handler.Provision(ctx); err != nil {
		return err
	}
	to, ok := p.Transport.(*transport.Transport)
	if !plain || !ok || to.Near() == nil || ctx.Logger().Check(zap.DebugLevel, "") != nil { // Caddy's handler tells of each step
		return nil
	}
	at, err := caddy.ParseNetworkAddress(p.Upstreams[0].Dial)
	if err != nil {
		return fmt.Errorf("the daemon's address %q: %w", p.Upstreams[0].Dial, err)
	}
	if at.PortRangeSize() != 1 {
		return fmt.Errorf("the daemon's address %q must be one socket, not a range of ports", p.Upstreams[0].Dial)
	}
	p.short = newShort(to.Near(), at, ctx.Logger())
	return nil
}

// plain reports whether the options ask for nothing but one daemon.
func (p *Proxy) plain() bool {
	return len(p.Upstreams) == 1 && p.Upstreams[0].MaxRequests == 0 && !strings.Contains(p.Upstreams[0].Dial, "{") &&
		p.DynamicUpstreamsRaw == nil && p.CBRaw == nil && p.LoadBalancing == nil && p.HealthChecks == nil &&
		p.Headers == nil && p.Rewrite == nil && len(p.HandleResponse) == 0 && len(p.TrustedProxies) == 0 &&
		p.RequestBuffers == 0 && p.ResponseBuffers == 0 && p.FlushInterval == 0 && !p.VerboseLogs
}

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if p.short != nil && takes(r) {
		if out, ok := p.short.request(r); ok {
			return p.short.serve(w, r, out)
		}
	}
	return p.Handler.ServeHTTP(w, r, next)
}

// facts are the placeholders of one request, as reverse_proxy has them.
type facts struct {
	*short
	began, came, ended time.Time // came: when the answer's header did
	answer             *http.Response
}

func (f *facts) placeholder(key string) (any, bool) {
	name, ok := strings.CutPrefix(key, "http.reverse_proxy.")
	if !ok {
		return nil, false
	}
	switch name {
	case "upstream.address":
		return caddy.JoinNetworkAddress(f.at.Network, f.at.Host, f.port), true
	case "upstream.hostport":
		return f.address, true
	case "upstream.host":
		return f.at.Host, true
	case "upstream.port":
		return f.port, true
	case "upstream.requests", "upstream.max_requests", "upstream.fails": // nothing is counted
		return 0, true
	case "retries": // nothing is tried again
		return 0, !f.ended.IsZero()
	case "upstream.latency":
		return since(f.began, f.came)
	case "upstream.latency_ms":
		return milliseconds(f.began, f.came)
	case "duration":
		return since(f.began, f.ended)
	case "duration_ms":
		return milliseconds(f.began, f.ended)
	}
	if f.answer == nil {
		return nil, false
	}
	switch name {
	case "status_code":
		return f.answer.StatusCode, true
	case "upstream.duration":
		return since(f.began, f.ended)
	case "upstream.duration_ms":
		return milliseconds(f.began, f.ended)
	case "status_text":
		return f.answer.Status, true
	}
	if name, ok = strings.CutPrefix(name, "header."); ok {
		if values, ok := f.answer.Header[name]; ok {
			return strings.Join(values, ","), true
		}
	}
	return nil, false
}

func since(began, ended time.Time) (any, bool) {
	return ended.Sub(began), !ended.IsZero()
}

func milliseconds(began, ended time.Time) (any, bool) {
	return ended.Sub(began).Seconds() * 1e3, !ended.IsZero()
}

var (
	_ caddy.Provisioner           = (*Proxy)(nil)
	_ caddy.CleanerUpper          = (*Proxy)(nil)
	_ caddyhttp.MiddlewareHandler = (*Proxy)(nil)
)
