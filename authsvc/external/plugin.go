package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

// Plugin links users to an external service. It must have a name; it declares everything else by implementing the interfaces
// below. Each plugin gets the resource /users/{user_uuid}/external/{type}, with the accesses
// auth.users.{user_uuid}.external.{type}.create, .read, .update and .delete:
//
//	POST    if it is a [Creator]   201
//	GET     the stored data, or the result of its [Fetcher]   200
//	PUT     if it is an [Updater]   200
//	DELETE  removes the stored data; a [Remover] is called first   204
//
// Its methods are called from many requests at once. An error that is neither one of this package's nor made by [Refuse] is
// logged and returned as a plain 500.
type Plugin interface {
	// Type returns the plugin's name: one word of lower-case letters, digits, - and _, which never changes.
	Type() string
}

// Creator begins a link. It returns the data that the user needs to go on, such as {authorization_url, state}, or what it has
// stored.
type Creator interface {
	Create(ctx context.Context, l *Link, body json.RawMessage) (any, error)
}

// Fetcher returns the credentials, renewed if they have expired (see [Link.Renew]).
type Fetcher interface {
	Fetch(ctx context.Context, l *Link) (any, error)
}

// Updater changes a link, such as the scope of its credentials.
type Updater interface {
	Update(ctx context.Context, l *Link, body json.RawMessage) (any, error)
}

// Remover is called before the stored data is removed. If it returns an error, nothing is removed.
type Remover interface {
	Remove(ctx context.Context, l *Link) error
}

// SafeViewer returns the part of the stored data that may be shown to callers who may not read the credentials: a struct or a
// map. A plugin without it shows an empty object.
type SafeViewer interface {
	SafeView(data json.RawMessage) (any, error)
}

// Informer returns the plugin's information, for display.
type Informer interface {
	Info() Info
}

// Info is a plugin's information.
type Info struct {
	// RequiredACL names the permissions that are asked of the external service.
	RequiredACL []string `json:"required_acl"`
}

// Authorizer takes the messages of the external service if no closure is registered for a state, or if the closure was lost with
// its process: see [Host.RegisterOAuth2Callback].
type Authorizer interface {
	// Authorized is called outside the request's goroutine. extra holds the extra arguments, as JSON.
	Authorized(ctx context.Context, l *Link, extra []json.RawMessage, message Message) error
}

// Documenter returns the shapes of bodies and replies. Bodies are checked against them, and they are in the API's definition.
type Documenter interface {
	Schemas() Schemas
}

// Schemas are the shapes of a plugin's bodies and replies; nil is any object.
type Schemas struct {
	// Create and Update are the bodies of POST and PUT.
	Create, Update *Schema
	// Created, Fetched and Updated are the replies to POST, GET and PUT.
	Created, Fetched, Updated *Schema
}

// Schema says which values a JSON value may have; [SchemaOf] makes one.
type Schema = rest.Schema

// SchemaOf makes a schema from a struct and its tags: json, doc, required, default, minLength, maxLength, pattern, enum, minimum,
// maximum, minItems, maxItems, items.maxLength... It panics on a tag that makes no sense.
func SchemaOf[T any]() *Schema { return rest.SchemaOf[T]() }

// Router has its own resources below /users/{user_uuid}/external/{type}.
type Router interface {
	Routes() []Route
}

// Route is one method on a resource below a plugin's own. Its access ends with its path, dots for slashes, and the
// action: auth.users.{user_uuid}.external.mobile.sender_id.read.
type Route struct {
	// Method is GET, POST, PUT or DELETE. Path is "sender_id".
	Method, Path string
	Summary      string
	// Body and Reply are the shapes of the body and of the reply; a nil Body means no body.
	Body, Reply *Schema
	Handle      func(ctx context.Context, l *Link, body json.RawMessage) (any, error)
}

// Message is what the external service sent to the redirect URL: the query's parameters.
type Message map[string]string

// Callback is called when a user has authorized the service on the external side, with the extra arguments of its registration
// and, last, the message. It is called outside the request's goroutine, and has half a minute. What it stores with this ctx is refused
// if the link was removed since it was begun; with another ctx it stores nothing.
type Callback func(ctx context.Context, extra []any, message Message) error

// The errors of plugins and their links.
var (
	// ErrNotLinked says that nothing is stored for this user and type. 404, unknown-external-auth.
	ErrNotLinked = errors.New("the user has no external authentication of this type")
	// ErrLinked says that something is stored already. 409.
	ErrLinked = errors.New("the user has an external authentication of this type already")
	// ErrNoConfig says that the tenant's configuration of this type is missing or incomplete. 404, unknown-config.
	ErrNoConfig = errors.New("the tenant has no configuration for this type of external authentication")
	// ErrGrantRevoked says that the external service no longer accepts the credentials. The user must authorize again. 404,
	// external-auth-revoked.
	ErrGrantRevoked = errors.New("the external service has revoked the credentials")
)

// Refuse returns a refusal with this status (400, 404, 409, 503...) and a sentence for the client. cause, which may be nil, is
// only for the log.
func Refuse(status int, cause error, format string, args ...any) error {
	e := apierr.New(apierr.Kind(status), format, args...)
	e.Err = cause
	return e
}

// refusal turns an error of a plugin into the form that clients know.
func refusal(authType string, err error) error {
	e := &apierr.Error{Resource: authType, Details: map[string]any{"type": authType}, Err: err}
	switch {
	case err == nil || apierr.As(err) != nil:
		return err
	case errors.Is(err, ErrNotLinked):
		e.Kind, e.ID, e.Message = apierr.NotFound, "unknown-external-auth", fmt.Sprintf("No such external auth: %q", authType)
	case errors.Is(err, ErrLinked):
		e.Kind, e.ID, e.Message = apierr.Conflict, "conflict", fmt.Sprintf("This external authentication method has already been set: %q", authType)
	case errors.Is(err, ErrNoConfig):
		e.Kind, e.ID = apierr.NotFound, "unknown-config"
		e.Message = fmt.Sprintf("Configuration for this external auth type %q is not defined.", authType)
	case errors.Is(err, ErrGrantRevoked):
		e.Kind, e.ID = apierr.NotFound, "external-auth-revoked"
		e.Message = fmt.Sprintf("The external service %q takes the stored credentials no longer; authorize it again", authType)
	default:
		return err
	}
	return e
}
