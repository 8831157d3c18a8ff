package apply_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A PIN that a telephone has chosen gives way to a new one of confd, and to that of a new mailbox; others stay.
func TestPINs(t *testing.T) {
	var forgotten []string
	refuse := false
	n := start(t, storetest.SQLite(t), nil, false, func(_ *system, o *apply.Options) {
		o.ForgetPIN = func(m apply.Mailbox) error {
			if refuse {
				return errors.New("it may not be written")
			}
			forgotten = append(forgotten, m.Number+"@"+m.Context)
			return nil
		}
	})
	mailboxes := func(lines ...string) helpers.Job {
		t.Helper()
		forgotten = nil
		n.store("extensions.conf", alice, "pjsip.conf", telephones("alice"),
			"voicemail.conf", "[general]\npasswordlocation = spooldir\n[internal]\n"+strings.Join(lines, "\n")+"\n")
		job := do(t, n)
		wantState(t, job, helpers.JobDone, "")
		return job
	}
	for _, step := range []struct {
		lines []string
		want  []string
	}{
		{[]string{"101 => 1234,Alice,,,", "102 => none,Bob,,,"}, nil}, // nothing was live before
		{[]string{"101 => 1234,Alice Smith,,,", "102 => none,Bob,,,"}, nil},
		{[]string{"101 => 4321,Alice Smith,,,", "102 => none,Bob,,,"}, []string{"101@internal"}},
		{[]string{"102 => 77,Bob,,,", "103 => 1,Carol,,,"}, []string{"102@internal", "103@internal"}},
		{[]string{"101 => 4321,Alice Smith,,,", "102 => 77,Bob,,,", "103 => 1,Carol,,,"}, []string{"101@internal"}},
	} {
		if mailboxes(step.lines...); !slices.Equal(forgotten, step.want) {
			t.Errorf("%v: forgotten %v, want %v", step.lines, forgotten, step.want)
		}
	}
	refuse = true
	job := mailboxes("101 => 1,Alice,,,")
	if !slices.ContainsFunc(job.Log, func(e helpers.JobEntry) bool {
		return strings.Contains(e.Message, "101@internal") && strings.Contains(e.Message, "secret.conf")
	}) {
		t.Errorf("nobody hears of it: %+v", job.Log)
	}
}
