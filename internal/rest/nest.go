package rest

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"net/url"

	"github.com/ringfence/ringfence/internal/apierr"
)

// Nested is a request inside the body of another.
type Nested struct {
	Method string
	// Path is below the service's prefix, and may have a query: "/users/17?recursive=true".
	Path string
	// Body is JSON; empty means none.
	Body []byte
	// IfMatch is the header If-Match, or "".
	IfMatch string
}

// Nest returns a request to the same service, by the same caller, in the same tenant. Everything that the gate checks of a request
// is checked of it in the same way: its target is parsed by the same parser and matched by the same router, and the caller must
// hold the access that it needs. Of the outer request's headers it has only the tenant and the request id.
func (r *Request) Nest(n Nested) (*Request, error) {
	outer := r.HTTP
	inner := &http.Request{
		Method: n.Method, URL: &url.URL{}, Proto: outer.Proto, ProtoMajor: outer.ProtoMajor, ProtoMinor: outer.ProtoMinor, Host: outer.Host,
		RemoteAddr: outer.RemoteAddr, RequestURI: r.Service().Prefix + n.Path, ContentLength: int64(len(n.Body)), Body: http.NoBody,
		Header: http.Header{"Accept": {jsonType}},
	}
	for _, name := range []string{"Wazo-Tenant", RequestIDHeader} {
		if lines := outer.Header.Values(name); lines != nil {
			inner.Header[http.CanonicalHeaderKey(name)] = lines
		}
	}
	if n.IfMatch != "" {
		inner.Header.Set("If-Match", n.IfMatch)
	}
	if len(n.Body) > 0 {
		inner.Header.Set("Content-Type", jsonType)
		inner.Body = io.NopCloser(bytes.NewReader(n.Body))
	}
	t, m, err := r.Service().match(inner)
	if err != nil {
		return nil, err
	}
	if p := r.Principal(); p == nil || !p.Holds(m.Access()) {
		return nil, Lacks(m.Access())
	}
	switch {
	case m.Op == nil:
		return nil, unmatched(m)
	case int64(len(n.Body)) > cmp.Or(m.Op.MaxBody, DefaultMaxBody):
		return nil, &apierr.Error{Kind: apierr.TooLarge, Message: tooLargeMessage}
	}
	inner.URL.Path, inner.URL.RawQuery, inner.RequestURI = t.Path(), t.RawQuery(), t.RequestURI()
	return newRequest(inner.WithContext(NewContext(outer.Context(), m)), m)
}

// Lacks refuses a caller who does not hold an access.
func Lacks(access string) *apierr.Error {
	return &apierr.Error{
		Kind: apierr.Forbidden, Message: "Unauthorized for " + access + ": the token does not hold this access",
		Details: map[string]any{"reason": "missing_permission_or_invalid_tenant", "required_access": access},
	}
}
