package apply_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/asterisk/ami"
	"github.com/ringfence/ringfence/internal/asterisk/ami/amitest"
	"github.com/ringfence/ringfence/internal/asterisk/generation"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// system is a node with what it generates from.
type system struct {
	*apply.Service
	folder string
	stop   func()

	mu        sync.Mutex
	files     generation.Files
	states    []apply.State
	live      bool
	generated int
}

// keep stores a state that a telephone has changed.
func (s *system) keep(_ context.Context, kept apply.State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.states {
		if s.states[i].Key == kept.Key {
			s.states[i].Value, s.states[i].On = kept.Value, kept.On
		}
	}
	return nil
}

func (s *system) stored(context.Context) ([]apply.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.states), nil
}

func (s *system) generate(context.Context) (apply.Output, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generated++
	if s.files == nil {
		return apply.Output{}, errors.New("nothing to generate from")
	}
	return apply.Output{Files: s.files, Source: "a test", States: slices.Clone(s.states)}, nil
}

// store makes these the files that are generated from now on.
func (s *system) store(pairs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = generation.Files{}
	for i := 0; i < len(pairs); i += 2 {
		s.files[pairs[i]] = []byte(pairs[i+1])
	}
}

func (s *system) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.generated
}

func start(t *testing.T, db store.DB, change func(s *apply.Settings), live bool, edits ...func(n *system, o *apply.Options)) *system {
	t.Helper()
	n := &system{folder: filepath.Join(t.TempDir(), "asterisk"), live: live}
	n.store("extensions.conf", alice, "pjsip.conf", telephones("alice"))
	settings := apply.Settings{Folder: n.folder, Name: "main", Poll: 5 * time.Millisecond}
	if change != nil {
		change(&settings)
	}
	options := apply.Options{
		DB: db, Generate: n.generate,
		LiveReload: func(context.Context) (bool, error) { return n.live, nil },
	}
	for _, edit := range edits {
		edit(n, &options)
	}
	n.Service = apply.New(options, settings)
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { n.Run(ctx) })
	n.stop = sync.OnceFunc(func() {
		cancel()
		work.Wait()
	})
	t.Cleanup(n.stop)
	return n
}

const alice = "[internal]\nexten = 101,1,Dial(PJSIP/alice)\n"

func telephones(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString("[" + name + "]\ntype = endpoint\ncontext = internal\nauth = " + name + "\n[" + name + "]\ntype = auth\npassword = secret-of-" + name + "\n")
	}
	return b.String()
}

