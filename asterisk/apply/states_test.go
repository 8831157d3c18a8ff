package apply_test

import (
	"slices"
	"testing"

	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/asterisk/ami"
	"github.com/ringfence/ringfence/internal/asterisk/ami/amitest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

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
			// both waits until both sides have these, and the job that saw to it has ended.
			both := func(when string, want ...string) {
				t.Helper()
				eventually(t, when, func() bool {
					left, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM asterisk_job WHERE state IN ('waiting', 'running')`)
					if err != nil || left > 0 {
						return false
					}
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
