package tokens

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
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

// WellFormed reports whether New could have made s: its prefix, length, alphabet and checksum. It looks nothing up and does not
// allocate.
func WellFormed(s string) bool {
	if len(s) != tokenText || s[:len(prefix)] != prefix {
		return false
	}
	if !inAlphabet(s[len(prefix):]) {
		return false
	}
	body := s[:tokenText-checksumText]
	sum := checksum(body)
	return s[len(body):] == string(sum[:])
}

// alphabet holds true for the characters of base64url.
var alphabet = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
		set[c] = true
	}
	return set
}()

func inAlphabet(s string) bool {
	for i := range len(s) {
		if !alphabet[s[i]] {
			return false
		}
	}
	return true
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
