package sealed

import (
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
)

// KeySize is the size of a key, in bytes. Keys are written as base64, one per line.
const KeySize = chacha20poly1305.KeySize

const maxKeys = 16

const version = 1

// The errors of a blob that does not open.
var (
	// ErrOtherKey says that it was sealed with another key than these.
	ErrOtherKey = errors.New("sealed with a key that this node does not have")
	// ErrDamaged says that it was changed, cut, or moved from another row.
	ErrDamaged = errors.New("damaged, or moved from another row")
)

// Keys are the keys of an installation: the first seals, all of them open. They are immutable and safe for concurrent use.
type Keys struct{ keys []key }

type key struct {
	id   keyID
	aead cipher.AEAD
	// nonces is the key of the nonces of SealSame, made of the key by a one-way function.
	nonces []byte
}

// keyID identifies a key without revealing anything about it.
type keyID [8]byte

func (id keyID) String() string { return hex.EncodeToString(id[:]) }

// ParseKeys reads keys, one per line, as `openssl rand -base64 32` prints them. It ignores blank lines, and those that begin with
// #. Its errors never hold its input.
func ParseKeys(text string) (*Keys, error) {
	out := &Keys{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		secret, err := base64.StdEncoding.Strict().DecodeString(line)
		if err != nil || len(secret) != KeySize {
			return nil, fmt.Errorf("key %d is not %d bytes in base64, as openssl rand -base64 %d prints them", len(out.keys)+1, KeySize, KeySize)
		}
		aead, err := chacha20poly1305.NewX(secret)
		if err != nil {
			return nil, fmt.Errorf("reading key %d: %w", len(out.keys)+1, err)
		}
		k := key{aead: aead, nonces: mac(secret, []byte("ringfence sealing nonces"))}
		hash := sha256.Sum256(append([]byte("ringfence sealing key id\x00"), secret...))
		copy(k.id[:], hash[:])
		if out.find(k.id) != nil {
			return nil, fmt.Errorf("key %d is there twice", len(out.keys)+1)
		}
		out.keys = append(out.keys, k)
	}
	if len(out.keys) == 0 || len(out.keys) > maxKeys {
		return nil, fmt.Errorf("there must be between 1 and %d keys", maxKeys)
	}
	return out, nil
}

// newKey returns a random key, in the form of ParseKeys.
func newKey() string {
	secret := make([]byte, KeySize)
	_, _ = rand.Read(secret) // never fails: it ends the program instead
	return base64.StdEncoding.EncodeToString(secret)
}

// ID returns the ID of the key that seals; it reveals nothing about the key, and may be logged.
func (k *Keys) ID() string { return k.keys[0].id.String() }

// Has reports whether the key with this ID is among them.
func (k *Keys) Has(id string) bool {
	return slices.ContainsFunc(k.keys, func(one key) bool { return one.id.String() == id })
}

func (k *Keys) find(id keyID) *key {
	i := slices.IndexFunc(k.keys, func(one key) bool { return one.id == id })
	if i < 0 {
		return nil
	}
	return &k.keys[i]
}

// A blob is the version, the key's ID, the nonce, and the ciphertext with its tag. The nonce has 192 bits, so a key may seal any number of blobs.
const header = 1 + len(keyID{})

// Seal encrypts plain for a context, which says what it belongs to: the table and the row. Its nonce is random: no two blobs are the same.
func (k *Keys) Seal(plain, context []byte) []byte {
	nonce := make([]byte, chacha20poly1305.NonceSizeX)
	_, _ = rand.Read(nonce) // never fails: it ends the program instead
	return k.seal(nonce, plain, context)
}

// SealSame is Seal, and makes the same blob of the same text for the same context. See the package's comment.
func (k *Keys) SealSame(plain, context []byte) []byte {
	length := binary.BigEndian.AppendUint64(nil, uint64(len(context)))
	return k.seal(mac(k.keys[0].nonces, length, context, plain)[:chacha20poly1305.NonceSizeX], plain, context)
}

func (k *Keys) seal(nonce, plain, context []byte) []byte {
	with := k.keys[0]
	blob := make([]byte, header, header+len(nonce)+len(plain)+chacha20poly1305.Overhead)
	blob[0] = version
	copy(blob[1:header], with.id[:])
	return with.aead.Seal(append(blob, nonce...), nonce, plain, bound(blob, context))
}

// mac returns the HMAC-SHA-256 of texts, one after the other.
func mac(key []byte, texts ...[]byte) []byte {
	hash := hmac.New(sha256.New, key)
	for _, text := range texts {
		_, _ = hash.Write(text) // never fails
	}
	return hash.Sum(nil)
}

// Open decrypts what Seal made for the same context. Its errors are ErrOtherKey and ErrDamaged.
func (k *Keys) Open(blob, context []byte) ([]byte, error) {
	if len(blob) < header+chacha20poly1305.NonceSizeX+chacha20poly1305.Overhead || blob[0] != version {
		return nil, ErrDamaged
	}
	id := keyID(blob[1:header])
	with := k.find(id)
	if with == nil {
		return nil, fmt.Errorf("%w (%s)", ErrOtherKey, id)
	}
	nonce, text := blob[header:header+chacha20poly1305.NonceSizeX], blob[header+chacha20poly1305.NonceSizeX:]
	plain, err := with.aead.Open(nil, nonce, text, bound(blob[:header], context))
	if err != nil {
		return nil, ErrDamaged
	}
	return plain, nil
}

// bound returns what a blob is bound to: its own header, whose length is fixed, and the context.
func bound(header, context []byte) []byte { return slices.Concat(header, context) }
