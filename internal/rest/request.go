package rest

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
)

// Request is what a handler reads. Path parameters are canonical, query parameters appear once, and
// the body has been checked by the time that Object answers.
type Request struct {
	// HTTP is the request itself. Identity is not taken from its headers: see Principal.
	HTTP  *http.Request
	match *Match
	query url.Values
}

func newRequest(r *http.Request, m *Match) (*Request, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, apierr.New(apierr.Invalid, "The query string is malformed")
	}
	req := &Request{HTTP: r, match: m, query: query}
	for i := range m.Op.Query {
		p := &m.Op.Query[i]
		values, sent := query[p.Name]
		switch {
		case len(values) > 1:
			return nil, apierr.InvalidField(p.Name, "duplicate", "Was sent twice")
		case !sent && p.Required:
			return nil, apierr.InvalidField(p.Name, "required", "Is required")
		case sent && (!utf8.ValidString(values[0]) || strings.ContainsRune(values[0], 0)):
			return nil, apierr.InvalidField(p.Name, "type", "Must be UTF-8 text without control characters")
		}
	}
	return req, nil
}

// Op is the operation.
func (r *Request) Op() *Operation { return r.match.Op }

// Service is the service that the operation belongs to.
func (r *Request) Service() *Service { return r.match.Service }

// Param is a path parameter's value.
func (r *Request) Param(name string) string { return r.match.Param(name) }

// UUIDParam is a path parameter that must be a UUID, in lower case; what is not one cannot name
// anything, so the refusal is 404 (reference, confd-behaviour: "JSON 404 for a malformed id").
func (r *Request) UUIDParam(name string) (string, error) {
	id, err := uuid.Parse(r.Param(name))
	if err != nil || len(r.Param(name)) != 36 {
		return "", apierr.New(apierr.NotFound, "There is no such %s", strings.TrimSuffix(name, "_uuid"))
	}
	return id.String(), nil
}

// Principal is who asks; nil on a public operation.
func (r *Request) Principal() *principal.Principal { return principal.FromContext(r.HTTP.Context()) }

// Query is a query parameter's value and whether it was sent.
func (r *Request) Query(name string) (string, bool) {
	values, ok := r.query[name]
	if !ok {
		return "", false
	}
	return values[0], true
}

// Object reads the body as the operation's schema has it. An absent body is an empty
// object where the operation says that it is optional.
func (r *Request) Object() (Object, error) {
	o := Object{schema: r.match.Op.Body}
	if o.schema == nil {
		return o, fmt.Errorf("operation %s declares no body", r.match.Op.ID)
	}
	if !hasBody(r.HTTP) && r.match.Op.BodyOptional {
		o.values = map[string]any{}
		return o, o.check()
	}
	text, err := io.ReadAll(r.HTTP.Body)
	if err != nil {
		return o, fmt.Errorf("reading the body: %w", err)
	}
	value, err := ParseJSON(text)
	if err != nil {
		return o, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return o, apierr.New(apierr.Invalid, "The body must be a JSON object")
	}
	o.values = object
	return o, o.check()
}

func (o Object) check() error {
	if fields := o.schema.Validate("", o.values); len(fields) > 0 {
		return &apierr.Error{Kind: apierr.Invalid, Fields: fields}
	}
	return nil
}

// Decode reads the body into a T: the schema's defaults, then what was sent.
func Decode[T any](r *Request) (T, error) {
	var out T
	o, err := r.Object()
	if err != nil {
		return out, err
	}
	if err := o.schema.SetDefaults(&out); err != nil {
		return out, err
	}
	return out, o.Into(&out)
}
