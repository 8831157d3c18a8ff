package audio

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
)

// Folder is the path of a folder with a folder for each object that has files. An object's folder is there as long as it has files.
//
// No name leads out of it, and no link in it is followed. Names are one segment of a path each, and begin with no dot: the caller has checked
// them. Files and folders may be read by the folder's group, which is Asterisk's if the folder has the bit 2000 (setgid), and by whom its
// access list names.
type Folder string

const (
	fileMode   fs.FileMode = 0o640
	folderMode fs.FileMode = 0o750
	// temporary is what the names of files that are not whole begin with. Asterisk plays none that begins with a dot.
	temporary = ".upload-"
	// forgotten is for how long such a file may have been there without being another process's.
	forgotten = 24 * time.Hour
)

func (f Folder) open() (*os.Root, error) {
	if f == "" {
		return nil, apierr.New(apierr.Unavailable, "This node has no folder for files of sound")
	}
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, &apierr.Error{Kind: apierr.Unavailable, Message: "The folder for files of sound cannot be opened", Err: err}
	}
	return root, nil
}

// File is what is known of a file.
type File struct {
	// Extension is the ending by which Asterisk knows the format.
	Extension string `json:"extension" example:"wav" doc:"How Asterisk calls its format."`
	Size      int64  `json:"size" doc:"In bytes."`
	SHA256    string `json:"sha256" example:"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" doc:"Of its content, in hexadecimal digits."`
	// Uploaded tells two uploads of one content apart.
	Uploaded time.Time `json:"uploaded_at" doc:"When it was sent."`
}

// Upload is a file that has come, and has no name yet.
type Upload struct {
	File

	root *os.Root
	name string
}

// Receive reads a file, which may be declared to be one of Formats, without holding more than its beginning. It refuses what Asterisk would not
// play. Nothing is left of a file that is refused, or that ends early; what a process leaves that dies meanwhile, a later Receive removes.
func (f Folder) Receive(body io.Reader, declared string) (*Upload, error) {
	in := bufio.NewReaderSize(body, headSize)
	head, err := in.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	head = append([]byte(nil), head...)
	extension, err := Recognise(head, declared)
	if err != nil {
		return nil, err
	}
	u, err := f.ReceiveText(in)
	if err != nil {
		return nil, err
	}
	u.Extension = extension
	if err := check(head, extension, u.Size); err != nil {
		u.Discard()
		return nil, err
	}
	return u, nil
}

// ReceiveText is [Folder.Receive] for what is no sound, and is not looked into.
func (f Folder) ReceiveText(body io.Reader) (u *Upload, err error) {
	u = &Upload{name: temporary + rand.Text()}
	if u.root, err = f.open(); err != nil {
		return nil, err
	}
	sweep(u.root)
	if err := u.write(body); err != nil {
		u.Discard()
		return nil, err
	}
	return u, nil
}

// write writes the file to its temporary name. It is on disk then.
func (u *Upload) write(in io.Reader) error {
	out, err := u.root.OpenFile(u.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return noRoom(err)
	}
	sum := sha256.New()
	u.Size, err = io.Copy(io.MultiWriter(out, sum), in)
	if err == nil {
		err = out.Chmod(fileMode) // whatever the umask is
	}
	u.SHA256, u.Uploaded = hex.EncodeToString(sum.Sum(nil)), time.Now().UTC().Truncate(time.Microsecond)
	return noRoom(errors.Join(cmp.Or(err, out.Sync()), out.Close()))
}

// noRoom refuses for want of room.
func noRoom(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return &apierr.Error{Kind: apierr.Unavailable, Message: "There is no room for the file", Err: err}
	}
	return err
}

// Discard ends an upload. What was kept of it stays.
func (u *Upload) Discard() {
	_ = u.root.Remove(u.name) // a later Receive removes what stays
	_ = u.root.Close()
}

