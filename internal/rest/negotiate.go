package rest

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
)

// acceptable reports whether the Accept header takes the media type. An absent
// header takes nothing (SPEC, Errors, 406). The most specific range decides, as RFC 9110 12.5.1 says.
func acceptable(header http.Header, mediaType string) bool {
	kind, _, _ := strings.Cut(mediaType, "/")
	best, accepted := -1, false
	for _, line := range header["Accept"] {
		for item := range strings.SplitSeq(line, ",") {
			name, params, err := mime.ParseMediaType(item)
			if err != nil {
				continue
			}
			specific := -1
			switch name {
			case mediaType:
				specific = 2
			case kind + "/*":
				specific = 1
			case "*/*":
				specific = 0
			}
			if specific < best || specific < 0 {
				continue
			}
			q, err := strconv.ParseFloat(params["q"], 64)
			refused := params["q"] != "" && (err != nil || q <= 0)
			if specific > best {
				best, accepted = specific, !refused
			} else {
				accepted = accepted || !refused
			}
		}
	}
	return accepted
}

// checkContentType refuses a body that does not say that it is JSON in UTF-8. A
// simple cross-site form cannot say so, which is part of the point.
func checkContentType(header http.Header) error {
	refused := &apierr.Error{Kind: apierr.UnsupportedMediaType, Message: "Send Content-Type: application/json"}
	lines := header["Content-Type"]
	if len(lines) != 1 {
		return refused
	}
	name, params, err := mime.ParseMediaType(lines[0])
	if err != nil || name != "application/json" {
		return refused
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return refused
	}
	return nil
}

// hasBody reports whether the request comes with a body.
func hasBody(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0
}
