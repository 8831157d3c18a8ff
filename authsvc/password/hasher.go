// Package password hashes and verifies passwords: with argon2id, a bounded number at a time, and with the hashes of other systems
// for accounts taken over from them.
package password

import (
	"cmp"
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/ringfence/ringfence/internal/apierr"
)

// Max is the longest password, in bytes. It is checked before any hashing.
const Max = 1024

const (
	saltLen = 16
	keyLen  = 32
)

// Settings say what a new hash costs, and how many may wait to be made or verified. A zero field means its default.
type Settings struct {
	// Params are the parameters of new hashes; Current reports whether a hash uses them. As many hashes are computed at once as
	// the process has processors, and each takes this memory. Default: DefaultParams.
	Params Params
	// Queue is how many may wait; more are refused with ErrBusy. Default: 64.
	Queue int
	// Wait is how long each may wait before it is refused too. Default: 2 seconds.
	Wait time.Duration
	// Shortest is the least number of characters of a new password, from 1 to 128. It does not apply to imported hashes. Default:
	// 8.
	Shortest int
}

// WithDefaults replaces zero fields by their defaults, and refuses parameters that no stored hash may have.
func (s Settings) WithDefaults() (Settings, error) {
	s.Params, s.Queue = cmp.Or(s.Params, DefaultParams), cmp.Or(s.Queue, 64)
	s.Wait, s.Shortest = cmp.Or(s.Wait, 2*time.Second), cmp.Or(s.Shortest, 8)
	if err := s.Params.check(); err != nil {
		return s, err
	}
	if s.Shortest < 1 || s.Shortest > 128 {
		return s, errors.New("the shortest password must have from 1 to 128 characters")
	}
	return s, nil
}

// ErrBusy refuses a password that would have to wait too long.
var ErrBusy = &apierr.Error{
	Kind: apierr.TooMany, RetryAfter: 2 * time.Second,
	Message: "Too many passwords are being checked at once; try again shortly",
}

// Hasher hashes passwords, a bounded number at a time: each costs some 19 MiB and tens of milliseconds of a core. It is safe for
// concurrent use.
type Hasher struct {
	// Argon2 is argon2.IDKey, and PBKDF2 is pbkdf2.Key with SHA-512. Tests that count or delay the work replace them before the first
	// hash.
	Argon2 func(password, salt []byte, time, memory uint32, threads uint8, keyLen uint32) []byte
	PBKDF2 func(password string, salt []byte, rounds, keyLen int) ([]byte, error)

	slots   chan struct{}
	waiting atomic.Int64
	// attempts counts the logins that have a place, in a slot or in the queue.
	attempts atomic.Int64
	inUse    atomic.Pointer[Settings]
	outdated atomic.Pointer[[]Kind]
}

// NewHasher returns a hasher with these settings, see Use.
func NewHasher(s Settings) (*Hasher, error) {
	h := &Hasher{Argon2: argon2.IDKey, PBKDF2: pbkdf2SHA512, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	h.Expect(nil)
	return h, h.Use(s)
}

// Use replaces the settings, unless WithDefaults refuses them. Passwords that are being hashed or are waiting keep the old ones.
func (h *Hasher) Use(s Settings) error {
	s, err := s.WithDefaults()
	if err != nil {
		return err
	}
	h.inUse.Store(&s)
	return nil
}

// Places returns how many hashes may run at once, and how many may wait.
func (h *Hasher) Places() (running, waiting int) { return cap(h.slots), h.inUse.Load().Queue }

// Load returns how many hashes run now, and how many wait.
func (h *Hasher) Load() (running, waiting int) { return len(h.slots), int(h.waiting.Load()) }

// Enter takes a place for an attempt at a password, or returns ErrBusy if no place is free. It does not wait. leave releases the
// place.
func (h *Hasher) Enter() (leave func(), err error) {
	running, waiting := h.Places()
	if h.attempts.Add(1) > int64(running+waiting) {
		h.attempts.Add(-1)
		return nil, ErrBusy
	}
	return func() { h.attempts.Add(-1) }, nil
}

// Hash returns the PHC string of a new password.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	params, salt := h.inUse.Load().Params, make([]byte, saltLen)
	_, _ = rand.Read(salt) // never fails: it would end the program instead
	key, err := h.derive(ctx, password, h.argon2id(params, salt, keyLen))
	if err != nil {
		return "", err
	}
	return encode(params, salt, key), nil
}

// storedHash is a stored hash: what it costs, how to derive a key from a password, and the key of the right one.
type storedHash struct {
	kind   Kind
	derive derivation
	want   []byte
}