func do(t *testing.T, n *system) helpers.Job {
	t.Helper()
	job, err := n.Apply(t.Context(), helpers.ApplyOptions{Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	if !job.Ended() || job.StartedAt == nil || job.EndedAt == nil {
		t.Errorf("the job has not ended: %+v", job)
	}
	return job
}

func wantState(t *testing.T, job helpers.Job, state, message string) {
	t.Helper()
	if job.State != state || !strings.Contains(job.Message, message) {
		t.Errorf("job: %s, %q, want %s, %q\n%v", job.State, job.Message, state, message, job.Log)
	}
}

// eventually waits for a state.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for !is() {
		select {
		case <-t.Context().Done():
			t.Fatalf("never: %s", what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (s *system) livePJSIP() string {
	text, _ := os.ReadFile(filepath.Join(s.folder, "live", "pjsip.conf"))
	return string(text)
}

// Without an Asterisk the files are made, previewed and swapped.
func TestFolderOnly(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		n := start(t, db, nil, false)
		if err := n.Generate(t.Context()); err != nil || n.livePJSIP() != "" {
			t.Fatalf("Generate: %v, live %q", err, n.livePJSIP())
		}
		preview, err := n.Preview(t.Context())
		if err != nil || !preview.Changed || len(preview.Files) != 2 || strings.Contains(preview.Files[1].Diff, "secret-of") || !strings.Contains(preview.Files[1].Diff, "+[alice]") {
			t.Errorf("Preview: %+v, %v", preview, err)
		}
		job := do(t, n)
		wantState(t, job, helpers.JobDone, "")
		if n.livePJSIP() != telephones("alice") || len(job.Files) != 2 || len(job.Modules) != 2 || job.Modules[0].State != "skipped" {
			t.Errorf("job %+v", job)
		}
		again := do(t, n)
		wantState(t, again, helpers.JobDone, "")
		if len(again.Files) != 0 || again.Generation != job.Generation || again.UUID == job.UUID {
			t.Errorf("the same once more: %+v", again)
		}
		if preview, err := n.Preview(t.Context()); err != nil || preview.Changed || len(preview.Files) != 0 {
			t.Errorf("Preview: %+v, %v", preview, err)
		}
		found, err := n.Job(t.Context(), job.UUID)
		if err != nil || found.State != helpers.JobDone {
			t.Errorf("Job: %+v, %v", found, err)
		}
		if _, err := n.Job(t.Context(), "00000000-0000-4000-8000-000000000000"); apierr.As(err) == nil || apierr.As(err).Kind != apierr.NotFound {
			t.Errorf("a job that is none: %v", err)
		}
		if err := n.Execute(t.Context(), "core reload"); !errors.Is(err, helpers.ErrNoAsterisk) {
			t.Errorf("Execute: %v", err)
		}
	})
}

// A fault is found before anything is live, with its file and line; so is a generator that fails.
func TestFaults(t *testing.T) {
	db := storetest.SQLite(t)
	n := start(t, db, nil, false)
	do(t, n)
	n.store("extensions.conf", alice, "pjsip.conf", telephones("alice")+"context = gone\n[alice]\ntype = aor\nmailboxes = 1@x\n")
	job := do(t, n)
	wantState(t, job, helpers.JobFailed, "pjsip.conf:11")
	if n.livePJSIP() != telephones("alice") {
		t.Error("a faulty configuration is live")
	}
	if err := n.Generate(t.Context()); err == nil || !strings.Contains(err.Error(), "pjsip.conf:11") {
		t.Errorf("Generate: %v", err)
	}
	n.mu.Lock()
	n.files = nil
	n.mu.Unlock()
	wantState(t, do(t, n), helpers.JobFailed, "nothing to generate from")
}

// pbx is a scripted Asterisk that has what the live files say when it reloads.
func pbx(t *testing.T, n **system) *amitest.Server {
	s := amitest.New(t)
	names := func() []string {
		var all []string
		for line := range strings.Lines((*n).livePJSIP()) {
			if line[0] == '[' && !slices.Contains(all, strings.Trim(line, "[]\n")) {
				all = append(all, strings.Trim(line, "[]\n"))
			}
		}
		return all
	}
	s.Handle("PJSIPShowEndpoints", func(c *amitest.Session, a ami.Message) { c.List(a, "EndpointList", "ObjectName", names()...) })
	s.Handle("ShowDialPlan", func(c *amitest.Session, a ami.Message) { c.List(a, "ListDialplan", "Extension", "101") })
	return s
}

func withManager(s *amitest.Server) func(*apply.Settings) {
	return func(settings *apply.Settings) {
		settings.Manager = s.Options()
		settings.Manager.RetryMin, settings.Manager.RetryMax = time.Millisecond, 5*time.Millisecond
	}
}

// The modules are reloaded in order, what they have is read back, and what fails is taken back.
func TestReloads(t *testing.T) {
	var n *system
	s := pbx(t, &n)
	n = start(t, storetest.SQLite(t), withManager(s), false)
	job := do(t, n)
	wantState(t, job, helpers.JobDone, "")
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
	wantState(t, job, helpers.JobRolledBack, "reloading res_pjsip: failed")
	if n.livePJSIP() != before || job.Modules[0].State != "done" || job.Modules[1].State != "failed" {
		t.Errorf("live %q, job %+v", n.livePJSIP(), job)
	}

	s.Handle("PJSIPShowEndpoints", func(c *amitest.Session, a ami.Message) { c.List(a, "EndpointList", "ObjectName", "alice") })
	n.store("extensions.conf", alice, "pjsip.conf", telephones("alice", "carol"))
	job = do(t, n)
	wantState(t, job, helpers.JobRolledBack, `the endpoint "carol" is missing`)
	if n.livePJSIP() != before {
		t.Error("what is missing is live")
	}
	s.Handle("ShowDialPlan", func(c *amitest.Session, a ami.Message) {
		c.Respond(a, "Error", "Message", "Did not find context "+a.Get("Context"))
	})
	n.store("extensions.conf", alice+"[more]\nexten = 1,1,NoOp\n", "pjsip.conf", telephones("alice"))
	wantState(t, do(t, n), helpers.JobRolledBack, `context "internal" is missing`)
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
	wantState(t, do(t, n), helpers.JobFailed, "has not reloaded them")
	if n.livePJSIP() != telephones("alice") {
		t.Errorf("live: %q", n.livePJSIP())
	}
	eventually(t, "the interrupted change is taken back", func() bool {
		_, err := os.Stat(filepath.Join(n.folder, "applying"))
		return errors.Is(err, os.ErrNotExist)
	})
	wantState(t, do(t, n), helpers.JobDone, "")
	if n.livePJSIP() != telephones("alice", "bob") {
		t.Errorf("live: %q", n.livePJSIP())
	}
}

// While Asterisk cannot be reached nothing changes; when it can, the change is made, if changes are to be live at once.
func TestUnreachable(t *testing.T) {
	var n *system
	s := pbx(t, &n)
	s.BootLater()
	n = start(t, storetest.SQLite(t), func(settings *apply.Settings) {
		withManager(s)(settings)
		settings.Reach = 50 * time.Millisecond // nothing comes: whenever it ends, the outcome is the same
	}, true)
	eventually(t, "a first try", func() bool { return n.times() > 0 })
	if n.livePJSIP() != "" {
		t.Error("the files are live before Asterisk has booted")
	}
	s.Boot()
	s.Disconnect() // as a restart does
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
	wantState(t, do(t, n), helpers.JobDone, "")
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

// Of two nodes one does the jobs, also those that the other one is asked for; when it stops, the other one does them.
func TestTwoNodes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		first := start(t, db, nil, false)
		do(t, first)
		second := start(t, db, nil, false)
		for range 3 {
			wantState(t, do(t, second), helpers.JobDone, "")
		}
		if first.times() != 4 || second.times() != 0 {
			t.Errorf("generated: %d by the first, %d by the second", first.times(), second.times())
		}
		if _, err := second.Preview(t.Context()); apierr.As(err) == nil || apierr.As(err).Kind != apierr.Unavailable {
			t.Errorf("Preview: %v", err)
		}
		first.stop()
		wantState(t, do(t, second), helpers.JobDone, "")
		if first.times() != 4 || second.times() != 1 {
			t.Errorf("generated: %d by the first, %d by the second", first.times(), second.times())
		}
	})
}

