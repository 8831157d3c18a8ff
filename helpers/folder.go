package helpers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// errNotFolder says that a name leads to a file or to a symbolic link, or was exchanged while it was looked at.
var errNotFolder = errors.New("it is not a folder, but a file or a symbolic link")

// folder is an open folder. Each of its methods takes the name of one entry, never a path, and follows no symbolic link.
// What is open stays the same folder, whatever is done to its name meanwhile.
type folder struct{ root *os.Root }

// openFolder opens a folder that the operator has named: links on the way to it are the operator's own.
func openFolder(path string) (folder, error) {
	root, err := os.OpenRoot(path)
	return folder{root}, err
}

func (f folder) close() { _ = f.root.Close() } // it was only read

// enter opens a folder in this one. The error is errNotFolder or fs.ErrNotExist if there is none.
func (f folder) enter(name string) (folder, error) {
	before, err := f.root.Lstat(name)
	if err != nil {
		return folder{}, err
	}
	if !before.IsDir() {
		return folder{}, errNotFolder
	}
	// OpenRoot would follow a link that has taken the name since, and "/." keeps it from waiting for the writer of a pipe.
	root, err := f.root.OpenRoot(name + "/.")
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return folder{}, errNotFolder
	}
	if err != nil {
		return folder{}, err
	}
	inner := folder{root}
	if !inner.is(before) {
		inner.close()
		return folder{}, errNotFolder
	}
	return inner, nil
}

// is reports whether the folder is the one that info is of.
func (f folder) is(info fs.FileInfo) bool {
	own, err := f.root.Lstat(".")
	return err == nil && os.SameFile(own, info)
}

// names returns the names of the entries.
func (f folder) names() ([]string, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	return dir.Readdirnames(-1)
}

// move renames an entry of this folder into another folder. It replaces nothing but an empty folder.
func (f folder) move(name string, to folder, newName string) error {
	from, err := f.root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	into, err := to.root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = into.Close() }()
	if err := unix.Renameat(int(from.Fd()), name, int(into.Fd()), newName); err != nil {
		return fmt.Errorf("renaming %q: %w", name, err)
	}
	return nil
}

// makeLike makes a folder with the owner and the mode of another one. It is made in the trash and then moved, so that it is whole
// as soon as it has its name: what an interruption leaves behind is in the trash. A folder that somebody else has made
// meanwhile is left as it is.
func (f folder) makeLike(name string, model folder, bin trash) error {
	like, err := model.root.Lstat(".")
	if err != nil {
		return err
	}
	temporary := newEntry()
	if err := bin.root.Mkdir(temporary, 0o700); err != nil {
		return err
	}
	made, err := bin.enter(temporary)
	if err != nil {
		return err
	}
	defer made.close()
	if err := made.become(like); err != nil {
		return errors.Join(err, bin.root.Remove(temporary))
	}
	err = bin.move(temporary, f, name)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOTDIR) {
		return bin.root.Remove(temporary)
	}
	return err
}

// inherits reports whether the folder has got an access list from that above it.
func (f folder) inherits() bool {
	dir, err := f.root.Open(".")
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	n, err := unix.Fgetxattr(int(dir.Fd()), "system.posix_acl_default", nil)
	return err == nil && n > 0
}

// become gives the folder an owner and a mode.
func (f folder) become(like fs.FileInfo) error {
	own, err := f.root.Lstat(".")
	if err != nil {
		return err
	}
	uid, gid := owner(like)
	if u, g := owner(own); u != uid || g != gid {
		err := f.root.Chown(".", uid, gid)
		if errors.Is(err, fs.ErrPermission) && f.inherits() {
			err = nil // who reads the other folder may read this one, whoever has it
		}
		if err != nil {
			return err
		}
	}
	return f.root.Chmod(".", like.Mode().Perm()|like.Mode()&(fs.ModeSetgid|fs.ModeSticky))
}
