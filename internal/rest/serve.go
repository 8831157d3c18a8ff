package rest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/redact"
	"github.com/ringfence/ringfence/internal/target"
)

// ServeHTTP serves the operation that the gate matched. Without a gate (the helpers' plain port, the admin socket, tests) it parses
// the target itself, just as strictly, and gives request and response their ID. It never checks a token: that is the gate's work.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := FromContext(r.Context())
	if m == nil {
		id := RequestID(r.Header.Values(RequestIDHeader), nil)
		r.Header.Set(RequestIDHeader, id)
		w.Header().Set(RequestIDHeader, id)
		var err error
		if _, m, err = s.match(r); err != nil {
			WriteError(w, r, s.Errors, err)
			return
		}
		r = r.WithContext(NewContext(r.Context(), m))
	}
	if m.Op == nil {
		WriteError(w, r, s.Errors, unmatched(m))
		return
	}
	if err := s.serve(w, r, m); err != nil {
		WriteError(w, r, s.Errors, err)
	}
}

func (s *Service) match(r *http.Request) (*target.Target, *Match, error) {
	t, err := target.Parse(r.RequestURI)
	if err != nil {
		refusal := &apierr.Error{Kind: apierr.Invalid, Message: err.Error(), Err: err}
		if bad, ok := errors.AsType[*target.Refusal](err); ok {
			refusal.Kind = apierr.Kind(bad.Status)
		}
		return nil, nil, refusal
	}
	m, ok := s.Match(r.Method, &t)
	if !ok {
		return nil, nil, apierr.New(apierr.NotFound, "No such path in the %s API", s.Name)
	}
	return &t, &m, nil
}

func unmatched(m *Match) error {
	if len(m.Allow) > 0 {
		e := apierr.New(apierr.MethodNotAllowed, "This path does not take this method; it takes %s", strings.Join(m.Allow, ", "))
		e.Allow = m.Allow
		return e
	}
	return apierr.New(apierr.NotFound, "No such path in the %s API; its definition lists them all, at %s/api/openapi.json",
		m.Service.Name, m.Service.Prefix)
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request, m *Match) error {
	op := m.Op
	if !op.Unimplemented {
		if err := s.admitAnswer(r, op); err != nil {
			return err
		}
		if err := admitBody(w, r, cmp.Or(op.Consumes, jsonType), cmp.Or(op.MaxBody, DefaultMaxBody)); err != nil {
			return err
		}
	}
	req, err := newRequest(r, m)
	if err != nil {
		return err
	}
	reply, err := op.Handle(r.Context(), req)
	if err != nil {
		return err
	}
	return reply.write(w, req)
}

// write writes the reply. If it fails, it has written nothing.
func (rep *Reply) write(w http.ResponseWriter, req *Request) error {
	r, op := req.HTTP, req.Op()
	status := cmp.Or(rep.Status, op.Success)
	var body, shown []byte // the whole object, which the entity tag is of, and what the client chose of it
	if rep.Body != nil {
		var err error
		if body, err = bodyOf(rep.Body); err != nil {
			return err
		}
		shown = body
		if rep.Type == "" {
			if shown, err = req.choose(body); err != nil {
				return err
			}
		}
	}
	h := w.Header()
	if op.Conditional && status == http.StatusOK {
		tag := tagOf(body)
		if err := checkIfMatch(r.Header, tag); err != nil {
			return err
		}
		if isNotModified(r.Header, tag) {
			status = http.StatusNotModified
		}
		h.Set("ETag", tag)
		h.Set("Cache-Control", "private, no-cache") // a browser may keep it, and asks each time whether it has changed
	} else {
		h.Set("Cache-Control", "no-store")
	}
	maps.Copy(h, rep.Header)
	defer settle(w, r)()
	switch {
	case status == http.StatusNoContent || status == http.StatusNotModified:
		w.WriteHeader(status)
	case rep.Stream != nil:
		rep.stream(w, r, status, op)
	case rep.Body == nil:
		h.Set("Content-Length", "0")
		w.WriteHeader(status)
	default:
		writeBody(w, r, status, cmp.Or(rep.Type, op.Produces, jsonType), shown)
	}
	return nil
}

// stream writes a body of unknown length.
func (rep *Reply) stream(w http.ResponseWriter, r *http.Request, status int, op *Operation) {
	h := w.Header()
	h.Set("Content-Type", cmp.Or(rep.Type, op.Produces, jsonType))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	if err := rep.Stream(w); err != nil {
		if r.Context().Err() == nil { // else the client is gone
			logFailure(r, Refusal(err), h.Get(RequestIDHeader), fmt.Errorf("after the answer had begun: %w", err))
		}
		panic(http.ErrAbortHandler)
	}
}

func bodyOf(v any) ([]byte, error) {
	if text, raw := v.([]byte); raw {
		return text, nil
	}
	return Marshal(v)
}

// Marshal returns the JSON of a reply's body: no HTML escapes, no final newline.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func writeBody(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) //nolint:gosec // JSON, which browsers are told not to take for anything else; an error means that the client is gone
	}
}

// Timestamp formats a time as the APIs do: UTC, microseconds, no zone.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000") }

// RequestIDHeader has the ID of a request and of its response.
const RequestIDHeader = "X-Request-Id"

// RequestID returns the ID that a client has sent, if it is fit for a log, otherwise a new one. IDs are echoed, logged and stored: a text
// that could be a secret is not fit, nor is one that isToken takes for a token. sent has the lines of the header; isToken may be nil.
func RequestID(sent []string, isToken func(string) bool) string {
	if len(sent) == 1 && isRequestID(sent[0]) && (isToken == nil || !isToken(sent[0])) && redact.String(sent[0]) == sent[0] {
		return sent[0]
	}
	return newRequestID()
}

// isRequestID matches ^[A-Za-z0-9._-]{1,64}$.
func isRequestID(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}

// newRequestID returns a UUID of the time (RFC 9562, version 7): the audit's index of them is written at its end, not all over. It must be
// unique, not secret: the runtime's ChaCha8 generator suffices, and needs neither a system call nor an allocation for each request.
func newRequestID() string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], uint64(time.Now().UnixMilli())<<16|rand.Uint64()>>48) //nolint:gosec // unique, not secret
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())                                        //nolint:gosec // unique, not secret
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id.String()
}
