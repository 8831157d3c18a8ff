package helpers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// console executes commands when the test lets it.
type console struct {
	// begin receives each command when its execution begins, and waits for what becomes of it.
	begin chan string
	end   chan error
	mu    sync.Mutex
	seen  []string
}

func newConsole() *console { return &console{begin: make(chan string), end: make(chan error)} }

func (c *console) Execute(ctx context.Context, command string) error {
	c.mu.Lock()
	c.seen = append(c.seen, command)
	c.mu.Unlock()
	select {
	case c.begin <- command:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-c.end:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run lets the next command be executed.
func (c *console) run(result error) {
	<-c.begin
	c.end <- result
}

func (c *console) commands() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.seen)
}

func withConsole(t *testing.T, test func(t *testing.T, w *world, c *console)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newConsole()
		w := newWorld(t, db, helpers.Options{Commands: c})
		w.service.Unhurried() // whatever the machine is busy with
		test(t, w, c)
	})
}

func (w *world) exec(body string) string {
	w.t.Helper()
	return w.plain.Do("POST", "/exec_request_handlers", body).Want(200).Text("request_uuid")
}

// result waits until a request is completed and returns the states of its commands.
func (w *world) result(id string) (states []string) {
	w.t.Helper()
	for {
		a := w.plain.Get("/exec_request_handlers/" + id).Want(200)
		if a.Text("state") != "completed" {
			continue
		}
		for _, c := range a.JSON("commands").([]any) {
			states = append(states, c.(map[string]any)["state"].(string))
		}
		return states
	}
}

