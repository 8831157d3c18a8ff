package helpers_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/helpers"
)

func TestTwoDeletesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for range 10 {
			w.mailbox("ctx-a", "1001")
			statuses := w.together(6, func(int) int { return w.plain.Get("/delete_voicemail?name=1001&context=ctx-a").Status })
			if statuses[200] != 1 || statuses[404] != 5 {
				t.Fatalf("statuses %v", statuses)
			}
		}
	})
}

// together calls do several times at once, and counts what it returns.
func (w *world) together(times int, do func(n int) int) map[int]int {
	var all sync.WaitGroup
	var mu sync.Mutex
	out := map[int]int{}
	for n := range times {
		all.Go(func() {
			status := do(n)
			mu.Lock()
			defer mu.Unlock()
			out[status]++
		})
	}
	all.Wait()
	return out
}

func TestDeleteWhileMoving(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for range 10 {
			w.mailbox("ctx-a", "1001")
			paths := []string{
				"/delete_voicemail?name=1001&context=ctx-a", "/move_voicemail?old_mailbox=1001&old_context=ctx-a&new_mailbox=1002&new_context=ctx-b",
			}
			w.together(2, func(n int) int { return w.plain.Get(paths[n]).Status })
			moved := filepath.Join(w.spool, "ctx-b", "1002")
			if exists(filepath.Join(w.spool, "ctx-a", "1001")) {
				t.Fatal("it is neither deleted nor moved")
			}
			if exists(moved) && (!exists(filepath.Join(moved, "INBOX", "msg0000.txt")) || exists(filepath.Join(moved, "INBOX", ".lock"))) {
				t.Fatalf("half of it is moved, or a lock is left: %v", w.files(moved))
			}
			if err := os.RemoveAll(moved); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// While Asterisk holds the lock of a folder of messages, the mailbox stays; a lock that was left behind is no obstacle.
func TestMailboxInUse(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		box := w.mailbox("ctx-a", "1001")
		lock := filepath.Join(box, "INBOX", ".lock")
		w.write(lock)
		w.service.Wait(time.Millisecond)
		w.unchanged(func() {
			for _, call := range [][2]string{
				{"GET", "/delete_voicemail?name=1001&context=ctx-a"},
				{"DELETE", "/voicemails_context?context=ctx-a"},
				{"POST", "/move_voicemail?old_mailbox=1001&old_context=ctx-a&new_mailbox=7&new_context=ctx-a"},
			} {
				if a := w.plain.Do(call[0], call[1], nil).Want(503); a.Header.Get("Retry-After") != "5" {
					t.Errorf("%s: %v", call[1], a.Header)
				}
			}
		})
		w.service.Wait(time.Hour)
		var deleting sync.WaitGroup
		deleting.Go(func() { w.plain.Get("/delete_voicemail?name=1001&context=ctx-a").Want(200) })
		if !exists(box) {
			t.Error("it was deleted under Asterisk's lock")
		}
		if err := os.Remove(lock); err != nil {
			t.Fatal(err)
		}
		deleting.Wait()
		if exists(box) {
			t.Error("it is still there")
		}

		box = w.mailbox("ctx-a", "1001")
		w.write(filepath.Join(box, "Old", ".lock"))
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(box, "Old", ".lock"), old, old); err != nil {
			t.Fatal(err)
		}
		w.plain.Get("/move_voicemail?old_mailbox=1001&old_context=ctx-a&new_mailbox=7&new_context=ctx-a").Want(200)
		if moved := w.files(filepath.Join(w.spool, "ctx-a", "7")); strings.Contains(strings.Join(moved, " "), ".lock") {
			t.Errorf("a lock is left: %v", moved)
		}
	})
}

// A mailbox into which a message is being recorded is not moved: Asterisk would not find its recording. It may be deleted.
func TestMessageBeingLeft(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		box := w.mailbox("ctx-a", "1001")
		w.write(filepath.Join(box, "tmp", "x4f2a1.wav"))
		w.service.Wait(time.Millisecond)
		const move = "/move_voicemail?old_mailbox=1001&old_context=ctx-a&new_mailbox=7&new_context=ctx-a"
		w.unchanged(func() { w.plain.Get(move).Want(503) })
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(box, "tmp", "x4f2a1.wav"), old, old); err != nil {
			t.Fatal(err)
		}
		w.plain.Get(move).Want(200)
		recording, err := os.Create(filepath.Join(w.spool, "ctx-a", "7", "tmp", "x4f2a2.wav"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = recording.Close() }()
		w.plain.Get("/delete_voicemail?name=7&context=ctx-a").Want(200)
		if _, err := recording.WriteString("the caller speaks on"); err != nil {
			t.Errorf("the recording is disturbed: %v", err)
		}
	})
}

// Asterisk may begin to use a mailbox while the audit is written: that is waited for too.
func TestMailboxThatIsUsedMeanwhile(t *testing.T) {
	for name, used := range map[string]string{"locked": "INBOX/.lock", "recorded": "tmp/x4f2a1.wav"} {
		for _, kind := range []string{"move", "remove"} {
			if name == "recorded" && kind == "remove" {
				continue // it may be deleted
			}
			t.Run(kind+" "+name, func(t *testing.T) {
				spool := t.TempDir()
				box := filepath.Join(spool, "ctx-a", "1001")
				file := filepath.Join(box, filepath.FromSlash(used))
				for _, folder := range []string{"INBOX", "tmp"} {
					if err := os.MkdirAll(filepath.Join(box, folder), 0o750); err != nil {
						t.Fatal(err)
					}
				}
				var ending sync.WaitGroup
				var early atomic.Bool
				record := func() error {
					if err := os.WriteFile(file, nil, 0o600); err != nil {
						return err
					}
					ending.Go(func() { early.Store(os.Remove(file) != nil) }) // it is gone if the mailbox is
					return nil
				}
				var err error
				if files := (helpers.Files{Spool: spool}); kind == "move" {
					err = files.Move(t.Context(), "ctx-a", "1001", "ctx-b", "7", record)
				} else {
					err = files.Remove(t.Context(), "ctx-a", "1001", record)
				}
				ending.Wait()
				if err != nil || early.Load() || exists(box) {
					t.Errorf("%v; it was taken away in use: %t; it is there: %t", err, early.Load(), exists(box))
				}
			})
		}
	}
}

// What a crash has left between the renaming and the removal is removed at the next start.
func TestTrashIsEmptiedAtStart(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, folder := range []string{w.spool, w.moh} {
			w.write(filepath.Join(folder, helpers.TrashName, "0", "INBOX", "msg0000.txt"))
			w.link(w.outside, filepath.Join(folder, helpers.TrashName, "1"))
		}
		w.write(filepath.Join(w.outside, "kept"))
		box := w.mailbox("ctx-a", "1001")
		w.service.Use(helpers.Settings{})
		w.use(false)
		w.service.Recovered()
		for _, folder := range []string{w.spool, w.moh} {
			if left, err := os.ReadDir(filepath.Join(folder, helpers.TrashName)); err != nil || len(left) != 0 {
				t.Errorf("left in the trash: %v, %v", left, err)
			}
		}
		if !exists(box) || !exists(filepath.Join(w.outside, "kept")) {
			t.Error("more than the trash was emptied")
		}
	})
}
