package backup

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ringfence/ringfence/internal/private"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/internal/store/sqlite"
)

// Options say of what and how a backup is made, and where one is restored.
type Options struct {
	// Data is the data folder, and Database the address of the database.
	Data, Database string
	// SealingKeys are the keys if they are not in the data folder.
	SealingKeys string
	// WithoutKeys takes a backup without a sealing key that its database needs: what is sealed with it is lost, unless the key is
	// elsewhere.
	WithoutKeys bool
	// Program is the version of this program.
	Program string
	// Made is of when the backup is; zero: of now.
	Made time.Time
	// Progress, if set, is told how much of the work is done.
	Progress func(done, of int64)
}

func (o Options) progress(done, of int64) {
	if o.Progress != nil {
		o.Progress(done, of)
	}
}

// ErrUnused says that no gateway has ever used a database.
var ErrUnused = errors.New("no gateway has ever used this database; name another with --data or --database")

// Create writes a backup. The database may be in use: the backup has what was committed when it was begun.
//
// The files are read after the database. A sealing key is used by the database only once it is in its file, so every key that the rows
// need is there.
func Create(ctx context.Context, o Options, w io.Writer) (_ *Manifest, err error) {
	db, err := open.Beside(ctx, o.Database)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	version, err := db.(store.Migrator).Version(ctx)
	if err == nil && version == 0 {
		err = ErrUnused
	}
	if err != nil {
		return nil, fmt.Errorf("reading the version of the database's schema: %w", err)
	}
	tables, err := schema(ctx, version)
	if err != nil {
		return nil, err
	}
	if o.Made.IsZero() {
		o.Made = time.Now()
	}
	m := &Manifest{Format: format, Program: o.Program, Made: o.Made.UTC().Truncate(time.Second), Engine: db.Engine(), Schema: version}
	archive := zip.NewWriter(w)
	err = db.InReadTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := begin(ctx, tx, db.Engine(), tables, "ACCESS SHARE"); err != nil {
			return err
		}
		return m.addTables(ctx, o, archive, tables, db.Engine(), tx)
	})
	if err != nil {
		return nil, err
	}
	// PostgreSQL waits with a migration for the tables that were read; one from just before them must not be taken for the old schema.
	if now, err := db.(store.Migrator).Version(ctx); err != nil || now != version {
		return nil, errors.Join(err, errors.New("the database is being migrated: make the backup again"))
	}
	if err := m.addFiles(o, archive); err != nil {
		return nil, err
	}
	to, err := archive.Create(manifestName) // last: a file that was cut has none
	if err != nil {
		return nil, err
	}
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	return m, errors.Join(encoder.Encode(m), archive.Close())
}

// schemas has what schema has returned, by version: a restore asks several times, and to migrate takes longest.
var schemas sync.Map

// schema returns the tables of a version of the schema, which are not to be changed.
func schema(ctx context.Context, version int64) (_ []table, err error) {
	if known, ok := schemas.Load(version); ok {
		return known.([]table), nil
	}
	folder, err := os.MkdirTemp("", "ringfence-schema-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	lite, err := sqlite.Open(ctx, filepath.Join(folder, "schema.db"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lite.Close()) }()
	if err := lite.MigrateTo(ctx, version); err != nil {
		return nil, err
	}
	tables, err := tablesOf(ctx, lite)
	if err == nil {
		schemas.Store(version, tables)
	}
	return tables, err
}

// begin locks the tables on PostgreSQL, and lifts its limits on the time that a transaction takes. It comes first in a transaction: the
// snapshot of a backup must not be older than the locks, since a TRUNCATE in between would show it empty tables.
func begin(ctx context.Context, tx store.Conn, engine string, tables []table, mode string) error {
	if engine != "postgres" {
		return nil
	}
	var names []string
	for _, t := range tables {
		names = append(names, quoted(t.Name))
	}
	for _, statement := range []string{
		"SET LOCAL statement_timeout = 0", "SET LOCAL idle_in_transaction_session_timeout = 0",
		"LOCK TABLE " + strings.Join(names, ", ") + " IN " + mode + " MODE",
	} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("locking the tables: %w", err)
		}
	}
	return nil
}

