package apply_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/ami/amitest"
	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// grumbling is a scripted Asterisk that writes a text into its log when it reloads a module.
func grumbling(t *testing.T, n **system, module string, text func() string) (s *amitest.Server, log string) {
	s = pbx(t, n)
	log = filepath.Join(t.TempDir(), "messages.log")
	s.Handle("Reload", func(c *amitest.Session, a ami.Message) {
		if a.Get("Module") == module {
			f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				_, err = f.WriteString(text())
				_ = f.Close()
			}
			if err != nil {
				t.Error(err)
			}
		}
		c.Respond(a, "Success", "Message", "Module Reloaded")
		c.Event("Reload", "Module", a.Get("Module"), "Status", "0")
	})
	return s, log
}

func withLog(s *amitest.Server, log string) func(*apply.Settings) {
	return func(settings *apply.Settings) {
		withManager(s)(settings)
		settings.Log = log
	}
}

// grumbles returns what a job shows of the log.
func grumbles(job jobs.Job) (all []string) {
	for _, entry := range job.Log {
		if said, is := strings.CutPrefix(entry.Message, "Asterisk's log: "); is {
			all = append(all, said)
		}
	}
	return all
}

// A job shows what Asterisk complains about while it reloads, and nothing else of its log.
func TestLogOfAsterisk(t *testing.T) {
	var n *system
	const head = "[Nov 22 23:04:24] "
	says := ""
	s, log := grumbling(t, &n, "pbx_config", func() string { return says })
	if err := os.WriteFile(log, []byte(head+"ERROR[1] old.c: long ago\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n = start(t, storetest.SQLite(t), withLog(s, log), false)
	users := 0
	apply := func() jobs.Job {
		users++
		n.store("extensions.conf", alice+strings.Repeat("; again\n", users), "pjsip.conf", telephones("alice"))
		return do(t, n)
	}
	wantSaid := func(when string, want ...string) {
		t.Helper()
		job := apply()
		wantState(t, job, jobs.Done, "")
		if got := grumbles(job); !slices.Equal(got, want) || job.Message != "" {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	wantSaid("nothing")
	says = head + "WARNING[2] pbx.c: no such label\x1b[31m\n" + head + "ERROR[2]: pbx.c:12 load: bad\n" + strings.Repeat(head+"ERROR[3] pbx.c: twice\n", 2) +
		head + "NOTICE[2] x.c: fine\n" + head + "WARNING[2][C-0000001a] app.c: of a call\nWARNING in a text\n" + head + "ERROR[2] c.c: Error parsing password=hunter2 at line 3\n"
	wantSaid("complaints", "WARNING pbx.c: no such label [31m", "ERROR pbx.c:12 load: bad", "ERROR pbx.c: twice", "ERROR c.c: Error parsing password=(hidden)")
	says = ""
	wantSaid("none again")
	says = head + "ERROR[2] x.c: rotated\n"
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantSaid("another file", "ERROR x.c: rotated")
	if err := os.Truncate(log, 0); err != nil {
		t.Fatal(err)
	}
	wantSaid("a shorter file", "ERROR x.c: rotated")
	says = ""
	for i := range 100 {
		says += head + "ERROR[2] x.c: number " + strings.Repeat("i", i) + "\n"
	}
	if got := grumbles(apply()); len(got) != 21 || got[20] != "and more" {
		t.Errorf("many: %q", got)
	}
	says = strings.Repeat("x", 2<<20) + "\n"
	wantState(t, apply(), jobs.Done, "")
	// A change that is taken back shows them, too.
	says = head + "ERROR[2] x.c: refused\n"
	s.Handle("ShowDialPlan", func(c *amitest.Session, a ami.Message) { c.List(a, "ListDialplan", "Extension", "101") })
	job := apply()
	wantState(t, job, jobs.RolledBack, "")
	if got := grumbles(job); !slices.Equal(got, []string{"ERROR x.c: refused"}) {
		t.Errorf("taken back: %q", got)
	}
}

// A complaint that names a telephone counts however much else the log has, with what was said before it.
func TestLongLogOfAsterisk(t *testing.T) {
	var n *system
	const head = "[Nov 22 23:04:24] "
	says := ""
	s, log := grumbling(t, &n, "pbx_config", func() string { return says })
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n = start(t, storetest.SQLite(t), withLog(s, log), false)
	wantState(t, do(t, n), jobs.Done, "")
	var long strings.Builder
	for i := range 100 {
		long.WriteString(head + "ERROR[2] x.c: number " + strings.Repeat("i", i) + "\n")
	}
	long.WriteString(strings.Repeat(head+"NOTICE[2] app_voicemail.c: using secret from config file\n", 50_000) + strings.Repeat("x", 1<<20) + "\n")
	says = long.String() + head + "ERROR[3] res_pjsip/config_auth.c: Unknown authentication storage type\n" + head + "ERROR[3] res_sorcery_config.c: Could not create an object of type 'auth' with id 'bob'\n"
	n.store("extensions.conf", alice+"; more\n", "pjsip.conf", telephones("alice", "bob"))
	job := do(t, n)
	if wantState(t, job, jobs.Done, ""); n.livePJSIP() != telephones("alice") {
		t.Errorf("the telephone that the log names is live: %s", n.livePJSIP())
	}
	if refused := fmt.Sprint(job.Log); !strings.Contains(refused, "storage type; ERROR res_sorcery_config.c") {
		t.Error(refused)
	}
}

// A log rests although calls write into it, but not while what a reload has said is still being written.
func TestLogRests(t *testing.T) {
	const call, much = 1000, 1 << 20
	for name, test := range map[string]struct {
		grows []int64
		want  int // after how many moments it rests; 0: not yet
	}{
		"nobody writes": {[]int64{0}, 1},
		"calls":         {[]int64{call, call}, 2},
		"a reload":      {[]int64{much, much, much}, 0},
		"its end":       {[]int64{call, much, call, 0}, 4},
		"a new file":    {[]int64{call, -call, call, call}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			size, got := int64(5000), 0
			rests := apply.LogRests()
			if rests(size) {
				t.Error("at once")
			}
			for i, by := range test.grows {
				if size += by; got == 0 && rests(size) {
					got = i + 1
				}
			}
			if got != test.want {
				t.Errorf("it rests after %d, want %d", got, test.want)
			}
		})
	}
}

// What Asterisk cannot be asked for is read once more after its start. While a fault in its own file keeps it from that, jobs that change it,
// and the next ones, fail with the reason, although what else is stored is live; once it is mended, it is read.
func TestMusicThatCannotBeRead(t *testing.T) {
	var n *system
	s := pbx(t, &n)
	n = start(t, storetest.SQLite(t), withManager(s), false)
	put := func(class, telephone string, left ...leftout.Omission) {
		n.store("extensions.conf", alice, "pjsip.conf", telephones("alice", telephone), "musiconhold.conf", "["+class+"]\nmode = files\ndirectory = moh\n")
		n.mu.Lock()
		defer n.mu.Unlock()
		n.left = left
	}
	put("jazz", "bob")
	wantState(t, do(t, n), jobs.Done, "")
	broken := leftout.Omission{Kind: "file", Key: "musiconhold.conf", Reason: leftout.Nothing + "line 1"}
	put("jazz", "carol", broken)
	wantState(t, do(t, n), jobs.Done, "") // Asterisk has what is live of it
	put("pop", "dave", broken)
	const why = "the files are live, but file musiconhold.conf: Asterisk loads nothing of it: line 1"
	wantState(t, do(t, n), jobs.Failed, why)
	put("pop", "erin", broken)
	if wantState(t, do(t, n), jobs.Failed, why); !strings.Contains(n.livePJSIP(), "[erin]") {
		t.Error("another change is not live")
	}
	put("pop", "erin")
	reloads := func(want ...string) {
		t.Helper()
		before := len(s.Reloads())
		wantState(t, do(t, n), jobs.Done, "")
		if got := s.Reloads()[before:]; !slices.Equal(got, want) {
			t.Errorf("reloads %v, want %v", got, want)
		}
	}
	reloads("res_musiconhold")
	reloads()
	before := len(s.Reloads())
	s.Disconnect()
	eventually(t, "it is read once more after a start", func() bool {
		return do(t, n).State == jobs.Done && slices.Equal(s.Reloads()[before:], []string{"res_musiconhold"})
	})
}

// A log that cannot be read is said once, and is no failure.
func TestLogThatCannotBeRead(t *testing.T) {
	for _, put := range []func(path string) error{
		func(string) error { return nil },
		func(path string) error { return os.Mkdir(path, 0o700) },
		func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		var n *system
		said := logged(t)
		s, log := grumbling(t, &n, "pbx_config", func() string { return "" })
		log += ".other"
		if err := put(log); err != nil {
			t.Fatal(err)
		}
		n = start(t, storetest.SQLite(t), withLog(s, log), false)
		for i := range 3 {
			n.store("extensions.conf", alice+strings.Repeat("; again\n", i), "pjsip.conf", telephones("alice"))
			wantState(t, do(t, n), jobs.Done, "")
		}
		if got := strings.Count(said(), "jobs do not show what Asterisk complains about"); got != 1 {
			t.Errorf("it is said %d times: %s", got, said())
		}
		n.stop()
	}
}
