package asterisk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
)

// What groups do by their strategies, and what follows when nobody answers.
func TestRealGroups(t *testing.T) {
	s := office(t)
	s.Groups = nil
	group := func(id confdsvc.ID, strategy, exten string, edit func(g *confdsvc.Group)) {
		g := &confdsvc.Group{
			ID: id, UUID: fmt.Sprintf("cccccccc-0000-4000-8000-%012d", id), TenantUUID: acme, Name: fmt.Sprintf("grp-acme-%d", id), Strategy: strategy,
			UserTimeout: new(int64(1)), RetryDelay: new(int64(1)), Timeout: new(int64(4)), RingInUse: true, Enabled: true,
		}
		if edit != nil {
			edit(g)
		}
		s.Groups = append(s.Groups, g)
		s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: id + 100, TenantUUID: acme, Exten: exten, Context: inside, Enabled: true})
		s.GroupExtensions[g.UUID], s.GroupUsers[g.UUID] = []confdsvc.ID{id + 100}, []confdsvc.ID{2, 3}
	}
	strategies := strings.Fields("all random least_recent fewest_calls memorized_round_robin weight_random linear")
	for i, strategy := range strategies {
		group(confdsvc.ID(i+1), strategy, fmt.Sprint(201+i), nil)
	}
	group(11, "all", "211", func(g *confdsvc.Group) { g.Fallbacks.NoAnswer = to(t, `{"type": "user", "user_id": 4}`) })
	group(12, "linear", "212", func(g *confdsvc.Group) { g.Fallbacks.NoAnswer = to(t, `{"type": "user", "user_id": 4}`) })
	group(13, "all", "213", func(g *confdsvc.Group) { g.MaxCalls = new(int64(1)) })
	group(14, "all", "214", func(g *confdsvc.Group) { g.CallerIDMode, g.CallerIDName = new("prepend"), new("Sales, 50% (\"x\"):") })
	group(15, "all", "215", func(g *confdsvc.Group) {
		g.Members.Extensions = []confdsvc.GroupNumber{{Exten: "104", Context: inside}}
	})
	s.GroupUsers["cccccccc-0000-4000-8000-000000000015"] = nil
	group(21, "all", "221", func(g *confdsvc.Group) {
		g.Members.Extensions = []confdsvc.GroupNumber{{Exten: "222", Context: inside}, {Exten: "221", Context: inside}}
	})
	group(22, "linear", "222", func(g *confdsvc.Group) {
		g.Members.Extensions = []confdsvc.GroupNumber{{Exten: "221", Context: inside}, {Exten: "222", Context: inside}}
	})
	s.GroupUsers["cccccccc-0000-4000-8000-000000000021"], s.GroupUsers["cccccccc-0000-4000-8000-000000000022"] = nil, []confdsvc.ID{2}
	group(16, "all", "216", func(g *confdsvc.Group) { g.Fallbacks.Congestion = to(t, `{"type": "user", "user_id": 4}`) })
	s.GroupUsers["cccccccc-0000-4000-8000-000000000016"] = nil
	group(17, "all", "217", func(g *confdsvc.Group) { g.RingInUse = false })
	for i, strategy := range []string{"all", "linear", "all"} {
		group(confdsvc.ID(18+i), strategy, fmt.Sprint(218+i), func(g *confdsvc.Group) {
			if i == 2 {
				g.Members.Extensions = []confdsvc.GroupNumber{{Exten: "101", Context: inside}}
			}
		})
		s.GroupUsers[fmt.Sprintf("cccccccc-0000-4000-8000-%012d", 18+i)] = [][]confdsvc.ID{{1, 2}, {1, 2}, {2}}[i]
	}
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	alice, bobPhone, carolPhone, davePhone := a.phone(t, "alice"), a.phone(t, "bob"), a.phone(t, "carol"), a.phone(t, "dave")
	reset := func(t *testing.T, does string) {
		a.rest(t.Name(), does, []*phone{alice, bobPhone, carolPhone, davePhone})
		davePhone.when("answer")
	}
	for i, strategy := range strategies {
		t.Run(strategy, func(t *testing.T) {
			reset(t, "ring")
			done := make(chan int)
			go func() {
				_, got := alice.dial(fmt.Sprint(201 + i))
				done <- got
			}()
			if strategy == "all" || strategy == "linear" { // the others may take the same one again
				bobPhone.saw("rings")
				carolPhone.saw("rings")
			}
			if got := <-done; got != 480 || bobPhone.count("rings")+carolPhone.count("rings") == 0 {
				t.Errorf("status %d", got)
			}
			reset(t, "answer")
			if _, got := alice.dial(fmt.Sprint(201 + i)); got != 200 || bobPhone.count("answers")+carolPhone.count("answers") == 0 {
				t.Errorf("status %d", got)
			}
			reset(t, "answer")
		})
	}
	for number := range strings.FieldsSeq("211 212") {
		t.Run("no answer "+number, func(t *testing.T) {
			reset(t, "ring")
			if _, got := alice.dial(number); got != 200 || davePhone.count("answers") != 1 {
				t.Errorf("status %d, Dave: %q", got, davePhone.log())
			}
			reset(t, "answer")
		})
	}
	for number := range strings.FieldsSeq("218 219 220") {
		t.Run("a caller who is a member is not rung by "+number, func(t *testing.T) {
			if _, got := alice.dial(number); got != 200 || alice.count("rings") > 0 || bobPhone.count("answers") != 1 {
				t.Errorf("status %d, Alice: %q", got, alice.log())
			}
			reset(t, "answer")
		})
	}
	t.Run("nobody", func(t *testing.T) {
		if _, got := alice.dial("216"); got != 200 || davePhone.count("answers") != 1 {
			t.Errorf("status %d, Dave: %q", got, davePhone.log())
		}
		reset(t, "answer")
	})
	t.Run("absent", func(t *testing.T) {
		bobPhone.register(0)
		carolPhone.register(0)
		for number := range strings.FieldsSeq("201 207") {
			if _, got := alice.dial(number); got != 503 {
				t.Errorf("%s: status %d", number, got)
			}
		}
		bobPhone.register(600)
		carolPhone.register(600)
		reset(t, "answer")
	})
	t.Run("too many calls", func(t *testing.T) {
		if _, got := alice.dial("213"); got != 200 {
			t.Errorf("status %d", got)
		}
		if _, got := davePhone.dial("213"); got != 503 {
			t.Errorf("the second: status %d", got)
		}
		reset(t, "answer")
	})
	t.Run("name", func(t *testing.T) {
		reset(t, "ring")
		done := make(chan int)
		go func() {
			_, got := alice.dial("214")
			done <- got
		}()
		for _, p := range []*phone{bobPhone, carolPhone} {
			p.saw(`"Sales, 50% (\"x\"): Alice Martin" <sip:101@`)
		}
		bobPhone.pickUp()
		if got := <-done; got != 200 {
			t.Errorf("status %d", got)
		}
		reset(t, "answer")
	})
	t.Run("number", func(t *testing.T) {
		if _, got := alice.dial("215"); got != 200 || davePhone.count("answers") != 1 {
			t.Errorf("status %d", got)
		}
		reset(t, "answer")
	})
	t.Run("groups of each other", func(t *testing.T) {
		for number := range strings.FieldsSeq("221 222") {
			reset(t, "answer")
			bobPhone.when("ring")
			done := make(chan int)
			go func() { _, got := alice.dial(number); done <- got }()
			bobPhone.saw("rings")
			if got := <-done; got == 200 || bobPhone.count("rings") > 5 { // within four seconds
				t.Errorf("%s: status %d, Bob: %q", number, got, bobPhone.log())
			}
			if n := strings.Count(a.log()[a.read:], "@ringfence-group-numbers:1]"); n > 20 {
				t.Errorf("%s: groups ring numbers %d times", number, n)
			}
		}
		reset(t, "answer")
	})
	t.Run("ring in use", func(t *testing.T) {
		if _, got := davePhone.dial("102"); got != 200 {
			t.Errorf("status %d", got)
		}
		wait(t, "Bob is in use", func() bool { return strings.Contains(a.cli("queue show grp-acme-17"), "n use") }, nil)
		bobPhone.log()
		if _, got := alice.dial("217"); got != 200 || bobPhone.count("rings") != 0 || carolPhone.count("answers") != 1 {
			t.Errorf("status %d, %q", got, bobPhone.log())
		}
		reset(t, "answer")
	})
	t.Run("a reload later", func(t *testing.T) {
		s.Users[1].CallerID = new("Robert")
		s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: 999, TenantUUID: acme, Exten: "199", Context: inside, Enabled: true})
		s.LineExtensions[4] = append(s.LineExtensions[4], 999)
		a.set(s)
		a.apply()
		bobPhone.register(0)
		if bobPhone.register(600) != 200 {
			t.Error("no registration")
		}
		reset(t, "ring")
		bobPhone.when("answer")
		if _, got := alice.dial("201"); got != 200 || bobPhone.count("answers") != 1 {
			t.Errorf("status %d\n%s", got, a.cli("queue show grp-acme-1"))
		}
		reset(t, "answer")
	})
}

