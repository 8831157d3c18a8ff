package apply_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/ami/amitest"
	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Without an Asterisk the files are made, previewed and swapped.
func TestFolderOnly(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		n := start(t, db, nil, false)
		if err := n.Generate(t.Context(), nil); err != nil || n.livePJSIP() != "" {
			t.Fatalf("Generate: %v, live %q", err, n.livePJSIP())
		}
		preview, err := n.Preview(t.Context())
		if err != nil || !preview.Changed || len(preview.Files) != 2 || strings.Contains(preview.Files[1].Diff, "secret-of") || !strings.Contains(preview.Files[1].Diff, "+[alice]") {
			t.Errorf("Preview: %+v, %v", preview, err)
		}
		job := do(t, n)
		wantState(t, job, jobs.Done, "")
		if n.livePJSIP() != telephones("alice") || len(job.Files) != 2 || len(job.Modules) != 2 || job.Modules[0].State != "skipped" {
			t.Errorf("job %+v", job)
		}
		again := do(t, n)
		wantState(t, again, jobs.Done, "")
		if len(again.Files) != 0 || again.Generation != job.Generation || again.UUID == job.UUID {
			t.Errorf("the same once more: %+v", again)
		}
		if preview, err := n.Preview(t.Context()); err != nil || preview.Changed || len(preview.Files) != 0 {
			t.Errorf("Preview: %+v, %v", preview, err)
		}
		found, err := n.Job(t.Context(), job.UUID)
		if err != nil || found.State != jobs.Done {
			t.Errorf("Job: %+v, %v", found, err)
		}
		if _, err := n.Job(t.Context(), "00000000-0000-4000-8000-000000000000"); apierr.As(err) == nil || apierr.As(err).Kind != apierr.NotFound {
			t.Errorf("a job that is none: %v", err)
		}
		if err := n.Execute(t.Context(), "core reload"); !errors.Is(err, jobs.ErrNoAsterisk) {
			t.Errorf("Execute: %v", err)
		}
	})
}

// What was live before can be live again, and is read back as that of an apply: it changes nothing of what is stored, which the next apply makes
// live. A generation that was taken back, or is not kept, is refused.
func TestGoBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var n *system
		s := pbx(t, &n)
		n = start(t, db, withManager(s), false)
		first := do(t, n)
		wantState(t, first, jobs.Done, "")
		n.store("extensions.conf", alice, "pjsip.conf", telephones("alice", "bob"))
		second := do(t, n)
		wantState(t, second, jobs.Done, "")
		back := func(generation int64) jobs.Job {
			t.Helper()
			job, err := n.GoBack(t.Context(), generation, nil)
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "the job ends", func() bool {
				if job, err = n.Job(t.Context(), job.UUID); err != nil {
					t.Fatal(err)
				}
				return job.Ended()
			})
			return job
		}
		reloads := len(s.Reloads())
		job := back(first.Generation)
		wantState(t, job, jobs.Done, "")
		if n.livePJSIP() != telephones("alice") || job.Generation != first.Generation || len(job.Modules) != 1 || job.Modules[0].State != "done" ||
			len(s.Reloads()) == reloads {
			t.Errorf("live %q, reloads %v, job %+v", n.livePJSIP(), s.Reloads()[reloads:], job)
		}
		kept, err := n.Generations(t.Context())
		if err != nil || kept.Total != 2 || kept.Items[0].Live || !kept.Items[1].Live || kept.Items[1].Number != first.Generation || kept.Items[1].Failed != "" {
			t.Errorf("kept: %+v, %v", kept, err)
		}
		if preview, err := n.Preview(t.Context()); err != nil || !preview.Changed {
			t.Errorf("what is stored is live: %+v, %v", preview, err)
		}
		again := do(t, n)
		wantState(t, again, jobs.Done, "")
		if n.livePJSIP() != telephones("alice", "bob") || again.Generation != second.Generation {
			t.Errorf("live %q, job %+v", n.livePJSIP(), again)
		}

		s.Handle("PJSIPShowEndpoint", func(c *amitest.Session, a ami.Message) {
			c.Respond(a, "Error", "Message", "Unable to retrieve endpoint "+a.Get("Endpoint"))
		})
		job = back(first.Generation)
		wantState(t, job, jobs.RolledBack, "Asterisk has not loaded pjsip.conf")
		if n.livePJSIP() != telephones("alice", "bob") {
			t.Errorf("what Asterisk has not is live: %q", n.livePJSIP())
		}
		for generation, kind := range map[int64]apierr.Kind{first.Generation: apierr.Conflict, 99: apierr.NotFound, 0: apierr.NotFound} {
			if _, err := n.GoBack(t.Context(), generation, nil); apierr.As(err) == nil || apierr.As(err).Kind != kind {
				t.Errorf("generation %d: %v", generation, err)
			}
		}
	})
}

