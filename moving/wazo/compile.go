package wazo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/private"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/internal/store/sqlite"
)

//go:embed sql/*.sql
var statements embed.FS

// Job makes a backup of ours of a dump.
type Job struct {
	// File is the dump: see withRows. From, if set, is the address of the platform's own database instead.
	File, From string
	// Accesses are the documented accesses of our services, with {name} for a variable word: those over which a wildcard within a word is written
	// out.
	Accesses []string
	// SealingKeys are the keys of what is sealed. Without them those of KeyFile are taken, which is then in the backup; if there is no such file, a new
	// one is made.
	SealingKeys, KeyFile string
	// Verify compares what users may do there and here.
	Verify bool
	// Program is the version of this program.
	Program string

	// Report says what has become of the dump, when Make has returned.
	Report Report

	folder string
}

// Make compiles the dump, and returns the backup's file. It is in a folder that only this user can read, with copies of all secrets, until Close. The
// same dump makes the same file, with the same keys of what is sealed, if there is any.
func (j *Job) Make(ctx context.Context) (file string, err error) {
	if j.folder, err = os.MkdirTemp("", "ringfence-import-"); err != nil { // mode 0700
		return "", err
	}
	database := filepath.Join(j.folder, "ringfence.db")
	if err := j.fill(ctx, database); err != nil {
		return "", err
	}
	file = filepath.Join(j.folder, "backup.zip")
	dump, err := os.Stat(j.File) // the backup is of when that was made
	if err != nil && j.From == "" {
		return "", err
	}
	o := backup.Options{Data: j.folder, Database: open.SQLiteScheme + database, SealingKeys: j.SealingKeys, Program: j.Program}
	if err == nil {
		o.Made = dump.ModTime()
	}
	return file, private.CreateBy(file, func(w io.Writer) error {
		_, err := backup.Create(ctx, o, w)
		return err
	})
}

// Close removes all that Make has written.
func (j *Job) Close() error {
	if j.folder == "" {
		return nil
	}
	return os.RemoveAll(j.folder)
}

// rows calls read with the rows of the dump, or of the database.
func (j *Job) rows(ctx context.Context, read func(text io.Reader) error) error {
	if j.From != "" {
		return fromServer(ctx, j.From, read)
	}
	return withRows(ctx, j.File, read)
}

func (j *Job) fill(ctx context.Context, database string) (err error) {
	db, err := sqlite.Open(ctx, database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	// What is sorted does not fit into memory. These files have no name, and only this user can read them.
	if _, err := db.Exec(ctx, `PRAGMA temp_store = FILE`); err != nil {
		return err
	}
	read := func(text io.Reader) error {
		return db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
			return (&spool{ctx: ctx, tx: tx, seen: map[string]bool{}, told: map[[3]string]int64{}, job: j}).fill(text)
		})
	}
	if err := j.rows(ctx, read); err != nil {
		return err
	}
	keyFile := filepath.Join(j.folder, "sealing-key")
	if err := j.copyKeys(keyFile); err != nil {
		return err
	}
	box := sealed.New(sealed.Options{File: keyFile, Keys: j.SealingKeys})
	if err := box.Prepare(ctx, db); err != nil {
		return err
	}
	err = db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if j.Verify {
			if err := remember(ctx, tx); err != nil {
				return err
			}
		}
		if err := refuse(ctx, tx); err != nil {
			return fmt.Errorf("looking for options that are refused: %w", err)
		}
		return run(ctx, tx)
	})
	if err == nil {
		err = mend(ctx, db)
	}
	if err != nil {
		return err
	}
	return db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := seal(ctx, tx, box); err != nil {
			return fmt.Errorf("sealing secrets: %w", err)
		}
		if err := j.Report.fill(ctx, tx); err != nil || !j.Verify {
			return err
		}
		j.Report.Verification, err = verify(ctx, tx, j.Accesses)
		return err
	})
}

// copyKeys takes the keys that the installation has already.
func (j *Job) copyKeys(to string) error {
	if j.SealingKeys != "" || j.KeyFile == "" {
		return nil
	}
	const most = 16 << 10
	keys, err := private.Read(j.KeyFile, most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the key of what is sealed: %w", err)
	}
	return private.Create(to, keys)
}

// run runs the statements.
func run(ctx context.Context, tx store.Conn) error {
	files, err := statements.ReadDir("sql")
	if err != nil {
		return err
	}
	for _, s := range []string{
		`CREATE TEMP TABLE w_decide (nth integer PRIMARY KEY, tenant text, object text, reason text, n integer NOT NULL DEFAULT 1)`,
		`CREATE INDEX w_left_of ON w_left (source)`,
	} {
		if _, err := tx.Exec(ctx, s); err != nil {
			return err
		}
	}
	for _, f := range files {
		text, err := statements.ReadFile("sql/" + f.Name())
		if err != nil {
			return err
		}
		for one := range strings.SplitSeq(string(text), ";\n") {
			for _, s := range directed(strings.TrimSpace(one)) {
				if err := execute(ctx, tx, s); err != nil {
					return fmt.Errorf("%s: %.60q: %w", f.Name(), s, err)
				}
			}
		}
	}
	return nil
}

// directed returns the statements that a statement and its directive stand for (see the package's comment).
func directed(statement string) []string {
	words, query, _ := strings.Cut(statement, "\n")
	leave, isLeave := strings.CutPrefix(words, "-- leave ")
	decide, isDecide := strings.CutPrefix(words, "-- decide ")
	switch {
	case isLeave:
		table, reason, given := strings.Cut(leave, " because ")
		columns, why := "id, tenant, object, reason", "reason"
		if given {
			columns, why = "id, tenant, object", sqlText(reason)
		}
		first := fmt.Sprintf("FROM (SELECT *, row_number() OVER (PARTITION BY reason ORDER BY rowid) AS nth FROM w_found) WHERE nth <= %d", toldOf)
		return []string{
			"INSERT INTO w_found (" + columns + ") " + query,
			"INSERT INTO w_left (source, tenant, object, reason) SELECT '" + table + "', tenant, object, " + why + " " + first,
			fmt.Sprintf("INSERT INTO w_left (source, reason, n) SELECT '%s', %s, count(*) - %[3]d FROM w_found GROUP BY reason HAVING count(*) > %[3]d",
				table, why, toldOf),
			"DELETE FROM w_" + table + " WHERE rowid IN (SELECT id FROM w_found)",
			"DELETE FROM w_found",
		}
	case isDecide:
		return []string{"WITH q (tenant, object) AS (" + query + ") INSERT INTO w_decide (tenant, object, reason) SELECT tenant, object, " +
			sqlText(decide) + " FROM q"}
	case statement == "":
		return nil
	default:
		return []string{statement}
	}
}

func sqlText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
