package ami_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/ami/amitest"
)

// A reload ends as the event says, not as the response does.
func TestReload(t *testing.T) {
	const module = "res_pjsip"
	answer := func(response, message, status string, eventFirst bool) amitest.Handler {
		return func(c *amitest.Session, a ami.Message) {
			event := func() {
				c.Event("Reload", "Module", "app_queue", "Status", "0") // of somebody else's reload
				if status != "" {
					c.Event("Reload", "Module", module+".so", "Status", status)
				}
			}
			if eventFirst {
				event()
			}
			c.Respond(a, response, "Message", message)
			if !eventFirst {
				event()
			}
		}
	}
	for _, tt := range []struct {
		name   string
		script amitest.Handler
		want   string
	}{
		{"event before the response", answer("Success", "Module Reloaded", "0", true), ""},
		{"event after the response", answer("Success", "Module Reloaded", "0", false), ""},
		{"success that hides an error", answer("Success", "Module Reloaded", "3", true), "failed"},
		{"success that hides a module that was declined", answer("Success", "Module Reloaded", "5", false), "it has refused to load, and does so still"},
		{"a module that was declined", answer("Error", "Module not initialized", "", false), "it has refused to load, and does so still"},
		{"success with a status of the future", answer("Success", "Module Reloaded", "17", false), "unknown status"},
		{"success without a verdict", answer("Success", "Module Reloaded", "", false), "read = system"},
		{"no such module", answer("Error", "No such module", "2", true), "No such module"},
		{"an error that tries to forge a line", answer("Error", "bad\tline", "3", true), `bad\tline`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := amitest.New(t)
			s.Handle("Reload", tt.script)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := soon(s)
			if strings.Contains(tt.name, "without") { // what waits longer than this test is ended
				o.Events = func(m ami.Message) {
					if m.Event() == "Reload" {
						cancel()
					}
				}
			}
			err := dial(t, o).Reload(ctx, module)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Reload: %v, want %q", err, tt.want)
			}
			if refused, _ := errors.AsType[*ami.ReloadError](err); refused != nil && refused.Missing != (tt.name == "no such module" || strings.Contains(tt.name, "declined")) {
				t.Errorf("missing: %v", refused.Missing)
			}
			if n := len(s.Reloads()); n != 1 {
				t.Errorf("%d reloads", n)
			}
		})
	}
}

// A module that has refused to load is loaded, once it can be.
func TestReloadOfWhatHasRefusedToLoad(t *testing.T) {
	s := amitest.New(t)
	s.Handle("Reload", func(c *amitest.Session, a ami.Message) { c.Respond(a, "Error", "Message", "Module not initialized") })
	var loaded ami.Message
	s.Handle("ModuleLoad", func(c *amitest.Session, a ami.Message) {
		loaded = a
		c.Respond(a, "Success", "Message", "Module loaded.")
	})
	if err := dial(t, soon(s)).Reload(t.Context(), "app_queue"); err != nil || loaded.Get("Module") != "app_queue.so" || loaded.Get("LoadType") != "load" {
		t.Errorf("%v, %v", err, loaded)
	}
}

// While another reload is in progress, whichever way Asterisk says so, the reload is tried again.
func TestReloadInProgress(t *testing.T) {
	s := amitest.New(t)
	tries := 0
	s.Handle("Reload", func(c *amitest.Session, a ami.Message) {
		tries++
		switch tries {
		case 1, 2:
			c.Event("Reload", "Module", a.Get("Module"), "Status", "4")
			c.Respond(a, "Error", "Message", "A reload is in progress")
		case 3:
			c.Respond(a, "Success", "Message", "Module Reloaded")
			c.Event("Reload", "Module", a.Get("Module"), "Status", "4")
		default:
			c.Event("Reload", "Module", a.Get("Module"), "Status", "0")
			c.Respond(a, "Success", "Message", "Module Reloaded")
		}
	})
	if err := dial(t, soon(s)).Reload(t.Context(), "app_queue"); err != nil || tries != 4 {
		t.Errorf("Reload: %v after %d tries", err, tries)
	}
}

// Before Asterisk has booted, nothing is reloaded; when it has, the reload goes on.
func TestBootedLate(t *testing.T) {
	s := amitest.New(t)
	s.BootLater()
	c := dial(t, s.Options())
	if _, err := c.Do(t.Context(), ami.Action{Name: "Ping"}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- c.Reload(t.Context(), "app_queue") }()
	if _, err := c.Do(t.Context(), ami.Action{Name: "Ping"}); err != nil || len(s.Reloads()) != 0 {
		t.Errorf("Ping: %v, reloads %v", err, s.Reloads())
	}
	s.Boot()
	if err := <-done; err != nil {
		t.Errorf("Reload: %v", err)
	}
}

// A connection that ends in the middle of a reload leaves its outcome unknown: an error, and no second try.
func TestDisconnectDuringReload(t *testing.T) {
	for name, script := range map[string]amitest.Handler{
		"before the response": func(c *amitest.Session, _ ami.Message) { c.Close() },
		"after the response": func(c *amitest.Session, a ami.Message) {
			c.Respond(a, "Success", "Message", "Module Reloaded")
			c.Close()
		},
		"in the middle of the response": func(c *amitest.Session, _ ami.Message) {
			c.Raw("Response: Succ")
			c.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := amitest.New(t)
			s.Handle("Reload", script)
			client := ami.NewClient(soon(s), ami.Watch{})
			run(t, client)
			if err := client.Reload(t.Context(), "res_pjsip"); !errors.Is(err, ami.ErrDisconnected) {
				t.Errorf("Reload: %v", err)
			}
			if _, err := client.Do(t.Context(), ami.Action{Name: "Ping"}); err != nil {
				t.Errorf("after the next login: %v", err)
			}
			if n := len(s.Reloads()); n != 1 {
				t.Errorf("%d reloads", n)
			}
		})
	}
}

// A reload may take as long as it needs while Asterisk answers on another connection, and is given up when it answers nothing.
func TestReloadThatTakesLong(t *testing.T) {
	for name, answers := range map[string]bool{"it answers": true, "it answers nothing": false} {
		t.Run(name, func(t *testing.T) {
			s := amitest.New(t)
			pings := make(chan struct{})
			ended := make(chan struct{})
			defer close(ended)
			s.Handle("Ping", func(c *amitest.Session, a ami.Message) {
				if answers {
					c.Respond(a, "Success", "Ping", "Pong")
				}
				select {
				case pings <- struct{}{}:
				case <-ended:
				}
			})
			s.Handle("Reload", func(c *amitest.Session, a ami.Message) {
				for range 20 { // longer than Asterisk may answer nothing
					select {
					case <-pings:
					case <-ended:
						return
					}
				}
				c.Event("Reload", "Module", a.Get("Module"), "Status", "0")
				c.Respond(a, "Success", "Message", "Module Reloaded")
			})
			o := soon(s)
			o.Stalled = 500 * time.Millisecond
			err := dial(t, o).Reload(t.Context(), "pbx_config")
			if answers && err != nil || !answers && (err == nil || !strings.Contains(err.Error(), "said nothing")) {
				t.Errorf("Reload: %v", err)
			}
		})
	}
}
