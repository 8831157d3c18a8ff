package certificate

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddytls"

	"github.com/ringfence/ringfence/internal/selfsigned"
)

func init() {
	caddy.RegisterModule(new(Page))
	httpcaddyfile.RegisterHandlerDirective("ringfence_certificate", func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		h.Next()
		if h.NextArg() || h.NextBlock(0) {
			return nil, h.ArgErr()
		}
		return new(Page), nil
	})
	httpcaddyfile.RegisterDirectiveOrder("ringfence_certificate", httpcaddyfile.Before, "redir") // and so before every gate
}

// Page serves /certificate, which shows the certificate of the site, to compare with what the terminal printed, and
// /certificate.pem, the self-signed certificate for clients that take a file. Both are for everybody: a client gets the same
// certificate in each handshake. It passes other paths on.
type Page struct{ ctx caddy.Context }

// CaddyModule returns the Caddy module information.
func (*Page) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.ringfence_certificate", New: func() caddy.Module { return new(Page) }}
}

// Provision keeps the context, by which Caddy finds a site's certificates.
func (p *Page) Provision(ctx caddy.Context) error {
	p.ctx = ctx
	return nil
}

const (
	pagePath = "/certificate"
	pemPath  = "/certificate.pem"
)

func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	path := r.URL.Path
	if path != pagePath && path != pemPath {
		return next.ServeHTTP(w, r)
	}
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return nil
	}
	seen, err := p.served(r)
	if err != nil {
		return caddyhttp.Error(http.StatusInternalServerError, err)
	}
	if path == pagePath {
		return seen.write(w)
	}
	if seen.own == nil {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, err = w.Write([]byte("This site's certificate is not one that the gateway has signed itself; see " + pagePath + ".\n"))
		return err
	}
	h.Set("Content-Type", "application/x-pem-file")
	h.Set("Content-Disposition", `attachment; filename="ringfence.pem"`)
	_, err = w.Write(seen.own.PEM())
	return err
}

// shown is what the page shows of the certificate of a site.
type shown struct {
	Host, Hostname string // as the client names the site, in a form that a shell takes as it is
	Certificate    *x509.Certificate
	Names          []string
	Fingerprint    string
	own            *selfsigned.Store // nil: another one than this installation's self-signed certificate
}

// Own reports whether the gateway has signed the certificate itself.
func (s shown) Own() bool { return s.own != nil }

// Date writes a time for people.
func (s shown) Date(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

// plainHost is a host and perhaps a port that mean nothing else to a shell.
var plainHost = regexp.MustCompile(`^(\[[0-9a-fA-F:.]+\]|[0-9a-zA-Z.-]+)(:[0-9]+)?$`)

// served returns what the client of this request was shown in its handshake: what a handshake with the same name gets now.
func (p *Page) served(r *http.Request) (shown, error) {
	s := shown{Host: r.Host}
	if !plainHost.MatchString(s.Host) {
		s.Host = "localhost"
	}
	s.Hostname = s.Host
	if name, _, err := net.SplitHostPort(s.Host); err == nil {
		s.Hostname = name
	}
	if r.TLS == nil {
		return s, nil
	}
	leaf, err := p.ofHandshake(r)
	if err != nil {
		return s, fmt.Errorf("finding the site's certificate: %w", err)
	}
	s.Certificate, s.Names, s.Fingerprint = leaf, selfsigned.NamesOf(leaf), selfsigned.FingerprintOf(leaf)
	for _, store := range InUse() {
		if store.Fingerprint() == s.Fingerprint {
			s.own = store
		}
	}
	return s, nil
}

// ofHandshake repeats the server's part of the choice of a certificate.
func (p *Page) ofHandshake(r *http.Request) (*x509.Certificate, error) {
	server, ok := r.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	local, found := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || !found {
		return nil, errors.New("the request came by no connection of a server")
	}
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return nil, err
	}
	hello := &tls.ClientHelloInfo{
		ServerName: r.TLS.ServerName, Conn: ends{local: local, remote: net.TCPAddrFromAddrPort(remote)}, CipherSuites: []uint16{r.TLS.CipherSuite},
		SupportedVersions: []uint16{r.TLS.Version}, SupportedProtos: []string{r.TLS.NegotiatedProtocol},
	}
	config, err := server.TLSConnPolicies.TLSConfig(p.ctx).GetConfigForClient(hello)
	if err != nil {
		return nil, err
	}
	return leafOf(config.GetCertificate(hello))
}

