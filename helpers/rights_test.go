package helpers_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

const nobody = 65534

// share gives nobody all rights in a folder, and in those that are made there, as setfacl does with u:nobody:rwX,d:u:nobody:rwX.
func share(t *testing.T, folder string) {
	t.Helper()
	var list bytes.Buffer
	const none = uint32(1<<32 - 1)
	words := []any{uint32(2)}
	for _, entry := range [][2]uint16{{0x01, 7}, {0x02, 7}, {0x04, 5}, {0x10, 7}, {0x20, 0}} {
		id := none
		if entry[0] == 0x02 {
			id = nobody
		}
		words = append(words, entry, id)
	}
	for _, word := range words {
		_ = binary.Write(&list, binary.LittleEndian, word)
	}
	for _, name := range []string{"system.posix_acl_access", "system.posix_acl_default"} {
		err := unix.Setxattr(folder, name, list.Bytes(), 0)
		if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EPERM) {
			t.Skip("the file system of the tests has no access lists, or only for root")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A voicemail moves to a context without a folder also if the gateway has only the rights that an access list gives: the new folder has the
// list, so that Asterisk can use it. Without a list it would be out of Asterisk's reach, and nothing is moved.
func TestMoveByAnAccessList(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give rights up")
	}
	for _, shared := range []bool{true, false} {
		base, err := os.MkdirTemp("", "spool") //nolint:usetesting // nobody may enter that
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(base) })
		spool := filepath.Join(base, "voicemail")
		if err := errors.Join(os.Chmod(base, 0o755), os.Mkdir(spool, 0o777)); err != nil {
			t.Fatal(err)
		}
		if shared {
			share(t, spool)
		}
		box := filepath.Join(spool, "ctx-a", "1001")
		if err := errors.Join(os.MkdirAll(filepath.Join(box, "INBOX"), 0o777), os.WriteFile(filepath.Join(box, "INBOX", "msg0000.txt"), nil, 0o666)); err != nil {
			t.Fatal(err)
		}
		if !shared {
			for _, folder := range []string{spool, filepath.Dir(box), box, filepath.Join(box, "INBOX")} {
				if err := os.Chmod(folder, 0o777); err != nil {
					t.Fatal(err)
				}
			}
		}
		done := make(chan error)
		go func() { // the thread is not used again
			runtime.LockOSThread()
			err := errors.Join(unix.Setfsgid(nobody), unix.Setfsuid(nobody))
			if err == nil {
				err = helpers.Files{Spool: spool}.Move(context.Background(), "ctx-a", "1001", "ctx-new", "1002", func() error { return nil })
			}
			done <- err
		}()
		err = <-done
		if moved := exists(filepath.Join(spool, "ctx-new", "1002", "INBOX", "msg0000.txt")); moved != shared || errors.Is(err, fs.ErrPermission) == shared {
			t.Errorf("with a list: %t, moved: %t, %v", shared, moved, err)
		}
		if n, err := unix.Getxattr(filepath.Join(spool, "ctx-new"), "system.posix_acl_default", nil); shared && (n == 0 || err != nil) {
			t.Errorf("the new folder has no list: %v", err)
		}
	}
}

// Somebody hears of files that did not follow.
func TestUndone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var mu sync.Mutex
		var undone []string
		w := newWorld(t, db, helpers.Options{Undone: func(_ context.Context, why string) error {
			mu.Lock()
			defer mu.Unlock()
			undone = append(undone, why)
			return nil
		}})
		w.service.Restless()
		w.service.Wait(time.Millisecond)
		w.mailbox("ctx-a", "1001")
		w.mailbox("ctx-a", "1002")
		w.service.Follow(helpers.Following{Context: "ctx-a", Number: "1001", ToContext: "ctx-a", ToNumber: "1002"})
		w.service.Recovered()
		if len(undone) != 1 || !strings.Contains(undone[0], "(1001@ctx-a to 1002@ctx-a)") {
			t.Errorf("undone: %q", undone)
		}
	})
}