// A node that died keeps the lease until it expires, and its job is ended by the next.
func TestDeadNode(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		exec := func(sql string, args ...any) {
			t.Helper()
			if n, err := db.Exec(t.Context(), sql, args...); err != nil || n != 1 {
				t.Fatalf("%s: %d, %v", sql, n, err)
			}
		}
		const left = "0f0e0d0c-0b0a-4000-8000-000000000001"
		exec(`INSERT INTO asterisk_lease (asterisk, holder, expires_at) VALUES ('main', 'dead', $1)`, time.Now().Add(time.Hour))
		exec(`INSERT INTO asterisk_job (uuid, asterisk, kind, state, job) VALUES ($1, 'main', 'apply', 'running', $2)`, left, `{"uuid":"`+left+`","state":"running"}`)
		n := start(t, db, func(s *apply.Settings) { s.Lease = 6 * time.Second }, false)
		job, err := n.Apply(t.Context(), helpers.ApplyOptions{})
		if err != nil || job.State != helpers.JobWaiting {
			t.Fatalf("Apply: %+v, %v", job, err)
		}
		same, err := n.Apply(t.Context(), helpers.ApplyOptions{})
		if err != nil || same.UUID != job.UUID {
			t.Errorf("the same once more: %+v, %v", same, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := n.Apply(ctx, helpers.ApplyOptions{Wait: true}); !errors.Is(err, context.Canceled) || n.times() != 0 {
			t.Errorf("Apply: %v, generated %d times", err, n.times())
		}
		exec(`UPDATE asterisk_lease SET expires_at = now_utc() WHERE holder = 'dead'`)
		eventually(t, "the other node does the job", func() bool {
			found, err := n.Job(t.Context(), job.UUID)
			return err == nil && found.State == helpers.JobDone
		})
		abandoned, err := n.Job(t.Context(), left)
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, abandoned, helpers.JobFailed, "has stopped in between")

		// The lease is lost: nothing more is done until it is back.
		exec(`UPDATE asterisk_lease SET holder = 'thief', expires_at = $1`, time.Now().Add(time.Hour))
		eventually(t, "the loss is noticed", func() bool {
			_, err := n.Preview(t.Context())
			return err != nil
		})
		before := n.times()
		if _, err := n.Apply(t.Context(), helpers.ApplyOptions{}); err != nil || n.times() != before {
			t.Errorf("Apply: %v, generated %d times more", err, n.times()-before)
		}
	})
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
		got = append(got, a.Get("Action")+" "+a.Get("Module")+a.Get("Command"))
	}
	if want := []string{"Reload ", "Reload pbx_config", "Reload app_queue.so", "Reload res_musiconhold", "Command core restart now"}; !slices.Equal(got, want) {
		t.Errorf("actions %q, want %q", got, want)
	}
}

