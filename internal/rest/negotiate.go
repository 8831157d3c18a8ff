package rest

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
)

const jsonType = "application/json"

// acceptable reports whether the Accept header accepts the media type. An absent header accepts nothing. The most specific range
// decides (RFC 9110, 12.5.1); a malformed one is ignored.
func acceptable(header http.Header, mediaType string) bool {
	kind, _, _ := strings.Cut(mediaType, "/")
	best, accepted := 0, false
	for _, line := range header["Accept"] {
		for item := range strings.SplitSeq(line, ",") {
			name, params, err := mime.ParseMediaType(item)
			if err != nil {
				continue
			}
			specific := 0
			switch name {
			case mediaType:
				specific = 3
			case kind + "/*":
				specific = 2
			case "*/*":
				specific = 1
			}
			q, valid := quality(params)
			switch {
			case specific == 0 || specific < best || !valid:
			case specific > best:
				best, accepted = specific, q > 0
			default:
				accepted = accepted || q > 0
			}
		}
	}
	return accepted
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
			if n, ended := drain(w, r, settleSize, settleTime); ended && n == 0 {
				r.Body = http.NoBody
				return nil
			}
		}
		return err
	}
	if r.ContentLength > limit {
		return &apierr.Error{Kind: apierr.TooLarge, Message: tooLargeMessage}
	}
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	return nil
}

// checkContentType refuses a body that does not declare the media type, usually JSON, in UTF-8. A simple cross-site form cannot
// declare JSON, which is one reason for the check.
func checkContentType(header http.Header, mediaType string) error {
	refused := &apierr.Error{Kind: apierr.UnsupportedMediaType, Message: "Send Content-Type: " + mediaType}
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
