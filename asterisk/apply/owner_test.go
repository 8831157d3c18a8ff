package apply_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/asterisk/ami"
	"github.com/ringfence/ringfence/internal/asterisk/ami/amitest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

var folderForm = regexp.MustCompile(`\[ringfence-folder\]\nexten = ([0-9a-f-]{36}),`)

// A node whose folder Asterisk does not read is refused before it takes away a PIN that a telephone has chosen, and lets the node that has
// the right folder do the next job.
func TestFolderThatAsteriskDoesNotRead(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		b := &box{configured: "1111", telephones: []string{"alice"}}
		s := pbx(t, &b.system)
		s.Handle("VoicemailUsersList", func(c *amitest.Session, a ami.Message) { c.Respond(a, "Error", "Message", "Permission denied") })
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
				c.List(a, "ListDialplan", "Extension", string(found[1]))
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
		wantState(t, do(t, b.system), helpers.JobDone, "")
		b.stop()
		<-reads
		reads <- right
		b.set("2222", "")
		begin(right)
		wantState(t, do(t, b.system), helpers.JobDone, "")
		wantState(t, do(t, b.system), helpers.JobDone, "")
		if p, err := b.Preview(t.Context()); err != nil || p.Changed {
			t.Errorf("a preview of what is live: %+v, %v", p, err)
		}
		b.stop()
		b.set("2222", "5678") // by telephone, unheard
		begin(old)
		wantState(t, do(t, b.system), helpers.JobFailed, "Asterisk reads the files of another folder")
		pins("a folder that was live before", "2222", "5678")
		wrong := b.system
		begin(right)
		wantState(t, do(t, b.system), helpers.JobDone, "")
		pins("the right folder", "5678", "5678")
		wrong.stop()
		b.stop()
		begin(fresh)
		wantState(t, do(t, b.system), helpers.JobRolledBack, "Asterisk reads the files of another folder")
		pins("a new folder", "5678", "5678")
	})
}
