package tokens_test

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/tokens"
)

func TestNew(t *testing.T) {
	form := regexp.MustCompile(`^rft_[A-Za-z0-9_-]{49}$`)
	made := make(map[string]bool)
	for range 1000 {
		token := tokens.New()
		if !form.MatchString(token) {
			t.Fatalf("token of the wrong form, %d bytes", len(token))
		}
		if !tokens.WellFormed(token) {
			t.Fatal("a new token is not well formed")
		}
		if made[token] {
			t.Fatal("the same token twice")
		}
		made[token] = true
	}
}

func TestWellFormed(t *testing.T) {
	const good = "rft_" + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" + "eW6f-Q"
	tests := []struct {
		name, token string
		want        bool
	}{
		{"checksum fits", good, true},
		{"empty", "", false},
		{"prefix only", "rft_", false},
		{"one short", good[:len(good)-1], false},
		{"one long", good + "A", false},
		{"other prefix", "rfx_" + good[4:], false},
		{"prefix in capitals", "RFT_" + good[4:], false},
		{"leading space", " " + good[:len(good)-1], false},
		{"trailing newline", good[:len(good)-1] + "\n", false},
		{"comma, as of two headers", "rft_,A" + good[6:], false},
		{"standard base64 alphabet", "rft_+" + good[5:], false},
		{"bytes over 127", "rft_\xff\xfe" + good[6:], false},
		{"not canonical: bits that the checksum does not use", good[:len(good)-1] + "R", false},
		{"a UUID", "2a664536-e3e0-4f88-8e1f-55c20ccea85e", false},
		{"100 KB", strings.Repeat("A", 100<<10), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tokens.WellFormed(tt.token); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestChecksumFindsErrors changes each character of a token to every other one:
// a CRC-32 finds every error of a single byte.
func TestChecksumFindsErrors(t *testing.T) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	token := tokens.New()
	for i := range len(token) {
		for _, c := range []byte(alphabet) {
			changed := token[:i] + string(c) + token[i+1:]
			if changed != token && tokens.WellFormed(changed) {
				t.Errorf("a change of character %d was not found", i)
			}
		}
	}
}

func TestDigest(t *testing.T) {
	for _, length := range []int{0, 1, 53, 199, 200, 201, 5000} {
		text := strings.Repeat("x", length)
		if tokens.DigestOf(text) != sha256.Sum256([]byte(text)) {
			t.Errorf("the digest of %d bytes is not their SHA-256", length)
		}
	}
	sum := tokens.DigestOf(tokens.New())
	if got, want := tokens.ID(sum).String(), hex.EncodeToString(sum[:])[:8]; got != want {
		t.Errorf("ID is %s, want %s", got, want)
	}
}

func TestNoAllocation(t *testing.T) {
	token := tokens.New()
	for name, f := range map[string]func(){
		"WellFormed": func() { tokens.WellFormed(token) },
		"DigestOf":   func() { tokens.DigestOf(token) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
