package gate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/tenant"
	"github.com/ringfence/ringfence/internal/tokens"
)

// passes reports whether a client may send a header of this name, in the spelling of net/http, whatever the route says: those of HTTP itself
// (RFC 9110, 9111 and 6265) and of what belongs to it, of browsers, of WebSocket and of tracing, and those that the gate or a proxy behind it
// reads or writes. None of them claims an identity that the gate does not check, or another target or method than the checked ones; From, an
// address, is not among them. Every other header is dropped, and so is every other spelling: a server that turns names into CGI variables
// cannot tell X_Auth_Token from X-Auth-Token.
func passes(name string) bool {
	switch name {
	case "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Authorization", "Cache-Control", "Connection", "Cookie", "Date", "Expect",
		"Host", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Keep-Alive", "Max-Forwards", "Pragma", "Range",
		"Referer", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent", "Via",
		"Content-Digest", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Length", "Content-Location", "Content-Md5",
		"Content-Range", "Content-Type", "Digest", "Repr-Digest",
		"Idempotency-Key", "Incremental", "Last-Event-Id", "Prefer", "Priority", "Traceparent", "Tracestate",
		"Access-Control-Request-Headers", "Access-Control-Request-Method", "Origin",
		"Dnt", "Purpose", "Save-Data", "Sec-Ch-Ua", "Sec-Ch-Ua-Mobile", "Sec-Ch-Ua-Platform", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site",
		"Sec-Fetch-User", "Sec-Gpc", "Sec-Purpose", "Upgrade-Insecure-Requests", "X-Csrf-Token", "X-Csrftoken", "X-Requested-With", "X-Xsrf-Token",
		"Sec-Websocket-Accept", "Sec-Websocket-Extensions", "Sec-Websocket-Key", "Sec-Websocket-Protocol", "Sec-Websocket-Version",
		"Wazo-Session-Type", "Wazo-Tenant", "X-Auth-Token", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Request-Id":
		return true
	}
	return false
}

// ownHeaders begins the names of the headers that only the gate writes.
const ownHeaders = "X-Ringfence"

// CheckForwardHeaders refuses names that [Config].ForwardHeaders cannot have.
func CheckForwardHeaders(names []string) error {
	for _, name := range names {
		switch plain := http.CanonicalHeaderKey(name); {
		case name == "" || strings.Trim(plain, headerCharacters) != "":
			return fmt.Errorf("%q is no name of a header: it has letters, digits and hyphens", name)
		case strings.HasPrefix(plain, ownHeaders):
			return fmt.Errorf("the header %s cannot be forwarded: only the gate may write it", plain)
		case overridesMethod(name):
			return fmt.Errorf("the header %s cannot be forwarded: it would override the method that was checked", plain)
		}
	}
	return nil
}

const headerCharacters = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// sanitise deletes the headers that a client may not send, and prevents others from being dropped later: Connection may name
// nothing but itself. It drops trailers, which some servers take for headers although they were not checked. It reports whether
// the client asks for a WebSocket, and returns the names of what it has deleted if somebody wants to know.
func (g *Gate) sanitise(r *http.Request) (upgrade bool, dropped []string) {
	for name := range r.Header {
		if passes(name) || slices.Contains(g.config.ForwardHeaders, name) {
			continue
		}
		delete(r.Header, name)
		if g.config.Dropped != nil {
			dropped = append(dropped, name)
		}
	}
	if sent := r.Header["Connection"]; sent != nil {
		upgrade = sanitiseConnection(r.Header, sent)
	}
	r.Trailer = nil
	return upgrade, dropped
}

