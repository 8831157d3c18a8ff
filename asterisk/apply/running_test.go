package apply_test

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/ami/amitest"
	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/generation"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

const (
	queues    = "[general]\npersistentmembers = no\n[grp-a]\nstrategy = ringall\n[grp-b]\nstrategy = ringall\n"
	mailboxes = "[general]\nformat = wav\n[zonemessages]\nfr = Europe/Paris|Q\n[internal]\n101 => 1234,Ann\n102 => 1234,Bob\n"
)

// lists answers with what Asterisk has: the queues, and the mailboxes as number@context, with the stamps, unless there is nothing.
func lists(s *amitest.Server, n **system, queues, boxes string) {
	s.Handle("QueueSummary", func(c *amitest.Session, a ami.Message) {
		all := strings.Fields(queues)
		if len(all) > 0 {
			all = append(all, (*n).sums("queues.conf", `\[(.*)\]`)...)
		}
		c.List(a, "QueueSummary", "Queue", all...)
	})
	s.Handle("VoicemailUserStatus", func(c *amitest.Session, a ami.Message) {
		has := boxes != "" && a.Get("Context") == "ringfence-folder" && slices.Contains((*n).sums("voicemail.conf", "(.*) = "), a.Get("Mailbox"))
		if !has && !slices.Contains(strings.Fields(boxes), a.Get("Mailbox")+"@"+a.Get("Context")) {
			c.Respond(a, "Success", "Message", "There is no voicemail user of the given info.")
			return
		}
		c.List(a, "VoicemailUserDetail", "VoiceMailbox", a.Get("Mailbox"))
	})
}

// denies makes the server one whose account may not do these actions.
func denies(s *amitest.Server, actions ...string) {
	for _, action := range actions {
		s.Handle(action, func(c *amitest.Session, a ami.Message) { c.Respond(a, "Error", "Message", "Permission denied") })
	}
}

// Queues and mailboxes that Asterisk has not after the reload take the change back.
func TestReadBack(t *testing.T) {
	for name, test := range map[string]struct{ queues, boxes, missing string }{
		"all":                  {"grp-a grp-b default", "101@internal 102@internal", ""},
		"a queue":              {"grp-a", "101@internal 102@internal", `"grp-b" of queues.conf: `},
		"no queue":             {"", "101@internal 102@internal", "Asterisk has not loaded queues.conf"},
		"a mailbox":            {"grp-a grp-b", "101@internal", `"102@internal" of voicemail.conf: `},
		"one of another place": {"grp-a grp-b", "101@internal 102@other", `"102@internal" of voicemail.conf: `},
		"no mailbox":           {"grp-a grp-b", "", "Asterisk has not loaded voicemail.conf"},
	} {
		t.Run(name, func(t *testing.T) {
			var n *system
			s := pbx(t, &n)
			lists(s, &n, test.queues, test.boxes)
			n = start(t, storetest.SQLite(t), withManager(s), false)
			do(t, n)
			n.store("extensions.conf", alice, "pjsip.conf", telephones("alice"), "queues.conf", queues, "voicemail.conf", mailboxes)
			job := do(t, n)
			if test.missing == "" {
				wantState(t, job, jobs.Done, "")
				return
			}
			said := fmt.Sprint(job.Log)
			if !strings.Contains(said, test.missing) {
				t.Errorf("%s: %v, want %s", job.State, said, test.missing)
			}
			if strings.HasPrefix(test.missing, "Asterisk") { // nobody knows whose fault it is
				wantState(t, job, jobs.RolledBack, test.missing)
				return
			}
			wantState(t, job, jobs.Done, "") // the rest is live
		})
	}
}

// A queue of confd that Asterisk has not is left out alone: it is not the stamp, whose name begins as its own does.
func TestReadBackOfQueuesOfConfd(t *testing.T) {
	var n *system
	s := pbx(t, &n)
	lists(s, &n, "grp-a grp-b", "")
	n = start(t, storetest.SQLite(t), withManager(s), false)
	do(t, n)
	n.store("extensions.conf", alice, "pjsip.conf", telephones("alice"), "queues.conf", queues+"[ringfence-queue-3]\nstrategy = linear\n")
	job := do(t, n)
	if said := fmt.Sprint(job.Log); !strings.Contains(said, `"ringfence-queue-3" of queues.conf: `) {
		t.Errorf("%s: %v", job.State, said)
	}
	wantState(t, job, jobs.Done, "")
}

