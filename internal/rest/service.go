package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// Service is one API: its name is the first word of its accesses.
type Service struct {
	Name        string // "confd"
	Version     string // "1.1"
	Prefix      string // the path at which the gate serves it: "/api/confd/1.1"
	Title       string
	Description string
	// Examples are values of text attributes, by the attributes' names, for the definition. They show what a client could send where
	// neither the attribute's schema nor its format says so.
	Examples map[string]string
	// Docs describe attributes that say nothing of themselves, by their names, or first by "Object.name" where one name has several
	// meanings; and the parameters of paths, by "{name}".
	Docs map[string]string
	// Helps are what people at a form read of attributes instead of the description, which tells programs of null, of values as they are
	// sent, and of what not to send. Empty: nothing. They are found as Docs are.
	Helps map[string]string
	// Tags say, in a sentence each, what belongs to the operations' tags.
	Tags map[string]string
	// Words say how people read a name where its letters do not tell: "exten" is "number". They are of attributes, first by
	// "Object.name"; of values, first by "Object.name=value" or "name=value"; and of paths below the prefix or below an object, by "/endpoints/sip". A name
	// of several words is read word by word, if it is not there itself. The definition shows them, for pages to label fields with.
	Words map[string]string
	// Columns are the attributes that people look for first in a list, by the names of the objects.
	Columns map[string][]string
	// Contact is whom people ask who may not do something: a name or an address. The definition has it, if it is set.
	Contact string
	// Errors makes a refusal's body in the form that the service's clients expect.
	Errors     ErrorForm
	Operations []Operation
	// Picture, if set, returns what the caller of ctx reads of what the audit has kept of an object of a resource.
	Picture func(ctx context.Context, resource string, picture any) (any, error)

	routes    *routes
	spec      func() []byte // the definition, as JSON
	strangers *strangers
}

// Operation is one method on one path, declared once: route, required access, validation and definition all follow from it.
// [Service.Mount] refuses a contradictory one.
type Operation struct {
	// Method is GET, HEAD, POST, PUT, PATCH or DELETE. GET also serves HEAD, unless HEAD is declared.
	Method string
	// Path is below the service's prefix; {name} stands for one segment.
	Path string
	// Access is the access that a token must hold, with the path's parameters in braces, each a whole word:
	// "confd.users.{user_id}.read". A parameter may be repeated or omitted. If Access is empty and the operation is not Public,
	// it means "{service}.#".
	Access string
	// Public operations need no token.
	Public bool
	// Instead is the access of a token with which a public operation takes its caller at once, where others prove themselves by something
	// else, such as the link of a mail. It is written as Access is, and the handler checks it.
	Instead string
	// Basic says that a public operation takes a name and a password by HTTP Basic authentication (RFC 7617), from those who send nothing
	// else to be known by. The handler reads them.
	Basic bool
	// Pattern names the one path parameter that may hold an ACL pattern.
	Pattern string
	// Master says who may do it beside the access: the handler refuses all others, and explanations tell so.
	Master Master

	ID          string // operationId, unique in the service
	Tag         string
	Summary     string
	Description string
	Query       []Parameter
	// Body is the schema of the JSON body; nil if the operation takes none.
	Body *Schema
	// Consumes is the media type of the body; empty means application/json. The handler reads and checks a body of any other
	// type.
	Consumes string
	// BodyOptional lets the body be absent.
	BodyOptional bool
	// MaxBody is the largest body in bytes; 0 is DefaultMaxBody.
	MaxBody int64
	// Success is the status of a reply that sets none.
	Success int
	// Reply is the schema of the body of a success; nil if it has none.
	Reply *Schema
	// Statuses are the operation's own refusals, for the definition. Those that follow from the rest of the declaration (400,
	// 401, 403, 406, 413, 415, 500, 503) are added. A PUT or DELETE that may refuse with 412 honours If-Match; whatever else
	// changes something refuses a request that has it.
	Statuses []int
	// Replies are the schemas of the bodies of further responses, by their statuses. A refusal may have the usual form instead.
	Replies map[int]*Schema
	// Produces is the media type of a success; empty means application/json.
	Produces string
	// Also is another media type of a success, beside application/json, for clients that prefer it: see [Request.PrefersAlso].
	Also string
	// Unimplemented operations return the handler's refusal to every request. Neither the request's Accept header nor its body is
	// checked.
	Unimplemented bool
	// Conditional operations GET one object: the reply gets an ETag, and If-None-Match and If-Match are honoured.
	Conditional bool
	// Fields operations GET one object, or a list of objects, and have the query parameter `fields`, which chooses attributes.
	Fields bool
	// Transactional operations do nothing but change the database, in a transaction of the engine (package crud): they may be one
	// of several in one transaction.
	Transactional bool
	// Preload, if set, does the slow part of Handle that needs no transaction. It runs before a transaction around the operation begins, and
	// Handle finds its result in the request's Preload. If there is none, Handle does it itself.
	Preload func(ctx context.Context, r *Request) (any, error)
	// Idempotent operations take the header Idempotency-Key.
	Idempotent bool
	// Tagged operations answer with the entity tag of what they made or changed, and Located ones say where it is, or where to go on.
	Tagged, Located bool
	// Tenanted operations read the Wazo-Tenant header.
	Tenanted bool

	Handle Handler
}