// addTables writes the rows of all tables.
func (m *Manifest) addTables(ctx context.Context, o Options, archive *zip.Writer, tables []table, engine string, tx store.Conn) error {
	from := rowsOf(engine, tx)
	var done, of int64
	for _, t := range tables {
		n, err := store.Get[int64](ctx, tx, "SELECT count(*) FROM "+quoted(t.Name))
		if err != nil {
			return fmt.Errorf("counting the rows of %s: %w", t.Name, err)
		}
		of += n
	}
	o.progress(0, of)
	for _, t := range tables {
		member := TableMember{Name: t.Name}
		to, err := archive.Create(tableMember(t.Name))
		if err != nil {
			return err
		}
		err = from(ctx, t, func(row []any) error {
			line, err := t.encode(row)
			if err != nil {
				return err
			}
			member.Rows++
			if done++; done%1000 == 0 {
				o.progress(done, of)
			}
			_, err = to.Write(line)
			return err
		})
		if err == nil && t.Numbered {
			member.LastNumber, err = t.lastNumber(ctx, tx, engine)
		}
		if err != nil {
			return fmt.Errorf("reading the rows of %s: %w", t.Name, err)
		}
		m.Tables = append(m.Tables, member)
	}
	o.progress(of, of)
	var err error
	m.Keys, err = store.Select[string](ctx, tx, "SELECT key_id FROM sealing_key ORDER BY key_id")
	return err
}

// addFiles writes the files of the data folder, and refuses to leave out a key that the rows need.
func (m *Manifest) addFiles(o Options, archive *zip.Writer) error {
	keys := ""
	m.Files = []string{}
	for _, name := range dataFiles {
		content, err := private.Read(filepath.Join(o.Data, name), maxFile+1)
		if exposed, ok := errors.AsType[*private.ExposedError](err); ok && name == "tls/certificate.pem" {
			content, err = os.ReadFile(exposed.Path) // others may read it
		}
		if name == keyFile && o.SealingKeys != "" {
			content, err = []byte(o.SealingKeys), nil
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return fmt.Errorf("reading the data folder: %w", err)
		case len(content) > maxFile:
			return fmt.Errorf("%s in the data folder has more than %d bytes, which is not a file of a gateway", name, maxFile)
		}
		if name == keyFile {
			keys = string(content)
		}
		to, err := archive.Create(filePrefix + name)
		if err == nil {
			_, err = to.Write(content)
		}
		if err != nil {
			return err
		}
		m.Files = append(m.Files, name)
	}
	from := "the file " + keyFile + " in the data folder"
	if o.SealingKeys != "" {
		from = "RINGFENCE_SEALING_KEYS"
	}
	return o.checkKeys(m.Keys, keys, from, "give this command the keys that the gateway has (RINGFENCE_SEALING_KEYS, or the file "+
		keyFile+" in the data folder)")
}

// checkKeys refuses to go on without a key that a database needs. from says where those are that it has, and advice what to do.
func (o Options) checkKeys(needed []string, have, from, advice string) error {
	if o.WithoutKeys || len(needed) == 0 {
		return nil
	}
	keys, err := sealed.ParseKeys(have)
	if have != "" && err != nil {
		return fmt.Errorf("%s has no sealing keys that can be used: %w: %s; or say --without-keys, and lose what is sealed with them", from, err, advice)
	}
	for _, id := range needed {
		if have == "" || !keys.Has(id) {
			return fmt.Errorf("the database has secrets sealed with key %s, which is missing: %s; or keep it elsewhere, and say --without-keys", id, advice)
		}
	}
	return nil
}
