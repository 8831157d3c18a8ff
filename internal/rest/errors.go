package rest

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
)

// ErrorForm makes the body of a refusal, in the form that a service's clients know.
type ErrorForm func(e *apierr.Error, now time.Time) any

// MessageList is confd's form: a JSON list of sentences, even of one (SPEC, Errors).
func MessageList(e *apierr.Error, _ time.Time) any {
	var list []string
	for _, f := range e.Fields {
		list = append(list, "Input Error - "+f.Name+": "+f.Message)
	}
	if e.Message != "" {
		list = append(list, confdPrefix(e.Kind)+e.Message)
	}
	return list
}

func confdPrefix(kind apierr.Kind) string {
	switch kind {
	case apierr.Invalid:
		return "Input Error - "
	case apierr.NotFound:
		return "Resource Not Found - "
	case apierr.Conflict:
		return "Resource Error - "
	default:
		return ""
	}
}

// CodeMessage is the form of the helper endpoints: {"code", "message"}.
func CodeMessage(e *apierr.Error, _ time.Time) any {
	return struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{e.Status(), Sentence(e)}
}

// AuthErrors is the authentication service's form: one object that serves both kinds of
// existing client, those that read message and error_id and those that read reason (DESIGN section 2).
func AuthErrors(e *apierr.Error, now time.Time) any {
	id := e.ID
	if id == "" {
		id = errorID(e.Kind)
	}
	details := map[string]any{}
	for k, v := range e.Details {
		details[k] = v
	}
	for _, f := range e.Fields {
		details[f.Name] = map[string]any{"message": f.Message, "constraint_id": f.Constraint, "constraint": f.Value}
	}
	sentence := Sentence(e)
	return struct {
		Message    string         `json:"message"`
		ErrorID    string         `json:"error_id"`
		Details    map[string]any `json:"details"`
		Resource   string         `json:"resource,omitempty"`
		Timestamp  float64        `json:"timestamp"`
		Reason     []string       `json:"reason"`
		StatusCode int            `json:"status_code"`
	}{sentence, id, details, e.Resource, float64(now.UnixMicro()) / 1e6, []string{sentence}, e.Status()}
}

// Sentence is the refusal in one line: its message, or what is wrong with its fields.
func Sentence(e *apierr.Error) string {
	parts := make([]string, 0, len(e.Fields)+1)
	if e.Message != "" {
		parts = append(parts, e.Message)
	}
	for _, f := range e.Fields {
		parts = append(parts, f.Name+": "+f.Message)
	}
	return strings.Join(parts, "; ")
}

func errorID(kind apierr.Kind) string {
	switch kind {
	case apierr.Invalid:
		return "invalid-data"
	case apierr.Unauthorized:
		return "unauthorized"
	case apierr.Forbidden:
		return "forbidden"
	case apierr.NotFound:
		return "not-found"
	case apierr.MethodNotAllowed:
		return "method-not-allowed"
	case apierr.Conflict:
		return "conflict"
	case apierr.PreconditionFailed:
		return "precondition-failed"
	case apierr.TooLarge, apierr.TargetTooLong:
		return "too-large"
	case apierr.NotAcceptable:
		return "not-acceptable"
	case apierr.UnsupportedMediaType:
		return "unsupported-media-type"
	case apierr.TooMany:
		return "too-many-requests"
	case apierr.NotImplemented:
		return "not-implemented"
	case apierr.Unavailable:
		return "service-unavailable"
	case apierr.Internal:
		return "internal-error"
	default:
		return "error"
	}
}

// Refusal turns any error into what a client may read: the refusal in it, 503 when the
// database cannot answer, else a plain 500 that names nothing.
func Refusal(err error) *apierr.Error {
	if e := apierr.As(err); e != nil {
		return e
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &apierr.Error{Kind: apierr.TooLarge, Message: "The body is larger than this operation takes", Err: err}
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return &apierr.Error{
			Kind: apierr.Unavailable, RetryAfter: 2 * time.Second, Err: err,
			Message: "The database cannot answer now; nothing was changed that was not confirmed. Try again shortly",
		}
	default:
		return &apierr.Error{
			Kind: apierr.Internal, Err: err,
			Message: "Internal server error; the log has the details under this answer's X-Request-Id",
		}
	}
}

// WriteError answers the request with a refusal. What no client should read is
// logged, with the request id. 406 and 415 have an empty body (SPEC, Errors).
func WriteError(w http.ResponseWriter, r *http.Request, form ErrorForm, err error) {
	if form == nil {
		form = AuthErrors
	}
	e := Refusal(err)
	if e.Kind == apierr.Internal || (e.Kind == apierr.Unavailable && e.Err != nil) {
		if !errors.Is(err, context.Canceled) {
			slog.ErrorContext(r.Context(), "request failed", "error", err, "status", e.Status(),
				"method", r.Method, "request_id", w.Header().Get("X-Request-Id"))
		}
	}
	h := w.Header()
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	if len(e.Allow) > 0 {
		h.Set("Allow", strings.Join(e.Allow, ", "))
	}
	h.Set("Cache-Control", "no-store")
	if e.Kind == apierr.NotAcceptable || e.Kind == apierr.UnsupportedMediaType {
		h.Set("Content-Length", "0")
		w.WriteHeader(e.Status())
		return
	}
	writeJSON(w, r, e.Status(), form(e, time.Now()))
}
