package rest

import (
	"context"
	"net/http"
)

// Service is one API: its name is the first word of its accesses.
type Service struct {
	Name        string // "confd"
	Version     string // "1.1"
	Prefix      string // where the gate serves it: "/api/confd/1.1"
	Title       string
	Description string
	// Errors writes a refusal's body in the form that the service's clients know.
	Errors     ErrorForm
	Operations []Operation

	routes *routes
	spec   *definition
}

// Operation is one method on one path, declared once: route, required access,
// validation and definition all come from it. [Service.Mount] refuses one that contradicts itself.
type Operation struct {
	// Method is GET, HEAD, POST, PUT, PATCH or DELETE. GET serves HEAD too, unless that is declared.
	Method string
	// Path is below the service's prefix; {name} stands for one segment.
	Path string
	// Access is the access that a token must hold, with the path's parameters in
	// braces, each a whole word: "confd.users.{user_id}.read". A parameter may be repeated or left out. Empty on
	// an operation that is not Public: "{service}.#".
	Access string
	// Public operations need no token.
	Public bool
	// Pattern names the one path parameter that may hold an ACL pattern.
	Pattern string

	ID          string // operationId, unique in the service
	Tag         string
	Summary     string
	Description string
	Query       []Parameter
	// Body is the schema of the JSON body; nil when the operation takes none.
	Body *Schema
	// Consumes is the media type of the body; empty is application/json. The body of another is for the handler to read and check.
	Consumes string
	// BodyOptional lets the body be absent.
	BodyOptional bool
	// MaxBody is the largest body in bytes; 0 is DefaultMaxBody.
	MaxBody int64
	// Success is the status of a reply that names none.
	Success int
	// Reply is the schema of the body of a success; nil when it has none.
	Reply *Schema
	// Statuses are the refusals of its own, for the definition. Those that follow from the rest of the
	// declaration (400, 401, 403, 406, 413, 415, 500, 503) are added.
	Statuses []int
	// Produces is the media type of a success; empty is application/json.
	Produces string
	// Unimplemented operations answer every request with the handler's refusal: neither what it accepts nor
	// what it sends, of whatever type, is looked at.
	Unimplemented bool
	// Conditional operations GET one object: the reply gets an ETag, and If-None-Match and If-Match are honoured.
	Conditional bool
	// Tenanted operations read the Wazo-Tenant header.
	Tenanted bool

	Handle Handler
}

// Handler does the work of an operation. An error that is not an *apierr.Error (or
// one of package store's) is logged and shown as a plain 500.
type Handler func(ctx context.Context, r *Request) (Reply, error)

// Reply is what a handler returns.
type Reply struct {
	// Status is the operation's Success when it is 0.
	Status int
	// Body is written as JSON; nil writes no body, and neither does a status that has none. JSON
	// null is Null; a []byte is written as it is, as the operation's Produces.
	Body   any
	Header http.Header
}

// Null is the JSON null as a reply's body.
var Null = jsonNull{}

type jsonNull struct{}

// MarshalJSON is null.
func (jsonNull) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// Parameter is a query parameter of an operation. A request is refused when it has the parameter twice, or
// has a control character in it. The schema is for the definition: the handler reads the value,
// by [Request.List], [Request.Bool] or [Request.Query].
type Parameter struct {
	Name        string
	Description string
	Schema      *Schema
	Required    bool
	// Repeated says that it may be sent more than once.
	Repeated bool
}

// DefaultMaxBody is the largest body, in bytes, of an operation that says nothing else.
const DefaultMaxBody = 1 << 20

// RequiredAccess is the access that the operation documents, with parameters
// still in braces, "{service}.#" when it documents none, "" when it is public.
func (s *Service) RequiredAccess(op *Operation) string {
	switch {
	case op.Public:
		return ""
	case op.Access == "":
		return s.Name + ".#"
	default:
		return op.Access
	}
}
