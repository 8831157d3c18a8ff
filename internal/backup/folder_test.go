package backup_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/backup"
)

// A folder has the backups that were made whole, the newest first, and leads to nothing else.
func TestFolder(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	path := filepath.Join(outside, "backups")
	f := backup.Folder(path)
	if list, err := f.List(); err != nil || len(list) != 0 {
		t.Fatalf("a folder that is missing has %v, %v", list, err)
	}
	at := time.Date(2025, 11, 28, 5, 13, 48, 0, time.UTC)
	writes := func(text string) func(w io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}
	}
	for i, want := range []string{"ringfence-2025-11-28-051348", "ringfence-2025-11-28-051348-2"} {
		name := f.Next(at)
		if err := f.Make(name, writes("backup")); err != nil || name != want {
			t.Fatalf("%s: %v", name, err)
		}
		if err := os.Chtimes(filepath.Join(path, name+".zip"), time.Time{}, at.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	full := errors.New("no space left on device")
	if err := f.Make("ringfence-full", func(w io.Writer) error { return errors.Join(writes("a half")(w), full) }); !errors.Is(err, full) {
		t.Errorf("a full disk: %v", err)
	}
	if err := f.Make("ringfence-2025-11-28-051348", writes("another")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a backup is replaced: %v", err)
	}
	// What a killed process has left goes with the next one; what may still be written stays.
	for name, age := range map[string]time.Duration{".ringfence-old.zip-1": 25 * time.Hour, ".ringfence-young.zip-1": time.Hour} {
		left := filepath.Join(path, name)
		if err := errors.Join(os.WriteFile(left, nil, 0o600), os.Chtimes(left, time.Time{}, time.Now().Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Make("by-hand", writes("backup")); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(outside, "secret.zip")
	if err := errors.Join(
		os.WriteFile(secret, []byte("secret"), 0o600), os.Symlink("../secret.zip", filepath.Join(path, "out.zip")),
		os.Symlink("by-hand.zip", filepath.Join(path, "in.zip")), os.Mkdir(filepath.Join(path, "folder.zip"), 0o700),
		os.WriteFile(filepath.Join(path, ".hidden.zip"), nil, 0o600), os.WriteFile(filepath.Join(path, "notes.txt"), nil, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	var names []string
	list, err := f.List()
	for _, k := range list {
		names = append(names, k.Name)
	}
	if got := strings.Join(names, " "); err != nil || got != "by-hand ringfence-2025-11-28-051348-2 ringfence-2025-11-28-051348" {
		t.Errorf("the folder has %s, %v", got, err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.Contains(entry.Name(), "ringfence-full") || strings.Contains(entry.Name(), "ringfence-old") {
			t.Errorf("%s is left", entry.Name())
		}
	}
	for _, name := range []string{"", ".", "..", "../secret", "out", "in", "folder", ".hidden", "by-hand.zip", "notes", "by-hand/", "/by-hand", "by-hand\x00", strings.Repeat("a", 101)} {
		if file, _, err := f.Open(name); !errors.Is(err, fs.ErrNotExist) || file != nil {
			t.Errorf("%q is opened: %v", name, err)
		}
		if err := f.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q is removed: %v", name, err)
		}
	}
	file, k, err := f.Open("by-hand")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if text, err := io.ReadAll(file); err != nil || string(text) != "backup" || k.Size != 6 {
		t.Errorf("%q of %d bytes, %v", text, k.Size, err)
	}
	if info, err := file.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v", info.Mode())
	}
	if err := f.Remove("by-hand"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(secret); err != nil {
		t.Error(err)
	}
}
