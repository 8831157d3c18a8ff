package proxy

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/caddymodule/mended/direct"
)

// hop reports whether a header concerns one connection only (RFC 9110, section 7.6.1).
func hop(name string) bool {
	switch name {
	case "Alt-Svc", "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// noAgent keeps net/http from naming itself.
var noAgent = []string{""}

// request returns the request for the daemon, or false if the client's address cannot be told.
func (s *short) request(r *http.Request) (*http.Request, bool) {
	ip, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return nil, false
	}
	ip, _, _ = strings.Cut(ip, "%")
	scheme := "https"
	if r.TLS == nil {
		scheme = "http"
	}
	added := &[...]string{ip, scheme, r.Host, via(r.ProtoMajor, r.ProtoMinor)}
	header := make(http.Header, len(r.Header)+len(added)+1)
	for name, values := range r.Header {
		if !hop(name) {
			header[name] = values
		}
	}
	for i, name := range [...]string{"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host"} {
		if values, named := header[name]; !named || values != nil { // nil: somebody before does not want it
			header[name] = added[i : i+1 : i+1]
		}
	}
	header["Via"] = append(slices.Clip(header["Via"]), added[3])
	if _, named := header["User-Agent"]; !named {
		header["User-Agent"] = noAgent
	}
	out, to := new(http.Request), new(url.URL)
	*out, *to = *r, *r.URL
	to.Scheme, to.Host = "http", s.host
	out.URL, out.Header, out.Close = to, header, false
	if out.ContentLength == 0 {
		out.Body = nil
	}
	return out, direct.Takes(out)
}

func via(major, minor int) string {
	if major == 1 && minor == 1 {
		return "1.1 Caddy"
	}
	return strconv.Itoa(major) + "." + strconv.Itoa(minor) + " Caddy"
}
