package helpers

import (
	"errors"
	"io/fs"
	"regexp"
)

// mohForm is that of the names that confd gives to music on hold.
const mohForm = `^moh-[A-Za-z0-9_]{1,10}-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`

var mohPattern = regexp.MustCompile(mohForm)

// removeMOH deletes the files of a music on hold, or of a category of sounds. Without any there is nothing to do.
func removeMOH(path, name string, record func() error) error {
	tree, err := openFolder(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer tree.close()
	f, err := tree.enter(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return refused(err)
	}
	f.close()
	bin, err := openTrash(tree)
	if err != nil {
		return err
	}
	defer bin.close()
	if err := record(); err != nil {
		return err
	}
	entry, err := bin.take(tree, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another request was faster
	}
	if err == nil {
		bin.remove(entry)
	}
	return err
}
