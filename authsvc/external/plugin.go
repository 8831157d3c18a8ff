package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

// Plugin is a plugin that links users to an external service. All that it must have is a name; what else it does, it says by the interfaces below. Each plugin gets
// the resource /users/{user_uuid}/external/{type}, with the accesses auth.users.{user_uuid}.external.{type}.create, .read,
// .update and .delete:
//
//	POST    when it is a [Creator]   201
//	GET     what is stored, or what its [Fetcher] answers   200
//	PUT     when it is an [Updater]   200
//	DELETE  removes all that is stored; a [Remover] is asked first   204
//
// Its methods are called from many requests at once. An error that is not one of this package's, nor made
// by [Refuse], is logged and shown as a plain 500.
type Plugin interface {
	// Type is the plugin's name: one word of lower-case letters, digits, - and _, the same for ever.
	Type() string
}

// Creator begins a link. It answers what the user needs to go on, such as {authorization_url, state}, or what it
// has stored.
type Creator interface {
	Create(ctx context.Context, l *Link, body json.RawMessage) (any, error)
}

// Fetcher answers the credentials, renewed if they have expired (see [Link.Renew]).
type Fetcher interface {
	Fetch(ctx context.Context, l *Link) (any, error)
}

// Updater changes a link, such as the scope of its credentials.
type Updater interface {
	Update(ctx context.Context, l *Link, body json.RawMessage) (any, error)
}

// Remover is told before what is stored is removed. When it answers an error, nothing is.
type Remover interface {
	Remove(ctx context.Context, l *Link) error
}

// SafeViewer answers the part of the stored data that may be shown to those who may not read the credentials:
// a struct or a map. Of a plugin that is none, an empty object is shown.
type SafeViewer interface {
	SafeView(data json.RawMessage) (any, error)
}

// Informer answers the plugin's information, for display.
type Informer interface {
	Info() Info
}

// Info is a plugin's information.
type Info struct {
	// RequiredACL names the permissions that are asked of the external service.
	RequiredACL []string `json:"required_acl"`
}

// Authorizer takes the messages of the external service when no closure is registered for a
// state, or it was lost with its process: see [Host.RegisterOAuth2Callback].
type Authorizer interface {
	// Authorized is called off the request's goroutine. extra are the extra arguments, as JSON.
	Authorized(ctx context.Context, l *Link, extra []json.RawMessage, message Message) error
}

// Documenter has the shapes of bodies and answers. Bodies are checked by them, and they are in the API's definition.
type Documenter interface {
	Schemas() Schemas
}

// Schemas are the shapes of a plugin's bodies and answers; nil is any object.
type Schemas struct {
	// Create and Update are the bodies of POST and PUT.
	Create, Update *Schema
	// Created, Fetched and Updated are the answers to POST, GET and PUT.
	Created, Fetched, Updated *Schema
}

// Schema is what a JSON value may be; [SchemaOf] makes one.
type Schema = rest.Schema

// SchemaOf makes a schema from a struct and its tags: json, doc, required, default, minLength, maxLength, pattern, enum, minimum,
// maximum, minItems, maxItems, items.maxLength... It panics on a tag that makes no sense.
func SchemaOf[T any]() *Schema { return rest.SchemaOf[T]() }

// Router has resources of its own below /users/{user_uuid}/external/{type}.
type Router interface {
	Routes() []Route
}

// Route is one method on a resource below a plugin's own. Its access ends with its path, dots for slashes, and the
// action: auth.users.{user_uuid}.external.mobile.sender_id.read.
type Route struct {
	// Method is GET, POST, PUT or DELETE. Path is "sender_id".
	Method, Path string
	Summary      string
	// Body and Reply are the shapes of the body and of the answer; a nil Body is none.
	Body, Reply *Schema
	Handle      func(ctx context.Context, l *Link, body json.RawMessage) (any, error)
}

// Message is what the external service sent to the redirect URL: the query's parameters.
type Message map[string]string

// Callback is called when a user has authorized the service on the external side, with the extra arguments of its
// registration and, last, the message. It is called off the request's goroutine, and has half a minute.
type Callback func(ctx context.Context, extra []any, message Message) error

// What plugins and their links answer.
var (
	// ErrNotLinked: nothing is stored for this user and type. 404, unknown-external-auth.
	ErrNotLinked = errors.New("the user has no external authentication of this type")
	// ErrLinked: something is stored already. 409.
	ErrLinked = errors.New("the user has an external authentication of this type already")
	// ErrNoConfig: the tenant has no configuration, or not enough of one, for this type. 404, unknown-config.
	ErrNoConfig = errors.New("the tenant has no configuration for this type of external authentication")
	// ErrGrantRevoked: the external service takes the credentials no longer. The user must authorize again. 404,
	// external-auth-revoked.
	ErrGrantRevoked = errors.New("the external service has revoked the credentials")
)

// Refuse is a refusal with this status (400, 404, 409, 503...) and a sentence for the client. cause, which may be nil,
// is for the log alone.
func Refuse(status int, cause error, format string, args ...any) error {
	e := apierr.New(apierr.Kind(status), format, args...)
	e.Err = cause
	return e
}

// refusal gives an error of a plugin the form that clients know.
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
