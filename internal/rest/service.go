package rest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
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
// validation and definition all come from it.
type Operation struct {
	Method string
	// Path is below the service's prefix; {name} stands for one segment.
	Path string
	// Access is the access that a token must hold, with the path's parameters in
	// braces: "confd.users.{user_id}.read". A parameter may be repeated or left out. Empty on
	// an operation that is not Public: "{service}.#" (SPEC, Authentication, 3).
	Access string
	// Public operations need no token.
	Public bool
	// Pattern names the one path parameter that may hold an ACL pattern (DESIGN section 3, step 1).
	Pattern string

	ID          string // operationId, unique in the service
	Tag         string
	Summary     string
	Description string
	Query       []Parameter
	// Body is the schema of the JSON body; nil when the operation takes none.
	Body *Schema
	// BodyOptional lets the body be absent.
	BodyOptional bool
	// MaxBody is the largest body in bytes; 0 is DefaultMaxBody.
	MaxBody int64
	// Success is the status of a reply that names none.
	Success int
	// Reply is the schema of the body of a success; nil when it has none.
	Reply *Schema
	// Statuses are the refusals of its own, for the definition. Those that every operation can
	// answer (401, 403, 406, 415, 500, 503) are added.
	Statuses []int
	// Produces is the media type of a success; empty is application/json.
	Produces string
	// Conditional operations read one object: the reply gets an ETag, and If-None-Match is honoured.
	Conditional bool
	// Tenanted operations read the Wazo-Tenant header.
	Tenanted bool

	Handle Handler
}

// Handler does the work of an operation. An error that is not an *apierr.Error (or
// one of package store's) is logged and shown as a plain 500.
type Handler func(ctx context.Context, r *Request) (Reply, error)

// Reply is what a handler answers.
type Reply struct {
	// Status is the operation's Success when it is 0.
	Status int
	// Body is written as JSON; nil writes no body. JSON null is Null; a []byte is written as it is, as the operation's Produces.
	Body   any
	Header http.Header
}

// Null is the JSON null as a reply's body.
var Null = jsonNull{}

type jsonNull struct{}

// MarshalJSON is null.
func (jsonNull) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// Parameter is a query parameter of an operation. A value is refused when it appears twice.
type Parameter struct {
	Name        string
	Description string
	Schema      *Schema
	Required    bool
}

// DefaultMaxBody is the largest body, in bytes, of an operation that says nothing else.
const DefaultMaxBody = 1 << 20

// Mount checks the operations and builds the router and the definition. It adds
// the two operations that serve the definition itself. An error is a mistake in
// the declaration.
func (s *Service) Mount() error {
	if s.Errors == nil {
		return fmt.Errorf("service %s: no error form", s.Name)
	}
	ops := slices.Clone(s.Operations)
	ops = append(ops, s.definitionOperations()...)
	seen := map[string]bool{}
	for i := range ops {
		op := &ops[i]
		if err := op.check(s.Name); err != nil {
			return fmt.Errorf("service %s: %s %s: %w", s.Name, op.Method, op.Path, err)
		}
		if seen[op.ID] {
			return fmt.Errorf("service %s: two operations are called %q", s.Name, op.ID)
		}
		seen[op.ID] = true
	}
	routes, err := newRoutes(s, ops)
	if err != nil {
		return fmt.Errorf("service %s: %w", s.Name, err)
	}
	s.Operations, s.routes = ops, routes
	if s.spec, err = newDefinition(s); err != nil {
		return fmt.Errorf("service %s: writing its definition: %w", s.Name, err)
	}
	return nil
}

func (op *Operation) check(service string) error {
	switch {
	case op.Handle == nil:
		return fmt.Errorf("no handler")
	case op.ID == "":
		return fmt.Errorf("no ID")
	case op.Success == 0:
		return fmt.Errorf("no success status")
	case op.Public && op.Access != "":
		return fmt.Errorf("both public and with an access")
	case op.Access != "" && !strings.HasPrefix(op.Access, service+"."):
		return fmt.Errorf("access %q is not one of this service's", op.Access)
	case op.Pattern != "" && !strings.Contains(op.Path, "{"+op.Pattern+"}"):
		return fmt.Errorf("pattern parameter %q is not in the path", op.Pattern)
	}
	return nil
}

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
