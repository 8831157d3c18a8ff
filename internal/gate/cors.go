package gate

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
)

// The methods that the gate serves, and what a page of another origin may send and read.
const (
	allowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE"
	allowedHeaders = "Content-Type, Authorization, X-Auth-Token, Wazo-Tenant, Wazo-Session-Type, If-Match, If-None-Match, Idempotency-Key, X-Request-Id"
	exposedHeaders = "ETag, Location, Retry-After, Wazo-Sessions-Revoked, X-Request-Id"
	preflightAge   = "600" // seconds
)

// cors says which origins may call from a browser, and what they may send.
type cors struct {
	origins map[string]struct{}
	headers string
}

// CheckOrigins refuses what is no origin as browsers send it: a scheme, a host in lower case and perhaps a port, such as
// "https://console.example.com".
func CheckOrigins(origins []string) error {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin || strings.ToLower(origin) != origin || strings.Contains(origin, "*") ||
			(u.Scheme != "https" && u.Scheme != "http") {
			return fmt.Errorf("origin %q is not of the form https://host[:port], in lower case", origin)
		}
	}
	return nil
}

// newCORS takes origins that CheckOrigins has passed, and the headers that a route takes beside the common ones.
func newCORS(origins, headers []string) cors {
	c := cors{make(map[string]struct{}, len(origins)), strings.Join(append([]string{allowedHeaders}, headers...), ", ")}
	for _, origin := range origins {
		c.origins[origin] = struct{}{}
	}
	return c
}

func (c *cors) enabled() bool { return len(c.origins) > 0 }

// takes reports whether pages of the origin may call the services.
func (c *cors) takes(origin string) bool {
	_, ok := c.origins[origin]
	return ok
}

// answer writes the headers that let a page of a configured origin read the response, and returns the origin that it allowed, or
// "".
func (c *cors) answer(answer, request http.Header) string {
	if !c.enabled() {
		return ""
	}
	answer["Vary"] = append(answer["Vary"], "Origin")
	sent := request["Origin"]
	if len(sent) != 1 || !c.takes(sent[0]) {
		return ""
	}
	allow(answer, sent[0])
	return sent[0]
}

func allow(answer http.Header, origin string) {
	answer["Access-Control-Allow-Origin"] = []string{origin}
	answer["Access-Control-Expose-Headers"] = []string{exposedHeaders}
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && len(r.Header["Access-Control-Request-Method"]) == 1
}

// preflight responds the same for every path: it lists what the gate accepts, and reveals nothing to a stranger.
func (c *cors) preflight(w http.ResponseWriter) {
	h := w.Header()
	delete(h, "Access-Control-Expose-Headers")
	h.Set("Access-Control-Allow-Methods", allowedMethods)
	h.Set("Access-Control-Allow-Headers", c.headers)
	h.Set("Access-Control-Max-Age", preflightAge)
	h.Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK) // existing clients know 200
}

// checkUpgrade refuses a malformed upgrade to WebSocket (RFC 6455, section 4.1), and one from a page of a foreign origin: no
// other browser rule keeps a page from opening a WebSocket to any server. HTTP/2's extended CONNECT (RFC 8441) is refused with
// its method.
func (g *Gate) checkUpgrade(r *http.Request) *denial {
	switch origins := r.Header["Origin"]; {
	case r.Method != http.MethodGet || r.ContentLength != 0 || len(r.TransferEncoding) > 0:
		return deny("upgrade_body", apierr.Invalid, "An upgrade to WebSocket is a GET without a body")
	case len(origins) > 1:
		return deny("origin_duplicate", apierr.Invalid, "The header Origin was sent twice")
	case len(origins) == 1 && !g.cors.takes(origins[0]) && !sameOrigin(origins[0], r):
		return deny("origin", apierr.Forbidden, "Pages of this origin may not open a WebSocket here")
	}
	return nil
}

// sameOrigin reports whether the request goes to the origin of its page. A page that was loaded without TLS does not count as of
// a gateway with TLS: anybody on the network could have written it.
func sameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin {
		return false
	}
	port := ":443"
	switch {
	case u.Scheme == "http" && r.TLS == nil:
		port = ":80"
	case u.Scheme != "https":
		return false
	}
	return strings.EqualFold(withPort(u.Host, port), withPort(r.Host, port))
}

// withPort adds the port to a host that has none.
func withPort(host, port string) string {
	if strings.LastIndexByte(host, ':') > strings.LastIndexByte(host, ']') {
		return host
	}
	return host + port
}
