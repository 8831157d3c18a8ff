package gate

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/ringfence/ringfence/internal/principal"
)

// ownPrefix begins the headers in which the gate tells an upstream who asks. Folded as fold does.
const ownPrefix = "x-ringfence-"

// forgeable are headers that mean something to the gate or to what is behind it. A server that turns
// names into CGI variables cannot tell X_Auth_Token from X-Auth-Token, so the other spellings
// are dropped; those that are true here are dropped in every spelling: they claim an identity, or
// another target or method than the ones that are checked (THREATS 1.30, 2.4).
var forgeable = map[string]bool{
	"authorization":     false,
	"connection":        false,
	"content-length":    false,
	"content-type":      false,
	"cookie":            false,
	"host":              false,
	"transfer-encoding": false,
	"upgrade":           false,
	"wazo-session-type": false,
	"wazo-tenant":       false,
	"x-auth-token":      false,
	"x-forwarded-for":   false,
	"x-forwarded-host":  false,
	"x-forwarded-proto": false,
	"x-real-ip":         false,
	"x-request-id":      false,

	"http2-settings":                 true,
	"remote-email":                   true,
	"remote-groups":                  true,
	"remote-name":                    true,
	"remote-user":                    true,
	"script-name":                    true,
	"x-auth-request-email":           true,
	"x-auth-request-groups":          true,
	"x-auth-request-user":            true,
	"x-authenticated-user":           true,
	"x-envoy-original-path":          true,
	"x-forwarded-email":              true,
	"x-forwarded-groups":             true,
	"x-forwarded-method":             true,
	"x-forwarded-path":               true,
	"x-forwarded-prefix":             true,
	"x-forwarded-preferred-username": true,
	"x-forwarded-script-name":        true,
	"x-forwarded-uri":                true,
	"x-forwarded-url":                true,
	"x-forwarded-user":               true,
	"x-http-method":                  true,
	"x-http-method-override":         true,
	"x-method-override":              true,
	"x-original-method":              true,
	"x-original-path":                true,
	"x-original-uri":                 true,
	"x-original-url":                 true,
	"x-override-url":                 true,
	"x-remote-group":                 true,
	"x-remote-user":                  true,
	"x-request-uri":                  true,
	"x-rewrite-uri":                  true,
	"x-rewrite-url":                  true,
	"x-ringfence":                    true,
	"x-script-name":                  true,
	"x-waws-unencoded-url":           true,
	"x-webauth-user":                 true,
}

const longestForgeable = 32

// initials are the first characters, folded, of the forgeable names.
var initials = func() (table [256]bool) {
	for name := range forgeable {
		table[name[0]] = true
		table[name[0]-'a'+'A'] = true
	}
	return table
}()

// forged reports whether a client may not send a header of this name.
func forged(name string) bool {
	switch name { // what nearly every request has: a comparison is cheaper than the rest of this function
	case "", "Accept", "Accept-Encoding", "Authorization", "Connection", "Content-Length", "Content-Type", "Cookie",
		"User-Agent", "Wazo-Tenant", "X-Auth-Token", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Request-Id":
		return false
	}
	if !initials[name[0]] {
		return false
	}
	var buf [longestForgeable]byte
	n, exact := fold(buf[:], name)
	folded := buf[:n]
	if n >= len(ownPrefix) && string(folded[:len(ownPrefix)]) == ownPrefix {
		return true
	}
	if n < len(name) {
		return false
	}
	always, known := forgeable[string(folded)]
	return known && (always || !exact)
}

// fold writes the name, as far as there is room, in lower case and with a hyphen for
// whatever is neither a letter nor a digit. It reports whether all those were hyphens.
func fold(buf []byte, name string) (n int, exact bool) {
	n, exact = min(len(buf), len(name)), true
	for i := range n {
		c := name[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-':
		default:
			c, exact = '-', false
		}
		buf[i] = c
	}
	return n, exact
}

// sanitise deletes the headers that a client may not send, and lets no other be
// dropped on the way: Connection may name nothing but itself (THREATS 0.4, 3.2). Trailers
// are dropped: some servers take them for headers, which were checked without them.
func sanitise(r *http.Request) {
	for name := range r.Header {
		if forged(name) {
			delete(r.Header, name)
		}
	}
	if sent := r.Header["Connection"]; sent != nil {
		sanitiseConnection(r.Header, sent)
	}
	r.Trailer = nil
}

// sanitiseConnection keeps of the Connection header what is about the connection. The only protocol
// that a client may switch to is WebSocket: HTTP/2 in clear text would carry further
// requests past the gate, on a connection that it no longer reads.
func sanitiseConnection(h http.Header, sent []string) {
	if len(sent) == 1 && (strings.EqualFold(sent[0], "keep-alive") || strings.EqualFold(sent[0], "close")) {
		return
	}
	upgrade := h["Upgrade"]
	webSocket := len(upgrade) == 1 && strings.EqualFold(upgrade[0], "websocket")
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
					kept = append(kept, option)
				}
			}
		}
	}
	if len(kept) == 0 {
		delete(h, "Connection")
		return
	}
	h["Connection"] = []string{strings.Join(kept, ", ")}
}

var identityHeaders = [...]string{"X-Ringfence-User", "X-Ringfence-Tenant", "X-Ringfence-Session", "X-Ringfence-Purpose"}

// setIdentity tells the upstream who asks. What is not known of the principal has no header.
func (p *passage) setIdentity(h http.Header, who *principal.Principal) {
	p.identity = [...]string{who.UserUUID, who.TenantUUID, who.SessionUUID, who.Purpose}
	for i, name := range identityHeaders {
		if p.identity[i] != "" {
			h[name] = p.identity[i : i+1 : i+1]
		}
	}
}

// overridesMethod reports whether the query has a parameter that some frameworks
// take for the method, instead of the one that was checked.
func overridesMethod(query string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if strings.IndexByte(name, '%') >= 0 {
			name, _ = url.QueryUnescape(name) // the target has been checked: it is well-formed
		}
		if strings.EqualFold(name, "_method") {
			return true
		}
	}
	return false
}
