package sealed_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/sealed"
)

var here = []byte("here")

// keyOf is a key that is made of one byte.
func keyOf(b byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, sealed.KeySize))
}

func parse(t *testing.T, lines ...string) *sealed.Keys {
	t.Helper()
	keys, err := sealed.ParseKeys(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestWhatIsSealedOpensInItsContextAlone(t *testing.T) {
	t.Parallel()
	keys := parse(t, keyOf(1))
	secret, context := []byte(`{"access_token":"secret"}`), []byte("auth_external.user.google")
	blob := keys.Seal(secret, context)
	if bytes.Contains(blob, []byte("secret")) {
		t.Fatal("the blob holds what was sealed")
	}
	if again := keys.Seal(secret, context); bytes.Equal(blob, again) {
		t.Fatal("two blobs of one secret are the same")
	}
	plain, err := keys.Open(blob, context)
	if err != nil || !bytes.Equal(plain, secret) {
		t.Fatalf("opened %q, %v", plain, err)
	}
	for _, other := range []string{"auth_external.other.google", "auth_external.user.googl", "auth_external.user.google.", "", "x"} {
		if plain, err := keys.Open(blob, []byte(other)); !errors.Is(err, sealed.ErrDamaged) || plain != nil {
			t.Errorf("as %q: opened %q, %v", other, plain, err)
		}
	}
}

// A blob that is made again is the same for the same key, context and text alone, wherever one ends and the other begins.
func TestTheSameBlobIsMadeAgain(t *testing.T) {
	t.Parallel()
	keys := parse(t, keyOf(1), keyOf(2))
	secret, context := []byte("secret"), []byte("auth_external.user.google")
	blob := keys.SealSame(secret, context)
	if !bytes.Equal(blob, parse(t, keyOf(1)).SealSame(secret, context)) {
		t.Error("the same is sealed as another blob")
	}
	if plain, err := keys.Open(blob, context); err != nil || !bytes.Equal(plain, secret) {
		t.Errorf("opened %q, %v", plain, err)
	}
	if plain, err := keys.Open(blob, here); !errors.Is(err, sealed.ErrDamaged) {
		t.Errorf("elsewhere: opened %q, %v", plain, err)
	}
	nonce := func(blob []byte) string { return string(blob[9:33]) }
	seen := map[string]bool{nonce(blob): true, nonce(keys.Seal(secret, context)): true}
	for _, other := range [][]byte{
		keys.SealSame([]byte("secret."), context), keys.SealSame([]byte("ecret"), append(context, 's')), keys.SealSame(nil, append(context, secret...)),
		parse(t, keyOf(2), keyOf(1)).SealSame(secret, context),
	} {
		seen[nonce(other)] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d of 6 nonces differ", len(seen))
	}
}

func TestAChangedBlobDoesNotOpen(t *testing.T) {
	t.Parallel()
	keys := parse(t, keyOf(1))
	blob := keys.Seal([]byte("secret"), here)
	for i := range blob {
		changed := slices.Clone(blob)
		changed[i] ^= 1
		if plain, err := keys.Open(changed, here); err == nil {
			t.Errorf("byte %d changed: opened %q", i, plain)
		}
		if plain, err := keys.Open(blob[:i], here); !errors.Is(err, sealed.ErrDamaged) {
			t.Errorf("cut to %d bytes: opened %q, %v", i, plain, err)
		}
	}
	if _, err := keys.Open(append(slices.Clone(blob), 0), here); !errors.Is(err, sealed.ErrDamaged) {
		t.Errorf("with a byte more: %v", err)
	}
}

func TestKeysAreChangedByPuttingANewOneFirst(t *testing.T) {
	t.Parallel()
	before, both, after := parse(t, keyOf(1)), parse(t, keyOf(2), keyOf(1)), parse(t, keyOf(2))
	old, fresh := before.Seal([]byte("old"), here), both.Seal([]byte("new"), here)
	if plain, err := both.Open(old, here); err != nil || string(plain) != "old" {
		t.Errorf("with both keys, what the old one sealed: %q, %v", plain, err)
	}
	if plain, err := after.Open(fresh, here); err != nil || string(plain) != "new" {
		t.Errorf("with the new key, what both sealed: %q, %v", plain, err)
	}
	if _, err := after.Open(old, here); !errors.Is(err, sealed.ErrOtherKey) {
		t.Errorf("without the old key, what it sealed: %v", err)
	}
	if both.ID() != after.ID() || both.ID() == before.ID() || !both.Has(before.ID()) || after.Has(before.ID()) {
		t.Error("the first key is not the one that the keys go by")
	}
}

func TestParseKeysRefuses(t *testing.T) {
	t.Parallel()
	short := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, sealed.KeySize-1))
	many := make([]string, 17)
	for i := range many {
		many[i] = keyOf(byte(i))
	}
	for name, text := range map[string]string{
		"nothing":        "",
		"comments alone": "# a comment\n\n",
		"a short key":    short,
		"no base64":      strings.Repeat("!", 44),
		"a key twice":    keyOf(1) + "\n" + keyOf(1),
		"too many":       strings.Join(many, "\n"),
	} {
		_, err := sealed.ParseKeys(text)
		if err == nil {
			t.Errorf("%s was taken", name)
			continue
		}
		if strings.Contains(err.Error(), short) || strings.Contains(err.Error(), keyOf(1)) {
			t.Errorf("%s: the error holds the key: %v", name, err)
		}
	}
	if keys := parse(t, "# a comment", "", "  "+keyOf(1)+"\r"); keys.ID() != parse(t, keyOf(1)).ID() {
		t.Error("comments and spaces change the key")
	}
}
