package helpers

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"syscall"

	"github.com/google/uuid"
)

// trashName is the folder, in the spool and in that of music on hold, into which a folder is moved to be removed. No context and no music is
// called so. Whoever looks for the folder sees all of it or nothing, and what a crash leaves here is removed at the next
// start.
const trashName = ".ringfence-trash"

// trash is the open trash of a tree.
type trash struct{ folder }

// openTrash opens the trash of a tree, and makes it if there is none.
func openTrash(tree folder) (trash, error) {
	if err := tree.root.Mkdir(trashName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return trash{}, fmt.Errorf("making the trash folder: %w", err)
	}
	f, err := tree.enter(trashName)
	if err != nil {
		return trash{}, fmt.Errorf("opening the trash folder %s: %w", trashName, err)
	}
	return trash{f}, nil
}

// newEntry returns a name that nothing in the trash has.
func newEntry() string { return uuid.NewString() }

// take moves an entry of a folder into the trash. The error is fs.ErrNotExist if it is gone.
func (t trash) take(from folder, name string) (entry string, err error) {
	entry = newEntry()
	return entry, from.move(name, t.folder, entry)
}

// remove removes what is in the trash under a name. That it could not be removed concerns the operator alone: it is out of the
// way.
func (t trash) remove(entry string) {
	if err := t.root.RemoveAll(entry); err != nil {
		slog.Warn("what was deleted still takes space in the trash folder; the next start tries again", "folder", t.root.Name(), "error", err)
	}
}

// leftIn looks for what a crash has left in the trash of a tree, and returns a function that removes it. What requests move into the trash from now
// on is theirs to remove.
func leftIn(path string) (remove func()) {
	nothing := func() {}
	tree, err := openFolder(path)
	if err != nil {
		return nothing // requests will say why
	}
	defer tree.close()
	f, err := tree.enter(trashName)
	if errors.Is(err, fs.ErrNotExist) {
		return nothing
	}
	var names []string
	if err == nil {
		names, err = f.names()
	}
	if err != nil {
		slog.Warn("the trash folder cannot be emptied", "folder", path+"/"+trashName, "error", err)
		return nothing
	}
	return func() {
		defer f.close()
		for _, name := range names {
			trash{f}.remove(name)
		}
	}
}

func owner(info os.FileInfo) (uid, gid int) {
	stat := info.Sys().(*syscall.Stat_t)
	return int(stat.Uid), int(stat.Gid)
}
