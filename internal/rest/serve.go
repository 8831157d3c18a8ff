package rest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/target"
)

// ServeHTTP serves the operation that the gate matched. Without a gate in front (the
// helpers' plain port, tests) it reads the target itself, as strictly; it never checks a
// token: that is the gate's work.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := FromContext(r.Context())
	if m == nil {
		var err error
		if m, err = s.match(r); err != nil {
			WriteError(w, r, s.Errors, err)
			return
		}
	}
	if m.Op == nil {
		WriteError(w, r, s.Errors, unmatched(m))
		return
	}
	if err := s.serve(w, r, m); err != nil {
		WriteError(w, r, s.Errors, err)
	}
}

func (s *Service) match(r *http.Request) (*Match, error) {
	t, err := target.Parse(r.RequestURI)
	if err != nil {
		refusal := &apierr.Error{Kind: apierr.Invalid, Message: err.Error(), Err: err}
		if bad, ok := errors.AsType[*target.Refusal](err); ok {
			refusal.Kind = apierr.Kind(bad.Status)
		}
		return nil, refusal
	}
	m, ok := s.Match(r.Method, &t)
	if !ok {
		return nil, apierr.New(apierr.NotFound, "No such path in the %s API", s.Name)
	}
	return &m, nil
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
	produces := op.Produces
	if produces == "" {
		produces = "application/json"
		if !acceptable(r.Header, produces) {
			return &apierr.Error{Kind: apierr.NotAcceptable, Message: "Send Accept: application/json"}
		}
	}
	if hasBody(r) {
		if err := checkContentType(r.Header); err != nil {
			return err
		}
		limit := op.MaxBody
		if limit == 0 {
			limit = DefaultMaxBody
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
	}
	req, err := newRequest(r, m)
	if err != nil {
		return err
	}
	reply, err := op.Handle(r.Context(), req)
	if err != nil {
		return err
	}
	return reply.write(w, r, op, produces)
}

func (rep *Reply) write(w http.ResponseWriter, r *http.Request, op *Operation, produces string) error {
	status := rep.Status
	if status == 0 {
		status = op.Success
	}
	h := w.Header()
	for k, v := range rep.Header {
		h[k] = v
	}
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	if rep.Body == nil {
		if status != http.StatusNoContent {
			h.Set("Content-Length", "0")
		}
		w.WriteHeader(status)
		return nil
	}
	body, raw := rep.Body.([]byte)
	if !raw {
		var err error
		if body, err = Marshal(rep.Body); err != nil {
			return err
		}
	}
	if op.Conditional {
		tag := tagOf(body)
		h.Set("ETag", tag)
		h.Set("Cache-Control", "no-cache")
		if matchesTag(r.Header.Values("If-None-Match"), tag, true) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	writeBody(w, r, status, produces, body)
	return nil
}

// Marshal is the JSON of a reply's body: no HTML escapes, no final newline.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// ETag is the strong entity tag of an object as GET answers it.
func ETag(object any) (string, error) {
	body, err := Marshal(object)
	if err != nil {
		return "", err
	}
	return tagOf(body), nil
}

func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// CheckIfMatch refuses with 412 when the request names entity tags in If-Match and the object's
// is not among them: it has changed since the client read it.
func CheckIfMatch(header http.Header, object any) error {
	lines := header.Values("If-Match")
	if len(lines) == 0 {
		return nil
	}
	tag, err := ETag(object)
	if err != nil {
		return err
	}
	if matchesTag(lines, tag, false) {
		return nil
	}
	return apierr.New(apierr.PreconditionFailed, "The object has changed since it was read; read it again, and repeat the change")
}

// matchesTag compares entity tags; weak says that W/ is looked through (RFC 9110 13.1).
func matchesTag(lines []string, tag string, weak bool) bool {
	for _, line := range lines {
		for item := range strings.SplitSeq(line, ",") {
			item = strings.TrimSpace(item)
			if weak {
				item = strings.TrimPrefix(item, "W/")
			}
			if item == tag || item == "*" {
				return true
			}
		}
	}
	return false
}

func writeJSON(w http.ResponseWriter, r *http.Request, status int, body any) {
	text, err := Marshal(body)
	if err != nil { // our own error forms cannot fail to marshal
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	writeBody(w, r, status, "application/json", text)
}

func writeBody(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client went away: nobody is left to tell
	}
}

// Timestamp is how the APIs write a moment: UTC, microseconds, no zone (reference, token record).
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000") }
