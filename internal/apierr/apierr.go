// Package apierr describes refusals: a kind, which is the HTTP status, and a sentence for the client. Each service writes them in
// its own form (package rest).
package apierr

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Kind is the reason for which a request was refused. Its number is the HTTP status.
type Kind int

// The kinds of refusal.
const (
	Invalid              Kind = http.StatusBadRequest
	Unauthorized         Kind = http.StatusUnauthorized
	Forbidden            Kind = http.StatusForbidden
	NotFound             Kind = http.StatusNotFound
	MethodNotAllowed     Kind = http.StatusMethodNotAllowed
	NotAcceptable        Kind = http.StatusNotAcceptable
	Conflict             Kind = http.StatusConflict
	PreconditionFailed   Kind = http.StatusPreconditionFailed
	TooLarge             Kind = http.StatusRequestEntityTooLarge
	TargetTooLong        Kind = http.StatusRequestURITooLong
	UnsupportedMediaType Kind = http.StatusUnsupportedMediaType
	Unprocessable        Kind = http.StatusUnprocessableEntity
	TooMany              Kind = http.StatusTooManyRequests
	Internal             Kind = http.StatusInternalServerError
	NotImplemented       Kind = http.StatusNotImplemented
	Unavailable          Kind = http.StatusServiceUnavailable
)

// Error is a refusal that a client may read. Err, its cause, is for the log only.
type Error struct {
	Kind Kind
	// Message is one sentence for the client. It never repeats a secret, a token or raw input that was refused as malformed.
	Message string
	// ID is the auth service's error_id ("unknown-user"); by default it follows from Kind.
	ID string
	// About are the values of the body that Message is about, by their paths as in Fields, for programs.
	About []string
	// Names are the keys of the objects that Message names, each name before its value, and Unnamed is Message without them: for a caller
	// who may not know of one of these.
	Names   []any
	Unnamed string
	// Resource is the collection that it concerns ("users"); it may be empty.
	Resource string
	// Details are the auth service's details, for programs.
	Details map[string]any
	// Fields are the fields (or query parameters) that were wrong, in the order of the schema.
	Fields []Field
	// RetryAfter, if set, becomes the header of that name, in whole seconds.
	RetryAfter time.Duration
	// Allow lists the methods of a MethodNotAllowed.
	Allow []string
	// Accept are the media types that a NotAcceptable or UnsupportedMediaType asks for instead (RFC 9110, 12.5.1).
	Accept string
	Err    error
}

// Field is one wrong field of a body, or one wrong query parameter.
type Field struct {
	// Name is the path to it: "limit", "address.city", "acl[2]".
	Name string
	// Message says what is wrong with it, and never repeats its value.
	Message string
	// Constraint is the violated rule: type, required, length, range, enum, regex, not_null, unknown...
	Constraint string
	// Value is the constraint's own value (the limit, the choices), if Message says no more than the two.
	Value any
	// Query says that it is a query parameter, of which Sent is the value.
	Query bool
	Sent  string
}

// Sentence returns the refusal in one line: its message, and the errors of its fields.
func (e *Error) Sentence() string {
	parts := make([]string, 0, len(e.Fields)+1)
	if e.Message != "" {
		parts = append(parts, e.Message)
	}
	for _, f := range e.Fields {
		parts = append(parts, f.Name+": "+f.Message)
	}
	if len(parts) == 0 {
		return http.StatusText(e.Status())
	}
	return strings.Join(parts, "; ")
}

// Error returns a text for the log: the sentence, and the cause if there is one.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Sentence() + ": " + e.Err.Error()
	}
	return e.Sentence()
}

func (e *Error) Unwrap() error { return e.Err }

// Status returns the HTTP status of the refusal.
func (e *Error) Status() int { return int(e.Kind) }

// New returns a refusal with a formatted sentence.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// On says which values of the body the message is about, by their paths as in Fields.
func (e *Error) On(names ...string) *Error {
	e.About = append(e.About, names...)
	return e
}

// Naming sets Unnamed and Names, and returns e.
func (e *Error) Naming(unnamed string, keys ...any) *Error {
	e.Unnamed, e.Names = unnamed, keys
	return e
}

// Named sets ID, and returns e.
func (e *Error) Named(id string) *Error {
	e.ID = id
	return e
}

// Of sets Resource, and returns e.
func (e *Error) Of(resource string) *Error {
	e.Resource = resource
	return e
}

// With adds a detail, and returns e.
func (e *Error) With(name string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[name] = value
	return e
}

// InvalidField refuses one field.
func InvalidField(name, constraint, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Fields: []Field{{Name: name, Constraint: constraint, Message: fmt.Sprintf(format, args...)}}}
}

// As returns the refusal in err, or nil if err is something that no client should read.
func As(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}

// Sentinel returns an error to compare with, for a package that knows nothing of requests. refusal makes the default refusal for
// clients from the whole error, which is for the log.
func Sentinel(text string, refusal func(cause error) *Error) error {
	return &sentinelError{text, refusal}
}

type sentinelError struct {
	text    string
	refusal func(cause error) *Error
}

func (e *sentinelError) Error() string { return e.text }

// OfSentinel returns the refusal that a sentinel in err stands for, or nil if there is none.
func OfSentinel(err error) *Error {
	if e, ok := errors.AsType[*sentinelError](err); ok {
		return e.refusal(err)
	}
	return nil
}

// DatabaseUnavailable returns the refusal for an unreachable database.
func DatabaseUnavailable(cause error) *Error {
	return &Error{
		Kind: Unavailable, RetryAfter: 2 * time.Second, Err: cause,
		Message: "The database cannot answer now; nothing was changed that was not confirmed. Try again shortly",
	}
}
