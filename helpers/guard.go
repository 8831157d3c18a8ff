package helpers

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

// Local serves what next serves to tools of this machine, and refuses everybody else as the plain port does: see checkLocal.
func Local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkLocal(r); err != nil {
			rest.WriteError(w, r, rest.CodeMessage, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// checkLocal refuses a request on the plain port that no tool of this machine has made of its own accord. There is no token, so a web page
// that a browser on this machine shows must not reach the endpoints: not by a name of its own that leads to a loopback
// address, not by an image, a form or a script, and not by a page of another local server.
func checkLocal(r *http.Request) error {
	switch {
	case !isLoopback(r.RemoteAddr):
		return apierr.New(apierr.Forbidden, "This port is for tools on this machine; use the gateway")
	case !isLocalHost(r.Host):
		return apierr.New(apierr.Forbidden, "This port is for tools on this machine, which send Host: localhost, 127.0.0.1 or [::1]")
	case fromPage(r):
		return apierr.New(apierr.Forbidden, "This port is for tools on this machine, and not for web pages")
	}
	return nil
}

// isLoopback reports whether the address of a client is one of this machine. That of a Unix socket has no IP.
func isLoopback(address string) bool {
	if address == "" || address == "@" || strings.HasPrefix(address, "/") {
		return true
	}
	at, err := netip.ParseAddrPort(address)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// isLocalHost reports whether a Host header names this machine in a way that no resolver can change.
func isLocalHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Zone() == "" && ip.Unmap().IsLoopback()
}

// fromPage reports whether a browser made the request for a page that is not this port's own, or before its user asked for it.
// Current browsers say so in Sec-Fetch-Site, older ones in Origin or Referer. Tools send none of these.
func fromPage(r *http.Request) bool {
	for _, site := range r.Header["Sec-Fetch-Site"] {
		if site != "none" && site != "same-origin" {
			return true
		}
	}
	own := "http://" + r.Host
	for _, origin := range r.Header["Origin"] {
		if !strings.EqualFold(origin, own) {
			return true
		}
	}
	for _, page := range r.Header["Referer"] {
		if !strings.EqualFold(page, own) && !strings.HasPrefix(strings.ToLower(page), strings.ToLower(own)+"/") {
			return true
		}
	}
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Moz", "X-Purpose"} {
		for _, purpose := range r.Header[name] {
			if strings.Contains(strings.ToLower(purpose), "pre") { // prefetch, prerender, preview
				return true
			}
		}
	}
	return false
}

func fromBrowser(r *http.Request) bool {
	return len(r.Header["Sec-Fetch-Site"]) > 0 || strings.HasPrefix(r.Header.Get("User-Agent"), "Mozilla/")
}
