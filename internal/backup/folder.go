package backup

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/private"
)

// Folder is the path of a folder in which a gateway keeps backups. A backup is the file <name>.zip in it, which only its owner may read; what
// is no such file, a symbolic link too, is not there. A folder that is missing is empty.
type Folder string

// Kept is a backup in a folder.
type Kept struct {
	Name   string    `json:"name" example:"ringfence-2026-11-28-051348" doc:"The name, which a path has."`
	Size   int64     `json:"size" example:"1048576" doc:"The size of the file, in bytes."`
	MadeAt time.Time `json:"made_at" doc:"When it was made."`
}

const suffix = ".zip"

// keptName is the form of a backup's name: one segment of a path.
var keptName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$`)

// kept returns the backup that a file is, if it is one.
func kept(info fs.FileInfo) (Kept, bool) {
	name, ok := strings.CutSuffix(info.Name(), suffix)
	return Kept{name, info.Size(), info.ModTime().UTC()}, ok && keptName.MatchString(name) && info.Mode().IsRegular()
}

// List returns the backups, the newest first.
func (f Folder) List() ([]Kept, error) {
	list := []Kept{}
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil { // it was deleted meanwhile
			continue
		}
		if k, ok := kept(info); ok {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b Kept) int { return cmp.Or(b.MadeAt.Compare(a.MadeAt), strings.Compare(b.Name, a.Name)) })
	return list, err
}

// Open opens a backup to read it. The error is fs.ErrNotExist if there is none of this name.
func (f Folder) Open(name string) (file *os.File, k Kept, err error) {
	err = f.find(name, func(root *os.Root, info fs.FileInfo) error {
		if file, err = root.Open(info.Name()); err != nil {
			return err
		}
		opened, err := file.Stat()
		if err == nil && !os.SameFile(info, opened) { // it was exchanged meanwhile
			err = fs.ErrNotExist
		}
		if err != nil {
			return errors.Join(err, file.Close())
		}
		k, _ = kept(info)
		return nil
	})
	return file, k, err
}

// Remove deletes a backup. The error is fs.ErrNotExist if there is none of this name.
func (f Folder) Remove(name string) error {
	return f.find(name, func(root *os.Root, info fs.FileInfo) error { return root.Remove(info.Name()) })
}

// find calls use with the file of a backup.
func (f Folder) find(name string, use func(root *os.Root, info fs.FileInfo) error) error {
	if !keptName.MatchString(name) {
		return fs.ErrNotExist
	}
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat(name + suffix)
	if err != nil {
		return err
	}
	if _, ok := kept(info); !ok {
		return fs.ErrNotExist
	}
	return use(root, info)
}

// Next returns the name of a backup that is made at a time, which no other one has.
func (f Folder) Next(at time.Time) string {
	first := at.UTC().Format("ringfence-2006-01-02-150405")
	name := first
	for n := 2; ; n++ {
		if _, err := os.Lstat(filepath.Join(string(f), name+suffix)); err != nil {
			return name
		}
		name = fmt.Sprint(first, "-", n)
	}
}

// leftAfter is how old the file of a backup that is being made is when nobody makes it any more.
const leftAfter = 24 * time.Hour

// Make makes the backup that write writes. If it fails, or is interrupted, there is none of this name: the file is written under a temporary
// name. What a killed process has left of one, a later Make removes.
func (f Folder) Make(name string, write func(w io.Writer) error) error {
	if err := private.MakeFolder(string(f)); err != nil {
		return err
	}
	left, _ := filepath.Glob(filepath.Join(string(f), ".ringfence-*"+suffix+"-*")) // those of private.CreateBy; the pattern is right
	for _, path := range left {
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > leftAfter {
			_ = os.Remove(path)
		}
	}
	return private.CreateBy(filepath.Join(string(f), name+suffix), write)
}
