package apply_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/ami/amitest"
	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/generation"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/asterisk/userstate"
	"github.com/ringfence/ringfence/internal/store"
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
	mailboxes := func(lines ...string) jobs.Job {
		t.Helper()
		forgotten = nil
		n.store("extensions.conf", alice, "pjsip.conf", telephones("alice"),
			"voicemail.conf", "[general]\npasswordlocation = spooldir\n[internal]\n"+strings.Join(lines, "\n")+"\n")
		return do(t, n)
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
		job := mailboxes(step.lines...)
		wantState(t, job, jobs.Done, "")
		if !slices.Equal(forgotten, step.want) {
			t.Errorf("%v: forgotten %v, want %v", step.lines, forgotten, step.want)
		}
	}
	refuse = true
	wantState(t, mailboxes("101 => 1,Alice,,,"), jobs.Failed, "the files are live, but mailbox 101@internal: the new PIN does not count as long as the file secret.conf")
}

// box is a mailbox: the PIN that confd has, and the one in its folder, which a telephone has chosen.
type box struct {
	*system
	configured, inFolder string
	forgotten, read      int
	stays                bool     // the folder is somebody else's: its PIN cannot be forgotten
	closed               bool     // nor can it be read
	replaced             []string // the PINs in place of which one was stored that somebody heard of
	telephones           []string
}

func (b *box) keep(stays bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stays = stays
}

func (b *box) overwritten() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.replaced)
}

func (b *box) reads() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.read
}

func (b *box) telephone(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.telephones = append(b.telephones, name)
}

func (b *box) set(configured, inFolder string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.configured, b.inFolder = configured, inFolder
}

func (b *box) get() (configured, inFolder string, forgotten int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.configured, b.inFolder, b.forgotten
}

// options let a node read and change the mailbox.
func (b *box) options(n *system, o *apply.Options) {
	n.states = []userstate.State{{User: "u", Name: "dnd"}}
	b.system = n
	o.Generate = func(context.Context, apply.Refused) (apply.Output, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		lines := "[internal]\n"
		if b.configured != "" {
			lines += "101 => " + b.configured + ",Alice,,,\n"
		}
		return apply.Output{Source: "a test", Files: generation.Files{
			"extensions.conf": []byte(alice), "pjsip.conf": []byte(telephones(b.telephones...)), "voicemail.conf": []byte("[general]\npasswordlocation = spooldir\n" + lines),
		}}, nil
	}
	o.Heard = func(event ami.Message) (apply.News, func(context.Context) error) {
		pin := event.Get("NewPassword")
		if pin == "" {
			return apply.News{}, nil
		}
		return apply.PINNews(apply.Mailbox{Context: event.Get("Context"), Number: event.Get("Mailbox")}, pin), func(context.Context) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.replaced = append(b.replaced, b.configured)
			b.configured, b.inFolder = pin, pin
			return nil
		}
	}
	o.ReadPIN = func(apply.Mailbox) (string, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.read++
		if b.closed {
			return "", errors.New("permission denied")
		}
		return b.inFolder, nil
	}
	o.KeepPIN = func(_ context.Context, _ apply.Mailbox, pin, last string) (bool, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.configured == last {
			b.configured = pin
		}
		return b.configured == pin, nil
	}
	o.ForgetPIN = func(apply.Mailbox) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.stays {
			return errors.New("permission denied")
		}
		b.inFolder = ""
		b.forgotten++
		return nil
	}
}

