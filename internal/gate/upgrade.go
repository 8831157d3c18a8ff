package gate

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
)

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