func TestEqualCommandsAreExecutedOnce(t *testing.T) {
	withConsole(t, func(t *testing.T, w *world, c *console) {
		first := w.exec(`{"ipbx":["dialplan reload","moh reload","dialplan reload"]}`)
		if got := <-c.begin; got != "dialplan reload" {
			t.Fatalf("%s is first", got)
		}
		// "dialplan reload" is running, so it is queued once more; "moh reload" still waits.
		second := w.exec(`{"ipbx":["moh reload","dialplan reload"]}`)
		third := w.exec(`{"ipbx":["dialplan reload"],"context":[{"resource_type":"user","password":"hunter2"},["secret","hunter2"],{"options":[["password","hunter2"]]}]}`)
		if state := w.plain.Get("/exec_request_handlers/" + third).Want(200).Text("state"); state != "waiting" {
			t.Errorf("the third request is %s", state)
		}
		c.end <- nil
		c.run(nil)
		c.run(errors.New("it broke"))
		for id, want := range map[string]string{first: "[done done]", second: "[done failed]", third: "[failed]"} {
			if got := fmt.Sprint(w.result(id)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		if got := fmt.Sprint(c.commands()); got != "[dialplan reload moh reload dialplan reload]" {
			t.Errorf("executed: %s", got)
		}
		list := w.plain.Get("/exec_request_handlers").Want(200).List()
		if list.Total != 3 || list.Items[0]["uuid"] != third {
			t.Errorf("the list: %+v", list)
		}
		shown := w.plain.Get("/exec_request_handlers/" + third).Want(200)
		if !strings.Contains(shown.Body, `"resource_type":"user"`) || !strings.Contains(shown.Body, `"message":"it broke"`) || strings.Count(shown.Body, `"(secret)"`) != 3 || strings.Contains(shown.Body, "hunter2") {
			t.Errorf("%s", shown.Body)
		}
		w.plain.Get("/exec_request_handlers/11111111-1111-4111-8111-111111111111").Want(404)
		w.plain.Get("/exec_request_handlers/x").Want(404)
	})
}

func TestRetriedWhileAReloadIsRunning(t *testing.T) {
	withConsole(t, func(t *testing.T, w *world, c *console) {
		pauses := 0
		w.service.Tries(func() { pauses++ })
		id := w.exec(`{"ipbx":["module reload res_pjsip.so"]}`)
		for range 3 {
			c.run(fmt.Errorf("asked twice: %w", jobs.ErrReloading))
		}
		c.run(nil)
		if got := w.result(id); got[0] != "done" || pauses != 3 {
			t.Errorf("%v after %d pauses", got, pauses)
		}
		id = w.exec(`{"ipbx":["module reload res_pjsip.so"]}`)
		for range helpers.MaxTries {
			c.run(jobs.ErrReloading)
		}
		if got := w.result(id); got[0] != "failed" {
			t.Errorf("%v", got)
		}
	})
}

// The list of commands is exact: nothing can be put before, after or into one.
func TestOnlyKnownCommandsAreExecuted(t *testing.T) {
	withConsole(t, func(t *testing.T, w *world, c *console) {
		for _, command := range []string{
			"core reload; !rm -rf /", "core reload ", " core reload", "Core Reload", "core  reload", "core stop now", "core restart", "module load evil.so",
			"module reload", "module reload evil.so", "!ls", "sccp reset", "sccp reset x;y", "sccp reset SEP0011223344556", "sccp reset SEP00112233445G",
			"sccp resetx SEP001122334455", "dialplan reload && ls", "chown_autoprov_config", "core reload\u2028!ls",
		} {
			if got := w.result(w.exec(fmt.Sprintf(`{"ipbx":[%q]}`, command))); got[0] != "refused" {
				t.Errorf("%q is %v", command, got)
			}
		}
		id := w.exec(`{"ipbx":["rm -rf /","sccp reset SEP00112233AABB","core restart now"]}`)
		c.run(nil)
		c.run(nil)
		if got := fmt.Sprint(w.result(id)); got != "[refused done done]" {
			t.Errorf("%s", got)
		}
		if got := fmt.Sprint(c.commands()); got != "[sccp reset SEP00112233AABB core restart now]" {
			t.Errorf("executed: %s", got)
		}
	})
}

func TestBodiesOfCommands(t *testing.T) {
	each(t, func(_ *testing.T, w *world) {
		for _, body := range []string{"", "{}", `{"ipbx":[]}`, `{"chown_autoprov_config":[]}`, `{"other":1}`, `{"chown_autoprov_config":"foo"}`, `{"chown_autoprov_config":["a","b"]}`} {
			w.exec(body)
		}
		long := func(n int, item string) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
		for body, says := range map[string]string{
			`{"ipbx":null}`: "ipbx", `{"ipbx":"core reload"}`: "ipbx", `{"ipbx":[1]}`: "ipbx[0]", `{"ipbx":[null]}`: "ipbx[0]", `{"ipbx":{"a":1}}`: "ipbx",
			`{"ipbx":["sccp reset X\n!ls"]}`: "ipbx[0]", `{"ipbx":["core reload\u0000"]}`: "ipbx[0]", `{"ipbx":[""]}`: "ipbx[0]", `{"IPBX":["core reload"]}`: "",
			`{"chown_autoprov_config":null}`: "chown_autoprov_config", `{"chown_autoprov_config":1}`: "chown_autoprov_config",
			`{"chown_autoprov_config":[1]}`: "chown_autoprov_config[0]", `{"chown_autoprov_config":{"a":"b"}}`: "chown_autoprov_config",
			`{"context":"x"}`: "context", `{"context":null}`: "context", `[]`: "object", `"x"`: "object", `null`: "object", `{`: "", `{}{}`: "", `{"ipbx":[],"ipbx":[]}`: "",
			`{"ipbx":` + long(101, `"a"`) + `}`: "ipbx", `{"ipbx":["` + strings.Repeat("a", 129) + `"]}`: "ipbx[0]",
			`{"chown_autoprov_config":` + long(101, `"a"`) + `}`: "chown_autoprov_config", `{"context":` + long(101, `1`) + `}`: "context",
		} {
			w.plain.Do("POST", "/exec_request_handlers", body).Want(400).Says(says)
		}
		w.plain.Do("POST", "/exec_request_handlers", `{"context":["`+strings.Repeat("x", 16<<10)+`"]}`).Want(413)
		for _, body := range []string{"", "{}", `{"a":1}`, `[]`} { // what existing clients send to it differs, and none is looked at
			w.plain.Do("POST", "/commonconf_generate", body).Want(501)
		}
	})
}

// Without an Asterisk a command is skipped, and the result says why.
func TestCommandsWithoutAsterisk(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.exec(`{"ipbx":["core reload"],"chown_autoprov_config":"foo"}`)
		if got := fmt.Sprint(w.result(id)); got != "[skipped skipped]" {
			t.Errorf("%s", got)
		}
		if a := w.plain.Get("/exec_request_handlers/" + id); !strings.Contains(a.Body, "no Asterisk is configured") || !strings.Contains(a.Body, "no folder for the autoprovisioning file") {
			t.Errorf("%s", a.Body)
		}
	})
}

