package helpers_test

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

const notFound = `{"code":404,"message":"Not found"}`

func TestDeleteVoicemail(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		admin := w.as("master", "#")
		for name, c := range map[string]*resttest.Client{"behind the gate": admin, "on the plain port": w.plain} {
			t.Run(name, func(t *testing.T) {
				c := *c
				c.T = t
				for method, path := range map[string]string{
					"GET": "/delete_voicemail?name=1001&context=ctx-a", "DELETE": "/delete_voicemail?mailbox=1001&context=ctx-a",
				} {
					box, neighbour := w.mailbox("ctx-a", "1001"), w.mailbox("ctx-a", "1002")
					if a := c.Do(method, path, nil).Want(200); a.Body != "null" || a.Header.Get("Content-Type") != "application/json" {
						t.Errorf("%s: %q %v", method, a.Body, a.Header)
					}
					if exists(box) || !exists(neighbour) {
						t.Errorf("%s: the mailbox is there: %t, its neighbour: %t", method, exists(box), exists(neighbour))
					}
					if a := c.Do(method, path, nil).Want(404); a.Body != notFound {
						t.Errorf("%s again: %s", method, a.Body)
					}
				}
				for _, path := range []string{"name=1001&context=nowhere", "name=nobody&context=ctx-a", "mailbox=999&context=ctx-a"} {
					if a := c.Get("/delete_voicemail?" + path).Want(404); a.Body != notFound {
						t.Errorf("%s: %s", path, a.Body)
					}
				}
			})
		}
		left, err := os.ReadDir(filepath.Join(w.spool, helpers.TrashName))
		if err != nil || len(left) != 0 {
			t.Errorf("in the trash: %v, %v", left, err)
		}
	})
}

// A request without a context means the only internal context of its tenant or, on the plain port, of all tenants.
func TestDefaultContext(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		of := func(tenant string) string { return "ctx-" + tenant + "-internal-11111111-1111-4111-8111-111111111111" }
		w.plain.Get("/delete_voicemail?name=1001").Want(404).Says("Not found")
		w.names.contexts = map[string][]string{w.tenants["a"]: {of("a")}}
		box := w.mailbox(of("a"), "1001")
		w.plain.Get("/delete_voicemail?name=1001").Want(200)
		if exists(box) {
			t.Error("the default context of the plain port is not the only tenant's")
		}
		w.names.contexts[w.tenants["b"]] = []string{of("b")}
		boxA, boxB := w.mailbox(of("a"), "1001"), w.mailbox(of("b"), "1001")
		w.unchanged(func() { w.plain.Get("/delete_voicemail?name=1001").Want(400).Says("context: Is required") })
		w.as("a", "sysconfd.voicemails.delete").Get("/delete_voicemail?name=1001").Want(200)
		if exists(boxA) || !exists(boxB) {
			t.Errorf("tenant a's is there: %t, tenant b's: %t", exists(boxA), exists(boxB))
		}
		w.as("master", "#").Get("/delete_voicemail?name=1001", resttest.In(w.tenants["b"])).Want(200)
		if exists(boxB) {
			t.Error("the header names tenant b, and its voicemail is still there")
		}
		w.names.contexts[w.tenants["a"]] = append(w.names.contexts[w.tenants["a"]], "ctx-a-more")
		w.as("a", "#").Get("/delete_voicemail?name=1001").Want(400).Says("context: Is required")
	})
}

// hostileNames are not names of folders of the spool. What is not even text in a query is refused too.
var hostileNames = []string{
	"", ".", "..", "../b", "../../etc", "a/b", "/etc", "a\\b", "*", "?", "[0-9]", "~", "-rf /", "1001\n", "\n1001", "1001\r", "1001\x00", "\x00",
	"1001\x00.txt", " 1001", "1001 ", "1001;ls", "$(id)", "`id`", "%2e%2e", "..%2f", "\u202e1001", "١٠٠١", "１００１", "\xff", ".lock",
	helpers.TrashName, strings.Repeat("1", 300), strings.Repeat("a", 80),
}

