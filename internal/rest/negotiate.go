package rest

import (
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ringfence/ringfence/internal/apierr"
)

const (
	jsonType = "application/json"
	htmlType = "text/html"
)

// AcceptsNothing reports whether a request has no Accept header, or an empty one.
func AcceptsNothing(header http.Header) bool {
	return !slices.ContainsFunc(header["Accept"], func(line string) bool { return strings.Trim(line, " \t,") != "" })
}

// admitAnswer refuses a request that does not accept what the operation answers with. What takes or gives another type than JSON does not
// ask for the header: clients that send or want a file do not think of the form of its refusals.
func (s *Service) admitAnswer(r *http.Request, op *Operation) error {
	if op.Produces != "" || acceptable(r.Header, jsonType) || op.Also != "" && acceptable(r.Header, op.Also) {
		return nil
	}
	if AcceptsNothing(r.Header) {
		if op.Also != "" || op.Consumes != "" {
			return nil
		}
		s.strangers.meet(s.Name, r.UserAgent())
	}
	types := jsonType
	if also, _, _ := strings.Cut(op.Also, ";"); also != "" {
		types += ", " + also
	}
	return &apierr.Error{Kind: apierr.NotAcceptable, Message: "Send Accept: " + types, Accept: types}
}

// strangers are the client programs that sent no Accept header and were refused for it.
type strangers struct {
	mu   sync.Mutex
	seen map[string]bool
}

// maxStrangers and maxStranger are how many client programs are told apart, and by how much of their names: anybody can choose one.
const (
	maxStrangers = 100
	maxStranger  = 200
)

// meet logs, once for each client program, what would let it in.
func (s *strangers) meet(service, program string) {
	program = strings.ToValidUTF8(program[:min(len(program), maxStranger)], "")
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.seen[program] && len(s.seen) < maxStrangers {
		s.seen[program] = true
		slog.Warn("a program sends no Accept header and gets 406; `accept lenient` in this service's directive lets it in", "service", service, "user_agent", program)
	}
}

// acceptable reports whether the Accept header accepts the media type. An absent header accepts nothing.
func acceptable(header http.Header, mediaType string) bool {
	q, _ := weight(header, mediaType)
	return q > 0
}

// byName is how specific a media range without a wildcard is.
const byName = 3

// weight returns with which weight the Accept header accepts the media type, 0 if it does not, and how specific the range is that
// says so: the most specific one decides (RFC 9110, 12.5.1). A malformed one is ignored.
func weight(header http.Header, mediaType string) (q float64, specific int) {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	kind, _, _ := strings.Cut(mediaType, "/")
	for _, line := range header["Accept"] {
		for item := range strings.SplitSeq(line, ",") {
			name, params, err := mime.ParseMediaType(item)
			if err != nil {
				continue
			}
			found := 0
			switch name {
			case mediaType:
				found = byName
			case kind + "/*":
				found = 2
			case "*/*":
				found = 1
			}
			its, valid := quality(params)
			switch {
			case found == 0 || found < specific || !valid:
			case found > specific:
				q, specific = its, found
			default:
				q = max(q, its)
			}
		}
	}
	return q, specific
}

// quality returns the weight of a media range, 1 by default.
func quality(params map[string]string) (float64, bool) {
	text, sent := params["q"]
	if !sent {
		return 1, true
	}
	q, err := strconv.ParseFloat(text, 64)
	return q, err == nil && 0 <= q && q <= 1
}

// admitBody refuses a body that does not declare the operation's media type, or that is larger than the limit. It limits the
// reading of a body that does not declare its length.
func admitBody(w http.ResponseWriter, r *http.Request, mediaType string, limit int64) error {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return nil
	}
	if err := checkContentType(r.Header, mediaType); err != nil {
		// A body of unknown length may be empty: in HTTP/3 every request without a body has an unknown length, and so has an
		// empty chunked one.
		if r.ContentLength < 0 {
			if n, ended := drain(w, r, settleSize, settleTime, settleTime); ended && n == 0 {
				r.Body = http.NoBody
				return nil
			}
		}
		return err
	}
	if r.ContentLength > limit {
		return &apierr.Error{Kind: apierr.TooLarge, Message: tooLargeMessage}
	}
	r.Body = limited{http.MaxBytesReader(w, r.Body, limit), r.Body}
	return nil
}

// limited is a body of which only so much is read, and the whole of it.
type limited struct {
	io.ReadCloser
	whole io.Reader
}

// checkContentType refuses a body that does not declare the media type, usually JSON, in UTF-8. A simple cross-site form cannot
// declare JSON, which is one reason for the check.
func checkContentType(header http.Header, mediaType string) error {
	refused := &apierr.Error{Kind: apierr.UnsupportedMediaType, Message: "Send Content-Type: " + mediaType, Accept: mediaType}
	lines := header["Content-Type"]
	if len(lines) != 1 {
		return refused
	}
	name, params, err := mime.ParseMediaType(lines[0])
	if err != nil || name != mediaType {
		return refused
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return refused
	}
	return nil
}
