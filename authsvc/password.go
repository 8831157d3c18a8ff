package authsvc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/ringfence/ringfence/internal/apierr"
)

// MaxPassword is the longest password, in bytes. It is checked before any hashing.
const MaxPassword = 1024

// HashParams are argon2id's parameters (RFC 9106).
type HashParams struct {
	Memory  uint32 // KiB
	Time    uint32 // passes
	Threads uint8
}

// DefaultHashParams are OWASP's minimum for argon2id: 19 MiB, 2 passes, 1 lane.
var DefaultHashParams = HashParams{Memory: 19 * 1024, Time: 2, Threads: 1}

// Bounds of what a stored hash may ask for: more is a stored denial of service.
const (
	maxMemory  = 128 * 1024
	maxTime    = 10
	maxThreads = 16
)

const (
	saltLen = 16
	keyLen  = 32
	// maxQueue hashes may wait; each at most maxWait. More are shed with 429.
	maxQueue = 64
	maxWait  = 2 * time.Second
)

var errBusy = &apierr.Error{
	Kind: apierr.TooMany, RetryAfter: 2 * time.Second,
	Message: "Too many passwords are being checked at once; try again shortly",
}

// hasher hashes passwords, a bounded number at a time: each costs 19 MiB and tens of milliseconds of a core.
type hasher struct {
	params  HashParams
	argon2  func(password, salt []byte, time, memory uint32, threads uint8, keyLen uint32) []byte
	slots   chan struct{}
	waiting atomic.Int64
	// attempts has room for the logins that can find a place.
	attempts chan struct{}
	dummy    string // what an unknown user's password is compared with
}

func newHasher(p HashParams) (*hasher, error) {
	if p == (HashParams{}) {
		p = DefaultHashParams
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	places := runtime.GOMAXPROCS(0)
	h := &hasher{params: p, argon2: argon2.IDKey, slots: make(chan struct{}, places), attempts: make(chan struct{}, places+maxQueue)}
	h.dummy = encodeHash(p, make([]byte, saltLen), make([]byte, keyLen))
	return h, nil
}

// String is the parameters as PHC strings have them.
func (p HashParams) String() string {
	return fmt.Sprintf("m=%d,t=%d,p=%d", p.Memory, p.Time, p.Threads)
}

func (p HashParams) check() error {
	if p.Memory == 0 || p.Memory > maxMemory || p.Time == 0 || p.Time > maxTime || p.Threads == 0 || p.Threads > maxThreads {
		return fmt.Errorf("argon2id parameters %s are outside of m 1..%d, t 1..%d, p 1..%d",
			p, maxMemory, maxTime, maxThreads)
	}
	return nil
}

// hash answers the PHC string of a new password.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltLen)
	_, _ = rand.Read(salt) // never fails: it ends the program instead
	key, err := h.derive(ctx, password, h.argon2id(h.params, salt, keyLen))
	if err != nil {
		return "", err
	}
	return encodeHash(h.params, salt, key), nil
}

// storedHash is a stored hash: how a password is derived, and what must come of the right one.
type storedHash struct {
	derive derivation
	want   []byte
}

// derivation is what is made of a password.
type derivation func(password string) ([]byte, error)

func (h *hasher) argon2id(p HashParams, salt []byte, n uint32) derivation {
	return func(password string) ([]byte, error) {
		return h.argon2([]byte(password), salt, p.Time, p.Memory, p.Threads, n), nil
	}
}

// decode reads a stored hash of any kind. Its error never holds the hash.
func (h *hasher) decode(stored string) (storedHash, error) {
	if strings.HasPrefix(stored, pbkdf2Prefix) {
		return decodePBKDF2(stored)
	}
	p, salt, want, err := decodeHash(stored)
	return storedHash{h.argon2id(p, salt, uint32(len(want))), want}, err //nolint:gosec // decodeHash bounds the length
}

// current reports whether a stored hash is as new ones are.
func (h *hasher) current(stored string) bool {
	p, _, _, err := decodeHash(stored)
	return err == nil && p == h.params
}

// verify reports whether the password is the one that was hashed. An empty stored hash (no such user, or
// no password) costs as much time as a new one and is never right. Neither is one that cannot be read or asks for too
// much: nobody logs in with it, an answer of its own would tell that the user exists, and the log names the user.
func (h *hasher) verify(ctx context.Context, user, stored, password string) (bool, error) {
	known := stored != ""
	hash, err := h.decode(stored)
	if err != nil {
		if known {
			slog.WarnContext(ctx, "a user cannot log in until the password is set anew", "user_uuid", user, "error", err)
		}
		known = false
		if hash, err = h.decode(h.dummy); err != nil {
			return false, err
		}
	}
	got, err := h.derive(ctx, password, hash.derive)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, hash.want) == 1 && known, nil
}

// derive waits for a slot, and gives it back when the work has ended, not when the client has
// left: argon2 cannot be stopped, and a client that leaves must not make room for the next one's 19 MiB.
func (h *hasher) derive(ctx context.Context, password string, do derivation) ([]byte, error) {
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	type outcome struct {
		key []byte
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() { <-h.slots }()
		key, err := do(password)
		done <- outcome{key, err}
	}()
	select {
	case o := <-done:
		return o.key, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (h *hasher) enter(ctx context.Context) error {
	select {
	case h.slots <- struct{}{}:
		return nil
	default:
	}
	if h.waiting.Add(1) > maxQueue {
		h.waiting.Add(-1)
		return errBusy
	}
	defer h.waiting.Add(-1)
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-timer.C:
		return errBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

func encodeHash(p HashParams, salt, key []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$%s$%s$%s", argon2.Version, p, b64.EncodeToString(salt), b64.EncodeToString(key))
}

// decodeHash reads a PHC string. Its error never holds the hash.
func decodeHash(phc string) (p HashParams, salt, key []byte, err error) {
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
