package private_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/private"
)

const secret = "a secret"

func put(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
}

// want fails the test if path is not a file with content and mode, alone in its folder.
func want(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != content {
		t.Errorf("%s has %q, %v", path, got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != mode {
		t.Errorf("%s is %v, %v", path, info.Mode(), err)
	}
	if all, err := os.ReadDir(filepath.Dir(path)); err != nil || len(all) != 1 {
		t.Errorf("the folder has %v, %v", all, err)
	}
}

func TestRead(t *testing.T) {
	for mode := range fs.FileMode(0o1000) {
		if mode&0o400 == 0 { // root could read it, and others could not
			continue
		}
		t.Run(fmt.Sprintf("%04o", mode), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "key")
			put(t, path, secret, mode)
			link := path + ".link"
			if err := os.Symlink(path, link); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{path, link} {
				got, err := private.Read(name, 1<<10)
				if mode&0o077 == 0 {
					if err != nil || string(got) != secret {
						t.Errorf("%q, %v", got, err)
					}
					continue
				}
				exposed, ok := errors.AsType[*private.ExposedError](err)
				if !ok || exposed.Path != name || exposed.Mode != mode || len(got) > 0 {
					t.Fatalf("%q, %v", got, err)
				}
				if text := err.Error(); !strings.HasPrefix(text, name+" is open to other users") || !strings.HasSuffix(text, `run "chmod 600 `+name+`"`) {
					t.Errorf("it says %s", text)
				}
			}
		})
	}
}

func TestReadIsLimited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	put(t, path, strings.Repeat("x", 100), 0o600)
	for limit, length := range map[int64]int{0: 0, 99: 99, 100: 100, 101: 100} {
		if got, err := private.Read(path, limit); err != nil || len(got) != length {
			t.Errorf("of 100 bytes and at most %d it answers %d, %v", limit, len(got), err)
		}
	}
}

func TestReadNothing(t *testing.T) {
	folder := t.TempDir()
	if _, err := private.Read(filepath.Join(folder, "key"), 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	inner := filepath.Join(folder, "folder")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := private.Read(inner, 100); err == nil {
		t.Error("a folder is read")
	}
}

func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "key")
	if err := private.Create(path, []byte(secret)); err != nil {
		t.Fatal(err)
	}
	want(t, path, secret, 0o600)
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info.Mode(), err)
	}
	if err := private.Create(path, []byte("another")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	want(t, path, secret, 0o600)
}

// Of many that create a file at once, one succeeds, and the others find it whole.
func TestCreateAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	var all sync.WaitGroup
	created := make(chan string, 20)
	for i := range cap(created) {
		all.Go(func() {
			mine := strings.Repeat(fmt.Sprintf("%02d", i), 5000)
			err := private.Create(path, []byte(mine))
			if err == nil {
				created <- mine
			} else if !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
			if got, err := private.Read(path, 1<<20); err != nil || len(got) != len(mine) {
				t.Errorf("%d bytes are there, %v", len(got), err)
			}
		})
	}
	all.Wait()
	if len(created) != 1 {
		t.Fatalf("%d succeeded", len(created))
	}
	want(t, path, <-created, 0o600)
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	put(t, path+".new", "half of someth", 0o666)
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o600} {
		content := fmt.Sprintf("%s %o", secret, mode)
		if err := private.Replace(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		want(t, path, content, mode)
	}
}

func TestReplaceKeepsWhatItCannotReplace(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "key") // no file takes the place of a folder
	if err := os.MkdirAll(filepath.Join(folder, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := private.Replace(folder, []byte(secret), 0o600); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("a folder: %v", err)
	}
	if all, err := os.ReadDir(filepath.Dir(folder)); err != nil || len(all) != 1 {
		t.Errorf("there are %v, %v", all, err)
	}
}

// A folder behind a link is one; a link that leads nowhere is told from a file.
func TestMakeFolder(t *testing.T) {
	folder := t.TempDir()
	link, nowhere := filepath.Join(folder, "link"), filepath.Join(folder, "nowhere")
	if err := os.Symlink(nowhere, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, link + "/", filepath.Join(link, "below")} {
		if err := private.MakeFolder(path); err == nil || !strings.Contains(err.Error(), link+" is a link to "+nowhere+", which does not exist: make that folder") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{nowhere, filepath.Join(link, "below"), link} {
		if err := private.MakeFolder(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}

func TestTemp(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a")
	names := map[string]bool{}
	for range 3 {
		path, err := private.Temp(folder, "key.*.new", []byte(secret))
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		if names[name] || filepath.Dir(path) != folder || !strings.HasPrefix(name, "key.") || !strings.HasSuffix(name, ".new") {
			t.Errorf("it is called %s", path)
		}
		names[name] = true
		if got, err := private.Read(path, 100); err != nil || string(got) != secret {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := private.Temp(filepath.Join(folder, "x\x00"), "key", nil); err == nil {
		t.Error("in a folder that cannot be made")
	}
}