// leafOf returns the certificate that was chosen for a handshake.
func leafOf(chosen *tls.Certificate, err error) (*x509.Certificate, error) {
	switch {
	case err != nil:
		return nil, err
	case chosen == nil || len(chosen.Certificate) == 0:
		return nil, errors.New("there is none")
	case chosen.Leaf != nil:
		return chosen.Leaf, nil
	}
	return x509.ParseCertificate(chosen.Certificate[0])
}

// ends are the addresses of a connection, by which a certificate may be chosen.
type ends struct {
	net.Conn
	local, remote net.Addr
}

func (e ends) LocalAddr() net.Addr  { return e.local }
func (e ends) RemoteAddr() net.Addr { return e.remote }

var (
	//go:embed page.css
	pageStyle string
	//go:embed page.html
	pageText string

	pageTemplate = template.Must(template.New("certificate").Parse(strings.Replace(pageText, "{css}", pageStyle, 1)))
	// pagePolicy lets the page do nothing but look as it does: there is no script, and nothing is loaded.
	pagePolicy = "default-src 'none'; style-src 'sha256-" + digest(pageStyle) + "'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (s shown) write(w http.ResponseWriter) error {
	var page bytes.Buffer
	if err := pageTemplate.Execute(&page, s); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, err := w.Write(page.Bytes())
	return err
}

// Served returns the certificates that the sites of a configuration serve now: the self-signed ones, those that Caddy has for the sites' names,
// and those that the configuration selects for a site without a name. It gets none, and is for a configuration that runs.
func Served(ctx caddy.Context) (all []*x509.Certificate) {
	for _, store := range InUse() {
		all = append(all, store.Certificate().Leaf)
	}
	app, err := ctx.AppIfConfigured("http")
	if err != nil {
		return all
	}
	for _, server := range app.(*caddyhttp.App).Servers {
		if len(server.TLSConnPolicies) == 0 {
			continue
		}
		for _, policy := range server.TLSConnPolicies {
			if policy.CertSelection == nil {
				continue
			}
			if leaf, err := leafOf(policy.TLSConfig.GetCertificate(anyone)); err == nil {
				all = append(all, leaf)
			}
		}
		for _, name := range Hosts(server.Routes) {
			for _, c := range caddytls.AllMatchingCertificates(name) {
				all = append(all, c.Leaf)
			}
		}
	}
	return all
}

// anyone is a client that names no site. A configuration that selects certificates chooses from all that it has loaded then.
var anyone = &tls.ClientHelloInfo{
	Conn:              ends{local: new(net.TCPAddr), remote: new(net.TCPAddr)},
	SupportedVersions: []uint16{tls.VersionTLS13},
	SignatureSchemes:  []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256, tls.ECDSAWithP384AndSHA384, tls.Ed25519, tls.PSSWithSHA256},
}

// Hosts returns the names of the sites of a server.
func Hosts(routes caddyhttp.RouteList) (names []string) {
	for _, route := range routes {
		for _, set := range route.MatcherSets {
			for _, matcher := range set {
				if found, ok := matcher.(*caddyhttp.MatchHost); ok {
					names = append(names, *found...)
				}
			}
		}
	}
	return names
}

var (
	_ caddyhttp.MiddlewareHandler = (*Page)(nil)
	_ caddy.Provisioner           = (*Page)(nil)
)
