package apply

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/asterisk/conf"
	"github.com/ringfence/ringfence/internal/asterisk/generation"
)

// Mailbox is a mailbox of voicemail.conf.
type Mailbox struct{ Context, Number string }

// forgetPINs makes new PINs count: Asterisk prefers one that was changed by telephone to that of its file, for ever. Who takes a PIN away
// from somebody, or gives a mailbox to somebody else, must not leave them the one that they have chosen.
//
// It runs before the files are swapped. Interrupted in between, or taken back, the PINs before count, as they are in the files: never
// one that was to be replaced.
func (s *Service) forgetPINs(r *run, change generation.Change) error {
	if s.options.ForgetPIN == nil || change.From == 0 { // before the first generation nobody had a PIN of ours
		return nil
	}
	var pins [2]map[Mailbox]string
	for i, n := range []int64{change.From, change.To} {
		_, files, err := s.store.Read(n)
		if err == nil {
			pins[i], err = pinsOf(files)
		}
		if err != nil {
			return fmt.Errorf("looking for PINs that have changed: %w", err)
		}
	}
	before, after := pins[0], pins[1]
	byName := func(a, b Mailbox) int {
		return cmp.Or(strings.Compare(a.Context, b.Context), strings.Compare(a.Number, b.Number))
	}
	for _, m := range slices.SortedFunc(maps.Keys(after), byName) {
		if old, had := before[m]; had && old == after[m] {
			continue
		}
		if err := s.options.ForgetPIN(m); err != nil {
			const message = "the new PIN does not count as long as the file secret.conf is in the mailbox's folder"
			slog.Warn(message, "mailbox", m.Number, "context", m.Context, "error", err)
			r.logf("mailbox %s@%s: %s: %s", m.Number, m.Context, message, err)
		}
	}
	return nil
}

// pinsOf returns the PINs in the files.
func pinsOf(files generation.Files) (map[Mailbox]string, error) {
	f, err := conf.Parse(files["voicemail.conf"])
	if err != nil {
		return nil, err
	}
	pins := make(map[Mailbox]string)
	for _, section := range f.Sections {
		for _, v := range section.Values {
			if v.Object {
				pin, _, _ := strings.Cut(v.Text, ",")
				pins[Mailbox{section.Name, v.Name}] = pin
			}
		}
	}
	return pins, nil
}