func TestHostileNames(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.mailbox("ctx-a", "1001")
		w.mailbox("1001", "1001")
		w.write(filepath.Join(w.outside, "passwd"))
		w.write(filepath.Join(w.moh, "moh-a-11111111-1111-4111-8111-111111111111", "x.wav"))
		admin := w.as("master", "#")
		w.unchanged(func() {
			for _, name := range hostileNames {
				q := url.QueryEscape(name)
				for _, c := range []*resttest.Client{w.plain, admin} {
					for _, call := range [][2]string{
						{"GET", "/delete_voicemail?context=ctx-a&name=" + q},
						{"DELETE", "/delete_voicemail?context=ctx-a&mailbox=" + q},
						{"GET", "/delete_voicemail?name=1001&context=" + q},
						{"DELETE", "/voicemails_context?context=" + q},
						{"DELETE", "/moh?name=" + q},
						{"DELETE", "/moh?name=moh-a-" + q},
						{"GET", "/move_voicemail?old_context=ctx-a&new_mailbox=5&new_context=ctx-a&old_mailbox=" + q},
						{"GET", "/move_voicemail?old_mailbox=1001&new_mailbox=5&new_context=ctx-a&old_context=" + q},
						{"POST", "/move_voicemail?old_mailbox=1001&old_context=ctx-a&new_context=ctx-a&new_mailbox=" + q},
						{"POST", "/move_voicemail?old_mailbox=1001&old_context=ctx-a&new_mailbox=5&new_context=" + q},
					} {
						if a := c.Do(call[0], call[1], nil); a.Status != 400 {
							t.Errorf("%s %q: status %d: %s", call[0], call[1], a.Status, a.Body)
						}
					}
				}
			}
			for _, query := range []string{
				"", "context=ctx-a", "name=1001&name=1002&context=ctx-a", "name=1001&context=ctx-a&context=1001", "name=1001&mailbox=1002&context=ctx-a",
				"name=1001&context=%zz", "name=&mailbox=1001&context=ctx-a",
			} {
				if a := w.plain.Get("/delete_voicemail?" + query); a.Status != 400 {
					t.Errorf("%q: status %d: %s", query, a.Status, a.Body)
				}
			}
		})
	})
}

// A symbolic link is followed nowhere below the folder of all voicemails, and neither removed nor replaced.
func TestLinksAreRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.mailbox("ctx-a", "1001")
		w.write(filepath.Join(w.outside, "1001", "secret"))
		w.write(filepath.Join(w.spool, "ctx-a", "5"))
		w.write(filepath.Join(w.spool, "file"))
		w.link(w.outside, filepath.Join(w.spool, "linked"))
		w.link("ctx-a", filepath.Join(w.spool, "inner"))
		w.link("nowhere", filepath.Join(w.spool, "dangling"))
		w.link(filepath.Join(w.outside, "1001"), filepath.Join(w.spool, "ctx-a", "2"))
		w.link("1001", filepath.Join(w.spool, "ctx-a", "3"))
		w.link("nowhere", filepath.Join(w.spool, "ctx-a", "4"))
		music := "moh-a-11111111-1111-4111-8111-111111111111"
		w.link(w.outside, filepath.Join(w.moh, music))
		if err := syscall.Mkfifo(filepath.Join(w.spool, "ctx-a", "6"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.unchanged(func() {
			for _, query := range []string{
				"name=1001&context=linked", "name=1001&context=inner", "name=1001&context=dangling", "name=1001&context=file",
				"name=2&context=ctx-a", "name=3&context=ctx-a", "name=4&context=ctx-a", "name=5&context=ctx-a", "name=6&context=ctx-a",
			} {
				w.plain.Get("/delete_voicemail?" + query).Want(409)
			}
			for _, query := range []string{
				"old_mailbox=1001&old_context=linked&new_mailbox=9&new_context=ctx-a", "old_mailbox=1001&old_context=ctx-a&new_mailbox=9&new_context=linked",
				"old_mailbox=1001&old_context=ctx-a&new_mailbox=9&new_context=dangling", "old_mailbox=1001&old_context=ctx-a&new_mailbox=9&new_context=inner",
				"old_mailbox=1001&old_context=ctx-a&new_mailbox=2&new_context=ctx-a", "old_mailbox=1001&old_context=ctx-a&new_mailbox=4&new_context=ctx-a",
				"old_mailbox=3&old_context=ctx-a&new_mailbox=9&new_context=ctx-a", "old_mailbox=1001&old_context=ctx-a&new_mailbox=6&new_context=ctx-a",
			} {
				w.plain.Get("/move_voicemail?" + query).Want(409)
			}
			for _, name := range []string{"linked", "inner", "dangling", "file"} {
				w.plain.Do("DELETE", "/voicemails_context?context="+name, nil).Want(409)
			}
			w.plain.Do("DELETE", "/moh?name="+music, nil).Want(409)
		})
		// In what is deleted, a link is removed, and not what it leads to.
		w.link(w.outside, filepath.Join(w.spool, "ctx-a", "1001", "Old"))
		w.plain.Get("/delete_voicemail?name=1001&context=ctx-a").Want(200)
		w.plain.Do("DELETE", "/voicemails_context?context=ctx-a", nil).Want(200)
		if !exists(filepath.Join(w.outside, "1001", "secret")) {
			t.Error("what links lead to is gone")
		}
		if exists(filepath.Join(w.spool, "ctx-a")) {
			t.Error("the context is still there")
		}
		// The trash itself may not be a link either.
		if err := os.Remove(filepath.Join(w.spool, helpers.TrashName)); err != nil {
			t.Fatal(err)
		}
		w.link(w.outside, filepath.Join(w.spool, helpers.TrashName))
		w.mailbox("ctx-a", "1001")
		w.unchanged(func() { w.plain.Get("/delete_voicemail?name=1001&context=ctx-a").Want(500) })
		w.service.Use(helpers.Settings{Voicemail: w.spool})
		w.service.Recovered()
		if !exists(filepath.Join(w.outside, "1001", "secret")) {
			t.Error("emptying the trash has followed a link")
		}
	})
}