// Master says what an operation has to do with the master tenant. The zero value is nothing.
type Master int

const (
	// InMaster operations are for requests that act in the master tenant.
	InMaster Master = iota + 1
	// FromMaster operations are for users of the master tenant, wherever the request acts.
	FromMaster
)

// honoursIfMatch reports whether a request may have If-Match: a read may; what changes something, and cannot find that it was changed
// before, refuses the header instead of ignoring it.
func (op *Operation) honoursIfMatch() bool {
	switch op.Method {
	case http.MethodGet, http.MethodHead:
		return true
	case http.MethodPost: // it makes something; several operations at once have an If-Match each, in the body
		return op.Unimplemented
	default:
		return op.Unimplemented || slices.Contains(op.Statuses, http.StatusPreconditionFailed)
	}
}

// Handler does the work of an operation. An error that is neither an *apierr.Error nor one of package store's is logged and shown
// as a plain 500.
type Handler func(ctx context.Context, r *Request) (Reply, error)

// Reply is what a handler returns.
type Reply struct {
	// Status is the status; 0 means the operation's Success.
	Status int
	// Body is encoded as JSON; nil means no body, and so does a status without one. JSON null is Null; a []byte is written
	// unchanged, as the operation's Produces.
	Body   any
	Header http.Header
	// Stream writes the body instead of Body, without holding all of it. If it fails, the connection or the stream is cut, so
	// that no client takes a part for the whole: what can be refused is refused before.
	Stream func(w io.Writer) error
	// Type is the media type of the body, if it is not the operation's Produces.
	Type string
}

// Null is the JSON null as a reply's body.
var Null = json.RawMessage("null")

// Parameter is a query parameter of an operation. A request is refused if it has the parameter twice, or with a control character
// in it. The schema is for the definition: the handler reads the value, with [Request.List], [Request.Bool] or [Request.Query].
type Parameter struct {
	Name        string
	Description string
	Schema      *Schema
	Required    bool
	// Repeated says that it may be sent more than once.
	Repeated bool
	// Boolean says that it is read by [Request.Bool], although its schema, which existing clients know, is of text.
	Boolean bool
	// Views describes the items of the answer by the parameter's values, where they are others than the operation's own.
	Views map[string]*Schema
}

// DefaultMaxBody is the largest body, in bytes, of an operation that sets no MaxBody.
const DefaultMaxBody = 1 << 20

// RequiredAccess returns the access that the operation documents, with parameters still in braces, "{service}.#" if it documents
// none, "" if it is public.
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

// Accesses returns a service that only knows what its operations need: its Match and Access work, but it has no definition and
// serves nothing. The gate makes one for an upstream daemon, from the daemon's own definition. It uses only Method, Path, Access,
// Public and Pattern of the operations.
func Accesses(name, prefix string, ops []Operation) (*Service, error) {
	s := &Service{Name: name, Prefix: prefix, Operations: ops}
	routes, err := newRoutes(s, ops)
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", name, err)
	}
	s.routes = routes
	return s, nil
}
