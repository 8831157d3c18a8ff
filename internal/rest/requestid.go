package rest

import (
	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/redact"
)

// RequestIDHeader has the ID of a request and of its response.
const RequestIDHeader = "X-Request-Id"

// RequestID returns the ID that a client has sent, if it is fit for a log, otherwise a new one. IDs are echoed, logged and stored: a text
// that could be a secret is not fit, nor is one that isToken takes for a token. sent has the lines of the header; isToken may be nil.
func RequestID(sent []string, isToken func(string) bool) string {
	if len(sent) == 1 && isRequestID(sent[0]) && (isToken == nil || !isToken(sent[0])) && redact.String(sent[0]) == sent[0] {
		return sent[0]
	}
	return uuid.NewString()
}

// isRequestID matches ^[A-Za-z0-9._-]{1,64}$.
func isRequestID(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