// However the context and the mailbox are exchanged for links while they are looked at, nothing outside is touched.
func TestExchangedDuringTheWalk(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.write(filepath.Join(w.outside, "1001", "INBOX", "secret"))
		w.mailbox("other", "1001")
		stop := make(chan struct{})
		var exchanging sync.WaitGroup
		exchanging.Go(func() {
			context, spare := filepath.Join(w.spool, "ctx-a"), filepath.Join(w.spool, "spare")
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				_ = os.MkdirAll(filepath.Join(context, "1001", "INBOX"), 0o750)
				_ = os.Rename(context, spare)
				_ = os.Symlink([]string{w.outside, "other"}[n%2], context)
				_ = os.Remove(context)
				_ = os.Rename(spare, context)
				_ = os.Rename(filepath.Join(context, "1001"), filepath.Join(context, "spare"))
				_ = os.Symlink(filepath.Join(w.outside, "1001"), filepath.Join(context, "1001"))
				_ = os.Remove(filepath.Join(context, "1001"))
				_ = os.Rename(filepath.Join(context, "spare"), filepath.Join(context, "1001"))
			}
		})
		deleted := 0
		for range 300 {
			if w.plain.Get("/delete_voicemail?name=1001&context=ctx-a").Status == 200 {
				deleted++
			}
			if !exists(filepath.Join(w.outside, "1001", "INBOX", "secret")) || !exists(filepath.Join(w.spool, "other", "1001", "INBOX", "msg0000.txt")) {
				t.Fatal("something else is gone")
			}
		}
		close(stop)
		exchanging.Wait()
		t.Logf("%d of 300 requests have deleted it", deleted)
	})
}

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

