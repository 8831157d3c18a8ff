package asterisk_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/jobs"
)

// The state of Asterisk tells its version and since when it runs, where telephones have registered, and who talks with whom, without anything
// secret.
func TestRealLive(t *testing.T) {
	s := company(t)
	a := startReal(t, s)
	began := time.Now()
	a.apply()
	alice, bob := a.phone(t, "alice"), a.phone(t, "bob")
	var is jobs.Live
	look := func(what string, right func() bool) {
		t.Helper()
		wait(t, what, func() bool {
			var err error
			if is, err = a.service.Live(t.Context()); err != nil {
				t.Fatal(err)
			}
			return right()
		}, func() string { return fmt.Sprintf("%+v\n%s", is, a.cli("pjsip show contacts")) })
	}
	registered := func(name string) (r jobs.Registration) {
		for _, r := range is.Registrations.Items {
			if r.Endpoint == name {
				return r
			}
		}
		return r
	}
	look("both are registered", func() bool { return registered("alice").Since != nil && registered("bob").From != "" }) // events come when they come
	if is.Version == "" || is.StartedAt == nil || began.Sub(*is.StartedAt).Abs() > 5*time.Minute {
		t.Errorf("version %q, started at %v", is.Version, is.StartedAt)
	}
	r := registered("alice")
	if r.Since == nil || r.Since.Before(began) || r.Before != nil {
		t.Errorf("registered since %v, or before %v", r.Since, r.Before)
	}
	if !r.Generated || !strings.HasPrefix(r.From, "127.0.0.1:") || r.ExpiresAt == nil || r.ExpiresAt.Before(began) || len(is.Channels.Items) > 0 {
		t.Errorf("registered: %+v, channels %+v", r, is.Channels.Items)
	}
	c, status := alice.dial("102")
	if status != 200 {
		t.Fatalf("the call: status %d\n%s", status, a.log())
	}
	bob.saw("answers")
	look("they talk", func() bool {
		talks := map[string]jobs.Channel{}
		for _, c := range is.Channels.Items {
			if c.State == "Up" {
				talks[c.Endpoint] = c
			}
		}
		caller, called := talks["alice"], talks["bob"]
		return caller.Generated && called.Generated && caller.Number == "101" && called.Number == "102" && called.With == "101" && caller.Call == called.Call
	})
	if all := fmt.Sprintf("%+v", is); strings.Contains(all, "secret") {
		t.Errorf("there is a secret in %s", all)
	}
	c.hangUp()
	look("nobody talks", func() bool { return len(is.Channels.Items) == 0 })
	a.rest("the call", "answer", []*phone{alice, bob})
}
