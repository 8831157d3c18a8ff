package rest

import (
	"encoding/binary"
	"math/rand/v2"

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
	return newRequestID()
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

// newRequestID returns a random UUID (version 4). It must be unique, not secret: the runtime's ChaCha8 generator suffices, and
// needs neither a system call nor an allocation for each request.
func newRequestID() string {
	var id uuid.UUID
	binary.LittleEndian.PutUint64(id[:8], rand.Uint64()) //nolint:gosec // unique, not secret
	binary.LittleEndian.PutUint64(id[8:], rand.Uint64()) //nolint:gosec // unique, not secret
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id.String()
}
