package backup_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/sqlite"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// sample returns a backup of a small installation.
func sample(t *testing.T) (file string, text []byte) {
	t.Helper()
	i := engines["sqlite"](t)
	db := i.opened(t)
	i.populate(t, db)
	file, _ = i.take(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return file, text
}

// archive is the content of a backup, to be changed.
type archive struct {
	names    []string
	contents map[string]string
	manifest backup.Manifest
}

func unpack(t *testing.T, text []byte) *archive {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	a := &archive{contents: map[string]string{}}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if a.contents[f.Name] = string(content); f.Name == "manifest.json" {
			if err := json.Unmarshal(content, &a.manifest); err != nil {
				t.Fatal(err)
			}
			continue
		}
		a.names = append(a.names, f.Name)
	}
	return a
}

// put replaces a member, as somebody does who can count.
func (a *archive) put(name, content string) {
	a.contents[name] = content
	for i := range a.manifest.Tables {
		if t := &a.manifest.Tables[i]; "tables/"+t.Name+".jsonl" == name {
			t.Rows = int64(strings.Count(content, "\n"))
		}
	}
	if !slices.Contains(a.names, name) {
		a.names = append(a.names, name)
		a.manifest.Files = append(a.manifest.Files, strings.TrimPrefix(name, "files/"))
	}
}

