package helpers_test

import (
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

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
