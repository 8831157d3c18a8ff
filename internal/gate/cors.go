package gate

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// The methods that the gate serves, and what a page of another origin may send and read.
const (
	allowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE"
	allowedHeaders = "Content-Type, Authorization, X-Auth-Token, Wazo-Tenant, Wazo-Session-Type, If-Match, If-None-Match, Idempotency-Key, X-Request-Id"
	exposedHeaders = "ETag, Location, Retry-After, Wazo-Sessions-Revoked, X-Request-Id"
	preflightAge   = "600" // seconds
)

// cors says which origins may call from a browser. No cookie is an identity here, so "*" gives a page only what its user has
// entered in it.
type cors struct {
	every   bool
	origins map[string]struct{}
}

func newCORS(origins []string) (cors, error) {
	c := cors{origins: make(map[string]struct{}, len(origins))}
	for _, origin := range origins {
		if origin == "*" {
			c.every = true
			continue
		}
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin || strings.ToLower(origin) != origin ||
			(u.Scheme != "https" && u.Scheme != "http") {
			return cors{}, fmt.Errorf("origin %q: an origin is a scheme, a host in lower case and perhaps a port: https://console.example.com", origin)
		}
		c.origins[origin] = struct{}{}
	}
	return c, nil
}

func (c *cors) enabled() bool { return c.every || len(c.origins) > 0 }

// answer writes the headers that let a page of a configured origin read the response, and returns the origin that it allowed, or
// "".
func (c *cors) answer(answer, request http.Header) string {
	if !c.enabled() {
		return ""
	}
	if !c.every {
		answer["Vary"] = append(answer["Vary"], "Origin")
	}
	sent := request["Origin"]
	if len(sent) != 1 {
		return ""
	}
	origin := "*"
	if !c.every {
		origin = sent[0]
		if _, ok := c.origins[origin]; !ok {
			return ""
		}
	}
	allow(answer, origin)
	return origin
}

func allow(answer http.Header, origin string) {
	answer["Access-Control-Allow-Origin"] = []string{origin}
	answer["Access-Control-Expose-Headers"] = []string{exposedHeaders}
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && len(r.Header["Access-Control-Request-Method"]) == 1
}

// preflight responds the same for every path: it lists what the gate accepts, and reveals nothing to a stranger.
func preflight(w http.ResponseWriter) {
	h := w.Header()
	delete(h, "Access-Control-Expose-Headers")
	h.Set("Access-Control-Allow-Methods", allowedMethods)
	h.Set("Access-Control-Allow-Headers", allowedHeaders)
	h.Set("Access-Control-Max-Age", preflightAge)
	h.Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK) // existing clients know 200
}
