package apply_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/ami/amitest"
	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A change of few extensions is told to Asterisk; what actions cannot say needs a reload.
func TestDialplanActions(t *testing.T) {
	const before = `; Generated
[in]
exten => _10[12],hint,${IF($[${EXTEN:2:1} = 1]?"PJSIP/a")}${IF($[${EXTEN:2:1} = 2]?"PJSIP/b")}
exten => 102,1,Goto(users,b,1)
exten => 101,1,Goto(users,a,1)
include => codes

[users]
exten => b,1,Dial(PJSIP/b)
same => n,Hangup()
exten => a,1,Dial(PJSIP/a)

[codes]
exten => s,1(label),Hangup()
`
	many := ""
	for i := range 1200 {
		many += fmt.Sprintf("exten => x%d,1,Hangup()\n", i)
	}
	for name, test := range map[string]struct {
		edit func(text string) string
		want []string // nil: a reload
	}{
		"a comment": {func(s string) string { return strings.Replace(s, "[in]\n", "[in]\n; Office\n", 1) }, []string{}},
		"a step":    {func(s string) string { return strings.Replace(s, "Dial(PJSIP/b)", "Dial(PJSIP/b,20)", 1) }, []string{"+users b 1 Dial(PJSIP/b,20)"}},
		"a step less": {func(s string) string { return strings.Replace(s, "same => n,Hangup()\n", "", 1) }, []string{
			"-users b 2",
		}},
		"a number more": {func(s string) string {
			s = strings.Replace(s, "_10[12]", "_10[123]", 1)
			s = strings.Replace(s, `"PJSIP/b")}`, `"PJSIP/b")}${IF($[${EXTEN:2:1} = 3]?"PJSIP/c")}`, 1)
			return strings.Replace(s, "exten => 102,1", "exten => 103,1,Goto(users,c,1)\nexten => 102,1", 1)
		}, []string{
			"+in 103 1 Goto(users,c,1)",
			`+in _10[123] hint ${IF($[${EXTEN:2:1} = 1]?"PJSIP/a")}${IF($[${EXTEN:2:1} = 2]?"PJSIP/b")}${IF($[${EXTEN:2:1} = 3]?"PJSIP/c")}()`, "-in _10[12]",
		}},
		"another device": {func(s string) string { return strings.Replace(s, `"PJSIP/b")}`, `"PJSIP/new")}`, 1) }, []string{
			"+in 102 hint PJSIP/new()", `+in _10[12] hint ${IF($[${EXTEN:2:1} = 1]?"PJSIP/a")}${IF($[${EXTEN:2:1} = 2]?"PJSIP/new")}()`,
		}},
		"a number less": {func(s string) string {
			s = strings.Replace(s, `_10[12],hint,${IF($[${EXTEN:2:1} = 1]?"PJSIP/a")}${IF($[${EXTEN:2:1} = 2]?"PJSIP/b")}`, "101,hint,PJSIP/a", 1)
			return strings.Replace(s, "exten => 102,1,Goto(users,b,1)\n", "", 1)
		}, []string{"+in 101 hint PJSIP/a()", "-in 102", "-in _10[12]"}},
		"no lamp any more": {func(s string) string {
			return strings.Replace(s, `_10[12],hint,${IF($[${EXTEN:2:1} = 1]?"PJSIP/a")}${IF($[${EXTEN:2:1} = 2]?"PJSIP/b")}`, "101,hint,PJSIP/a", 1)
		}, []string{"+in 101 hint PJSIP/a()", "-in 102 hint?", "-in _10[12]"}},
		"a label":         {func(s string) string { return strings.Replace(s, "(label),Hangup()", "(label),Busy()", 1) }, nil},
		"another context": {func(s string) string { return s + "[more]\nexten => 1,1,Hangup()\n" }, nil},
		"an inclusion":    {func(s string) string { return strings.Replace(s, "include => codes", "include => users", 1) }, nil},
		"very much":       {func(s string) string { return strings.Replace(s, "[users]\n", "[users]\n"+many, 1) }, nil},
		"a long line": {func(s string) string {
			return strings.Replace(s, "Dial(PJSIP/a)", "NoOp("+strings.Repeat("x", 1001)+")", 1)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := apply.DialplanActions([]byte(before), []byte(test.edit(before)))
			if ok != (test.want != nil) || ok && !slices.Equal(got, test.want) {
				t.Errorf("%v\n%s\nwant\n%s", ok, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// An Asterisk that takes changes of the dialplan is told of them, without a look at its log, and reads all of it when it refuses one. Whoever
// insists makes it read all files.
func TestDialplanIsToldAndReadAgain(t *testing.T) {
	db := storetest.SQLite(t)
	plant(t, db)
	var n *system
	s := pbx(t, &n)
	log := filepath.Join(t.TempDir(), "messages.log")
	s.Handle("DialplanExtensionAdd", func(c *amitest.Session, a ami.Message) {
		if err := os.WriteFile(log, []byte("[Nov 22 23:04:24] ERROR[1] x.c: of something else\n"), 0o600); err != nil {
			t.Error(err)
		}
		c.Respond(a, map[bool]string{true: "Error", false: "Success"}[a.Get("Application") == "Busy"], "Message", "Whatever")
	})
	s.Handle("DialplanExtensionRemove", func(c *amitest.Session, a ami.Message) { c.Respond(a, "Success", "Message", "Removed") })
	n = start(t, db, withLog(s, log), false)
	wantReloads := func(when string, force bool, want ...string) {
		t.Helper()
		before := len(s.Reloads())
		job, err := n.Apply(t.Context(), jobs.Options{Wait: true, Force: force})
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, job, jobs.Done, "")
		if got := s.Reloads()[before:]; !slices.Equal(got, want) {
			t.Errorf("%s: it reloads %q, want %q", when, got, want)
		}
		if said := grumbles(job); len(want) == 0 && len(said) > 0 {
			t.Errorf("%s: %q", when, said)
		}
	}
	wantReloads("the first one", false, "pbx_config", "res_pjsip")
	wantReloads("nothing has changed", false)
	wantReloads("by force", true, "pbx_config", "res_pjsip")
	n.store("extensions.conf", strings.Replace(alice, "Dial(PJSIP/alice)", "Hangup()", 1), "pjsip.conf", telephones("alice"))
	wantReloads("an extension has changed", false)
	if live, _ := os.ReadFile(filepath.Join(n.folder, "live", "extensions.conf")); !strings.Contains(string(live), "Hangup") {
		t.Errorf("live is %s", live)
	}
	n.store("extensions.conf", strings.Replace(alice, "Dial(PJSIP/alice)", "Busy()", 1), "pjsip.conf", telephones("alice"))
	wantReloads("a change is refused", false, "pbx_config")
}