// What the account may not ask for is skipped, and the job says so.
func TestReadBackWithoutTheRight(t *testing.T) {
	var n *system
	s := pbx(t, &n)
	lists(s, &n, "grp-a grp-b", "")
	denies(s, "VoicemailUserStatus", "ShowDialPlan", "PJSIPShowEndpoints", "PJSIPShowEndpoint")
	n = start(t, storetest.SQLite(t), withManager(s), false)
	n.store("extensions.conf", alice, "pjsip.conf", telephones("alice"), "queues.conf", queues, "voicemail.conf", mailboxes)
	job := do(t, n)
	wantState(t, job, jobs.Done, "")
	var said []string
	for _, entry := range job.Log {
		if strings.Contains(entry.Message, "may not ask") {
			said = append(said, entry.Message)
		}
	}
	if len(said) != 3 {
		t.Errorf("warnings: %q", said)
	}
}

// The job says which applications of the dialplan no module brings.
func TestApplicationsOfMissingModules(t *testing.T) {
	var n *system
	s := pbx(t, &n)
	s.Handle("Command", func(c *amitest.Session, a ami.Message) {
		c.Respond(a, "Success", "Output", "                Goto: Jump to a particular priority.", "Output", "                NoOp: Do nothing.", "Output", "            Playback: Play a file.")
	})
	n = start(t, storetest.SQLite(t), withManager(s), false)
	n.store("extensions.conf", "[internal]\nexten => 1,1,Stasis(x)\nexten => 2,1,PLAYBACK(y)\nsame => n,BridgeWait(z)\n", "pjsip.conf", telephones("alice"))
	job := do(t, n)
	wantState(t, job, jobs.Done, "")
	if said := fmt.Sprint(job.Log); !strings.Contains(said, "this Asterisk has no BridgeWait, no Stasis: ") {
		t.Errorf("the job says %s", said)
	}
}

// Where several modules for voicemail are installed, one that fails to load takes the actions of the other with it. The job says what
// to do.
func TestReadBackWithoutTheModule(t *testing.T) {
	var n *system
	s := pbx(t, &n)
	lists(s, &n, "grp-a grp-b", "")
	s.Handle("VoicemailUserStatus", func(c *amitest.Session, a ami.Message) {
		c.Respond(a, "Error", "Message", "Invalid/unknown command: VoicemailUserStatus. Use Action: ListCommands to show available commands.")
	})
	n = start(t, storetest.SQLite(t), withManager(s), false)
	do(t, n)
	n.store("extensions.conf", alice, "pjsip.conf", telephones("alice"), "queues.conf", queues, "voicemail.conf", mailboxes)
	wantState(t, do(t, n), jobs.RolledBack, "noload for app_voicemail_odbc")
}

