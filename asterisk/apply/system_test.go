package apply_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/ami/amitest"
	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/generation"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/asterisk/userstate"
	"github.com/ringfence/ringfence/internal/store"
)

// system is a node with what it generates from.
type system struct {
	*apply.Service
	folder string
	stop   func()

	mu        sync.Mutex
	files     generation.Files
	left      []leftout.Omission
	states    []userstate.State
	live      bool
	generated int
}

// keep stores a state that a telephone has changed.
func (s *system) keep(_ context.Context, kept userstate.State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.states {
		if s.states[i].Key() == kept.Key() {
			s.states[i].Value = kept.Value
		}
	}
	return nil
}

func (s *system) stored(context.Context) ([]userstate.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.states), nil
}

func (s *system) generate(_ context.Context, refused apply.Refused) (apply.Output, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generated++
	if s.files == nil {
		return apply.Output{}, errors.New("nothing to generate from")
	}
	files := maps.Clone(s.files)
	for at := range refused { // each section is a block of its own
		blocks := strings.SplitAfter(string(files[at[0]]), "\n")
		in := ""
		files[at[0]] = []byte(strings.Join(slices.DeleteFunc(blocks, func(line string) bool {
			if strings.HasPrefix(line, "[") {
				in = strings.Trim(line, "[]\n")
			}
			number := strings.TrimSuffix(at[1], "@"+in)
			return in == at[1] || strings.HasPrefix(line, number+" =>") || strings.HasPrefix(line, "exten = "+number+",")
		}), ""))
	}
	return apply.Output{Files: files, Source: "a test", LeftOut: slices.Clone(s.left)}, nil
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
		DB: db, Generate: n.generate, States: n.stored,
		Heard:      func(ami.Message) (apply.News, func(context.Context) error) { return apply.News{}, nil },
		ForgetPIN:  func(apply.Mailbox) error { return nil },
		ReadPIN:    func(apply.Mailbox) (string, error) { return "", nil },
		KeepPIN:    func(context.Context, apply.Mailbox, string, string) (bool, error) { return false, nil },
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

// plant makes the master tenant.
func plant(t *testing.T, db store.DB) {
	t.Helper()
	if _, err := db.Exec(t.Context(), `INSERT INTO auth_tenant (uuid, parent_uuid, name, slug) VALUES ($1, $1, 'master', 'master')`, master); err != nil {
		t.Fatal(err)
	}
}

const master = "11111111-0000-4000-8000-000000000000"

func do(t *testing.T, n *system) jobs.Job {
	t.Helper()
	job, err := n.Apply(t.Context(), jobs.Options{Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	if !job.Ended() || job.StartedAt == nil || job.EndedAt == nil {
		t.Errorf("the job has not ended: %+v", job)
	}
	return job
}

func wantState(t *testing.T, job jobs.Job, state, message string) {
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

// liveFile returns a live file, and its stamp apart.
func (s *system) liveFile(name string) (text, stamp string) {
	all, _ := os.ReadFile(filepath.Join(s.folder, "live", name))
	text, stamp, _ = strings.Cut(string(all), "\n\n[ringfence-")
	if stamp != "" {
		text, stamp = text+"\n", "[ringfence-"+stamp
	}
	return text, stamp
}

func (s *system) livePJSIP() string {
	text, _ := s.liveFile("pjsip.conf")
	return text
}

// sums returns what stands behind these words in the stamp of a live file.
func (s *system) sums(name, form string) (all []string) {
	_, stamp := s.liveFile(name)
	for _, found := range regexp.MustCompile(form).FindAllStringSubmatch(stamp, -1) {
		all = append(all, found[1])
	}
	return all
}

// endpoints answers which telephones Asterisk has, and what of the stamp of pjsip.conf.
func endpoints(s *amitest.Server, n **system, names func() []string) {
	s.Handle("PJSIPShowEndpoints", func(c *amitest.Session, a ami.Message) { c.List(a, "EndpointList", "ObjectName", names()...) })
	s.Handle("PJSIPShowEndpoint", func(c *amitest.Session, a ami.Message) {
		if name := a.Get("Endpoint"); name != "ringfence-folder" && !slices.Contains(names(), name) {
			c.Respond(a, "Error", "Message", "Unable to retrieve endpoint "+name)
			return
		}
		sum := append((*n).sums("pjsip.conf", "accountcode = (.*)"), "")[0]
		id := a.Get("ActionID")
		c.Respond(a, "Success", "EventList", "start", "Message", "Following are Events for each object associated with the Endpoint")
		c.Event("EndpointDetail", "ActionID", id, "Accountcode", sum)
		c.Event("AuthDetail", "ActionID", id, "Username", sum)
		c.Event("AorDetail", "ActionID", id, "VoicemailExtension", sum)
		c.Event("EndpointDetailComplete", "ActionID", id, "EventList", "Complete")
	})
}

// stamp answers what Asterisk has of the live files.
func stamp(s *amitest.Server, n **system) {
	endpoints(s, n, func() []string {
		var all []string
		for line := range strings.Lines((*n).livePJSIP()) {
			if line[0] == '[' && !slices.Contains(all, strings.Trim(line, "[]\n")) {
				all = append(all, strings.Trim(line, "[]\n"))
			}
		}
		return all
	})
	s.Handle("ShowDialPlan", func(c *amitest.Session, a ami.Message) {
		all := []string{"101"}
		if a.Get("Context") == "ringfence-folder" {
			all = (*n).sums("extensions.conf", "exten = ([^,]*)")
		}
		if len(all) == 0 {
			c.Respond(a, "Error", "Message", "Did not find context "+a.Get("Context"))
			return
		}
		c.List(a, "ListDialplan", "Extension", all...)
	})
}

// pbx is a scripted Asterisk that has what the live files say when it reloads.
func pbx(t *testing.T, n **system) *amitest.Server {
	s := amitest.New(t)
	stamp(s, n)
	return s
}

func withManager(s *amitest.Server) func(*apply.Settings) {
	return func(settings *apply.Settings) {
		settings.Manager = s.Options()
		settings.Manager.RetryMin, settings.Manager.RetryMax = time.Millisecond, 5*time.Millisecond
	}
}