// Requests are bounded while they wait, and results when they are there.
func TestQueueIsBounded(t *testing.T) {
	withConsole(t, func(t *testing.T, w *world, c *console) {
		first := w.exec(`{"ipbx":["core reload"]}`)
		<-c.begin
		accepted := []string{}
		for {
			a := w.plain.Do("POST", "/exec_request_handlers", `{"ipbx":["core reload"]}`)
			if a.Status == 200 {
				accepted = append(accepted, a.Text("request_uuid"))
				continue
			}
			if a.Want(429); a.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			break
		}
		if len(accepted) != helpers.MaxUnfinished-1 {
			t.Errorf("%d requests wait", len(accepted))
		}
		c.end <- nil
		c.run(nil)
		w.result(accepted[len(accepted)-1])
		if got := fmt.Sprint(c.commands()); got != "[core reload core reload]" {
			t.Errorf("executed: %s", got)
		}
		if total := w.plain.Get("/exec_request_handlers").Want(200).List().Total; total != helpers.MaxFinished {
			t.Errorf("%d results are kept", total)
		}
		w.plain.Get("/exec_request_handlers/" + first).Want(404)
		id := w.exec(`{"ipbx":["moh reload"]}`)
		c.run(nil)
		w.result(id)
	})
}

func TestStoppedQueue(t *testing.T) {
	withConsole(t, func(t *testing.T, w *world, c *console) {
		w.exec(`{"ipbx":["core reload","moh reload"]}`)
		<-c.begin
		w.service.Close()
		w.plain.Do("POST", "/exec_request_handlers", `{"ipbx":["core reload"]}`).Want(503)
		if got := fmt.Sprint(c.commands()); got != "[core reload]" {
			t.Errorf("executed: %s", got)
		}
	})
}

func TestAutoprovFile(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		chown := func() string {
			return w.result(w.exec(`{"chown_autoprov_config":["foo","bar"]}`))[0]
		}
		if err := os.Mkdir(filepath.Dir(w.autoprov), 0o750); err != nil {
			t.Fatal(err)
		}
		if got := chown(); got != "done" || !exists(w.autoprov) {
			t.Errorf("a new file: %s", got)
		}
		if os.Getuid() == 0 {
			if err := os.Chown(filepath.Dir(w.autoprov), 4242, 4243); err != nil {
				t.Fatal(err)
			}
			if got := chown(); got != "done" || ids(t, w.autoprov) != [2]int{4242, 4243} {
				t.Errorf("a file of another owner: %s, %v", got, ids(t, w.autoprov))
			}
		}
		secret := filepath.Join(w.outside, "shadow")
		w.write(secret)
		before := ids(t, secret)
		for name, make := range map[string]func() error{
			"link": func() error { return os.Symlink(secret, w.autoprov) }, "second name": func() error { return os.Link(secret, w.autoprov) },
			"folder": func() error { return os.Mkdir(w.autoprov, 0o750) },
		} {
			if err := errors.Join(os.Remove(w.autoprov), make()); err != nil {
				t.Fatal(err)
			}
			if got := chown(); got != "failed" {
				t.Errorf("%s: %s", name, got)
			}
		}
		if ids(t, secret) != before {
			t.Error("the owner of another file was changed")
		}
	})
}
