package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
)

// ErrorForm makes the body of a refusal, in the form that a service's clients expect.
type ErrorForm func(e *apierr.Error, now time.Time) any

type codeMessage struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// CodeMessage is the form of the helper endpoints: {"code", "message"}.
func CodeMessage(e *apierr.Error, _ time.Time) any {
	return codeMessage{e.Status(), e.Sentence()}
}

type authError struct {
	Message    string         `json:"message"`
	ErrorID    string         `json:"error_id"`
	Details    map[string]any `json:"details"`
	Resource   string         `json:"resource,omitempty"`
	Timestamp  float64        `json:"timestamp" doc:"Seconds since 1970."`
	Reason     []string       `json:"reason"`
	StatusCode int            `json:"status_code"`
}

// AuthErrors is the authentication service's form: one object that serves both kinds of
// existing client, those that read message and error_id and those that read reason.
func AuthErrors(e *apierr.Error, now time.Time) any {
	details := make(map[string]any, len(e.Details)+len(e.Fields))
	maps.Copy(details, e.Details)
	for _, f := range e.Fields {
		if _, twice := details[f.Name]; !twice { // the first error of a field
			details[f.Name] = map[string]any{"message": f.Message, "constraint_id": f.Constraint, "constraint": f.Value}
		}
	}
	sentence := e.Sentence()
	return authError{
		sentence, errorID(e), details, e.Resource,
		float64(now.UnixMicro()) / 1e6,
		[]string{sentence},
		e.Status(),
	}
}

// errorIDs are the ids of refusals that have none of their own.
var errorIDs = map[apierr.Kind]string{
	apierr.Invalid: "invalid-data", apierr.Unauthorized: "unauthorized", apierr.Forbidden: "forbidden", apierr.NotFound: "not-found",
	apierr.MethodNotAllowed: "method-not-allowed", apierr.Conflict: "conflict", apierr.PreconditionFailed: "precondition-failed",
	apierr.TooLarge: "too-large", apierr.TargetTooLong: "too-large", apierr.NotAcceptable: "not-acceptable",
	apierr.UnsupportedMediaType: "unsupported-media-type", apierr.TooMany: "too-many-requests", apierr.NotImplemented: "not-implemented",
	apierr.Unavailable: "service-unavailable", apierr.Internal: "internal-error",
}

func errorID(e *apierr.Error) string { return cmp.Or(e.ID, errorIDs[e.Kind], "error") }

// Refusal turns any error into one that a client may read: the refusal in it, 503 if the database is unreachable, otherwise a
// plain 500 without details.
func Refusal(err error) *apierr.Error {
	if e := apierr.As(err); e != nil {
		return e
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &apierr.Error{Kind: apierr.TooLarge, Message: tooLargeMessage, Err: err}
	}
	if e := apierr.OfSentinel(err); e != nil {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return apierr.DatabaseUnavailable(err)
	}
	return &apierr.Error{
		Kind: apierr.Internal, Err: err,
		Message: "Internal server error; the log has the details under this answer's X-Request-Id",
	}
}

const tooLargeMessage = "The body is larger than this operation takes"

// statusClientGone is what proxies write when the client is gone. It keeps clients that
// hang up from looking like faults of the server.
const statusClientGone = 499

// WriteError writes a refusal as the response. What no client should read is
// logged, with the request id that the gate has put into the response's header: as a warning when the database
// is unreachable, else as an error. 406 and 415 have an empty body;
// their header Accept says what to send. A client that accepts problems (RFC 9457)
// gets one instead of the service's form.
func WriteError(w http.ResponseWriter, r *http.Request, form ErrorForm, err error) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		w.WriteHeader(statusClientGone)
		return
	}
	defer settle(w, r)()
	e := Refusal(err)
	if e.Kind == apierr.Internal || e.Kind == apierr.Unavailable && e.Err != nil {
		logFailure(r, e, h.Get(RequestIDHeader), err)
	}
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	if len(e.Allow) > 0 {
		h.Set("Allow", strings.Join(e.Allow, ", "))
	}
	if e.Accept != "" {
		h.Set("Accept", e.Accept)
	}
	if e.Kind == apierr.NotAcceptable || e.Kind == apierr.UnsupportedMediaType {
		h.Set("Content-Length", "0")
		w.WriteHeader(e.Status())
		return
	}
	if form == nil {
		form = AuthErrors
	}
	content, contentType := form(e, time.Now()), jsonType
	if wantsProblem(r.Header) {
		content, contentType = problemOf(e), problemType
	}
	body, err := Marshal(content)
	if err != nil { // details of a kind that JSON does not have
		logFailure(r, e, h.Get(RequestIDHeader), fmt.Errorf("writing a refusal: %w", err))
		h.Set("Content-Length", "0")
		w.WriteHeader(e.Status())
		return
	}
	writeBody(w, r, e.Status(), contentType, body)
}