// derivation derives a key from a password.
type derivation func(password string) ([]byte, error)

func (h *Hasher) argon2id(p Params, salt []byte, n uint32) derivation {
	return func(password string) ([]byte, error) {
		return h.Argon2([]byte(password), salt, p.Time, p.Memory, p.Threads, n), nil
	}
}

// decode reads a stored hash of any kind. Its error never holds the hash.
func (h *Hasher) decode(stored string) (storedHash, error) {
	if strings.HasPrefix(stored, pbkdf2Prefix) {
		return h.decodePBKDF2(stored)
	}
	p, salt, want, err := decodeArgon2id(stored)
	return storedHash{p.kind(), h.argon2id(p, salt, uint32(len(want))), want}, err //nolint:gosec // decodeArgon2id bounds the length
}

// Current reports whether a stored hash uses the parameters of new ones.
func (h *Hasher) Current(stored string) bool {
	p, _, _, err := decodeArgon2id(stored)
	return err == nil && p == h.inUse.Load().Params
}

// Verify reports whether the password is the one that was hashed. An empty stored hash (no such user, or no password) never matches.
// Neither does one that is unreadable or too costly: nobody can log in with it. Its response is the same, since another would reveal
// that the user exists; the log names the user.
//
// A password that does not match always costs the same: one hash of each kind that is stored, new or outdated (see Expect), whether
// there is a stored hash or not, and of whichever kind it is. A password that matches costs its own hash.
func (h *Hasher) Verify(ctx context.Context, user, stored, password string) (bool, error) {
	hash, err := h.decode(stored)
	known := err == nil
	if !known && stored != "" {
		slog.WarnContext(ctx, "a user cannot log in until the password is set anew", "user_uuid", user, "error", err)
	}
	current := h.CurrentKind()
	kinds := append([]Kind{current}, slices.DeleteFunc(slices.Clone(*h.outdated.Load()), func(k Kind) bool { return k == current })...)
	found, err := h.derive(ctx, password, func(password string) ([]byte, error) {
		if known {
			got, err := hash.derive(password)
			if err != nil || subtle.ConstantTimeCompare(got, hash.want) == 1 {
				return got, err
			}
		}
		for _, kind := range kinds {
			if known && kind == hash.kind {
				continue
			}
			dummy, err := h.decode(kind.dummy())
			if err == nil {
				_, err = dummy.derive(password)
			}
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	return found != nil, err
}

// derive waits for a slot, and releases it when the work has ended, not when the client leaves: argon2 cannot be interrupted, and
// a client that leaves must not make room for another 19 MiB.
func (h *Hasher) derive(ctx context.Context, password string, do derivation) ([]byte, error) {
	if err := h.turn(ctx); err != nil {
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

// turn takes a slot, or returns ErrBusy if too many wait or it takes too long.
func (h *Hasher) turn(ctx context.Context) error {
	select {
	case h.slots <- struct{}{}:
		return nil
	default:
	}
	settings := h.inUse.Load()
	if h.waiting.Add(1) > int64(settings.Queue) {
		h.waiting.Add(-1)
		return ErrBusy
	}
	defer h.waiting.Add(-1)
	timer := time.NewTimer(settings.Wait)
	defer timer.Stop()
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-timer.C:
		return ErrBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Kind is the beginning of a stored hash that says what it costs: its function and its parameters, up to the salt.
type Kind string

// KindOf returns the kind of a stored hash, or false for one that nobody can log in with.
func (h *Hasher) KindOf(stored string) (Kind, bool) {
	hash, err := h.decode(stored)
	return hash.kind, err == nil
}

// CurrentKind returns the kind of new hashes.
func (h *Hasher) CurrentKind() Kind { return h.inUse.Load().Params.kind() }

// Expect sets the other kinds that are stored: imported hashes, and those made with earlier parameters. While there are any, a password
// that does not match costs one hash of each of them too.
func (h *Hasher) Expect(outdated []Kind) {
	outdated = slices.Clone(outdated)
	h.outdated.Store(&outdated)
}

// dummy returns a hash of the kind that matches no password.
func (k Kind) dummy() string {
	if strings.HasPrefix(string(k), pbkdf2Prefix) {
		return string(k) + hex.EncodeToString(make([]byte, saltLen)) + "$" + hex.EncodeToString(make([]byte, keyLen))
	}
	return string(k) + encodeKey(make([]byte, saltLen), make([]byte, keyLen))
}

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
