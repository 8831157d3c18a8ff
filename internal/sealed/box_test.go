package sealed_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func seal(t *testing.T, b *sealed.Box, text string) []byte {
	t.Helper()
	blob, err := b.Seal(t.Context(), []byte(text), "here")
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

func opens(t *testing.T, b *sealed.Box, blob []byte, text string) {
	t.Helper()
	if plain, err := b.Open(t.Context(), blob, "here"); err != nil || string(plain) != text {
		t.Fatalf("opened %q, %v; want %q", plain, err, text)
	}
}

func TestTheKeyFileIsMadeWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		file := filepath.Join(t.TempDir(), "data", "sealing.key")
		box := sealed.New(sealed.Options{DB: db, File: file})
		if err := box.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("nothing is sealed, and there is a key file: %v", err)
		}
		blob := seal(t, box, "secret")
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("the key file: %v, %v", info, err)
		}
		opens(t, box, blob, "secret")

		again := sealed.New(sealed.Options{DB: db, File: file}) // after a restart
		if err := again.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		opens(t, again, blob, "secret")
		left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
		if err != nil || len(left) != 1 {
			t.Errorf("beside the key file: %v, %v", left, err)
		}
	})
}

func TestManyThatSealFirstMakeOneKey(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		file := filepath.Join(t.TempDir(), "sealing.key")
		const n = 8
		blobs := make([][]byte, n)
		var work sync.WaitGroup
		for i := range n {
			work.Go(func() { // each with a box of its own, as processes have
				box := sealed.New(sealed.Options{DB: db, File: file})
				var err error
				if blobs[i], err = box.Seal(t.Context(), []byte("secret"), "here"); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		box := sealed.New(sealed.Options{DB: db, File: file})
		for _, blob := range blobs {
			opens(t, box, blob, "secret")
		}
	})
}

func TestANodeWithoutTheKeySaysSo(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		first := filepath.Join(t.TempDir(), "sealing.key")
		blob := seal(t, sealed.New(sealed.Options{DB: db, File: first}), "secret")

		file := filepath.Join(t.TempDir(), "sealing.key")
		second := sealed.New(sealed.Options{DB: db, File: file})
		wants := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, sealed.ErrKey) || !strings.Contains(err.Error(), "copy "+file) {
				t.Errorf("%s without the key: %v", what, err)
			}
		}
		wants("Check", second.Check(t.Context()))
		_, err := second.Open(t.Context(), blob, "here")
		wants("Open", err)
		_, err = second.Seal(t.Context(), []byte("mine"), "here")
		wants("Seal", err)
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the second node made a key of its own: %v", err)
		}

		// A key of its own, as a node has that sealed for another database.
		if err := os.WriteFile(file, []byte(keyOf(9)), 0o600); err != nil {
			t.Fatal(err)
		}
		wants("Check of another key", second.Check(t.Context()))

		key, err := os.ReadFile(first)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, key, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := second.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		opens(t, second, blob, "secret")
		given := sealed.New(sealed.Options{DB: db, File: "/nowhere", Keys: string(key)})
		if err := given.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		opens(t, given, blob, "secret")
	})
}

// Two nodes with folders of their own seal for the first time at once: one key is taken.
func TestOneOfTwoFirstKeysIsTaken(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var work sync.WaitGroup
		results := make([]error, 2)
		for i := range results {
			box := sealed.New(sealed.Options{DB: db, Keys: keyOf(byte(i + 1))})
			work.Go(func() { _, results[i] = box.Seal(t.Context(), []byte("secret"), "here") })
		}
		work.Wait()
		if (results[0] == nil) == (results[1] == nil) {
			t.Fatalf("of two first keys: %v and %v", results[0], results[1])
		}
		if err := errors.Join(results...); !errors.Is(err, sealed.ErrKey) {
			t.Errorf("the other node: %v", err)
		}
	})
}

func TestAKeyIsChangedByPuttingANewOneFirst(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		box := func(keys ...string) *sealed.Box {
			return sealed.New(sealed.Options{DB: db, Keys: strings.Join(keys, "\n")})
		}
		old := seal(t, box(keyOf(1)), "old")
		both := box(keyOf(2), keyOf(1))
		if err := both.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		opens(t, both, old, "old")
		fresh := seal(t, both, "new")
		opens(t, box(keyOf(1), keyOf(2)), fresh, "new")
		for _, short := range []*sealed.Box{box(keyOf(1)), box(keyOf(2))} {
			if err := short.Check(t.Context()); !errors.Is(err, sealed.ErrKey) {
				t.Errorf("with one of the two keys: %v", err)
			}
		}
	})
}

func TestAKeyFileThatOthersCanReadIsRefused(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	for name, c := range map[string]struct {
		mode fs.FileMode
		text string
		want string
	}{
		"group can read":    {0o640, keyOf(1), "chmod 600"},
		"all can read":      {0o604, keyOf(1), "chmod 600"},
		"damaged":           {0o600, "damaged", "is damaged"},
		"empty":             {0o600, "", "is damaged"},
		"longer than a key": {0o600, keyOf(1) + strings.Repeat("A", 20<<10), "is damaged"},
	} {
		file := filepath.Join(t.TempDir(), "sealing.key")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, c.mode); err != nil {
			t.Fatal(err)
		}
		err := sealed.New(sealed.Options{DB: db, File: file}).Check(t.Context())
		if !errors.Is(err, sealed.ErrKey) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), keyOf(1)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