// logFailure names the operation and not the path, which may hold a token.
func logFailure(r *http.Request, e *apierr.Error, requestID string, err error) {
	level := slog.LevelError
	if e.Kind == apierr.Unavailable { // in an outage every request fails, and none is at fault
		level = slog.LevelWarn
	}
	operation := ""
	if m := FromContext(r.Context()); m != nil && m.Op != nil {
		operation = m.Service.Name + "." + m.Op.ID
	}
	attrs := []slog.Attr{
		slog.Any("error", err), slog.Int("status", e.Status()), slog.String("method", r.Method),
		slog.String("operation", operation), slog.String("request_id", requestID),
	}
	if p := principal.FromContext(r.Context()); p != nil {
		attrs = append(attrs, slog.String("token_id", p.TokenID.String()))
	}
	// Not the request's context: Caddy's handler would add its own fields of the request, and so both IDs again.
	slog.LogAttrs(context.Background(), level, "request failed", attrs...)
}

// problemType is the media type of a refusal for programs (RFC 9457). A request that accepts it by name gets refusals in this form, on every
// service; the others are for clients that compare words.
const problemType = "application/problem+json"

// problem is such a refusal. Its type is about:blank, which is what none says.
type problem struct {
	Title   string        `json:"title" example:"Bad Request" doc:"What the status is called."`
	Status  int           `json:"status" example:"400" doc:"The status of the response."`
	Detail  string        `json:"detail" example:"lines[0].context: Is required" doc:"What was refused, and why, in one sentence."`
	ErrorID string        `json:"error_id" example:"invalid-data" doc:"The kind of refusal."`
	Errors  []problemPart `json:"errors,omitempty" doc:"What is said of each value, if the refusal is about values: together all that detail says."`
}

// problemPart is what is said of one value of a body, or of one query parameter.
type problemPart struct {
	Detail    string `json:"detail" example:"Is required" doc:"What is said of it."`
	Pointer   string `json:"pointer,omitempty" example:"#/lines/0/context" doc:"The value in the body, as a JSON pointer (RFC 6901) in a fragment."`
	Parameter string `json:"parameter,omitempty" example:"limit" doc:"The query parameter."`
}

func wantsProblem(header http.Header) bool {
	q, specific := weight(header, problemType)
	return q > 0 && specific == byName
}

func problemOf(e *apierr.Error) problem {
	out := problem{Title: http.StatusText(e.Status()), Status: e.Status(), Detail: e.Sentence(), ErrorID: errorID(e)}
	for _, name := range e.About {
		out.Errors = append(out.Errors, problemPart{Detail: e.Message, Pointer: pointer(name)})
	}
	if e.Message != "" && len(e.About) == 0 && len(e.Fields) > 0 {
		out.Errors = append(out.Errors, problemPart{Detail: e.Message})
	}
	for _, f := range e.Fields {
		part := problemPart{Detail: f.Message, Pointer: pointer(f.Name)}
		if f.Query {
			part.Pointer, part.Parameter = "", f.Name
		}
		out.Errors = append(out.Errors, part)
	}
	return out
}

// pointer returns the pointer for a path such as lines[0].context.
func pointer(path string) string {
	var out strings.Builder
	out.WriteByte('#')
	for key := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		out.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
	}
	return out.String()
}
