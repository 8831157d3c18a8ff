package tokens

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"
	"unsafe"

	"github.com/ringfence/ringfence/internal/principal"
)

// Our token is the prefix, 256 random bits and a checksum of both, the latter two in base64url. The prefix lets secret scanners
// find leaked tokens; the checksum lets the gate refuse most garbage without a look-up. The checksum is not a signature: anybody
// who knows the format can make texts that pass.
const (
	prefix       = "rft_"
	randomBytes  = 32
	randomText   = 43
	checksumText = 6
	tokenText    = len(prefix) + randomText + checksumText
)

// Digest is the SHA-256 of a token's text: nothing else of it is ever stored.
type Digest = [sha256.Size]byte

// New makes a token of 256 random bits.
func New() string {
	var secret [randomBytes]byte
	rand.Read(secret[:])
	text := make([]byte, 0, tokenText)
	text = append(text, prefix...)
	text = base64.RawURLEncoding.AppendEncode(text, secret[:])
	sum := checksum(string(text))
	return string(append(text, sum[:]...))
}

// alphabet are the characters of base64url.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// InAlphabet reports whether a text has none but the characters of base64url: letters, digits, - and _.
func InAlphabet(s string) bool { return strings.Trim(s, alphabet) == "" }

// WellFormed reports whether New could have made s: its prefix, length, alphabet and checksum. It looks nothing up and does not
// allocate.
func WellFormed(s string) bool {
	if len(s) != tokenText || s[:len(prefix)] != prefix || !InAlphabet(s[len(prefix):]) {
		return false
	}
	body := s[:tokenText-checksumText]
	sum := checksum(body)
	return s[len(body):] == string(sum[:])
}

// checksum is the CRC-32 of s, in base64url.
func checksum(s string) (text [checksumText]byte) {
	// crc32 only reads its argument, but a converted copy would go to the heap.
	inPlace := unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // see above
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.ChecksumIEEE(inPlace))
	base64.RawURLEncoding.Encode(text[:], sum[:])
	return text
}

// maxText is the longest token of any source.
const maxText = 200

// DigestOf returns the digest under which a token is stored and forgotten. It does not allocate.
func DigestOf(token string) Digest {
	return sha256.Sum256(unsafe.Slice(unsafe.StringData(token), len(token))) //nolint:gosec // read only, as in checksum
}

// ID identifies a token in logs, by the beginning of its digest.
func ID(d Digest) principal.TokenID { return principal.TokenID(d[:4]) }

// ErrUnknown says that a token is malformed, unknown, expired or revoked, or that its user may no longer use it: 401. It is
// certain; if the source could not be asked the error is another.
var ErrUnknown = errors.New("unknown or expired token")

// ErrMalformed wraps ErrUnknown for a text that cannot be a token.
var ErrMalformed = fmt.Errorf("%w: not of the form of a token", ErrUnknown)

// Source knows tokens: our own database, or another auth server (package remote). It is safe for concurrent use.
type Source interface {
	// Shape reports whether the text could be a token of this source. It is called before Load, so that random texts cost no
	// query, and looks nothing up. It never accepts more than 200 bytes.
	Shape(token string) bool
	// Load returns the principal of the token, as of a moment after the call began. If the source does not know the token, or no
	// longer, it returns ErrUnknown. If the source is unreachable, it returns store.ErrUnavailable. Load returns when ctx ends.
	Load(ctx context.Context, token string, d Digest) (*principal.Principal, error)
}

// Batched is a Source that asks about many tokens at once (see Batches).
type Batched interface {
	Source
	// LoadLater is Load for a look-up that nobody waits for: it may begin some milliseconds later, together with others.
	LoadLater(ctx context.Context, token string, d Digest) (*principal.Principal, error)
}

// Bounded is a Source that limits how long its results may be trusted, since nobody tells this node of its revocations.
type Bounded interface {
	Source
	Staleness() time.Duration
}

// Tenanted is a Source on a server that has a tree of tenants of its own.
type Tenanted interface {
	Source
	// Within reports whether the tenant, a UUID in lower case, is the token's own or below it, as of a moment after the call
	// began. Errors are as of Load.
	Within(ctx context.Context, token, tenant string) (bool, error)
}