func (a *archive) pack(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	manifest, err := json.Marshal(a.manifest)
	if err != nil {
		t.Fatal(err)
	}
	a.contents["manifest.json"] = string(manifest)
	for _, name := range append(a.names, "manifest.json") {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, a.contents[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// refused fails the test unless the text is refused, and nothing is written where it would be restored.
func refused(t *testing.T, text []byte, want string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "backup.zip")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	target := engines["sqlite"](t)
	err := target.restore(t, file, false)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it says %v, want %q", err, want)
	}
	if err != nil && strings.Contains(err.Error(), "hush") {
		t.Errorf("it tells what is in the backup: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(target.data, "*"))
	if err != nil || len(left) > 1 || len(left) == 1 && filepath.Base(left[0]) != "lock" {
		t.Errorf("it wrote %v, %v", left, err)
	}
}

func TestDamagedFilesAreRefused(t *testing.T) {
	whole, text := sample(t)
	for n := 0; n < len(text); n += len(text)/12 + 1 {
		refused(t, text[:n], "not a whole one")
		changed := bytes.Clone(text)
		changed[n] ^= 0x40
		file := filepath.Join(t.TempDir(), "backup.zip")
		if err := os.WriteFile(file, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		// A byte that means nothing, such as a time in a header, may change: then all is as it was.
		target := engines["sqlite"](t)
		if err := target.restore(t, file, false); err == nil {
			again, _ := target.take(t)
			if before := contents(t, whole); !maps.Equal(before, contents(t, again)) {
				t.Errorf("byte %d was changed, and the backup restored as another one", n)
			}
		}
	}
	refused(t, nil, "not a whole one")
	refused(t, bytes.Repeat([]byte("x"), 100), "not a whole one")
}

func TestHostileFilesAreRefused(t *testing.T) {
	_, text := sample(t)
	const users = "tables/confd_user.jsonl"
	for name, tt := range map[string]struct {
		change func(a *archive)
		want   string
	}{
		"newer format":         {func(a *archive) { a.manifest.Format = 2 }, "a newer release made it"},
		"no format":            {func(a *archive) { a.manifest.Format = 0 }, "no release has made"},
		"newer schema":         {func(a *archive) { a.manifest.Schema = 1 << 40 }, "a newer release made it"},
		"another database":     {func(a *archive) { a.manifest.Engine = "mysql" }, "no release knows"},
		"a terminal's command": {func(a *archive) { a.manifest.Program = "\x1b[2J" }, "no release is"},
		"no such schema":       {func(a *archive) { a.manifest.Schema = 12 }, "no release had version 12"},
		"another schema":       {func(a *archive) { a.manifest.Schema = 25 }, "of the schema"},
		"a file outside":       {func(a *archive) { a.put("files/../../etc/passwd", "x") }, "which no backup has"},
		"an absolute file":     {func(a *archive) { a.put("files//etc/passwd", "x") }, "which no backup has"},
		"another file":         {func(a *archive) { a.put("files/Caddyfile", "x") }, "which no backup has"},
		"a large file":         {func(a *archive) { a.put("files/sealing-key", strings.Repeat("x", 2<<20)) }, "has more than"},
		"a table as a file":    {func(a *archive) { a.manifest.Files[0] = users }, "which no backup has"},
		"a file twice":         {func(a *archive) { a.names = append(a.names, a.names[0]) }, "twice"},
		"an unnamed member":    {func(a *archive) { a.names, a.contents["x"] = append(a.names, "x"), "x" }, "its manifest names"},
		"a missing table":      {func(a *archive) { a.manifest.Tables = a.manifest.Tables[1:] }, "tables"},
		"a wrong number":       {func(a *archive) { a.manifest.Tables[0].Rows++ }, "rows that the manifest says"},
		"a negative number":    {func(a *archive) { a.manifest.Tables[0].Rows = -1 }, "of the schema"},
		"another table":        {func(a *archive) { a.manifest.Tables[0].Name = `id") SELECT 1; --` }, "of the schema"},
		"not a row":            {func(a *archive) { a.put(users, `{"hush":1}`+"\n") }, "a row of confd_user"},
		"a short row":          {func(a *archive) { a.put(users, `["hush"]`+"\n") }, "a row of confd_user"},
		"no line end":          {func(a *archive) { a.put(users, strings.TrimSuffix(a.contents[users], "\n")) }, "not a whole one"},
		"a wrong type":         {func(a *archive) { a.put("tables/auth_used_uuid.jsonl", "[17]\n") }, "does not hold a value of type text"},
		"a NUL":                {func(a *archive) { a.put("tables/auth_used_uuid.jsonl", `["hush\u0000"]`+"\n") }, "does not hold a value of type text"},
		"rows of nobody":       {func(a *archive) { a.put("tables/auth_tenant.jsonl", "") }, "refer to rows that are not in it"},
		"a row twice":          {func(a *archive) { a.put("tables/auth_used_uuid.jsonl", strings.Repeat(`["`+master+`"]`+"\n", 2)) }, "writing the rows"},
		"null where none goes": {func(a *archive) { a.put("tables/auth_used_uuid.jsonl", "[null]\n") }, "writing the rows"},
		"no key":               {func(a *archive) { a.put("files/sealing-key", "") }, "--without-keys"},
		"not a key":            {func(a *archive) { a.put("files/sealing-key", "hush") }, "set RINGFENCE_SEALING_KEYS to the keys of the gateway that the backup is of"},
	} {
		t.Run(name, func(t *testing.T) {
			a := unpack(t, text)
			tt.change(a)
			refused(t, a.pack(t), tt.want)
		})
	}
	unchanged := filepath.Join(t.TempDir(), "backup.zip")
	if err := os.WriteFile(unchanged, unpack(t, text).pack(t), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := engines["sqlite"](t).restore(t, unchanged, false); err != nil {
		t.Errorf("the unchanged one: %v", err)
	}
}

// A backup of an older schema is restored into the schema of this program.
func TestOlderBackup(t *testing.T) {
	old := engines["sqlite"](t)
	lite, err := sqlite.Open(t.Context(), strings.TrimPrefix(old.address, "sqlite://"))
	if err != nil {
		t.Fatal(err)
	}
	if err := lite.MigrateTo(t.Context(), 25); err != nil {
		t.Fatal(err)
	}
	blob := old.populate(t, lite)
	file, m := old.take(t)
	if err := lite.Close(); err != nil {
		t.Fatal(err)
	}
	for name, makeTarget := range engines {
		t.Run(name, func(t *testing.T) {
			target := makeTarget(t)
			if err := target.restore(t, file, false); err != nil {
				t.Fatal(err)
			}
			target.check(t, blob, m)
		})
	}
}

// What is there is kept: without a word, after any failure, and while somebody uses it.
func TestNothingIsLost(t *testing.T) {
	file, _ := sample(t)
	for name, makeTarget := range engines {
		t.Run(name, func(t *testing.T) {
			target := makeTarget(t)
			db := target.opened(t)
			target.populate(t, db)
			if name == "postgres" {
				if err := target.restore(t, file, true); err == nil || !strings.Contains(err.Error(), "stop all of them first") {
					t.Errorf("while a gateway has connections: %v", err)
				}
			} else if err := target.restore(t, file, true); !errors.Is(err, sqlite.ErrInUse) {
				t.Errorf("while a gateway has the file: %v", err)
			}
			before := storetest.Contents(t, db)()
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if err := target.restore(t, file, false); !errors.Is(err, backup.ErrNotEmpty) {
				t.Errorf("without a word: %v", err)
			}
			f, err := backup.Open(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			ctx, cancel := context.WithCancel(t.Context())
			o := target.options()
			told := 0
			o.Progress = func(int64, int64) {
				if told++; told == 2 { // on PostgreSQL this is within the transaction
					cancel()
				}
			}
			if _, err := f.Restore(ctx, o, true); err == nil && told > 1 {
				t.Error("it goes on after its end")
			}
			if told > 1 {
				if after := storetest.Contents(t, target.opened(t))(); after != before {
					t.Error("a failed restore changed the database")
				}
			}
		})
	}
}

// A word replaces all of it, on each database.
func TestReplace(t *testing.T) {
	file, _ := sample(t)
	for name, makeTarget := range engines {
		t.Run(name, func(t *testing.T) {
			target := makeTarget(t)
			db := target.opened(t)
			target.populate(t, db)
			execute(t, db, insertUser, master, below, "Forgotten")
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			for range 2 { // it may be repeated
				if err := target.restore(t, file, true); err != nil {
					t.Fatal(err)
				}
			}
			n, err := store.Get[int64](t.Context(), target.opened(t), "SELECT count(*) FROM confd_user WHERE firstname = 'Forgotten'")
			if err != nil || n != 0 {
				t.Errorf("%d are still there, %v", n, err)
			}
		})
	}
}

// A damaged SQLite file is replaced, with what belongs to it.
func TestReplaceDamaged(t *testing.T) {
	file, _ := sample(t)
	target := engines["sqlite"](t)
	path := strings.TrimPrefix(target.address, "sqlite://")
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.WriteFile(name, bytes.Repeat([]byte("junk"), 5000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := target.restore(t, file, false); err == nil {
		t.Error("a damaged file was replaced without a word")
	}
	if err := target.restore(t, file, true); err != nil {
		t.Fatal(err)
	}
	if n, err := store.Get[int64](t.Context(), target.opened(t), "SELECT count(*) FROM confd_user"); err != nil || n != 2 {
		t.Errorf("%d users, %v", n, err)
	}
}

// A mistyped address costs nobody a file: neither another program's database, nor what is no database at all.
func TestRestoreLeavesFilesOfOthers(t *testing.T) {
	file, _ := sample(t)
	folder := t.TempDir()
	foreign := filepath.Join(folder, "foreign.db")
	db, err := sqlite.Open(t.Context(), foreign)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, db, "CREATE TABLE bookmarks (address TEXT)")
	execute(t, db, "INSERT INTO bookmarks VALUES ('https://example.com')")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(folder, "letter.txt")
	if err := os.WriteFile(text, bytes.Repeat([]byte("Dear Olga, "), 500), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{foreign, text} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, replace := range []bool{false, true} {
			target := engines["sqlite"](t)
			target.address = "sqlite://" + path
			if err := target.restore(t, file, replace); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("replace %v of %s: %v", replace, filepath.Base(path), err)
			}
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s was changed: %v", filepath.Base(path), err)
		}
	}
}

// The newest rows are in SQLite's log, which a copy of the file does not have. A process that was killed leaves it.
func TestBackupHasTheNewestRows(t *testing.T) {
	source := engines["sqlite"](t)
	db := source.opened(t)
	source.populate(t, db)
	path := strings.TrimPrefix(source.address, "sqlite://")
	copied := engines["sqlite"](t)
	for from, to := range map[string]string{path: "ringfence.db", path + "-wal": "ringfence.db-wal", filepath.Join(source.data, "sealing-key"): "sealing-key"} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(copied.data, to), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, i := range map[string]installation{"while it runs": source, "after it was killed": copied} {
		_, m := i.take(t)
		for _, table := range m.Tables {
			if table.Name == "confd_user" && table.Rows != 2 {
				t.Errorf("%s: %d users", name, table.Rows)
			}
		}
	}
}

func TestNothingToBackUp(t *testing.T) {
	for name, makeSource := range engines {
		t.Run(name, func(t *testing.T) {
			source := makeSource(t)
			if name == "postgres" {
				source.address = storetest.NewDatabase(t, storetest.Server(t), false)
			}
			file := filepath.Join(t.TempDir(), "backup.zip")
			if m, err := source.try(t.Context(), file); err == nil {
				t.Errorf("a backup of nothing: %v", m)
			}
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a file is there: %v", err)
			}
			if left, err := filepath.Glob(filepath.Join(source.data, "*")); err != nil || len(left) > 0 {
				t.Errorf("it made %v, %v", left, err)
			}
			db := source.opened(t)
			source.populate(t, db)
			if err := os.Remove(filepath.Join(source.data, "sealing-key")); err != nil {
				t.Fatal(err)
			}
			if _, err := source.try(t.Context(), file); err == nil || !strings.Contains(err.Error(), "RINGFENCE_SEALING_KEYS") {
				t.Errorf("without the key: %v", err)
			}
			o := source.options()
			o.WithoutKeys = true
			if _, err := backup.Create(t.Context(), o, io.Discard); err != nil {
				t.Errorf("with --without-keys: %v", err)
			}
		})
	}
}