func TestMoveVoicemail(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		box, taken := w.mailbox("ctx-a", "1001"), w.mailbox("ctx-a", "1002")
		if err := os.Chmod(filepath.Join(w.spool, "ctx-a"), 0o2770); err != nil {
			t.Fatal(err)
		}
		const move = "/move_voicemail?old_mailbox=1001&old_context=ctx-a&new_mailbox="
		w.unchanged(func() {
			w.plain.Get(move + "1002&new_context=ctx-a").Want(409).Says("is kept")
			w.plain.Get(move + "1001&new_context=ctx-a").Want(409)
			if a := w.plain.Get("/move_voicemail?old_mailbox=1&old_context=ctx-a&new_mailbox=2&new_context=ctx-new").Want(200); a.Body != "null" {
				t.Errorf("nothing to move: %s", a.Body)
			}
			w.plain.Get("/move_voicemail?old_mailbox=1&old_context=nowhere&new_mailbox=2&new_context=ctx-new").Want(200)
			w.plain.Get("/move_voicemail?old_mailbox=1&old_context=nowhere&new_mailbox=2").Want(400).Says("new_context: Is required")
		})
		if err := os.Mkdir(filepath.Join(w.spool, "ctx-a", "1003"), 0o750); err != nil {
			t.Fatal(err)
		}
		w.plain.Get(move + "1003&new_context=ctx-a").Want(409) // an empty mailbox is one too
		if a := w.plain.Do("POST", move+"2001&new_context=ctx-b", nil).Want(200); a.Body != "null" {
			t.Errorf("%s", a.Body)
		}
		if exists(box) || !exists(taken) || !exists(filepath.Join(w.spool, "ctx-b", "2001", "INBOX", "msg0000.txt")) {
			t.Errorf("%v", w.files(w.spool))
		}
		old, err := os.Stat(filepath.Join(w.spool, "ctx-a"))
		if err != nil {
			t.Fatal(err)
		}
		made, err := os.Stat(filepath.Join(w.spool, "ctx-b"))
		if err != nil || made.Mode() != old.Mode() {
			t.Errorf("the new context's folder has mode %v, its neighbour %v; %v", made.Mode(), old.Mode(), err)
		}
	})
}

func TestDeleteContextAndMOH(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.mailbox("ctx-a", "1001")
		w.mailbox("ctx-a", "1002")
		w.write(filepath.Join(w.spool, "ctx-a", "stray"))
		kept := w.mailbox("ctx-b", "1001")
		music := "moh-slug_1-11111111-1111-4111-8111-111111111111"
		w.write(filepath.Join(w.moh, music, "a.wav"))
		w.write(filepath.Join(w.moh, "default", "a.wav"))
		for range 2 { // what is gone already is no fault of the client
			for _, path := range []string{"/voicemails_context?context=ctx-a", "/moh?name=" + music} {
				if a := w.plain.Do("DELETE", path, nil).Want(200); a.Body != "null" {
					t.Errorf("%s: %s", path, a.Body)
				}
			}
		}
		if exists(filepath.Join(w.spool, "ctx-a")) || !exists(kept) || exists(filepath.Join(w.moh, music)) || !exists(filepath.Join(w.moh, "default", "a.wav")) {
			t.Errorf("%v %v", w.files(w.spool), w.files(w.moh))
		}
		w.plain.Get("/moh?name=" + music).Want(405)
		w.plain.Get("/voicemails_context?context=ctx-b").Want(405)
		for _, name := range []string{"default", "moh-a-1", music + "x", strings.ToUpper(music), strings.Replace(music, "slug_1", "elevenchars", 1)} {
			w.plain.Do("DELETE", "/moh?name="+name, nil).Want(400)
		}
	})
}