// What the files lack is told by the preview and by the job, also by one that finds nothing to change: some of it by name, all of it by number,
// and whole objects before options.
func TestLeftOut(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		n := start(t, db, nil, false)
		wantState(t, do(t, n), jobs.Done, "")
		n.mu.Lock()
		for i := range 120 {
			n.left = append(n.left, leftout.Omission{Kind: "line", Key: fmt.Sprint(i), Option: "endpoint_section_options.acl", Reason: "it names a profile"})
		}
		n.left = append(n.left, leftout.Omission{Kind: "line", Key: "120", Reason: "its endpoint has no login"})
		n.mu.Unlock()
		preview, err := n.Preview(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		job := do(t, n)
		wantState(t, job, jobs.Done, "")
		kept, err := n.Job(t.Context(), job.UUID)
		if err != nil {
			t.Fatal(err)
		}
		for what, got := range map[string]leftout.Omissions{"the preview": preview.LeftOut, "the job": job.LeftOut, "the job that is kept": kept.LeftOut} {
			lines := got.Lines()
			if got.Total != 121 || len(got.Items) != 100 || lines[0] != "line 120: its endpoint has no login" ||
				lines[1] != "the option endpoint_section_options.acl of line 0: it names a profile" || lines[100] != "and 21 more" {
				t.Errorf("%s tells %d: %q", what, got.Total, lines)
			}
		}
	})
}

// A fault is found before anything is live, with its file and line; so is a generator that fails.
func TestFaults(t *testing.T) {
	db := storetest.SQLite(t)
	n := start(t, db, nil, false)
	do(t, n)
	n.store("extensions.conf", alice+"exten = 102,1,NoOp()\ninclude = gone\n", "pjsip.conf", telephones("alice"))
	job := do(t, n)
	wantState(t, job, jobs.Failed, "extensions.conf:1")
	if n.livePJSIP() != telephones("alice") {
		t.Error("a faulty configuration is live")
	}
	if err := n.Generate(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "extensions.conf:1") {
		t.Errorf("Generate: %v", err)
	}
	n.mu.Lock()
	n.files = nil
	n.mu.Unlock()
	wantState(t, do(t, n), jobs.Failed, "nothing to generate from")
}

// What could not be done beside the files is a job that has failed, and can be read.
func TestUndone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		n := start(t, db, nil, false)
		if err := n.Undone(t.Context(), "files did not follow"); err != nil {
			t.Fatal(err)
		}
		id, err := store.Get[string](t.Context(), db, `SELECT uuid FROM asterisk_job WHERE state = 'failed'`)
		if err != nil {
			t.Fatal(err)
		}
		job, err := n.Job(t.Context(), id)
		if err != nil || !job.Ended() || job.EndedAt == nil || job.Message != "files did not follow" {
			t.Errorf("%+v, %v", job, err)
		}
		wantState(t, do(t, n), jobs.Done, "")
	})
}

