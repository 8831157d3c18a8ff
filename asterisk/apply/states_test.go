package apply_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/ami/amitest"
	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/asterisk/userstate"
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
		n.states = []userstate.State{
			{User: "u", Name: "dnd", Value: dnd},
			{User: "u", Name: "busy", Value: busy},
		}
		n.mu.Unlock()
		wantState(t, do(t, n), jobs.Done, "")
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
	n.states[0].Value = "0"
	n.mu.Unlock()
	wantState(t, do(t, n), jobs.Failed, "telling Asterisk the state of users")
	var lamps []string
	for _, a := range s.Actions() {
		if a.Get("Action") == "Setvar" {
			lamps = append(lamps, a.Get("Variable")+a.Get("Value"))
		}
	}
	if wanted := []string{
		"DEVICE_STATE(Custom:ringfence-dnd-u)INUSE", "DEVICE_STATE(Custom:ringfence-busy-u)INUSE", "DEVICE_STATE(Custom:ringfence-busy-u)INUSE",
		"DEVICE_STATE(Custom:ringfence-dnd-u)NOT_INUSE", "DEVICE_STATE(Custom:ringfence-dnd-u)INUSE",
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
			states := []userstate.State{
				{User: "u", Name: "dnd", Value: "0"},
				{User: "u", Name: "busy"},
				{User: "u", Name: "noanswer"},
			}
			begin := func() {
				t.Helper()
				n = start(t, db, func(o *apply.Settings) {
					withManager(s)(o)
					o.Name = map[bool]string{true: "with a tree", false: "without"}[tree]
				}, false, func(n *system, o *apply.Options) {
					n.states = states
					o.Keep = n.keep
				})
			}
			end := func() {
				n.stop()
				states, _ = n.stored(t.Context())
			}
			set := func(i int, value string) {
				n.mu.Lock()
				n.states[i].Value = value
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
						theirs, _ := s.Value(userstate.Family, state.Key())
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
			states[2].Value = "103"
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
	inFamily(t, s, "ringfence", key, value)
}

// What is left of users who are gone is removed, on both sides, also what Asterisk alone keeps, and what was left while the gateway was
// down. Others keep theirs.
func TestStatesOfTheGone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var n *system
		s := pbx(t, &n)
		var states []userstate.State
		for _, user := range []string{"u", "v", "vv"} {
			states = append(states, userstate.State{User: user, Name: "dnd", Value: "1"})
		}
		begin := func(states []userstate.State) {
			n = start(t, db, withManager(s), false, func(n *system, o *apply.Options) {
				n.states = states
				o.Keep = n.keep
			})
		}
		set := func(states []userstate.State) {
			n.mu.Lock()
			n.states = states
			n.mu.Unlock()
		}
		alone := func(users ...string) {
			for _, user := range users {
				byTelephone(t, s, user+"/novoicemail", "1")
				byTelephone(t, s, user+"/left-7", "0")
				inFamily(t, s, "CustomDevstate", "ringfence-novoicemail-"+user, "INUSE")
				inFamily(t, s, "CustomDevstate", "ringfence-dnd-"+user, "INUSE")
			}
			inFamily(t, s, "CustomDevstate", "door", "INUSE")
			inFamily(t, s, "theirs", "v/dnd", "1")
		}
		want := func(when string, rows int, users ...string) {
			t.Helper()
			for _, user := range []string{"u", "v", "vv"} {
				stays := slices.Contains(users, user)
				for _, at := range []string{"ringfence " + user + "/novoicemail", "ringfence " + user + "/left-7", "CustomDevstate ringfence-novoicemail-" + user, "CustomDevstate ringfence-dnd-" + user, "ringfence " + user + "/dnd"} {
					family, key, _ := strings.Cut(at, " ")
					if _, there := s.Value(family, key); there != stays {
						t.Errorf("%s: %s is there: %v", when, at, there)
					}
				}
			}
			for _, at := range []string{"CustomDevstate door", "theirs v/dnd"} {
				family, key, _ := strings.Cut(at, " ")
				if _, there := s.Value(family, key); !there {
					t.Errorf("%s: %s is gone", when, at)
				}
			}
			if got, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM asterisk_state`); err != nil || got != rows {
				t.Errorf("%s: %d rows, %v, want %d", when, got, err, rows)
			}
		}
		begin(states)
		wantState(t, do(t, n), jobs.Done, "")
		alone("u", "v", "vv")
		want("at first", 3, "u", "v", "vv")
		set([]userstate.State{states[0], states[2]})
		wantState(t, do(t, n), jobs.Done, "")
		want("one is deleted", 2, "u", "vv")
		states[1].Value = "0"
		set(states)
		wantState(t, do(t, n), jobs.Done, "")
		want("somebody has the same key", 2, "u", "vv")
		set(nil)
		wantState(t, do(t, n), jobs.Done, "")
		want("all are deleted", 0)
		alone("v")
		n.stop()
		begin(states[:1])
		wantState(t, do(t, n), jobs.Done, "")
		if _, there := s.Value("ringfence", "v/novoicemail"); there {
			t.Error("what was left while the gateway was down is still there")
		}
		n.stop()
		folder := n.folder
		n = start(t, db, func(o *apply.Settings) { o.Folder = folder }, false) // no Asterisk any more
		wantState(t, do(t, n), jobs.Done, "")
		if rows, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM asterisk_state`); err != nil || rows != 0 {
			t.Errorf("%d rows are left, %v", rows, err)
		}
	})
}

func inFamily(t *testing.T, s *amitest.Server, family, key, value string) {
	t.Helper()
	conn, err := ami.Dial(t.Context(), s.Options())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := ami.Put(t.Context(), conn, family, key, value); err != nil {
		t.Fatal(err)
	}
}