// Without any folder there are no voicemails, and nothing is an error of ours.
func TestNoFolders(t *testing.T) {
	each(t, func(_ *testing.T, w *world) {
		for _, folder := range []string{"", filepath.Join(w.spool, "nowhere")} {
			w.service.Use(helpers.Settings{Voicemail: folder, MOH: folder})
			w.plain.Get("/delete_voicemail?name=1&context=ctx-a").Want(404)
			w.plain.Get("/move_voicemail?old_mailbox=1&old_context=a&new_mailbox=2&new_context=a").Want(200)
			w.plain.Do("DELETE", "/voicemails_context?context=ctx-a", nil).Want(200)
			w.plain.Do("DELETE", "/moh?name=moh-a-11111111-1111-4111-8111-111111111111", nil).Want(200)
		}
	})
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

// The locks of a process that died are removed at the next start, from both mailboxes that it was working on; those of Asterisk and of
// a process that is alive stay.
func TestLocksOfTheDeadAreRemoved(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		box, moved := w.mailbox("ctx-a", "1001"), w.mailbox("ctx-b", "7")
		dead, alive := filepath.Join(w.spool, helpers.TrashName, "lock-1"), filepath.Join(w.spool, helpers.TrashName, "lock-2")
		w.write(dead)
		w.write(alive)
		journal, err := os.OpenFile(alive, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = journal.Close() }()
		if err := errors.Join(
			syscall.Flock(int(journal.Fd()), syscall.LOCK_EX),
			os.WriteFile(dead, []byte("ctx-a/1001\nctx-b/7\n../outside/1\nctx-a/..\nnowhere/1\nnonsense"), 0o600),
			os.WriteFile(alive, []byte("ctx-a/1001\n"), 0o600), os.Mkdir(filepath.Join(box, "Old"), 0o750), os.Mkdir(filepath.Join(box, "Work"), 0o750),
			os.Link(dead, filepath.Join(box, "INBOX", ".lock")), os.Link(dead, filepath.Join(moved, "INBOX", ".lock")),
			os.Link(alive, filepath.Join(box, "Old", ".lock")),
		); err != nil {
			t.Fatal(err)
		}
		w.write(filepath.Join(box, "Work", ".lock"))
		w.service.Use(helpers.Settings{})
		w.use(false)
		w.service.Recovered()
		for path, left := range map[string]bool{
			dead: false, alive: true, filepath.Join(box, "INBOX", ".lock"): false, filepath.Join(moved, "INBOX", ".lock"): false,
			filepath.Join(box, "Old", ".lock"): true, filepath.Join(box, "Work", ".lock"): true,
		} {
			if exists(path) != left {
				t.Errorf("%s is there: %t", path, !left)
			}
		}
	})
}

// Each change of files is in the audit, with who made it; a refused one is not.
func TestChangesAreAudited(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.names.contexts = map[string][]string{w.tenants["a"]: {"ctx-a"}}
		w.mailbox("ctx-a", "1001")
		w.mailbox("ctx-a", "1002")
		a := w.as("a", "sysconfd.#")
		a.Get("/delete_voicemail?name=1001").Want(200)
		a.Get("/delete_voicemail?name=1001").Want(404)
		a.Do("POST", "/move_voicemail?old_mailbox=1002&old_context=ctx-a&new_mailbox=7&new_context=ctx-a", nil).Want(200)
		w.plain.Do("DELETE", "/voicemails_context?context=ctx-a", nil).Want(200)
		type row struct {
			Tenant   string  `db:"tenant_uuid"`
			Actor    *string `db:"actor_uuid"`
			Service  string  `db:"service"`
			Action   string  `db:"action"`
			Resource string  `db:"resource"`
			Object   string  `db:"object"`
		}
		rows, err := store.Select[row](t.Context(), w.db, `SELECT CAST(tenant_uuid AS text) AS tenant_uuid, CAST(actor_uuid AS text) AS actor_uuid,
			service, action, resource, object FROM audit ORDER BY id`)
		if err != nil || len(rows) != 3 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		for i, want := range []row{
			{w.tenants["a"], nil, "sysconfd", "delete_voicemail", "voicemails", "1001@ctx-a"},
			{w.tenants["a"], nil, "sysconfd", "relocate_voicemail", "voicemails", "1002@ctx-a"},
			{w.tenants["master"], nil, "sysconfd", "delete_voicemails_context", "voicemails_context", "ctx-a"},
		} {
			if known := rows[i].Actor != nil; known != (i < 2) {
				t.Errorf("row %d: the actor is known: %t", i, known)
			}
			if rows[i].Actor = nil; rows[i] != want {
				t.Errorf("row %d is %+v, want %+v", i, rows[i], want)
			}
		}
	})
}

// HEAD is as safe as it is anywhere.
func TestHeadChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.mailbox("ctx-a", "1001")
		w.unchanged(func() {
			for _, c := range []*resttest.Client{w.plain, w.as("master", "#")} {
				for _, path := range []string{
					"/delete_voicemail?name=1001&context=ctx-a", "/commonconf_apply",
					"/move_voicemail?old_mailbox=1001&old_context=ctx-a&new_mailbox=7&new_context=ctx-a",
				} {
					if a := c.Do(http.MethodHead, path, nil).Want(405); a.Header.Get("Allow") == "" {
						t.Errorf("%s: %v", path, a.Header)
					}
				}
			}
		})
	})
}
