package password

import (
	"encoding/hex"
	"slices"
	"strings"
)

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
