package password_test

import (
	"crypto/pbkdf2"
	"crypto/sha512"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/argon2"

	"github.com/ringfence/ringfence/authsvc/password"
)

var cheap = password.Params{Memory: 64, Time: 1, Threads: 1}

func newHasher(t *testing.T) *password.Hasher {
	t.Helper()
	h, err := password.NewHasher(password.Settings{Params: cheap})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A stored hash matches only its own password. One that is malformed or asks for too much matches none, and is not an error.
func TestVerify(t *testing.T) {
	t.Parallel()
	const (
		// A vector from the tests of the reference implementation (phc-winner-argon2, src/test.c), for "password".
		reference = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
		// RFC 7914's vectors are for SHA-256; these come from Python's hashlib.pbkdf2_hmac("sha512", ...), for "pässword".
		other = "$pbkdf2-sha512$i=250000$000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f$d40347bc5e41cb01be537f67d50b9edec9b0dee2714047e1fc1417cac65c8619896cdfea4ada1d5ba340c8efa2c0409e3642bfe1f54b1fa771273a0d355859d7"
	)
	h := newHasher(t)
	one, err := h.Hash(t.Context(), "right")
	if err != nil {
		t.Fatal(err)
	}
	two, err := h.Hash(t.Context(), "right")
	if err != nil || one == two || !strings.HasPrefix(one, "$argon2id$v=19$m=64,t=1,p=1$") {
		t.Fatalf("%s, %s, %v", one, two, err)
	}
	salt, key := strings.Split(one, "$")[4], strings.Split(one, "$")[5]
	for name, c := range map[string]struct {
		stored, password string
		right            bool
	}{
		"its own":                   {one, "right", true},
		"empty":                     {"", "right", false},
		"no memory":                 {"$argon2id$v=19$m=0,t=1,p=1$" + salt + "$" + key, "right", false},
		"much memory":               {"$argon2id$v=19$m=131073,t=1,p=1$" + salt + "$" + key, "right", false},
		"memory overflows":          {"$argon2id$v=19$m=4294967360,t=1,p=1$" + salt + "$" + key, "right", false},
		"no passes":                 {"$argon2id$v=19$m=64,t=0,p=1$" + salt + "$" + key, "right", false},
		"many passes":               {"$argon2id$v=19$m=64,t=11,p=1$" + salt + "$" + key, "right", false},
		"no lanes":                  {"$argon2id$v=19$m=64,t=1,p=0$" + salt + "$" + key, "right", false},
		"many lanes":                {"$argon2id$v=19$m=64,t=1,p=17$" + salt + "$" + key, "right", false},
		"lanes overflow":            {"$argon2id$v=19$m=64,t=1,p=257$" + salt + "$" + key, "right", false},
		"more parameters":           {"$argon2id$v=19$m=64,t=1,p=1,x=1$" + salt + "$" + key, "right", false},
		"fewer parameters":          {"$argon2id$v=19$m=64,t=1$" + salt + "$" + key, "right", false},
		"spelt otherwise":           {"$argon2id$v=19$m=064,t=1,p=1$" + salt + "$" + key, "right", false},
		"another algorithm":         {"$argon2i$v=19$m=64,t=1,p=1$" + salt + "$" + key, "right", false},
		"another version":           {"$argon2id$v=16$m=64,t=1,p=1$" + salt + "$" + key, "right", false},
		"no salt":                   {"$argon2id$v=19$m=64,t=1,p=1$$" + key, "right", false},
		"another salt":              {"$argon2id$v=19$m=64,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$" + key, "right", false},
		"no key":                    {"$argon2id$v=19$m=64,t=1,p=1$" + salt + "$", "right", false},
		"short key":                 {"$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + key[:8], "right", false},
		"bad base64":                {"$argon2id$v=19$m=64,t=1,p=1$" + salt + "$!" + key[1:], "right", false},
		"plain text":                {"right", "right", false},
		"another's":                 {reference, "password", true},
		"another's, wrong password": {reference, "right", false},
		"wrong password":            {one, "wrong", false},
		"PBKDF2":                    {other, "pässword", true},
		"PBKDF2, wrong password":    {other, "password", false},
		"no rounds":                 {strings.Replace(other, "250000", "0", 1), "pässword", false},
		"other rounds":              {strings.Replace(other, "250000", "250001", 1), "pässword", false},
		"endless rounds":            {strings.Replace(other, "250000", "1000001", 1), "pässword", false},
		"rounds overflow":           {strings.Replace(other, "250000", "4295217296", 1), "pässword", false},
		"negative rounds":           {strings.Replace(other, "250000", "-250000", 1), "pässword", false},
		"PBKDF2, no salt":           {strings.Replace(other, "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f", "", 1), "pässword", false},
		"no hex":                    {other + "g", "pässword", false},
		"a part of the hash":        {other[:len(other)-66], "pässword", false},
		"PBKDF2, no hash":           {other[:len(other)-128], "pässword", false},
		"more parts":                {other + "$", "pässword", false},
		"fewer parts":               {"$pbkdf2-sha512$i=250000$", "pässword", false},
		"another function":          {strings.Replace(other, "sha512", "sha1", 1), "pässword", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			right, err := h.Verify(t.Context(), "", c.stored, c.password)
			if err != nil || right != c.right {
				t.Errorf("%v, %v, want %v", right, err, c.right)
			}
		})
	}
}

func TestCurrent(t *testing.T) {
	t.Parallel()
	h := newHasher(t)
	mine, err := h.Hash(t.Context(), "right")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		stored  string
		current bool
	}{
		"as new ones are":  {mine, true},
		"other parameters": {strings.Replace(mine, "m=64", "m=65", 1), false},
		"PBKDF2":           {"$pbkdf2-sha512$i=250000$00$00", false},
		"none":             {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := h.Current(c.stored); got != c.current {
				t.Errorf("%v, want %v", got, c.current)
			}
		})
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	for _, p := range []password.Params{
		{Memory: 128*1024 + 1, Time: 1, Threads: 1}, {Memory: 64, Time: 11, Threads: 1}, {Memory: 64, Time: 1, Threads: 17}, {Memory: 64}, {Time: 1, Threads: 1},
	} {
		if _, err := password.NewHasher(password.Settings{Params: p}); err == nil {
			t.Errorf("%s was taken", p)
		}
	}
	s, err := password.Settings{}.WithDefaults()
	if err != nil || s.Params != (password.Params{Memory: 19 * 1024, Time: 2, Threads: 1}) { // OWASP's minimum
		t.Errorf("%v, %v", s.Params, err)
	}
}

