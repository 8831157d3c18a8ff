package gatetest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// World is what a gate under test protects, and the token of the requests. Behind the gate, every request that arrives gets 200
// after Check.
//
// The token must hold "{service}.pub.#" and nothing else, and GET {prefix}/status must be public. No operation may accept an ACL
// pattern.
type World struct {
	// Service and Prefix are the protected service's: "echo", "/api/echo/1.0".
	Service, Prefix string
	// Token is a valid token, Unknown one of the right form that nobody issued.
	Token, Unknown string
	// User, Tenant, Session and Purpose are the token's identity, as an upstream must receive it. All are empty for our own
	// service, which gets no identity headers.
	User, Tenant, Session, Purpose string
	// Forwards is set if an upstream must get the token. Our own service always has it.
	Forwards bool
}

var canonicalPath = regexp.MustCompile(`\A(/[A-Za-z0-9_~@+=,:.-]+)+\z`)

// Check reports what is wrong with a request that arrived behind the gate. It reads the body to its end.
func (w World) Check(r *http.Request) error {
	access, err := w.derive(r.Method, r.RequestURI)
	if err != nil {
		return err
	}
	public := access == w.Service+".status.read"
	if !public && !strings.HasPrefix(access, w.Service+".pub.") {
		return fmt.Errorf("the token does not hold %s, which arrived", access)
	}
	if path, _, _ := strings.Cut(r.RequestURI, "?"); r.URL.Path != path {
		return fmt.Errorf("the path is %q in one place and %q in another", r.URL.Path, path)
	}
	if err := w.checkToken(r.Header, public); err != nil {
		return err
	}
	if len(r.Header.Values("Wazo-Tenant")) > 1 || len(r.Header.Values("X-Request-Id")) != 1 {
		return errors.New("two Wazo-Tenant, or not one X-Request-Id")
	}
	if strings.Contains(r.Header.Get("X-Request-Id"), w.Token) {
		return errors.New("a token is the request id")
	}
	if upgrade := r.Header.Get("Upgrade"); upgrade != "" && !strings.EqualFold(upgrade, "websocket") {
		return fmt.Errorf("an upgrade to %q arrived", upgrade)
	}
	if err := w.checkIdentity(r.Header, public); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return fmt.Errorf("reading the body: %w", err)
	}
	if len(r.Trailer) > 0 {
		return fmt.Errorf("%d trailers arrived", len(r.Trailer))
	}
	return nil
}

// checkToken checks that the token is where it belongs, and that nothing else claims an identity.
func (w World) checkToken(h http.Header, public bool) error {
	tokens := h.Values("X-Auth-Token")
	upstream := w.User != ""
	switch {
	case upstream && !w.Forwards && len(tokens) > 0, len(tokens) > 1, !public && (!upstream || w.Forwards) && (len(tokens) != 1 || tokens[0] != w.Token):
		return fmt.Errorf("%d tokens arrived", len(tokens))
	case upstream && !public && h.Get("Authorization") != "":
		return errors.New("an Authorization arrived beside the token")
	case upstream && h.Get("Wazo-Tenant") != "" && (public || h.Get("Wazo-Tenant") != w.Tenant):
		return errors.New("a tenant arrived that is not the principal's")
	}
	return nil
}

// derive implements the rule for derived accesses (docs/api.md, Accesses), independently of the gate.
func (w World) derive(method, requestURI string) (string, error) {
	path, query, _ := strings.Cut(requestURI, "?")
	if !canonicalPath.MatchString(path) {
		return "", fmt.Errorf("the path %q is not canonical", path)
	}
	if strings.ContainsAny(query, "#;\x00 ") || strings.Contains(query, "method") {
		return "", fmt.Errorf("the query %q arrived", query)
	}
	words := strings.Split(path, "/")[1:]
	if slices.Contains(words, ".") || slices.Contains(words, "..") {
		return "", fmt.Errorf("the path %q has dot segments", path)
	}
	prefix := strings.Split(w.Prefix, "/")[1:]
	if len(words) < len(prefix) || !slices.Equal(words[:len(prefix)], prefix) {
		return "", fmt.Errorf("the path %q is not below %s", path, w.Prefix)
	}
	words = words[len(prefix):]
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], ".", "%2E")
	}
	action, ok := map[string]string{
		"GET": "read", "HEAD": "read", "POST": "create", "PUT": "update", "PATCH": "update", "DELETE": "delete",
	}[method]
	if !ok {
		return "", fmt.Errorf("the method %q arrived", method)
	}
	return strings.Join(slices.Concat([]string{w.Service}, words, []string{action}), "."), nil
}

// arriving are the headers of the corpus that may arrive, beside those of the identity: HTTP's own, and those that the gate checks.
var arriving = regexp.MustCompile(`\A(Accept(-[A-Z][a-z]+)?|Authorization|Cache-Control|Connection|Content-(Length|Type)|Cookie|Expect|Host|Keep-Alive|` +
	`Origin|Te|Sec-Websocket-[A-Z][a-z]+|Transfer-Encoding|Upgrade|User-Agent|Via|Wazo-Tenant|X-Auth-Token|X-Forwarded-(For|Host|Proto)|X-Request-Id)\z`)

func (w World) checkIdentity(h http.Header, public bool) error {
	want := map[string]string{
		"X-Ringfence-User": w.User, "X-Ringfence-Tenant": w.Tenant, "X-Ringfence-Session": w.Session, "X-Ringfence-Purpose": w.Purpose,
	}
	for name, value := range want {
		if public {
			value = ""
		}
		if got := strings.Join(h[name], "|"); got != value {
			return fmt.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	for name := range h {
		if _, ok := want[name]; !ok && !arriving.MatchString(name) {
			return fmt.Errorf("the header %s arrived", name)
		}
	}
	return nil
}