// What changes in the stored state of a user is told to Asterisk; what a telephone has changed stays.
func TestStates(t *testing.T) {
	var n *system
	s := pbx(t, &n)
	n = start(t, storetest.SQLite(t), withManager(s), false)
	set := func(dnd, busy string) {
		t.Helper()
		n.mu.Lock()
		n.states = []apply.State{
			{Family: "ringfence", Key: "u/dnd", Value: dnd, On: dnd == "1", Device: "Custom:dnd-u"},
			{Family: "ringfence", Key: "u/busy", Value: busy, On: busy != "", Device: "Custom:busy-u"},
		}
		n.mu.Unlock()
		wantState(t, do(t, n), helpers.JobDone, "")
	}
	want := func(when, dnd, busy string) {
		t.Helper()
		gotDND, _ := s.Value("ringfence", "u/dnd")
		gotBusy, _ := s.Value("ringfence", "u/busy")
		if gotDND != dnd || gotBusy != busy {
			t.Errorf("%s: dnd %q, busy %q, want %q and %q", when, gotDND, gotBusy, dnd, busy)
		}
	}
	byTelephone(t, s, "u/busy", "101")
	set("1", "102")
	want("at the start Asterisk has another one of two", "1", "102")
	byTelephone(t, s, "u/dnd", "0")
	set("1", "102")
	want("a telephone changes one, and nothing is stored", "0", "102")
	set("1", "103")
	want("one is stored", "0", "103")
	set("0", "103")
	set("1", "103")
	want("it is switched off and on", "1", "103")
	s.Handle("DBPut", func(c *amitest.Session, a ami.Message) { c.Respond(a, "Error", "Message", "Permission denied") })
	n.mu.Lock()
	n.states[0].Value, n.states[0].On = "0", false
	n.mu.Unlock()
	wantState(t, do(t, n), helpers.JobFailed, "telling Asterisk the state of users")
	var lamps []string
	for _, a := range s.Actions() {
		if a.Get("Action") == "Setvar" {
			lamps = append(lamps, a.Get("Variable")+a.Get("Value"))
		}
	}
	if wanted := []string{
		"DEVICE_STATE(Custom:dnd-u)INUSE", "DEVICE_STATE(Custom:busy-u)INUSE", "DEVICE_STATE(Custom:busy-u)INUSE",
		"DEVICE_STATE(Custom:dnd-u)NOT_INUSE", "DEVICE_STATE(Custom:dnd-u)INUSE",
	}; !slices.Equal(lamps, wanted) {
		t.Errorf("lamps %q, want %q", lamps, wanted)
	}
}

// What either side changes while the other is away, both have when they meet again.
func TestStatesApart(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		for _, tree := range []bool{true, false} {
			var n *system
			s := pbx(t, &n)
			if !tree { // as before Asterisk 20.2
				s.Handle("DBGetTree", func(c *amitest.Session, a ami.Message) {
					c.Respond(a, "Error", "Message", "Invalid/unknown command: DBGetTree.")
				})
			}
			states := []apply.State{
				{Family: "ringfence", Key: "u/dnd", Value: "0", Device: "Custom:dnd-u"},
				{Family: "ringfence", Key: "u/busy", Device: "Custom:busy-u"},
				{Family: "ringfence", Key: "u/noanswer", Device: "Custom:noanswer-u"},
			}
			begin := func() {
				t.Helper()
				n = start(t, db, func(o *apply.Settings) {
					withManager(s)(o)
					o.Name = map[bool]string{true: "with a tree", false: "without"}[tree]
				}, false, func(n *system, o *apply.Options) {
					n.states = states
					o.Keep, o.States = n.keep, n.stored
				})
			}
			end := func() {
				n.stop()
				states, _ = n.stored(t.Context())
			}
			set := func(i int, value string) {
				n.mu.Lock()
				n.states[i].Value, n.states[i].On = value, value != "" && value != "0"
				n.mu.Unlock()
				n.Changed()
			}
			both := func(when string, want ...string) {
				t.Helper()
				eventually(t, when, func() bool {
					ours, _ := n.stored(t.Context())
					for i, state := range ours {
						theirs, _ := s.Value(state.Family, state.Key)
						if state.Value != want[i] || theirs != want[i] && (theirs != "" || want[i] != "0") {
							return false
						}
					}
					return true
				})
			}
			begin()
			set(1, "101")
			both("without an apply", "0", "101", "")
			end()
			byTelephone(t, s, "u/dnd", "1")
			byTelephone(t, s, "u/busy", "")
			begin()
			both("the gateway was down", "1", "", "")
			end()
			states[2].Value, states[2].On = "103", true
			begin()
			both("the API has changed one", "1", "", "103")
			end()
			byTelephone(t, s, "u/noanswer", "104")
			states[2].Value = "105"
			begin()
			both("both have", "1", "", "105")
			end()
		}
	})
}

func byTelephone(t *testing.T, s *amitest.Server, key, value string) {
	t.Helper()
	conn, err := ami.Dial(t.Context(), s.Options())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := ami.Put(t.Context(), conn, "ringfence", key, value); err != nil {
		t.Fatal(err)
	}
}
