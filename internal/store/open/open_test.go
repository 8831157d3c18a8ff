package open_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestOpen(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ name, address, file string }{
		{"absolute", "sqlite://" + filepath.Join(t.TempDir(), "a b%20", "one.db"), ""},
		{"relative", "sqlite://./data/two.db", "data/two.db"},
		{"bare", "sqlite://three.db", "three.db"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, err := open.Open(t.Context(), c.address)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if err := db.(store.Migrator).Migrate(t.Context()); err != nil {
				t.Error(err)
			}
			file := c.file
			if file == "" {
				file = strings.TrimPrefix(c.address, "sqlite://")
			}
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("postgres", func(t *testing.T) {
		dsn := storetest.PostgresDSN(t)
		for _, address := range []string{dsn, strings.Replace(dsn, "postgres://", "postgresql://", 1)} {
			db, err := open.Open(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Ping(t.Context()); err != nil || db.Engine() != "postgres" {
				t.Errorf("%s: %v", db.Engine(), err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestAddressRefused(t *testing.T) {
	for _, address := range []string{
		"", "ringfence.db", "/var/lib/ringfence.db", "sqlite:", "sqlite:data/x.db", "sqlite://", "sqlite:///", "sqlite://data/",
		"sqlite://:memory:", "sqlite://x.db?mode=memory", "file:x.db", "mysql://ann:s3cret@host/db", "postgres:ann:s3cret@host/db",
		"POSTGRES://ann:s3cret@host/db", " postgres://ann:s3cret@host/db", "host=h password=s3cret",
	} {
		db, err := open.Open(t.Context(), address)
		if !errors.Is(err, open.ErrAddress) || db != nil {
			t.Errorf("Open(%q) answered %v, %v", address, db, err)
		}
		if err != nil && (strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "sqlite:///absolute/path")) {
			t.Errorf("Open(%q) says %v", address, err)
		}
		if key, err := open.Key(address); !errors.Is(err, open.ErrAddress) || key != "" {
			t.Errorf("Key(%q) answered %q, %v", address, key, err)
		}
	}
}

func TestKey(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	if err := os.Mkdir("data", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("data", "link"); err != nil {
		t.Fatal(err)
	}
	key := func(address string) string {
		t.Helper()
		k, err := open.Key(address)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	want := "sqlite://" + filepath.Join(folder, "data", "x.db")
	for _, address := range []string{"sqlite://data/x.db", "sqlite://./data/../data/x.db", "sqlite://link/x.db", want} {
		if got := key(address); got != want {
			t.Errorf("Key(%q) = %q, want %q", address, got, want)
		}
	}
	one, other := key("postgres://ann:s3cret@host/db"), key("postgres://ann:other@host/db")
	if one == other || one != key("postgres://ann:s3cret@host/db") || strings.Contains(one, "s3cret") {
		t.Errorf("keys %q and %q", one, other)
	}
}