// Keep gives the file its place, and replaces what was there as a whole: readers have the old file or the new one. It may be called again.
func (u *Upload) Keep(place ...string) error {
	for i := range place[:len(place)-1] {
		if err := makeFolder(u.root, path.Join(place[:i+1]...)); err != nil {
			return noRoom(err)
		}
	}
	again, to := u.name+"~", path.Join(place...)
	if err := u.root.Link(u.name, again); err != nil {
		return noRoom(err)
	}
	err := u.root.Rename(again, to)
	_ = u.root.Remove(again) // it stays if the rename failed, and if the file had this place before (rename(2))
	if err != nil {
		return noRoom(err)
	}
	return syncFolder(u.root, path.Dir(to))
}

func makeFolder(root *os.Root, name string) error {
	err := root.Mkdir(name, folderMode)
	info, failed := root.Lstat(name)
	if err == nil && failed == nil && info.Mode().Perm() != folderMode { // the umask
		return root.Chmod(name, folderMode|info.Mode()&fs.ModeSetgid)
	}
	if failed == nil && info.IsDir() {
		return nil
	}
	if failed == nil {
		return &apierr.Error{Kind: apierr.Conflict, Message: "Something else is where the folder of the files should be", Err: err}
	}
	return err
}

func syncFolder(root *os.Root, name string) error {
	folder, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Open opens a file. The error is fs.ErrNotExist if there is none at the place, or something else than a file.
func (f Folder) Open(place ...string) (file *os.File, size int64, err error) {
	root, err := f.open()
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = root.Close() }()
	info, err := locate(root, place)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fs.ErrNotExist
	}
	if file, err = root.Open(path.Join(place...)); err != nil {
		return nil, 0, err
	}
	now, err := file.Stat()
	if err != nil || !os.SameFile(now, info) { // it has become a link meanwhile, or another file
		return nil, 0, errors.Join(cmp.Or(err, fs.ErrNotExist), file.Close())
	}
	return file, now.Size(), nil
}

// locate describes what is at a place. What is below anything else than folders is not there.
func locate(root *os.Root, place []string) (info fs.FileInfo, err error) {
	for i := range place {
		if info, err = root.Lstat(path.Join(place[:i+1]...)); err == nil && i < len(place)-1 && !info.IsDir() {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, err
		}
	}
	return info, nil
}

// Remove deletes a file, and the folders on the way to it that are empty then. Without one there is nothing to do.
func (f Folder) Remove(place ...string) error {
	root, err := f.open()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if _, err = locate(root, place); err == nil {
		err = root.Remove(path.Join(place...))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for i := len(place) - 1; i > 0; i-- {
		if info, err := locate(root, place[:i]); err == nil && info.IsDir() {
			_ = root.Remove(path.Join(place[:i]...)) // it may have other files
		}
	}
	return nil
}

// sweep removes what processes have left that died while a file came.
func sweep(root *os.Root) {
	folder, err := root.Open(".")
	if err != nil {
		return
	}
	defer func() { _ = folder.Close() }()
	entries, _ := folder.ReadDir(-1)
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), temporary) {
			continue
		}
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > forgotten {
			_ = root.Remove(entry.Name())
		}
	}
}

// List returns the names of what is in a folder at a place, or in the folder itself: none if there is no folder.
func (f Folder) List(place ...string) (names []string, err error) {
	if _, err := os.Lstat(string(f)); f == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	root, err := f.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if len(place) > 0 {
		if info, err := locate(root, place); err != nil || !info.IsDir() {
			return nil, err
		}
	}
	folder, err := root.Open(path.Join(append([]string{"."}, place...)...))
	if err != nil {
		return nil, err
	}
	names, err = folder.Readdirnames(-1)
	return names, errors.Join(err, folder.Close())
}

// Older reports whether nobody has written to the file at a place for so long.
func (f Folder) Older(age time.Duration, place ...string) bool {
	root, err := f.open()
	if err != nil {
		return false
	}
	defer func() { _ = root.Close() }()
	info, err := locate(root, place)
	return err == nil && time.Since(info.ModTime()) > age
}
