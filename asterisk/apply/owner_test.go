package apply_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/ami/amitest"
	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

var folderForm = regexp.MustCompile(`exten = ([0-9a-f]{40}),1,NoOp\(\)\nexten = ([0-9a-f-]{36}),`)

// A node whose folder Asterisk does not read is refused before it takes away a PIN that a telephone has chosen, and lets the node that has
// the right folder do the next job.
func TestFolderThatAsteriskDoesNotRead(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		b := &box{configured: "1111", telephones: []string{"alice"}}
		s := pbx(t, &b.system)
		denies(s, "VoicemailUserStatus")
		old, right, fresh := t.TempDir(), t.TempDir(), t.TempDir()
		reads := make(chan string, 1) // the folder that Asterisk reads
		s.Handle("ShowDialPlan", func(c *amitest.Session, a ami.Message) {
			if a.Get("Context") != "ringfence-folder" {
				c.List(a, "ListDialplan", "Extension", "101")
				return
			}
			folder := <-reads
			reads <- folder
			text, _ := os.ReadFile(filepath.Join(folder, "live", "extensions.conf"))
			if found := folderForm.FindSubmatch(text); found != nil {
				c.List(a, "ListDialplan", "Extension", string(found[1]), string(found[2]))
				return
			}
			c.Respond(a, "Error", "Message", "Did not find context "+a.Get("Context"))
		})
		begin := func(folder string) {
			start(t, db, func(o *apply.Settings) {
				withManager(s)(o)
				o.Folder = folder
			}, false, b.options)
			b.folder = folder
		}
		pins := func(when, configured, inFolder string) {
			t.Helper()
			gotConfigured, gotInFolder, forgotten := b.get()
			if gotConfigured != configured || gotInFolder != inFolder || forgotten != 0 {
				t.Errorf("%s: confd has %q, the folder %q, forgotten %d times, want %q and %q", when, gotConfigured, gotInFolder, forgotten, configured, inFolder)
			}
		}
		reads <- old
		begin(old)
		wantState(t, do(t, b.system), jobs.Done, "")
		b.stop()
		<-reads
		reads <- right
		b.set("2222", "")
		begin(right)
		wantState(t, do(t, b.system), jobs.Done, "")
		wantState(t, do(t, b.system), jobs.Done, "")
		if p, err := b.Preview(t.Context()); err != nil || p.Changed {
			t.Errorf("a preview of what is live: %+v, %v", p, err)
		}
		b.stop()
		b.set("2222", "5678") // by telephone, unheard
		begin(old)
		wantState(t, do(t, b.system), jobs.Failed, "Asterisk reads the files of another folder")
		pins("a folder that was live before", "2222", "5678")
		wrong := b.system
		begin(right)
		wantState(t, do(t, b.system), jobs.Done, "")
		pins("the right folder", "5678", "5678")
		wrong.stop()
		b.stop()
		begin(fresh)
		wantState(t, do(t, b.system), jobs.RolledBack, "Asterisk reads the files of another folder")
		pins("a new folder", "5678", "5678")
	})
}

// A change that was refused, because Asterisk reads another folder, is applied once Asterisk reads the right one: nobody has to change
// anything. Until then it is tried only once more, for another node that may be there.
func TestRefusedChangeIsAppliedLater(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var n *system
		s := pbx(t, &n)
		var right atomic.Bool
		folder := t.TempDir()
		s.Handle("ShowDialPlan", func(c *amitest.Session, a ami.Message) {
			switch {
			case a.Get("Context") != "ringfence-folder":
				c.List(a, "ListDialplan", "Extension", "101")
			case right.Load():
				id, _ := os.ReadFile(filepath.Join(folder, "id"))
				c.List(a, "ListDialplan", "Extension", append(n.sums("extensions.conf", "exten = ([^,]*)"), strings.TrimSpace(string(id)))...)
			default:
				c.List(a, "ListDialplan", "Extension", "0f0e0d0c-0b0a-4000-8000-000000000001")
			}
		})
		right.Store(true)
		n = start(t, db, func(o *apply.Settings) {
			withManager(s)(o)
			o.Folder, o.Reach, o.Pause = folder, 100*time.Millisecond, time.Millisecond
		}, true)
		n.folder = folder
		eventually(t, "the start is applied", func() bool {
			done, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM asterisk_job WHERE state = 'done'`)
			return err == nil && done > 0
		})
		failed := func() int {
			count, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM asterisk_job WHERE state IN ('failed', 'rolled_back') AND job LIKE '%of another folder%'`)
			if err != nil {
				t.Fatal(err)
			}
			return count
		}
		asked := func() (times int) {
			for _, a := range s.Actions() {
				if a.Get("Context") == "ringfence-folder" {
					times++
				}
			}
			return times
		}
		right.Store(false)
		n.store("extensions.conf", alice, "pjsip.conf", telephones("alice", "bob"))
		n.Changed()
		eventually(t, "the change was refused twice", func() bool { return failed() == 2 })
		before := asked()
		eventually(t, "Asterisk is asked again", func() bool { return asked() >= before+4 })
		if again := failed(); again != 2 || n.livePJSIP() != telephones("alice") {
			t.Errorf("refused %d times, live %q", again, n.livePJSIP())
		}
		right.Store(true)
		eventually(t, "the change is live", func() bool { return n.livePJSIP() == telephones("alice", "bob") })
	})
}