// After a change Asterisk is asked for what has changed alone; once it was away, for all.
func TestReadBackOfWhatHasChanged(t *testing.T) {
	var n *system
	s := pbx(t, &n)
	lists(s, &n, "grp-a grp-b", "101@internal 102@internal")
	n = start(t, storetest.SQLite(t), withManager(s), false)
	numbers := regexp.MustCompile(`^\d{3}$`) // those of mailboxes, and not of the stamp
	begin := len(s.Actions())
	wantAsked := func(when string, want ...string) {
		t.Helper()
		wantState(t, do(t, n), jobs.Done, "")
		asked := map[string]bool{}
		for _, a := range s.Actions()[begin:] {
			for _, name := range []string{"PJSIPShowEndpoints", "PJSIPShowEndpoint", "QueueSummary", "VoicemailUsersList", "VoicemailUserStatus"} {
				if a.Get("Action") == name {
					asked[strings.TrimSpace(name+" "+a.Get("Endpoint")+numbers.FindString(a.Get("Mailbox")))] = true
				}
			}
		}
		begin = len(s.Actions())
		if got := slices.Sorted(maps.Keys(asked)); !slices.Equal(got, want) {
			t.Errorf("%s: it asks for %q, want %q", when, got, want)
		}
	}
	const stamp = "VoicemailUserStatus"
	n.store("extensions.conf", alice, "pjsip.conf", telephones("alice", "bob"), "queues.conf", queues, "voicemail.conf", mailboxes)
	wantAsked("the first one", "PJSIPShowEndpoint alice", "PJSIPShowEndpoint bob", "PJSIPShowEndpoint ringfence-folder", "QueueSummary", stamp, stamp+" 101", stamp+" 102")
	n.store("extensions.conf", alice, "pjsip.conf", telephones("alice", "bob", "carol"), "queues.conf", queues, "voicemail.conf", mailboxes)
	wantAsked("a telephone more", "PJSIPShowEndpoint carol", "PJSIPShowEndpoint ringfence-folder")
	n.store("extensions.conf", alice+"exten = 102,1,Hangup()\n", "pjsip.conf", telephones("alice", "bob", "carol"), "queues.conf", queues, "voicemail.conf", mailboxes)
	wantAsked("an extension more", "PJSIPShowEndpoint ringfence-folder")
	s.Disconnect()
	n.store("extensions.conf", alice, "pjsip.conf", telephones("alice", "bob", "carol"), "queues.conf", queues, "voicemail.conf", mailboxes)
	wantAsked("Asterisk was away", "PJSIPShowEndpoint alice", "PJSIPShowEndpoint bob", "PJSIPShowEndpoint carol", "PJSIPShowEndpoint ringfence-folder", "QueueSummary", stamp, stamp+" 101", stamp+" 102")
	lists(s, &n, "grp-a grp-b", "101@internal 102@internal 103@internal")
	n.store("extensions.conf", alice, "pjsip.conf", telephones("alice", "bob", "carol"), "queues.conf", queues, "voicemail.conf", mailboxes+"103 => 1234,Carol\n")
	wantAsked("a mailbox more", "PJSIPShowEndpoint ringfence-folder", stamp, stamp+" 103")
}

// Files without their stamps are as they were.
func TestUnstamped(t *testing.T) {
	files := generation.Files{
		"extensions.conf": []byte("; Generated\n\n[ringfence-users]\nexten = 1,1,NoOp()\n[b]\n"), "pjsip.conf": []byte(telephones("alice")), "queues.conf": []byte(queues),
		"voicemail.conf": []byte(mailboxes), "features.conf": []byte("; Generated\n"),
	}
	if got := apply.Unstamped(files); !maps.EqualFunc(got, files, bytes.Equal) {
		t.Errorf("%s", got)
	}
}

// A trunk that is gone, and that Asterisk registers still, takes the change back.
func TestTrunksAreReadBack(t *testing.T) {
	var n *system
	var stuck atomic.Bool
	s := pbx(t, &n)
	s.Handle("PJSIPShowRegistrationsOutbound", func(c *amitest.Session, a ami.Message) {
		if stuck.Load() || strings.Contains(n.livePJSIP(), "type = registration") {
			c.List(a, "OutboundRegistrationDetail", "ObjectName", "carrier")
			return
		}
		c.List(a, "OutboundRegistrationDetail", "ObjectName")
	})
	n = start(t, storetest.SQLite(t), withManager(s), false)
	trunk := telephones("alice", "carrier") + "[carrier]\ntype = registration\nendpoint = carrier\n"
	n.store("extensions.conf", alice, "pjsip.conf", trunk)
	wantState(t, do(t, n), jobs.Done, "")
	if got := s.Reloads(); got[len(got)-1] != "res_pjsip_outbound_registration" {
		t.Errorf("reloads %v", got)
	}
	stuck.Store(true)
	n.store("extensions.conf", alice, "pjsip.conf", telephones("alice", "carrier"))
	wantState(t, do(t, n), jobs.RolledBack, `the trunk "carrier" is gone, and Asterisk still registers it`)
	if n.livePJSIP() != trunk {
		t.Errorf("live is %s", n.livePJSIP())
	}
	stuck.Store(false)
	wantState(t, do(t, n), jobs.Done, "")
	if n.livePJSIP() == trunk {
		t.Error("the trunk is live still")
	}
}
