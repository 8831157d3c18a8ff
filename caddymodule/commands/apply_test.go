package commands_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/caddymodule/commands"
)

const someLeft = `{"total": 2, "items": [{"kind": "line", "key": "12", "name": "ada", "user": "Ada", "tenant": "acme", "tenant_uuid": "x", "reason": "its endpoint has no login"}]}`

// gateway is a plain port whose job has one state after the other, and stays in the last one. left is what it says is left out.
func gateway(t *testing.T, left string, states ...string) string {
	t.Helper()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		state := states[min(asked, len(states)-1)]
		asked++
		fmt.Fprintf(w, `{"uuid": "the-job", "state": %q, "message": "why", "left_out": %s}`, state, left)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Whoever applies reads what a job waits for, and does not wait for ever.
func TestApplyWaits(t *testing.T) {
	for _, test := range []struct {
		states         []string
		patience       time.Duration
		shown, refused string
	}{
		{[]string{"waiting"}, time.Second, "waiting until a gateway begins the job the-job", "no gateway has begun the job the-job"},
		{[]string{"waiting", "waiting", "done"}, time.Hour, "waiting until a gateway begins", ""},
		{[]string{"running", "running", "done"}, 0, "", ""},
		{[]string{"waiting", "waiting", "failed"}, time.Hour, "waiting until", "was not applied: why"},
	} {
		var out bytes.Buffer
		err := commands.ApplyWithin(t.Context(), gateway(t, "{}", test.states...), 0, test.patience, &out)
		if (err == nil) != (test.refused == "") || err != nil && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%q: %v, want %q", test.states, err, test.refused)
		}
		if got := out.String(); strings.Count(got, "waiting until") > 1 || !strings.Contains(got, test.shown) || test.shown == "" && got != "" {
			t.Errorf("%q: %q, want %q", test.states, got, test.shown)
		}
	}
}

// Whoever applies, or looks what that would change, reads what the files lack.
func TestApplyTellsWhatIsLeftOut(t *testing.T) {
	const want = "left out: line 12 (ada) of Ada, tenant acme: its endpoint has no login\nleft out: and 1 more\n"
	for dryRun, text := range map[bool]string{true: "nothing would change\n" + want, false: want} {
		var out bytes.Buffer
		if err := commands.Apply(t.Context(), gateway(t, someLeft, "done"), dryRun, &out); err != nil || out.String() != text {
			t.Errorf("dry run: %t, %v:\n%s", dryRun, err, out.String())
		}
	}
}
