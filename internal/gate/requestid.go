package gate

import (
	"encoding/hex"
	"math/rand/v2"
	"net/http"

	"github.com/ringfence/ringfence/internal/redact"
)

const requestIDHeader = "X-Request-Id"

// setRequestID gives request and response one ID: the client's, if it is fit for a log, otherwise a new one. A text that could be
// a token is not fit: IDs are echoed, logged and stored.
func (g *Gate) setRequestID(p *passage, answer, request http.Header) string {
	sent := request[requestIDHeader]
	var id string
	if len(sent) == 1 && isRequestID(sent[0]) && !g.tokens.Shape(sent[0]) && redact.String(sent[0]) == sent[0] {
		id = sent[0]
	} else {
		id = newRequestID()
	}
	p.ids = [...]string{id, id} // not one slice for both: a handler may write into its header's values
	request[requestIDHeader], answer[requestIDHeader] = p.ids[0:1:1], p.ids[1:2:2]
	return id
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
// needs no system call for each request.
func newRequestID() string {
	var id [16]byte
	high, low := rand.Uint64(), rand.Uint64() //nolint:gosec // unique, not secret
	for i := range 8 {
		id[i], id[8+i] = byte(high>>(8*i)), byte(low>>(8*i)) //nolint:gosec // its low byte is what is meant
	}
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	var text [36]byte
	hex.Encode(text[0:8], id[0:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:36], id[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}
