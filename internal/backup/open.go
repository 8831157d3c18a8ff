package backup

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ringfence/ringfence/internal/store/migrations"
)

// format is the version of the file. A change of what its members mean needs the next one.
const format = 1

const manifestName = "manifest.json"

// Manifest says what a backup has.
type Manifest struct {
	Format  int       `json:"format"`
	Program string    `json:"program"` // the version of the program that made it
	Made    time.Time `json:"made"`
	Engine  string    `json:"engine"` // the database that it was made from: postgres or sqlite
	Schema  int64     `json:"schema"` // the last migration
	// Keys are the IDs of the sealing keys that the database needs.
	Keys   []string      `json:"keys"`
	Tables []TableMember `json:"tables"`
	Files  []string      `json:"files"` // the names of the files of the data folder
}

// TableMember is what the member of a table has.
type TableMember struct {
	Name string `json:"name"` // of the table
	Rows int64  `json:"rows"`
	// LastNumber is the last number that the database gave a row, if it gives rows of this table a number.
	LastNumber int64 `json:"last_number,omitempty"`
}

// Rows returns the number of all rows.
func (m *Manifest) Rows() (n int64) {
	for _, t := range m.Tables {
		n += t.Rows
	}
	return n
}

const tablePrefix, tableSuffix, filePrefix = "tables/", ".jsonl", "files/"

func tableMember(name string) string { return tablePrefix + name + tableSuffix }

// dataFiles are the files of the data folder that a backup may have, in the order in which a restore puts them into their places: a
// certificate that does not fit its key is made anew, and never the other way round.
var dataFiles = []string{keyFile, "tls/key.pem", "tls/certificate.pem", "admin-credentials"}

const keyFile = "sealing-key"

// maxFile is the size of the largest of dataFiles, in bytes.
const maxFile = 1 << 20

// check refuses a manifest that this program does not understand, or that names what no backup has.
func (m *Manifest) check() error {
	latest, err := migrations.Latest()
	switch {
	case err != nil:
		return err
	case m.Format > format || m.Schema > latest:
		return fmt.Errorf("a newer release made it (%.40q): restore it with that one", m.Program)
	case m.Format != format:
		return fmt.Errorf("its format is %d, which no release has made", m.Format)
	case m.Engine != "postgres" && m.Engine != "sqlite":
		return fmt.Errorf("it was made from the database %.40q, which no release knows", m.Engine)
	case strings.ContainsFunc(m.Program, func(r rune) bool { return !unicode.IsPrint(r) }): // a terminal would obey it
		return fmt.Errorf("the program %.40q made it, which no release is", m.Program)
	}
	for _, name := range m.Files {
		if !slices.Contains(dataFiles, name) {
			return fmt.Errorf("it has the file %.80q, which no backup has", name)
		}
	}
	return nil
}

// checkTables refuses a manifest whose tables are not those of its schema.
func (m *Manifest) checkTables(want []table) error {
	if len(m.Tables) != len(want) {
		return fmt.Errorf("it has %d tables, and version %d of the schema has %d", len(m.Tables), m.Schema, len(want))
	}
	for i, t := range want {
		if m.Tables[i].Name != t.Name || m.Tables[i].Rows < 0 || m.Tables[i].LastNumber < 0 {
			return fmt.Errorf("its table %.80q is not the %s of version %d of the schema", m.Tables[i].Name, t.Name, m.Schema)
		}
	}
	return nil
}

// ErrDamaged says that a file is not a complete backup of this program's.
var ErrDamaged = errors.New("it is not a backup, or not a whole one")

const (
	// maxManifest is the size of the largest manifest, in bytes.
	maxManifest = 8 << 20
	// maxLine is the size of the longest row, in bytes.
	maxLine = 64 << 20
)

// File is a backup that was checked.
type File struct {
	Manifest Manifest

	file    *os.File
	members map[string]*zip.File
	tables  []table
}

// Open opens a backup and checks that this program understands it, that it has what its manifest says and nothing else, and that its files are
// whole. Its rows are checked as they are read: [File.Restore] reads all of them before it changes anything. Nothing is written.
func Open(ctx context.Context, path string) (_ *File, err error) {
	info, err := os.Stat(path)
	if err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0 { // opening a pipe would wait for its writer
		err = fmt.Errorf("the backup %s is not a file, and is read more than once: write what comes from there to a file first", path)
	}
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path) //nolint:gosec // the operator's own path
	if err != nil {
		return nil, err
	}
	f := &File{file: file}
	if err := f.check(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("reading the backup %s: %w", path, err), file.Close())
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

func (f *File) check(ctx context.Context) error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: it is not a file", ErrDamaged)
	}
	archive, err := zip.NewReader(f.file, info.Size())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	f.members = make(map[string]*zip.File)
	for _, member := range archive.File {
		if f.members[member.Name] != nil {
			return fmt.Errorf("%w: it has %.80q twice", ErrDamaged, member.Name)
		}
		f.members[member.Name] = member
	}
	text, err := f.read(manifestName, maxManifest)
	if err == nil {
		err = json.Unmarshal(text, &f.Manifest)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	m := &f.Manifest
	if err := m.check(); err != nil {
		return err
	}
	if f.tables, err = schema(ctx, m.Schema); err != nil {
		return err
	}
	if err := m.checkTables(f.tables); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if len(f.members) != 1+len(m.Tables)+len(m.Files) {
		return fmt.Errorf("%w: it has %d members, and its manifest names %d", ErrDamaged, len(f.members), 1+len(m.Tables)+len(m.Files))
	}
	for _, name := range m.Files {
		if _, err := f.content(name); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) read(name string, limit int64) ([]byte, error) {
	member := f.members[name]
	if member == nil {
		return nil, fmt.Errorf("there is no %s", name)
	}
	r, err := member.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return text, err
}

// content returns the content of a file of the data folder.
func (f *File) content(name string) ([]byte, error) {
	text, err := f.read(filePrefix+name, maxFile)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return text, nil
}

// rows reads the rows of a table (see type rows). The archive has a checksum of them, and the manifest their number.
func (f *File) rows(ctx context.Context, t table, fn func(row []any) error) error {
	name, want := tableMember(t.Name), f.Manifest.table(t.Name).Rows
	member := f.members[name]
	if member == nil {
		return fmt.Errorf("%w: there is no %s", ErrDamaged, name)
	}
	r, err := member.Open()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer func() { _ = r.Close() }()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	lines.Split(wholeLines)
	row := make([]any, len(t.Columns))
	n := int64(0)
	for ; n <= want && lines.Scan(); n++ {
		if err := errors.Join(ctx.Err(), t.decode(lines.Bytes(), row)); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if err := fn(row); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%w: reading %s: %w", ErrDamaged, name, err)
	}
	if n != want {
		return fmt.Errorf("%w: %s has not the %d rows that the manifest says", ErrDamaged, name, want)
	}
	return nil
}

// wholeLines splits at line ends, and refuses a last line without one.
func wholeLines(text []byte, end bool) (int, []byte, error) {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i + 1, text[:i], nil
	}
	if end && len(text) > 0 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, nil, nil
}

// table returns the member of a table, which check has found.
func (m *Manifest) table(name string) TableMember {
	for _, t := range m.Tables {
		if t.Name == name {
			return t
		}
	}
	return TableMember{}
}

func (f *File) sealingKeys() (string, error) {
	if !slices.Contains(f.Manifest.Files, keyFile) {
		return "", nil
	}
	text, err := f.content(keyFile)
	return string(text), err
}