// sanitiseConnection keeps those options of the Connection header that concern the connection. WebSocket is the only protocol
// that a client may switch to: HTTP/2 in clear text would carry further requests past the gate, on a connection that it no longer
// reads. It reports whether the client asks for a WebSocket.
func sanitiseConnection(h http.Header, sent []string) (upgrade bool) {
	if len(sent) == 1 && (strings.EqualFold(sent[0], "keep-alive") || strings.EqualFold(sent[0], "close")) {
		return false
	}
	protocols := h["Upgrade"]
	webSocket := len(protocols) == 1 && strings.EqualFold(protocols[0], "websocket")
	if !webSocket {
		delete(h, "Upgrade")
	}
	var kept []string
	for _, line := range sent {
		for option := range strings.SplitSeq(line, ",") {
			option = strings.Trim(option, " \t")
			switch strings.ToLower(option) {
			case "close", "keep-alive", "te":
				kept = append(kept, option)
			case "upgrade":
				if webSocket {
					kept, upgrade = append(kept, option), true
				}
			}
		}
	}
	if len(kept) == 0 {
		delete(h, "Connection")
		return false
	}
	h["Connection"] = []string{strings.Join(kept, ", ")}
	return upgrade
}

// identities are what an upstream can be told of the caller, and identityHeaders the headers for it.
var (
	identities      = [...]string{"user", "tenant", "session", "purpose"}
	identityHeaders = [len(identities)]string{"X-Ringfence-User", "X-Ringfence-Tenant", "X-Ringfence-Session", "X-Ringfence-Purpose"}
)

// CheckIdentity refuses names that [Config].Identity cannot have.
func CheckIdentity(names []string) error {
	for _, name := range names {
		if !slices.Contains(identities[:], name) {
			return fmt.Errorf("a caller has no identity %q: it is one of %s", name, strings.Join(identities[:], ", "))
		}
	}
	return nil
}

// told returns which of the identities the names are; none is the user and the tenant, the first two. Each header costs a microsecond in the
// gate, the proxy and the kernel together.
func told(names []string) (all [len(identities)]bool) {
	for i, name := range identities {
		all[i] = slices.Contains(names, name) || len(names) == 0 && i < 2
	}
	return all
}

// setIdentity tells the upstream who the caller is. Unknown properties of the principal have no header, and neither has a request
// without a principal. Headers of the client with these names are gone in any case: see sanitise.
func (g *Gate) setIdentity(p *passage, h http.Header, who *principal.Principal) {
	if who == nil {
		return
	}
	p.identity = [...]string{who.UserUUID, who.TenantUUID, who.SessionUUID, who.Purpose}
	for i, name := range identityHeaders {
		if g.told[i] && p.identity[i] != "" {
			h[name] = p.identity[i : i+1 : i+1]
		}
	}
}

// withhold deletes what an upstream must not get: a token, unless it checks tokens itself, anything else that claims an identity,
// and a tenant that was not chosen. It returns the token.
func (g *Gate) withhold(h http.Header, who *principal.Principal) (token string) {
	if sent := h["X-Auth-Token"]; len(sent) > 0 {
		if token = sent[0]; token != "" {
			delete(h, "Authorization")
		}
		if !g.config.ForwardToken || token == "" {
			delete(h, "X-Auth-Token")
		}
	}
	if who == nil {
		delete(h, tenant.Header)
	}
	return token
}

// chooseTenant checks that the principal may act in the tenant that the request names.
func (g *Gate) chooseTenant(r *http.Request, who *principal.Principal) *denial {
	sent := r.Header[tenant.Header]
	if len(sent) == 0 || sent[0] == who.TenantUUID {
		return nil
	}
	chosen, err := g.namedTenant(r.Context(), who, r.Header["X-Auth-Token"][0], sent)
	if err != nil {
		return &denial{"tenant", err}
	}
	r.Header[tenant.Header] = []string{chosen}
	return nil
}

// actsIn returns the tenant in which a request acts that chooseTenant has let through.
func actsIn(r *http.Request, who *principal.Principal) string {
	if sent := r.Header[tenant.Header]; len(sent) > 0 {
		return sent[0]
	}
	return who.TenantUUID
}

