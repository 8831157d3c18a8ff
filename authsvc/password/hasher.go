// Package password hashes and verifies passwords: with argon2id, a bounded number at a time, and with the hashes of other systems
// for accounts taken over from them.
package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"log/slog"
	"runtime"
	"slices"
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
	// Queue is how many may wait, at most 10000; more are refused with ErrBusy. Default: 64.
	Queue int
	// Wait is how long each may wait before it is refused too, at most a minute. Default: 2 seconds.
	Wait time.Duration
	// Shortest is the least number of characters of a new password, from 1 to 128. It does not apply to imported hashes. Default:
	// 8.
	Shortest int
}

// WithDefaults replaces zero fields by their defaults, and refuses parameters that no stored hash may have.
func (s Settings) WithDefaults() (Settings, error) {
	if s.Params == (Params{}) {
		s.Params = DefaultParams
	}
	if s.Queue == 0 {
		s.Queue = 64
	}
	if s.Wait == 0 {
		s.Wait = 2 * time.Second
	}
	if s.Shortest == 0 {
		s.Shortest = 8
	}
	if err := s.Params.check(); err != nil {
		return s, err
	}
	if s.Shortest < 1 || s.Shortest > 128 {
		return s, errors.New("the shortest password must have from 1 to 128 characters")
	}
	if s.Queue < 1 || s.Queue > 10_000 || s.Wait < time.Millisecond || s.Wait > time.Minute {
		return s, errors.New("passwords that wait: the queue must be from 1 to 10000, and the wait from a millisecond to a minute")
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
