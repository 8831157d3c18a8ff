package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
)

// Request is what a handler reads. Path parameters are canonical, query parameters appear once, and
// the body has been checked when Object returns.
type Request struct {
	// HTTP is the request itself. Its headers are not the identity: see Principal.
	HTTP  *http.Request
	match *Match
	query url.Values
	// fields are the attributes that the client chose.
	fields []string
	// Preload is the result of the operation's Preload, or nil.
	Preload any
}

// dryRun is the query parameter by which some operations say what they would do. Another would do it, against what the client expects.
const dryRun = "dry_run"

func newRequest(r *http.Request, m *Match) (*Request, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, apierr.New(apierr.Invalid, "The query string is malformed")
	}
	if !m.Op.honoursIfMatch() && len(r.Header.Values("If-Match")) > 0 {
		return nil, apierr.New(apierr.Invalid, "This operation changes nothing that has an entity tag; send no If-Match")
	}
	if query.Has(dryRun) && r.Method != http.MethodGet && !slices.ContainsFunc(m.Op.Query, func(p Parameter) bool { return p.Name == dryRun }) {
		return nil, apierr.New(apierr.Invalid, "This operation cannot be tried without doing it; send no %s", dryRun)
	}
	req := &Request{HTTP: r, match: m, query: query}
	for i := range m.Op.Query {
		p := &m.Op.Query[i]
		values, sent := query[p.Name]
		switch {
		case len(values) > 1 && !p.Repeated:
			return nil, invalidParameter(p.Name, "duplicate", "duplicate", "Was sent twice")
		case !sent && p.Required:
			return nil, invalidParameter(p.Name, "required", "required", "Is required")
		case slices.ContainsFunc(values, unreadable):
			return nil, invalidParameter(p.Name, "control", "control", "Must be UTF-8 text without control characters")
		case sent && (p.Boolean || p.Schema != nil && p.Schema.Type == "boolean"):
			if _, ok := ParseBool(values[0]); !ok {
				return nil, notBool(p.Name)
			}
		}
	}
	return req, req.readFields()
}

func unreadable(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl)
}

// Op returns the operation.
func (r *Request) Op() *Operation { return r.match.Op }

// Service returns the service that the operation belongs to.
func (r *Request) Service() *Service { return r.match.Service }

// Param returns a path parameter's value.
func (r *Request) Param(name string) string { return r.match.Param(name) }

// Match returns where the request's target leads.
func (r *Request) Match() *Match { return r.match }

// UUIDParam returns a path parameter that must be a UUID in lower case. Any other text cannot name anything, so the refusal is
// 404. Neither can a UUID in another spelling: the access that was checked contains the spelling of the path, and a denial of the
// usual spelling must not be evaded.
func (r *Request) UUIDParam(name string) (string, error) {
	id := r.Param(name)
	if !isUUID(id) || strings.ToLower(id) != id {
		what := strings.TrimSuffix(name, "_uuid")
		return "", apierr.New(apierr.NotFound, "There is no such %s", what).
			Named("unknown-"+strings.ReplaceAll(what, "_", "-")).Of(what+"s").With("uuid", nil)
	}
	return id, nil
}

// Principal returns the caller; nil on a public operation.
func (r *Request) Principal() *principal.Principal { return principal.FromContext(r.HTTP.Context()) }

// Query returns a query parameter's value and whether it was sent.
func (r *Request) Query(name string) (string, bool) {
	values, ok := r.query[name]
	if !ok {
		return "", false
	}
	return values[0], true
}

// WantsProblem reports whether the client takes refusals as problems (RFC 9457).
func (r *Request) WantsProblem() bool { return wantsProblem(r.HTTP.Header) }

// PrefersAlso reports whether the client prefers the operation's other media type, Also, to JSON. JSON is the answer where it
// wants both alike.
func (r *Request) PrefersAlso() bool {
	json, named := weight(r.HTTP.Header, jsonType)
	also, alsoNamed := weight(r.HTTP.Header, r.match.Op.Also)
	return also > json || also == json && alsoNamed > named
}

// Object reads the body according to the operation's schema. An absent body is an empty object if the operation declares it
// optional.
func (r *Request) Object() (Object, error) { return r.ObjectOf(r.match.Op.Body) }

// ObjectOf reads the body as Object does, by a schema that takes less than the operation's.
func (r *Request) ObjectOf(schema *Schema) (Object, error) {
	o := Object{schema: schema}
	if o.schema == nil {
		return o, fmt.Errorf("operation %s declares no body", r.match.Op.ID)
	}
	text, err := r.ReadBody()
	if err != nil {
		return o, err
	}
	if len(text) == 0 && r.match.Op.BodyOptional {
		o.values = map[string]any{}
		return o, o.check()
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

// ReadBody reads the whole body. If the client has not sent what it announced, that is not our fault.
func (r *Request) ReadBody() ([]byte, error) {
	return io.ReadAll(r.Body())
}

// Body returns the body, for a handler that reads it piece by piece. Its errors are those of ReadBody.
func (r *Request) Body() io.Reader {
	if r.HTTP.Body == nil {
		return http.NoBody
	}
	return body{r.HTTP}
}

type body struct{ r *http.Request }

func (b body) Read(p []byte) (int, error) {
	n, err := b.r.Body.Read(p)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, io.EOF):
		b.r.Body = http.NoBody // there is nothing left to settle
		return n, io.EOF
	case err == nil || errors.As(err, &tooLarge) || errors.Is(err, context.Canceled) || apierr.As(err) != nil: // the gate's own refusal
		return n, err
	default:
		return n, &apierr.Error{Kind: apierr.Invalid, Message: "The body ended before all of it had come", Err: errors.Join(errUnreadable, err)}
	}
}

func (o Object) check() error {
	if fields := o.schema.Validate("", o.values); len(fields) > 0 {
		return &apierr.Error{Kind: apierr.Invalid, Fields: fields}
	}
	return nil
}

// Decode reads the body into a T, the type of the operation's Body: the schema's defaults, then what was sent.
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
