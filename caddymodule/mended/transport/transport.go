package transport

import (
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"

	"github.com/ringfence/ringfence/caddymodule/mended/direct"
)

func init() { caddy.RegisterModule(new(Transport)) }

// Transport takes the options of Caddy's `transport http`, in the Caddyfile and in JSON:
//
//	reverse_proxy 127.0.0.1:9500 {
//	    transport ringfence
//	}
//
// With proxy_protocol, max_conns_per_host, a forward proxy, keepalive off, or versions other than 1.1 and 2 it is that transport.
type Transport struct {
	reverseproxy.HTTPTransport

	direct *direct.Transport
	// proxied says that the environment names a proxy, which not every request goes through.
	proxied bool
}

// CaddyModule returns the Caddy module information.
func (*Transport) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.reverse_proxy.transport.ringfence", New: func() caddy.Module { return new(Transport) }}
}

// Provision sets up both ways.
func (t *Transport) Provision(ctx caddy.Context) error {
	if err := t.HTTPTransport.Provision(ctx); err != nil {
		return err
	}
	if !t.plain() {
		return nil
	}
	t.proxied = slices.ContainsFunc([]string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}, func(name string) bool { return os.Getenv(name) != "" })
	t.direct = &direct.Transport{
		Address: addressOf, Dial: t.Transport.DialContext, Else: &t.HTTPTransport,
		MaxIdlePerAddress: t.KeepAlive.MaxIdleConnsPerHost, MaxIdle: t.KeepAlive.MaxIdleConns, IdleTimeout: time.Duration(t.KeepAlive.IdleConnTimeout),
		HeaderTimeout: time.Duration(t.ResponseHeaderTimeout), MaxHeader: t.MaxResponseHeaderSize,
		ReadBuffer: t.ReadBufferSize, WriteBuffer: t.WriteBufferSize,
	}
	return nil
}

// plain reports whether the options leave the common case to package direct.
func (t *Transport) plain() bool {
	for _, version := range t.Versions {
		if version != "1.1" && version != "2" {
			return false
		}
	}
	return slices.Contains(t.Versions, "1.1") && t.ProxyProtocol == "" && t.MaxConnsPerHost == 0 && t.ForwardProxyURL == "" &&
		len(t.NetworkProxyRaw) == 0 && (t.KeepAlive.Enabled == nil || *t.KeepAlive.Enabled)
}

// addressOf returns where reverse_proxy sends a request.
func addressOf(r *http.Request) (network, address string) {
	if to, ok := reverseproxy.GetDialInfo(r.Context()); ok {
		return to.Network, to.Address
	}
	return "tcp", r.URL.Host
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.SetScheme(r)
	if t.direct == nil {
		return t.HTTPTransport.RoundTrip(r)
	}
	if t.proxied {
		if proxy, err := http.ProxyFromEnvironment(r); proxy != nil || err != nil {
			return t.HTTPTransport.RoundTrip(r)
		}
	}
	return t.direct.RoundTrip(r)
}

// Near returns the way to daemons nearby, or nil if the options or the environment do not leave the common case to it.
func (t *Transport) Near() *direct.Transport {
	if t.proxied {
		return nil
	}
	return t.direct
}

// Cleanup closes the connections that are kept. Requests that are under way go on, and close theirs.
func (t *Transport) Cleanup() error {
	if t.direct != nil {
		t.direct.Close()
	}
	return t.HTTPTransport.Cleanup()
}

var (
	_ caddy.Provisioner                                = (*Transport)(nil)
	_ caddy.CleanerUpper                               = (*Transport)(nil)
	_ http.RoundTripper                                = (*Transport)(nil)
	_ reverseproxy.TLSTransport                        = (*Transport)(nil)
	_ reverseproxy.H2CTransport                        = (*Transport)(nil)
	_ reverseproxy.HealthCheckSchemeOverriderTransport = (*Transport)(nil)
	_ reverseproxy.ProxyProtocolTransport              = (*Transport)(nil)
	_ reverseproxy.RequestHeaderOpsTransport           = (*Transport)(nil)
)