// State and telephones outlive restarts, of either side.
func TestRealRestart(t *testing.T) {
	s := office(t)
	a := startReal(t, s)
	a.apply()
	alice, bobPhone := a.phone(t, "alice"), a.phone(t, "bob")
	a.store(bob, "unconditional", "103")
	a.cli("core stop now")
	<-a.ended
	a.mu.Lock()
	a.states[bob+"/dnd"] = "1" // through the API, meanwhile
	a.mu.Unlock()
	a.boot()
	wait(t, "the change is told", func() bool { return a.inDB(bob, "dnd") == "1" && a.inDB(bob, "unconditional") == "103" }, a.log)
	if got := a.cli("core show hints"); !strings.Contains(got, "1 hints") {
		t.Error(got)
	}
	a.clean("a restart")
	if _, got := alice.dial("102"); got != 486 {
		t.Errorf("status %d", got)
	}
	a.store(bob, "dnd", "0")
	a.store(bob, "unconditional", "")
	if _, got := alice.dial("102"); got != 200 || bobPhone.count("answers") != 1 {
		t.Errorf("after the restart: status %d", got)
	}
	alice.hangUpAll()
	if _, got := alice.dial("200"); got != 200 {
		t.Errorf("the group after the restart: status %d\n%s", got, a.cli("queue show"))
	}
	alice.hangUpAll()
	a.idle()
	// A user who is gone can neither be called nor call, although the telephone is still registered.
	s = office(t)
	s.Users = slices.Delete(s.Users, 1, 2)
	delete(s.LineUsers, 3)
	delete(s.UserLines, 2)
	s.Lines = slices.Delete(s.Lines, 2, 3)
	s.GroupUsers[sales] = []confdsvc.ID{1}
	a.set(s)
	a.apply()
	a.clean("a user is deleted")
	if _, got := alice.dial("102"); got != 404 {
		t.Errorf("who is gone: status %d", got)
	}
	if _, got := bobPhone.dial("101"); got != 401 {
		t.Errorf("who is gone calls: status %d", got)
	}
	a.news()
}