// A password that does not match costs the same whatever is stored, if anything is: one hash of each kind.
func TestFailuresCostTheSame(t *testing.T) {
	t.Parallel()
	h := newHasher(t)
	right, err := h.Hash(t.Context(), "right")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var done []string
	did := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		done = append(done, fmt.Sprintf(format, args...))
	}
	h.Argon2 = func(password, salt []byte, time, memory uint32, threads uint8, keyLen uint32) []byte {
		did("argon2id %d %d %d", memory, time, threads)
		return argon2.IDKey(password, salt, time, memory, threads, keyLen)
	}
	h.PBKDF2 = func(password string, salt []byte, rounds, keyLen int) ([]byte, error) {
		did("PBKDF2 %d", rounds)
		return pbkdf2.Key(sha512.New, password, salt, rounds, keyLen)
	}
	stored := map[string]string{
		"none": "", "unreadable": "right", "too costly": "$pbkdf2-sha512$i=1000001$0001020304050607$" + strings.Repeat("00", 32),
		"new": right, "earlier": strings.Replace(right, "m=64", "m=65", 1),
		"imported":            "$pbkdf2-sha512$i=7$0001020304050607$" + strings.Repeat("00", 64),
		"imported, a shorter": "$pbkdf2-sha512$i=7$000102030405060708$" + strings.Repeat("00", 32),
		"other rounds":        "$pbkdf2-sha512$i=8$0001020304050607$" + strings.Repeat("00", 64),
	}
	cost := func(stored, password string) []string {
		t.Helper()
		done = nil
		if ok, err := h.Verify(t.Context(), "", stored, password); err != nil || ok != (password == "right") {
			t.Errorf("%v, %v", ok, err)
		}
		slices.Sort(done)
		return done
	}
	var kinds []password.Kind
	for _, one := range stored {
		if kind, ok := h.KindOf(one); ok {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	h.Expect(slices.Compact(kinds)) // with that of new hashes
	want := []string{"PBKDF2 7", "PBKDF2 8", "argon2id 64 1 1", "argon2id 65 1 1"}
	for name, hash := range stored {
		if got := cost(hash, "wrong"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := cost(right, "right"); !slices.Equal(got, want[2:3]) {
		t.Errorf("a success: %v", got)
	}
	h.Expect(nil)
	for _, name := range []string{"none", "unreadable", "too costly", "new"} {
		if got := cost(stored[name], "wrong"); !slices.Equal(got, want[2:3]) {
			t.Errorf("%s: %v, want %v", name, got, want[2:3])
		}
	}
}
