package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/private"
)

// The files of a node's identity, in its folder.
const (
	nodeName = "node"      // the identity
	lockName = "node.lock" // held as long as a process has it
)

// maxNode is more than the file of an identity has.
const maxNode = 1 << 12

// identity is the name under which a node holds the lease. A process that follows a killed one on the same machine gets its name, and
// so its lease. The lock says that the other process has ended: but only for this very file, since the machine was started. In a
// copy of the folder the file is another one, and on another machine the start is: then the name is a new one. So is it while
// another process has the lock.
type identity struct {
	Holder string `json:"holder"`
	Boot   string `json:"boot"`
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// identify returns the name of this node, which nobody else uses until release is called. If it cannot be kept, which err says, it is
// one for this process alone.
func identify(folder string) (holder string, release func(), err error) {
	fresh := uuid.NewString()
	release = func() {}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fresh, release, fmt.Errorf("keeping the identity of this node: %w", err)
	}
	lock, err := private.TryLock(filepath.Join(folder, lockName))
	if _, used := errors.AsType[*private.InUseError](err); used {
		return fresh, release, nil
	}
	if err != nil {
		return fresh, release, fmt.Errorf("locking the identity of this node: %w", err)
	}
	release = func() { _ = lock.Close() }
	here, err := place(filepath.Join(folder, lockName))
	if err != nil {
		return fresh, release, fmt.Errorf("keeping the identity of this node: %w", err)
	}
	at := filepath.Join(folder, nodeName)
	text, err := private.Read(at, maxNode)
	var kept identity
	if err == nil && json.Unmarshal(text, &kept) == nil {
		here.Holder = kept.Holder
		if _, err := uuid.Parse(kept.Holder); err == nil && here == kept {
			return kept.Holder, release, nil
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fresh, release, fmt.Errorf("reading the identity of this node: %w", err)
	}
	here.Holder = fresh
	if text, err = json.Marshal(here); err == nil {
		err = private.Replace(at, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fresh, release, fmt.Errorf("keeping the identity of this node: %w", err)
	}
	return fresh, release, nil
}

// place returns which file a path leads to, and since which start of the machine, without a holder.
func place(path string) (identity, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return identity{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return identity{}, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, errors.ErrUnsupported
	}
	return identity{Boot: strings.TrimSpace(string(boot)), Device: uint64(stat.Dev), Inode: stat.Ino}, nil //nolint:unconvert // not on every system
}