// A PIN that a telephone has chosen is stored, also when nobody heard of it, and stays in its folder until another one is configured: also
// if that is the one in the live files, with a change of other files, and if Asterisk does not read it at first.
func TestChosenPINs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		b := &box{configured: "1111", telephones: []string{"alice"}}
		s := pbx(t, &b.system)
		denies(s, "VoicemailUserStatus")
		want := func(when, configured, inFolder string, forgotten, remembered int) {
			t.Helper()
			gotConfigured, gotInFolder, gotForgotten := b.get()
			rows, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM asterisk_state`)
			if gotConfigured != configured || gotInFolder != inFolder || gotForgotten != forgotten || rows != remembered || err != nil {
				t.Errorf("%s: configured %q, in the folder %q, forgotten %d times, %d remembered (%v), want %q, %q, %d and %d", when,
					gotConfigured, gotInFolder, gotForgotten, rows, err, configured, inFolder, forgotten, remembered)
			}
		}
		folder := t.TempDir()
		begin := func() {
			start(t, db, func(o *apply.Settings) {
				withManager(s)(o)
				o.Folder = folder
			}, false, b.options)
			b.folder = folder
		}
		applied := func() {
			t.Helper()
			wantState(t, do(t, b.system), jobs.Done, "")
		}
		byTelephone := func(pin string) {
			t.Helper()
			s.Event("VoicemailPasswordChange", "Context", "internal", "Mailbox", "101", "NewPassword", pin)
			eventually(t, "the PIN is stored, and remembered", func() bool {
				configured, _, _ := b.get()
				known, err := store.Select[string](t.Context(), db, `SELECT value FROM asterisk_state WHERE at = 'voicemail/internal/101'`)
				return err == nil && configured == pin && slices.Equal(known, []string{pin})
			})
		}
		begin()
		applied()
		want("at first", "1111", "", 0, 0)
		byTelephone("2222")
		want("a telephone has chosen one", "2222", "2222", 0, 1)
		applied()
		want("it is live", "2222", "2222", 0, 1)
		b.set("3333", "2222")
		applied()
		want("confd gets another one", "3333", "", 1, 0)
		byTelephone("4444")
		b.set("3333", "4444")
		before := s.Reloads()
		file := filepath.Join(b.folder, "live", "voicemail.conf")
		was, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		applied()
		want("confd gets the one in the live files", "3333", "", 2, 0)
		is, err := os.Stat(file)
		if err != nil || is.ModTime().Equal(was.ModTime()) || !slices.Equal(s.Reloads(), append(before, "app_voicemail")) {
			t.Errorf("Asterisk reads nothing: %v, reloads %v, before %v", err, s.Reloads(), before)
		}
		applied()
		want("once more", "3333", "", 2, 0)
		byTelephone("4455")
		b.set("3333", "4455")
		b.telephone("bob")
		var down atomic.Bool
		down.Store(true)
		s.Handle("Reload", func(c *amitest.Session, a ami.Message) {
			if down.Load() && a.Get("Module") == "app_voicemail" {
				c.Respond(a, "Error", "Message", "Asterisk is shutting down")
				return
			}
			c.Event("Reload", "Module", a.Get("Module"), "Status", "0")
			c.Respond(a, "Success", "Message", "Module Reloaded")
		})
		wantState(t, do(t, b.system), jobs.Failed, "count until the mailboxes are reloaded")
		want("Asterisk has not read them", "3333", "", 3, 1)
		down.Store(false)
		before = s.Reloads()
		applied()
		want("Asterisk has read them", "3333", "", 4, 0)
		if !slices.Equal(s.Reloads(), append(before, "app_voicemail")) {
			t.Errorf("Asterisk reads nothing: reloads %v, before %v", s.Reloads(), before)
		}

		b.stop()
		b.set("3333", "5555")
		begin()
		eventually(t, "what nobody heard of is stored", func() bool { configured, _, _ := b.get(); return configured == "5555" })
		applied()
		want("what nobody heard of", "5555", "5555", 4, 1)
		b.stop()
		b.set("6666", "7777")
		begin()
		applied()
		want("both have changed it", "6666", "", 5, 0)
		b.set("6666", "8888")
		s.Disconnect()
		eventually(t, "what was chosen while the connection was lost is stored", func() bool { configured, _, _ := b.get(); return configured == "8888" })
		applied()
		want("the connection was lost", "8888", "8888", 5, 1)
		b.set("", "8888")
		applied()
		want("the mailbox is deleted", "", "8888", 5, 0)
	})
}

// A PIN of which a node hears late is none of its own news: another node has stored it, and a newer one of confd stands, whether it was
// applied or not.
func TestPINHeardLate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		for name, test := range map[string]struct {
			late time.Duration // what counts as late
			away int32         // how often the database is
			set  [2]string     // the PIN of confd, and the one in the folder, when the node hears of it
			want string
		}{
			"at once":                         {time.Hour, 0, [2]string{"1111", "2222"}, "2222"},
			"late":                            {1, 0, [2]string{"1111", "2222"}, "2222"},
			"late, and confd has a newer one": {1, 0, [2]string{"3333", "2222"}, "3333"},
			"late, and a newer one of confd was applied":      {1, 0, [2]string{"1111", ""}, "1111"},
			"without the database":                            {time.Hour, 1, [2]string{"1111", "2222"}, "2222"},
			"without the database, and confd has a newer one": {time.Hour, 1, [2]string{"3333", "2222"}, "3333"},
		} {
			t.Run(name, func(t *testing.T) {
				b := &box{configured: "1111", telephones: []string{"alice"}}
				s := pbx(t, &b.system)
				denies(s, "VoicemailUserStatus")
				var away atomic.Int32
				away.Store(test.away)
				start(t, db, func(o *apply.Settings) {
					withManager(s)(o)
					o.Late, o.Name = test.late, name
				}, false, b.options, func(_ *system, o *apply.Options) {
					heard := o.Heard
					o.Heard = func(event ami.Message) (apply.News, func(context.Context) error) {
						state, keep := heard(event)
						if keep == nil {
							return state, nil
						}
						return state, func(ctx context.Context) error {
							if away.Add(-1) >= 0 {
								return store.ErrUnavailable
							}
							return keep(ctx)
						}
					}
				})
				wantState(t, do(t, b.system), jobs.Done, "")
				b.set(test.set[0], test.set[1])
				before := b.reads()
				s.Event("VoicemailPasswordChange", "Context", "internal", "Mailbox", "101", "NewPassword", "2222")
				eventually(t, "the PIN is stored, or the folder was looked at", func() bool {
					configured, _, _ := b.get()
					return configured == "2222" || b.reads() > before
				})
				wantState(t, do(t, b.system), jobs.Done, "") // the job before has ended
				configured, inFolder, _ := b.get()
				if configured != test.want || inFolder != "" && inFolder != test.want {
					t.Errorf("confd has %q, the folder %q, want %q", configured, inFolder, test.want)
				}
			})
		}
	})
}

// A PIN that another node has stored already is not stored over a newer one.
func TestPINHeardTwice(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		b := &box{configured: "1111", telephones: []string{"alice"}}
		s := pbx(t, &b.system)
		denies(s, "VoicemailUserStatus")
		start(t, db, func(o *apply.Settings) {
			withManager(s)(o)
			o.Late = time.Hour
		}, false, b.options)
		wantState(t, do(t, b.system), jobs.Done, "")
		chosen := func(pin string) {
			s.Event("VoicemailPasswordChange", "Context", "internal", "Mailbox", "101", "NewPassword", pin)
		}
		remembered := func(pin string) {
			t.Helper()
			eventually(t, pin+" is remembered", func() bool {
				known, err := store.Select[string](t.Context(), db, `SELECT value FROM asterisk_state WHERE at = 'voicemail/internal/101'`)
				return err == nil && slices.Equal(known, []string{pin})
			})
		}
		chosen("2222")
		remembered("2222")
		b.set("3333", "2222")
		chosen("2222") // the other node has stored it
		chosen("0")    // it comes after that
		remembered("0")
		if before := b.overwritten(); !slices.Equal(before, []string{"1111", "3333"}) {
			t.Errorf("telephones have replaced %v", before)
		}
	})
}

// A PIN that was replaced in confd and cannot be forgotten, or not even be read, fails each job until it can, and is not taken for one that a
// telephone has chosen since.
func TestAPINThatCannotBeForgotten(t *testing.T) {
	t.Run("nor be read", func(t *testing.T) { testAPINThatCannotBeForgotten(t, true) })
	testAPINThatCannotBeForgotten(t, false)
}

func testAPINThatCannotBeForgotten(t *testing.T, closed bool) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		b := &box{configured: "1111", telephones: []string{"alice"}, closed: closed}
		s := pbx(t, &b.system)
		denies(s, "VoicemailUserStatus")
		start(t, db, withManager(s), false, b.options)
		wantState(t, do(t, b.system), jobs.Done, "")
		b.set("3333", "2222")
		b.keep(true)
		wantState(t, do(t, b.system), jobs.Failed, "the files are live, but mailbox 101@internal: the new PIN does not count")
		for range 2 { // the second begins when the first has ended
			before := b.reads()
			s.Disconnect()
			eventually(t, "the folders are read", func() bool { return b.reads() > before })
		}
		if configured, _, _ := b.get(); configured != "3333" {
			t.Errorf("confd has %q", configured)
		}
		wantState(t, do(t, b.system), jobs.Failed, "the new PIN does not count")
		b.keep(false)
		wantState(t, do(t, b.system), jobs.Done, "")
		if configured, inFolder, forgotten := b.get(); configured != "3333" || inFolder != "" || forgotten != 1 {
			t.Errorf("confd has %q, the folder %q, forgotten %d times", configured, inFolder, forgotten)
		}
	})
}
