package password

import (
	"encoding/base64"
	"errors"
	"fmt"
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