// The modules are reloaded in order, what they have is read back, and what fails is taken back.
func TestReloads(t *testing.T) {
	var n *system
	s := pbx(t, &n)
	n = start(t, storetest.SQLite(t), withManager(s), false)
	job := do(t, n)
	wantState(t, job, jobs.Done, "")
	if want := []string{"pbx_config", "res_pjsip"}; !slices.Equal(s.Reloads(), want) || job.Modules[1].State != "done" {
		t.Errorf("reloads %v, want %v, job %+v", s.Reloads(), want, job)
	}
	before := n.livePJSIP()

	s.Handle("Reload", func(c *amitest.Session, a ami.Message) {
		status := "0"
		if a.Get("Module") == "res_pjsip" && strings.Contains(n.livePJSIP(), "bob") {
			status = "3"
		}
		c.Respond(a, "Success", "Message", "Module Reloaded")
		c.Event("Reload", "Module", a.Get("Module"), "Status", status)
	})
	n.store("extensions.conf", alice+"exten = 102,1,Dial(PJSIP/bob)\n", "pjsip.conf", telephones("alice", "bob"))
	job = do(t, n)
	wantState(t, job, jobs.RolledBack, "reloading res_pjsip: failed")
	if n.livePJSIP() != before || job.Modules[0].State != "done" || job.Modules[1].State != "failed" {
		t.Errorf("live %q, job %+v", n.livePJSIP(), job)
	}

	endpoints(s, &n, func() []string { return []string{"alice"} })
	n.store("extensions.conf", alice, "pjsip.conf", telephones("alice", "carol"))
	job = do(t, n)
	wantState(t, job, jobs.Done, "")
	if n.livePJSIP() != before || !strings.Contains(fmt.Sprint(job.Log), `"carol" of pjsip.conf: Asterisk has not loaded it`) {
		t.Errorf("what is missing is live: %v", job.Log)
	}
	s.Handle("ShowDialPlan", func(c *amitest.Session, a ami.Message) {
		c.Respond(a, "Error", "Message", "Did not find context "+a.Get("Context"))
	})
	n.store("extensions.conf", alice+"[more]\nexten = 1,1,NoOp\n", "pjsip.conf", telephones("alice"))
	wantState(t, do(t, n), jobs.RolledBack, "Asterisk has not loaded extensions.conf")
}

// A reload that says that it worked, and has taken nothing, is taken back. Once nothing is in its way, what is stored is live, also if no file
// has changed since.
func TestAReloadThatTookNothing(t *testing.T) {
	for _, event := range []string{"EndpointDetail", "AorDetail", "AuthDetail"} {
		var n *system
		s := pbx(t, &n)
		n = start(t, storetest.SQLite(t), withManager(s), false)
		wantState(t, do(t, n), jobs.Done, "")
		s.Handle("PJSIPShowEndpoint", func(c *amitest.Session, a ami.Message) {
			sum := n.sums("pjsip.conf", "accountcode = (.*)")[0]
			c.Respond(a, "Success", "EventList", "start", "Message", "Following are Events for each object associated with the Endpoint")
			for _, one := range [][2]string{{"EndpointDetail", "Accountcode"}, {"AorDetail", "VoicemailExtension"}, {"AuthDetail", "Username"}} {
				if one[0] == event {
					sum = "that of before"
				}
				c.Event(one[0], "ActionID", a.Get("ActionID"), one[1], sum)
			}
			c.Event("EndpointDetailComplete", "ActionID", a.Get("ActionID"), "EventList", "Complete")
		})
		n.store("extensions.conf", alice, "pjsip.conf", strings.ReplaceAll(telephones("alice"), "secret-of", "new-secret-of"))
		wantState(t, do(t, n), jobs.RolledBack, "Asterisk has not loaded pjsip.conf")
		if n.livePJSIP() != telephones("alice") {
			t.Errorf("%s: %s", event, n.livePJSIP())
		}
		n.store("extensions.conf", alice, "pjsip.conf", telephones("alice")) // as it is live
		before := len(s.Reloads())
		wantState(t, do(t, n), jobs.Failed, "Asterisk has not loaded pjsip.conf")
		stamp(s, &n)
		wantState(t, do(t, n), jobs.Done, "")
		wantState(t, do(t, n), jobs.Done, "")
		if got := s.Reloads()[before:]; !slices.Equal(got, []string{"pbx_config", "res_pjsip"}) {
			t.Errorf("%s: reloads %v", event, got)
		}
		n.stop()
	}
}