// followTenants has our own services follow the tenants of another auth server.
func (g *Gate) followTenants(r *http.Request, who *principal.Principal) *denial {
	token := r.Header["X-Auth-Token"][0]
	err := g.config.Follow(r.Context(), who, actsIn(r, who), func(ctx context.Context, named string) (bool, error) {
		return g.remoteTenant(ctx, token, named)
	})
	if err != nil {
		return &denial{"tenant", tenantTrouble(err)}
	}
	return nil
}

// mayActIn returns the reason for which the principal may not act in the named tenant, if one was named.
func (g *Gate) mayActIn(ctx context.Context, who *principal.Principal, token, named string) *apierr.Error {
	if named == "" || named == who.TenantUUID {
		return nil
	}
	_, err := g.namedTenant(ctx, who, token, []string{named})
	return err
}

func (g *Gate) namedTenant(ctx context.Context, who *principal.Principal, token string, lines []string) (string, *apierr.Error) {
	choose := g.config.Tenant
	if who.Remote {
		choose = func(ctx context.Context, who *principal.Principal, lines []string) (string, error) {
			return g.chooseRemote(ctx, who, token, lines[0])
		}
	}
	chosen, err := choose(ctx, who, lines)
	if err != nil {
		return "", tenantTrouble(err)
	}
	return chosen, nil
}

// tenantTrouble returns a refusal as it is, and everything else as an outage.
func tenantTrouble(err error) *apierr.Error {
	if e := apierr.As(err); e != nil {
		return e
	}
	return unavailable("tenant", err)
}

// chooseRemote asks the auth server that issued the token, whose tenants are not known here.
func (g *Gate) chooseRemote(ctx context.Context, who *principal.Principal, token, named string) (string, error) {
	if own, err := ownTenant(ctx, who, []string{named}); err == nil {
		return own, nil
	}
	asked, err := tenant.Asked(who, []string{named})
	if err != nil {
		return "", err
	}
	within, err := g.remoteTenant(ctx, token, asked)
	if err == nil && !within {
		err = tenant.Unauthorized()
	}
	return asked, err
}

func (g *Gate) remoteTenant(ctx context.Context, token, named string) (bool, error) {
	if g.config.Within == nil {
		return false, nil
	}
	within, err := g.config.Within(ctx, token, named)
	if errors.Is(err, tokens.ErrUnknown) {
		return false, apierr.New(apierr.Unauthorized, "The token is unknown, expired or revoked; get a new one")
	}
	return within, err
}

// ownTenant refuses every tenant but the principal's own.
func ownTenant(_ context.Context, who *principal.Principal, lines []string) (string, error) {
	if strings.EqualFold(lines[0], who.TenantUUID) {
		return who.TenantUUID, nil
	}
	return "", tenant.Unauthorized()
}

// overrides are query parameters that some frameworks take for the method, instead of the checked one, in the form of
// plainParameter.
var overrides = [...]string{
	"_method", "__method", "_http_method", "_httpmethod", "_method_override", "$httpmethod",
	"http_method_override", "method_override", "x_http_method", "x_http_method_override", "x_method_override",
}

// overridesMethod reports whether the query has such a parameter, in any spelling.
func overridesMethod(query string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if len(name) >= len("_method") && slices.Contains(overrides[:], plainParameter(name)) {
			return true
		}
	}
	return false
}

// plainParameter returns a parameter's name as the most lenient framework reads it: without surrounding spaces, in lower case,
// without an index ("_method[]", "_method[0]"), and with an underscore for each character that PHP does not allow in a name.
func plainParameter(name string) string {
	if strings.ContainsAny(name, "%+") {
		name, _ = url.QueryUnescape(name) // the target has been checked: it is well-formed
	}
	name = strings.ToLower(strings.TrimSpace(name))
	if i := strings.IndexByte(name, '['); i > 0 {
		name = name[:i]
	}
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '.', '-', '[':
			return '_'
		default:
			return r
		}
	}, strings.TrimSpace(name))
}
