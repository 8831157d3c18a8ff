package selfsigned_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/selfsigned"
)

func TestSameAfterRestart(t *testing.T) {
	dir, c := t.TempDir(), newClock(start)
	first := open(t, dir, at(c))
	if !first.Created() {
		t.Error("Created is false though the folder was empty")
	}
	for _, later := range []time.Duration{0, day, 200 * day} {
		c.set(start.Add(later))
		again := open(t, dir, at(c))
		if again.Fingerprint() != first.Fingerprint() {
			t.Errorf("another certificate %v later", later)
		}
		if again.Created() {
			t.Errorf("Created is true %v later", later)
		}
	}
	if on := read(t, first.Path()); !bytes.Equal(on, first.PEM()) {
		t.Error("the file is not the certificate in PEM")
	}
}

func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "tls")
	open(t, dir, selfsigned.Options{})
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Dir(dir): 0o700, filepath.Join(dir, "key.pem"): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %04o, want %04o", path, got, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"certificate.pem", "fingerprint", "key.pem", "lock"}; !slices.Equal(names, want) {
		t.Errorf("folder holds %v, want %v", names, want)
	}

	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	open(t, dir, selfsigned.Options{})
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("an open folder stays open: %v %v", info.Mode(), err)
	}
}

func TestKeyOpenToOthersIsRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o644} {
		t.Run(fmt.Sprintf("%04o", mode), func(t *testing.T) {
			dir := t.TempDir()
			open(t, dir, selfsigned.Options{})
			key := filepath.Join(dir, "key.pem")
			if err := os.Chmod(key, mode); err != nil {
				t.Fatal(err)
			}
			_, err := selfsigned.Open(dir, selfsigned.Options{})
			if err == nil || !strings.Contains(err.Error(), "chmod 600 "+key) {
				t.Errorf("Open: %v, want the command that mends it", err)
			}
		})
	}
}

func TestDamagedKeyIsRefusedAndKept(t *testing.T) {
	rsa := "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"
	for name, damaged := range map[string]string{
		"empty": "", "text": "not a key at all", "cut": "-----BEGIN PRIVATE KEY-----\nMIGHAgEA", "undecodable": rsa,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			before := open(t, dir, selfsigned.Options{})
			key := filepath.Join(dir, "key.pem")
			if err := os.WriteFile(key, []byte(damaged), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := selfsigned.Open(dir, selfsigned.Options{})
			if err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "damaged") {
				t.Fatalf("Open: %v, want it to say that %s is damaged", err, key)
			}
			if string(read(t, key)) != damaged {
				t.Error("the damaged key was replaced")
			}
			if !bytes.Equal(read(t, before.Path()), before.PEM()) {
				t.Error("the certificate was replaced")
			}
		})
	}
}

func TestCertificateIsRemadeForTheKey(t *testing.T) {
	other := open(t, t.TempDir(), selfsigned.Options{}).PEM()
	for name, found := range map[string][]byte{
		"missing": nil, "empty": {}, "text": []byte("no certificate"), "of another key": other, "cut": other[:len(other)/2],
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			before := open(t, dir, selfsigned.Options{})
			if err := os.WriteFile(before.Path(), found, 0o600); err != nil {
				t.Fatal(err)
			}
			if found == nil {
				if err := os.Remove(before.Path()); err != nil {
					t.Fatal(err)
				}
			}
			after := open(t, dir, selfsigned.Options{})
			if !after.Created() || !sameKey(before, after) {
				t.Errorf("created %v, same key %v; want a new certificate of the old key", after.Created(), sameKey(before, after))
			}
			if again := open(t, dir, selfsigned.Options{}); again.Fingerprint() != after.Fingerprint() {
				t.Error("remade again at the next start")
			}
		})
	}
}

// Another certificate than the one before is told with both fingerprints and the reason, once.
func TestReplacementIsTold(t *testing.T) {
	other := open(t, t.TempDir(), selfsigned.Options{}).PEM()
	write := func(name string, content []byte) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, dir string)
		now    time.Time
		names  []string
		reason string
	}{
		{"nothing", func(*testing.T, string) {}, start, nil, ""},
		{"lost", remove("certificate.pem"), start, nil, "was lost"},
		{"damaged", write("certificate.pem", []byte("junk")), start, nil, "was damaged"},
		{"another key's", write("certificate.pem", other), start, nil, "was not that of the private key"},
		{"key lost", remove("key.pem"), start, nil, "was not that of the private key"},
		{"expired", func(*testing.T, string) {}, start.Add(lifetime), nil, "had expired"},
		{"due", func(*testing.T, string) {}, start.Add(300 * day), nil, "was due for renewal"},
		{"a name", func(*testing.T, string) {}, start, []string{"PBX.example.com."}, "was not for PBX.example.com."},
		{"an address", func(*testing.T, string) {}, start, []string{"192.0.2.7"}, "was not for 192.0.2.7"},
		{"a name that it is for", func(*testing.T, string) {}, start, []string{"localhost"}, ""},
		{"a name that no certificate can be for", func(*testing.T, string) {}, start, []string{"a b"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			before := open(t, dir, at(newClock(start)))
			tt.change(t, dir)
			var told []selfsigned.Replacement
			o := at(newClock(tt.now))
			o.Names, o.OnReplace = tt.names, func(r selfsigned.Replacement) { told = append(told, r) }
			after := open(t, dir, o)
			if tt.reason == "" {
				if len(told) > 0 || after.Fingerprint() != before.Fingerprint() {
					t.Errorf("told %v", told)
				}
				return
			}
			if len(told) != 1 || told[0].Old != before.Fingerprint() || told[0].New != after.Fingerprint() || told[0].Old == told[0].New || told[0].Reason != tt.reason {
				t.Errorf("told %+v, want %q", told, tt.reason)
			}
			for _, name := range tt.names {
				if err := leafOf(after).VerifyHostname(strings.TrimSuffix(name, ".")); err != nil {
					t.Error(err)
				}
			}
			if len(tt.names) > 0 && !sameKey(before, after) {
				t.Error("the key changed")
			}
			if open(t, dir, o); len(told) != 1 {
				t.Errorf("told again: %v", told)
			}
		})
	}
}

func TestInterruptedWriteIsForgotten(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"key.pem.new", "certificate.pem.new"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir, selfsigned.Options{})
	if left, err := filepath.Glob(filepath.Join(dir, "*.new")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "key.pem")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key took the mode of the file it found: %v %v", info.Mode(), err)
	}
}

func TestConcurrentOpensAgree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	var (
		opening      sync.WaitGroup
		mu           sync.Mutex
		fingerprints = make(map[string]int)
		created      int
	)
	for range 16 {
		opening.Go(func() {
			s, err := selfsigned.Open(dir, selfsigned.Options{})
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			fingerprints[s.Fingerprint()]++
			if s.Created() {
				created++
			}
		})
	}
	opening.Wait()
	if len(fingerprints) != 1 || created != 1 {
		t.Errorf("%d certificates, made %d times; want one of both", len(fingerprints), created)
	}
}
