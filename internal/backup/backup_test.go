package backup_test

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/private"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// installation is a data folder and a database.
type installation struct{ data, address string }

func (i installation) options() backup.Options {
	return backup.Options{Data: i.data, Database: i.address, Program: "test"}
}

// engines make an empty installation of each kind: SQLite's file is missing, PostgreSQL has empty tables.
var engines = map[string]func(t *testing.T) installation{
	"sqlite": func(t *testing.T) installation {
		t.Helper()
		data := t.TempDir()
		return installation{data, "sqlite://" + filepath.Join(data, "ringfence.db")}
	},
	"postgres": func(t *testing.T) installation {
		t.Helper()
		return installation{t.TempDir(), storetest.NewDatabase(t, storetest.Server(t), true)}
	},
}

// opened opens the database as a gateway does.
func (i installation) opened(t *testing.T) store.DB {
	t.Helper()
	db, err := open.Open(t.Context(), i.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.(store.Migrator).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

func execute(t *testing.T, db store.Conn, statement string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

const (
	master = "00000000-0000-4000-8000-000000000001"
	below  = "00000000-0000-4000-8000-000000000000" // sorts before the tenant that it refers to
)

const insertUser = `INSERT INTO confd_user (tenant_uuid, uuid, firstname, mobile_fallback_enabled, call_record_outgoing_external_enabled,
	call_record_outgoing_internal_enabled, call_record_incoming_internal_enabled, call_record_incoming_external_enabled, subscription_type)
	VALUES ($1, $2, $3, true, false, true, false, true, 1)`

var secretContext = []byte("a row")

// populate fills a database with a value of each type, and the data folder with keys.
func (i installation) populate(t *testing.T, db store.DB) (blob []byte) {
	t.Helper()
	execute(t, db, "INSERT INTO auth_tenant (uuid, parent_uuid, name, slug) VALUES ($1, $1, 'master', 'master')", master)
	execute(t, db, "INSERT INTO auth_tenant (uuid, parent_uuid, name, slug) VALUES ($1, $2, $3, 'below')", below, master, "\u2028\"\\\n\tÉ<&>😀")
	box := sealed.New(sealed.Options{File: filepath.Join(i.data, "sealing-key")})
	if err := box.Prepare(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	blob, err := box.Seal([]byte("hush"), secretContext)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, db, "INSERT INTO audit (at, tenant_uuid, request_id, service, action, resource, object, before) VALUES (now_utc(), $1, '', 'auth', 'x', 'y', 'z', '{}')", master)
	for n := range 3 {
		execute(t, db, insertUser, master, uuid.NewString(), fmt.Sprint("Zoë ", n))
	}
	execute(t, db, "DELETE FROM confd_user WHERE firstname = 'Zoë 2'") // its number is never given again
	for name, content := range map[string]string{"tls/key.pem": "a key", "tls/certificate.pem": "a certificate"} {
		if err := private.Create(filepath.Join(i.data, name), []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(i.data, "tls/certificate.pem"), 0o644); err != nil {
		t.Fatal(err)
	}
	return blob
}

// take makes a backup.
func (i installation) take(t *testing.T) (string, *backup.Manifest) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "backup.zip")
	m, err := i.try(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return file, m
}

func (i installation) try(ctx context.Context, file string) (m *backup.Manifest, err error) {
	return m, private.CreateBy(file, func(w io.Writer) error {
		m, err = backup.Create(ctx, i.options(), w)
		return err
	})
}

// restore restores a backup.
func (i installation) restore(t *testing.T, file string, replace bool) error {
	t.Helper()
	f, err := backup.Open(t.Context(), file)
	if err != nil {
		return err
	}
	n, err := f.Restore(t.Context(), i.options(), replace)
	if err == nil && n != f.Manifest.Rows() {
		t.Errorf("%d rows, want %d", n, f.Manifest.Rows())
	}
	return errors.Join(err, f.Close())
}

// contents returns the checksums of a backup's members, but for the manifest.
func contents(t *testing.T, file string) map[string]uint32 {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	sums := map[string]uint32{}
	for _, member := range z.File {
		if member.Name != "manifest.json" {
			sums[member.Name] = member.CRC32
		}
	}
	return sums
}

// A backup of each database, taken while rows are written, is restored into each, and a backup of that is the same, member by member.
func TestFromEachDatabaseIntoEach(t *testing.T) {
	for from, makeSource := range engines {
		for into, makeTarget := range engines {
			t.Run(from+" to "+into, func(t *testing.T) {
				source, target := makeSource(t), makeTarget(t)
				db := source.opened(t)
				blob := source.populate(t, db)
				writing, stop := context.WithCancel(t.Context())
				written := make(chan int)
				go func() { // each transaction writes to two tables, or to none
					n := 0
					for writing.Err() == nil {
						_ = db.InTx(writing, func(ctx context.Context, tx store.Conn) error {
							id := uuid.NewString()
							if _, err := tx.Exec(ctx, insertUser, master, id, "Pair"); err != nil {
								return err
							}
							_, err := tx.Exec(ctx, "INSERT INTO auth_used_uuid (uuid) VALUES ($1)", id)
							return err
						})
						if n++; n == 3 {
							written <- n
						}
					}
					written <- n
				}()
				<-written
				file, first := source.take(t)
				stop()
				<-written
				if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
					t.Errorf("the file's mode is %v, %v", info.Mode(), err)
				}
				if err := target.restore(t, file, false); err != nil {
					t.Fatal(err)
				}
				again, second := target.take(t)
				if len(first.Tables) < 50 || len(first.Files) != 3 {
					t.Fatalf("%d tables and %d files", len(first.Tables), len(first.Files))
				}
				if !slices.Equal(first.Tables, second.Tables) || !slices.Equal(first.Files, second.Files) {
					t.Errorf("%+v was restored as %+v", first, second)
				}
				if a, b := contents(t, file), contents(t, again); !maps.Equal(a, b) {
					t.Errorf("%v was restored as %v", a, b)
				}
				target.check(t, blob, first)
			})
		}
	}
}

// check looks at a restored installation as a gateway does.
func (i installation) check(t *testing.T, blob []byte, m *backup.Manifest) {
	t.Helper()
	for name, mode := range map[string]fs.FileMode{"sealing-key": 0o600, "tls/key.pem": 0o600, "tls": fs.ModeDir | 0o700} {
		if info, err := os.Stat(filepath.Join(i.data, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(i.data, "*.new"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	db := i.opened(t)
	box := sealed.New(sealed.Options{File: filepath.Join(i.data, "sealing-key")})
	if err := box.Prepare(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if plain, err := box.Open(blob, secretContext); err != nil || string(plain) != "hush" {
		t.Errorf("the secret is %q, %v", plain, err)
	}
	// Half of a transaction is never in a backup; search columns, counts, triggers, keys and numbers work.
	for query, want := range map[string]int64{
		"SELECT (SELECT count(*) FROM confd_user WHERE firstname = 'Pair') - (SELECT count(*) FROM auth_used_uuid) + (SELECT count(*) FROM auth_tenant)": 0,
		"SELECT count(*) FROM confd_user WHERE search_text LIKE '%zoe%'":                                                                                 2,
		"SELECT (SELECT count(*) FROM confd_user) - (SELECT sum(n) FROM row_count WHERE table_name = 'confd_user')":                                      0,
	} {
		if n, err := store.Get[int64](t.Context(), db, query); err != nil || n != want {
			t.Errorf("%s: %d, %v", query, n, err)
		}
	}
	if _, err := db.Exec(t.Context(), "DELETE FROM audit"); err == nil {
		t.Error("the audit can be deleted")
	}
	last := int64(0)
	for _, table := range m.Tables {
		if table.Name == "confd_user" {
			last = table.LastNumber
		}
	}
	id, err := store.Get[int64](t.Context(), db, insertUser+" RETURNING id", master, uuid.NewString(), "Next")
	if err != nil || last == 0 || id != last+1 {
		t.Errorf("the next user has the number %d, after %d, %v", id, last, err)
	}
	if n, err := store.Get[int64](t.Context(), db, "SELECT sum(n) - (SELECT count(*) FROM confd_user) FROM row_count WHERE table_name = 'confd_user'"); err != nil || n != 0 {
		t.Errorf("the count is off by %d, %v", n, err)
	}
	if _, err := db.Exec(t.Context(), insertUser, uuid.NewString(), uuid.NewString(), "Nobody's"); !store.IsConstraint(err, store.ForeignKey) {
		t.Errorf("a user of no tenant: %v", err)
	}
}
