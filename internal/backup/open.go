package backup

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

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

// Open opens a backup and checks all of it: that this program understands it, that it has what its manifest says and nothing else, and
// that each row fits its table. Nothing is written.
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
	for _, member := range m.Files {
		if _, err := f.content(member); err != nil {
			return err
		}
	}
	for _, t := range f.tables {
		if err := f.rows(ctx, t, func([]any) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// read reads a small member.
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

// content returns the content of a file, as the manifest describes it.
func (f *File) content(m Member) ([]byte, error) {
	text, err := f.read(m.Name, maxFile)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if sum := sha256.Sum256(text); int64(len(text)) != m.Size || hex.EncodeToString(sum[:]) != m.SHA256 {
		return nil, fmt.Errorf("%w: %s is not what the manifest says", ErrDamaged, m.Name)
	}
	return text, nil
}

// rows reads the rows of a table (see type rows), and checks that the member is what the manifest says.
func (f *File) rows(ctx context.Context, t table, fn func(row []any) error) error {
	want := f.Manifest.table(t.Name)
	member := f.members[want.Name]
	if member == nil {
		return fmt.Errorf("%w: there is no %s", ErrDamaged, want.Name)
	}
	r, err := member.Open()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer func() { _ = r.Close() }()
	sum := &counted{to: io.Discard, hash: sha256.New()}
	lines := bufio.NewScanner(io.TeeReader(io.LimitReader(r, want.Size+1), sum))
	lines.Buffer(nil, maxLine)
	lines.Split(wholeLines)
	row := make([]any, len(t.Columns))
	n := int64(0)
	for ; lines.Scan(); n++ {
		if err := errors.Join(ctx.Err(), t.decode(lines.Bytes(), row)); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if err := fn(row); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%w: reading %s: %w", ErrDamaged, want.Name, err)
	}
	if n != want.Rows || sum.size != want.Size || hex.EncodeToString(sum.hash.Sum(nil)) != want.SHA256 {
		return fmt.Errorf("%w: %s is not what the manifest says", ErrDamaged, want.Name)
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
		if t.Name == tableMember(name) {
			return t
		}
	}
	return TableMember{}
}

// sealingKeys returns the content of the key file, or "".
func (f *File) sealingKeys() (string, error) {
	for _, m := range f.Manifest.Files {
		if strings.TrimPrefix(m.Name, filePrefix) == keyFile {
			text, err := f.content(m)
			return string(text), err
		}
	}
	return "", nil
}