// What is refused is left out, and named, until it changes; the rest is live, and nothing is reloaded in vain.
func TestOneFaultyTelephone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var n *system
		s := pbx(t, &n)
		n = start(t, db, withManager(s), false)
		wantState(t, do(t, n), jobs.Done, "")
		endpoints(s, &n, func() (all []string) {
			for _, name := range []string{"alice", "bob", "carol"} {
				if text := n.livePJSIP(); strings.Contains(text, "["+name+"]") && (name != "bob" || !strings.Contains(text, "= secret-of-bob")) {
					all = append(all, name)
				}
			}
			return all
		})
		apply := func(when, pjsip, live string, reloads int) {
			t.Helper()
			before := len(s.Reloads())
			n.store("extensions.conf", alice, "pjsip.conf", pjsip)
			job, err := n.ApplyUnasked(t.Context())
			if wantState(t, job, jobs.Done, ""); err != nil {
				t.Error(err)
			}
			if n.livePJSIP() != live || len(s.Reloads())-before != reloads {
				t.Errorf("%s: %v, live %s", when, s.Reloads()[before:], n.livePJSIP())
			}
		}
		apply("a telephone that is refused", telephones("alice", "bob", "carol"), telephones("alice", "carol"), 3)
		apply("it stays as it is", telephones("alice", "bob"), telephones("alice"), 1)
		if p, err := n.Preview(t.Context()); err != nil || p.Changed {
			t.Errorf("preview %+v, %v", p, err)
		}
		before := len(s.Reloads())
		if wantState(t, do(t, n), jobs.Done, ""); len(s.Reloads())-before != 2 { // somebody asks: it is tried again, and taken back
			t.Errorf("asked for: %v", s.Reloads()[before:])
		}
		mended := strings.ReplaceAll(telephones("alice", "bob"), "= secret-of-bob", "= other")
		apply("it is mended", mended, mended, 1)
		apply("a fault that the check finds", mended+telephones("carol")+"context = gone\n[carol]\ntype = aor\nmailboxes = 1@x\n", mended, 0)
		n.store("extensions.conf", alice+"exten = 102,1,Goto(gone,1,1)\nexten = 103,1,NoOp()\n", "pjsip.conf", mended)
		wantState(t, do(t, n), jobs.Done, "")
		if got, _ := n.liveFile("extensions.conf"); !strings.Contains(got, "= 103") || strings.Contains(got, "gone") {
			t.Errorf("a number with a fault: %s", got)
		}
	})
}

// An Asterisk that goes away in the middle of a change finds the old files, and reloads them when it is back. Then a new change works.
func TestGoneInBetween(t *testing.T) {
	var n *system
	s := pbx(t, &n)
	n = start(t, storetest.SQLite(t), withManager(s), false)
	do(t, n)
	var mu sync.Mutex
	gone := 0
	s.Handle("Reload", func(c *amitest.Session, a ami.Message) {
		mu.Lock()
		defer mu.Unlock()
		if gone++; gone <= 2 {
			c.Close()
			return
		}
		c.Event("Reload", "Module", a.Get("Module"), "Status", "0")
		c.Respond(a, "Success", "Message", "Module Reloaded")
	})
	n.store("extensions.conf", alice, "pjsip.conf", telephones("alice", "bob"))
	wantState(t, do(t, n), jobs.Failed, "has not reloaded them")
	if n.livePJSIP() != telephones("alice") {
		t.Errorf("live: %q", n.livePJSIP())
	}
	eventually(t, "the interrupted change is taken back", func() bool {
		_, err := os.Stat(filepath.Join(n.folder, "applying"))
		return errors.Is(err, os.ErrNotExist)
	})
	wantState(t, do(t, n), jobs.Done, "")
	if n.livePJSIP() != telephones("alice", "bob") {
		t.Errorf("live: %q", n.livePJSIP())
	}
}

