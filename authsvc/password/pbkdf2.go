package password

import (
	"crypto/pbkdf2"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

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
