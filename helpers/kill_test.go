package helpers_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/killtest"
)

const childFolder = "RINGFENCE_TEST_HELPER_FILES"

func TestMain(m *testing.M) {
	if base := os.Getenv(childFolder); base != "" {
		changeFiles(base)
	}
	os.Exit(m.Run())
}

func filesIn(base string) helpers.Files {
	return helpers.Files{Spool: filepath.Join(base, "voicemail"), MOH: filepath.Join(base, "moh")}
}

// The mailbox that is moved, and is to be kept, is at one of these places.
var keptPlaces = []string{"ctx-a/1001", "ctx-b/2002"}

// doomed are the folders that a child deletes, and by which request.
func doomed(base string) map[string]string {
	spool, moh := filepath.Join(base, "voicemail"), filepath.Join(base, "moh")
	return map[string]string{
		filepath.Join(spool, "ctx-a", "1"): "1@ctx-a", filepath.Join(spool, "ctx-a", "2"): "2@ctx-a",
		filepath.Join(spool, "ctx-c", "1"): "ctx-c", filepath.Join(spool, "ctx-c", "2"): "ctx-c",
		filepath.Join(moh, aMOH): aMOH,
	}
}

// wholeFolder are the files of a whole mailbox, or of a music on hold.
var wholeFolder = []string{"INBOX/msg0000.txt", "INBOX/msg0001.wav", "Old/msg0000.wav", "unavail.wav"}

// makeWhole makes a folder; it is whole as soon as it has its name.
func makeWhole(t *testing.T, path string) {
	t.Helper()
	beside := filepath.Join(t.TempDir(), "new")
	for _, name := range wholeFolder {
		at := filepath.Join(beside, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(beside, path); err != nil {
		t.Fatal(err)
	}
}

// isWhole reports whether a folder is there, and fails the test if there is a part of it, or more than it.
func isWhole(t *testing.T, path string) bool {
	t.Helper()
	if !exists(path) {
		return false
	}
	var found []string
	err := filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(path, at)
		if text, readErr := os.ReadFile(at); readErr != nil || string(text) != name {
			t.Errorf("%s has %q, %v", at, text, readErr)
		}
		found = append(found, name)
		return err
	})
	if slices.Sort(found); err != nil || !slices.Equal(found, wholeFolder) {
		t.Errorf("%s has %v, %v", path, found, err)
	}
	return true
}

// changeFiles deletes what is doomed and moves the other mailbox to and fro, until it is killed.
func changeFiles(base string) {
	ctx, files := context.Background(), filesIn(base)
	must := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	record := func(request string) func() error {
		return func() error { // as the audit: it is stored when this returns
			f, err := os.OpenFile(filepath.Join(base, "audit"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			_, err = f.WriteString(request + "\n")
			return err
		}
	}
	move := func() {
		from, to := keptPlaces[0], keptPlaces[1]
		if !exists(filepath.Join(files.Spool, from)) {
			from, to = to, from
		}
		context, number, _ := strings.Cut(from, "/")
		toContext, toNumber, _ := strings.Cut(to, "/")
		must(files.Move(ctx, context, number, toContext, toNumber, record("move")))
	}
	requests := []func() error{
		func() error { return files.Remove(ctx, "ctx-a", "1", record("1@ctx-a")) },
		func() error { return files.RemoveContext(ctx, "ctx-c", record("ctx-c")) },
		func() error { return files.RemoveMOH(aMOH, record(aMOH)) },
		func() error { return files.Remove(ctx, "ctx-a", "2", record("2@ctx-a")) },
	}
	rand.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
	fmt.Println("ready")
	for _, request := range requests {
		must(request())
		move()
	}
	for {
		move()
	}
}

// However a process is killed while it moves and deletes, after the next start nothing is lost or half there, nothing is left in
// the trash, and what is gone was recorded before.
func TestKilled(t *testing.T) {
	base := t.TempDir()
	files := filesIn(base)
	makeWhole(t, filepath.Join(files.Spool, keptPlaces[0]))
	const rounds = 15
	interrupted := 0
	for range rounds {
		for path := range doomed(base) {
			if !exists(path) {
				makeWhole(t, path)
			}
		}
		if err := os.RemoveAll(filepath.Join(base, "audit")); err != nil {
			t.Fatal(err)
		}
		killtest.Once(t, childFolder+"="+base, 5*time.Millisecond)
		if left(t, files) > 0 {
			interrupted++
		}
		files.Recover()
		checkFiles(t, base)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d of %d changes were interrupted", interrupted, rounds)
}

// left returns how many entries are in the trash.
func left(t *testing.T, files helpers.Files) (n int) {
	t.Helper()
	for _, tree := range []string{files.Spool, files.MOH} {
		entries, err := os.ReadDir(filepath.Join(tree, helpers.TrashName))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		n += len(entries)
	}
	return n
}

// checkFiles checks what a start finds.
func checkFiles(t *testing.T, base string) {
	t.Helper()
	files := filesIn(base)
	places := 0
	for _, place := range keptPlaces {
		if isWhole(t, filepath.Join(files.Spool, place)) {
			places++
		}
	}
	if places != 1 {
		t.Errorf("the mailbox is at %d places", places)
	}
	audit, err := os.ReadFile(filepath.Join(base, "audit"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for path, request := range doomed(base) {
		if !isWhole(t, path) && !strings.Contains(string(audit), request+"\n") {
			t.Errorf("%s is gone, and nobody knows why:\n%s", path, audit)
		}
	}
	if n := left(t, files); n != 0 {
		t.Errorf("%d entries are left in the trash", n)
	}
}
