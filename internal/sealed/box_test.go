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

// prepared is a box that has its key.
func prepared(t *testing.T, db store.DB, o sealed.Options) *sealed.Box {
	t.Helper()
	b := sealed.New(o)
	if err := b.Prepare(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return b
}

func seal(t *testing.T, b *sealed.Box, text string) []byte {
	t.Helper()
	blob, err := b.Seal([]byte(text), here)
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

func opens(t *testing.T, b *sealed.Box, blob []byte, text string) {
	t.Helper()
	if plain, err := b.Open(blob, here); err != nil || string(plain) != text {
		t.Fatalf("opened %q, %v; want %q", plain, err, text)
	}
}

func TestTheKeyFileIsMadeOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		file := filepath.Join(t.TempDir(), "data", "sealing.key")
		box := prepared(t, db, sealed.Options{File: file})
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("the key file: %v, %v", info, err)
		}
		blob := seal(t, box, "secret")
		opens(t, box, blob, "secret")

		opens(t, prepared(t, db, sealed.Options{File: file}), blob, "secret") // after a restart
		left, err := os.ReadDir(filepath.Dir(file))
		if err != nil || len(left) != 1 {
			t.Errorf("beside the key file: %v, %v", left, err)
		}
	})
}

func TestProcessesThatStartAtOnceMakeOneKey(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		file := filepath.Join(t.TempDir(), "sealing.key")
		blobs := make([][]byte, 8)
		var work sync.WaitGroup
		for i := range blobs {
			work.Go(func() {
				box := sealed.New(sealed.Options{File: file})
				err := box.Prepare(t.Context(), db)
				if err == nil {
					blobs[i], err = box.Seal([]byte("secret"), here)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		box := prepared(t, db, sealed.Options{File: file})
		for _, blob := range blobs {
			opens(t, box, blob, "secret")
		}
	})
}

func TestANodeWithoutTheKeySaysSo(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		first := filepath.Join(t.TempDir(), "sealing.key")
		blob := seal(t, prepared(t, db, sealed.Options{File: first}), "secret")

		file := filepath.Join(t.TempDir(), "sealing.key")
		second := sealed.New(sealed.Options{File: file})
		if err := second.Prepare(t.Context(), db); !errors.Is(err, sealed.ErrKey) || !strings.Contains(err.Error(), "copy "+file) {
			t.Errorf("without a key: %v", err)
		}
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the second node made a key of its own: %v", err)
		}
		// A key of its own, as a node has that was on another database.
		if err := os.WriteFile(file, []byte(keyOf(9)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := second.Prepare(t.Context(), db); !errors.Is(err, sealed.ErrKey) || !strings.Contains(err.Error(), "copy "+file) {
			t.Errorf("with another key: %v", err)
		}
		if _, err := second.Open(blob, here); !errors.Is(err, sealed.ErrKey) {
			t.Errorf("opening without the key: %v", err)
		}
		if _, err := second.Seal([]byte("mine"), here); !errors.Is(err, sealed.ErrKey) {
			t.Errorf("sealing without the key: %v", err)
		}

		key, err := os.ReadFile(first)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, key, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := second.Prepare(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		opens(t, second, blob, "secret")
		opens(t, prepared(t, db, sealed.Options{File: "/nowhere", Keys: string(key)}), blob, "secret")
	})
}

// Two nodes with folders of their own start at once on a new database.
func TestOneOfTwoFirstKeysIsTaken(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var work sync.WaitGroup
		results := make([]error, 2)
		for i := range results {
			box := sealed.New(sealed.Options{File: filepath.Join(t.TempDir(), "sealing.key")})
			work.Go(func() { results[i] = box.Prepare(t.Context(), db) })
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

func TestAKeyIsChangedOnAllNodesInTurn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		keys := func(keys ...string) sealed.Options { return sealed.Options{Keys: strings.Join(keys, "\n")} }
		old := seal(t, prepared(t, db, keys(keyOf(1))), "old")
		other := prepared(t, db, keys(keyOf(1), keyOf(2)))
		both := prepared(t, db, keys(keyOf(2), keyOf(1)))
		opens(t, both, old, "old")
		opens(t, other, seal(t, both, "new"), "new")
		for _, k := range []string{keyOf(1), keyOf(2)} {
			if err := sealed.New(keys(k)).Prepare(t.Context(), db); !errors.Is(err, sealed.ErrKey) {
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
		err := sealed.New(sealed.Options{File: file}).Prepare(t.Context(), db)
		if !errors.Is(err, sealed.ErrKey) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), keyOf(1)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := sealed.New(sealed.Options{}).Prepare(t.Context(), db); !errors.Is(err, sealed.ErrKey) {
		t.Errorf("with neither keys nor a file: %v", err)
	}
}