// A change that Asterisk, which is shutting down, has not taken is made again as soon as it can be: nobody has to ask for it.
func TestMadeAgain(t *testing.T) {
	var n *system
	s := pbx(t, &n)
	db := storetest.SQLite(t)
	n = start(t, db, func(o *apply.Settings) {
		withManager(s)(o)
		o.Pause = time.Millisecond
	}, true)
	eventually(t, "the start is applied", func() bool { return n.livePJSIP() != "" })
	var down atomic.Bool
	down.Store(true)
	s.Handle("Reload", func(c *amitest.Session, a ami.Message) {
		if down.Load() {
			c.Respond(a, "Error", "Message", "Asterisk is shutting down")
			return
		}
		c.Event("Reload", "Module", a.Get("Module"), "Status", "0")
		c.Respond(a, "Success", "Message", "Module Reloaded")
	})
	n.store("extensions.conf", alice, "pjsip.conf", telephones("alice", "bob"))
	n.Changed()
	eventually(t, "the change fails", func() bool {
		failed, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM asterisk_job WHERE state = 'failed' AND job LIKE '%has not reloaded them%'`)
		return err == nil && failed > 0
	})
	down.Store(false)
	eventually(t, "the change is live", func() bool {
		_, err := os.Stat(filepath.Join(n.folder, "applying"))
		return n.livePJSIP() == telephones("alice", "bob") && errors.Is(err, os.ErrNotExist)
	})
}

// While Asterisk cannot be reached nothing changes; when it can, the change is made, if changes are to be live at once.
func TestUnreachable(t *testing.T) {
	var n *system
	s := pbx(t, &n)
	s.BootLater()
	db := storetest.SQLite(t)
	n = start(t, db, func(settings *apply.Settings) {
		withManager(s)(settings)
		settings.Reach = 50 * time.Millisecond // the job that comes once it has booted need not wait, whatever the machine is busy with
	}, true)
	eventually(t, "a first try has failed", func() bool {
		failed, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM asterisk_job WHERE state = 'failed'`)
		return err == nil && failed > 0
	})
	if n.livePJSIP() != "" {
		t.Error("the files are live before Asterisk has booted")
	}
	s.Boot()
	eventually(t, "the files are live", func() bool {
		_, err := os.Stat(filepath.Join(n.folder, "applying"))
		return n.livePJSIP() == telephones("alice") && errors.Is(err, os.ErrNotExist)
	})
}

// Changes are applied at once if that is switched on, many of them by one job, and not at all otherwise.
func TestChanged(t *testing.T) {
	db := storetest.SQLite(t)
	n := start(t, db, func(s *apply.Settings) { s.Pause = time.Hour }, true)
	eventually(t, "the start applies", func() bool { return n.livePJSIP() != "" })
	for range 100 {
		n.Changed()
	}
	wantState(t, do(t, n), jobs.Done, "")
	if got := n.times(); got != 2 { // at the start, and what do has asked for
		t.Errorf("generated %d times", got)
	}
	n.stop()
	n = start(t, db, nil, false)
	n.Changed()
	do(t, n)
	if got := n.times(); got != 1 {
		t.Errorf("generated %d times with live_reload off", got)
	}
	n.stop()
	n = start(t, db, func(s *apply.Settings) { s.Pause = time.Millisecond }, true)
	for _, name := range []string{"bob", "carol"} {
		n.store("extensions.conf", alice, "pjsip.conf", telephones("alice", name))
		n.Changed()
		eventually(t, name+" is live", func() bool { return strings.Contains(n.livePJSIP(), name) })
	}
}

// Only what is allowed reaches Asterisk, each command as a reload of its module or as it is.
func TestExecute(t *testing.T) {
	var n *system
	s := pbx(t, &n)
	s.Handle("Command", func(c *amitest.Session, a ami.Message) { c.Respond(a, "Success", "Output", "done") })
	s.Handle("Reload", func(c *amitest.Session, a ami.Message) {
		module := a.Get("Module")
		if module == "" {
			module = "All"
		}
		c.Event("Reload", "Module", module, "Status", "0")
		c.Respond(a, "Success", "Message", "Module Reloaded")
	})
	n = start(t, storetest.SQLite(t), withManager(s), false)
	for _, command := range []string{"core reload", "dialplan reload", "module reload app_queue.so", "moh reload", "core restart now"} {
		if err := n.Execute(t.Context(), command); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
	for _, command := range []string{"", "core stop now", "core reload ", "module reload evil.so", "module load x", "core reload\r\nAction: Originate"} {
		if err := n.Execute(t.Context(), command); err == nil {
			t.Errorf("%q was executed", command)
		}
	}
	var got []string
	for _, a := range s.Actions() {
		if a.Get("Action") != "DBGetTree" { // the state of users is read beside, when the connection is made
			got = append(got, a.Get("Action")+" "+a.Get("Module")+a.Get("Command"))
		}
	}
	if want := []string{"Reload ", "Reload pbx_config", "Reload app_queue.so", "Reload res_musiconhold", "Command core restart now"}; !slices.Equal(got, want) {
		t.Errorf("actions %q, want %q", got, want)
	}
}
