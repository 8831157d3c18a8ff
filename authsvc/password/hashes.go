package password

import (
	"crypto/pbkdf2"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Params are argon2id's parameters (RFC 9106).
type Params struct {
	Memory  uint32 // KiB
	Time    uint32 // passes
	Threads uint8
}

// DefaultParams are OWASP's minimum for argon2id: 19 MiB, 2 passes, 1 lane.
var DefaultParams = Params{Memory: 19 * 1024, Time: 2, Threads: 1}

// Bounds of the parameters of a stored hash: more would be a stored denial of service.
const (
	maxMemory  = 128 * 1024
	maxTime    = 10
	maxThreads = 16
)

// String returns the parameters in the form of PHC strings.
func (p Params) String() string {
	return fmt.Sprintf("m=%d,t=%d,p=%d", p.Memory, p.Time, p.Threads)
}

func (p Params) check() error {
	if p.Memory == 0 || p.Memory > maxMemory || p.Time == 0 || p.Time > maxTime || p.Threads == 0 || p.Threads > maxThreads {
		return fmt.Errorf("argon2id parameters %s are outside of m 1..%d, t 1..%d, p 1..%d",
			p, maxMemory, maxTime, maxThreads)
	}
	return nil
}

func (p Params) kind() Kind { return Kind(fmt.Sprintf("$argon2id$v=%d$%s$", argon2.Version, p)) }

func encode(p Params, salt, key []byte) string { return string(p.kind()) + encodeKey(salt, key) }

func encodeKey(salt, key []byte) string {
	b64 := base64.RawStdEncoding
	return b64.EncodeToString(salt) + "$" + b64.EncodeToString(key)
}

// decodeArgon2id reads a PHC string. Its error never holds the hash.
func decodeArgon2id(phc string) (p Params, salt, key []byte, err error) {
	bad := errors.New("a stored password hash is malformed")
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return p, nil, nil, bad
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.Memory, &p.Time, &p.Threads); n != 3 || err != nil || parts[3] != p.String() {
		return p, nil, nil, bad
	}
	if err := p.check(); err != nil {
		return p, nil, nil, fmt.Errorf("a stored password hash is refused: %w", err)
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil || len(salt) < 8 || len(salt) > 128 {
		return p, nil, nil, bad
	}
	if key, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(key) < 16 || len(key) > 128 {
		return p, nil, nil, bad
	}
	return p, salt, key, nil
}

// Passwords that are imported from an existing platform are PBKDF2-HMAC-SHA512 hashes. In auth_user.password_hash they are
//
//	$pbkdf2-sha512$i=<rounds>$<salt in hex>$<hash in hex>
//
// SQL makes them from that platform's columns: '$pbkdf2-sha512$i=250000$' || encode(password_salt, 'hex') || '$' ||
// password_hash. A successful login replaces them.
const pbkdf2Prefix = "$pbkdf2-sha512$i="

// maxRounds bounds the rounds of a stored hash: four times those of the existing platform.
const maxRounds = 1_000_000

// decodePBKDF2 reads a stored hash. Its error never holds the hash.
func (h *Hasher) decodePBKDF2(text string) (storedHash, error) {
	bad := errors.New("a stored PBKDF2 password hash is malformed")
	parts := strings.Split(strings.TrimPrefix(text, pbkdf2Prefix), "$")
	if len(parts) != 3 {
		return storedHash{}, bad
	}
	rounds, err := strconv.Atoi(parts[0])
	if err != nil {
		return storedHash{}, bad
	}
	if rounds < 1 || rounds > maxRounds {
		return storedHash{}, fmt.Errorf("a stored PBKDF2 password hash is refused: its rounds are outside of 1..%d", maxRounds)
	}
	salt, err := hex.DecodeString(parts[1])
	if err != nil || len(salt) < 8 || len(salt) > 128 {
		return storedHash{}, bad
	}
	want, err := hex.DecodeString(parts[2])
	if err != nil || len(want) < 32 || len(want) > sha512.Size {
		return storedHash{}, bad
	}
	return storedHash{Kind(fmt.Sprintf("%s%d$", pbkdf2Prefix, rounds)), func(password string) ([]byte, error) {
		return h.PBKDF2(password, salt, rounds, len(want))
	}, want}, nil
}

func pbkdf2SHA512(password string, salt []byte, rounds, keyLen int) ([]byte, error) {
	return pbkdf2.Key(sha512.New, password, salt, rounds, keyLen)
}
