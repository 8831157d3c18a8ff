package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/generation"
	"github.com/ringfence/ringfence/internal/store"
)

// Mailbox is a mailbox of voicemail.conf.
type Mailbox struct{ Context, Number string }

// unreadPIN stands in the memory for a PIN that a telephone may have chosen, and that could neither be read nor forgotten. It is none.
const unreadPIN = "?"

// pinFamily is where the memory has the PINs that telephones have chosen and that were stored since. It is no family of Asterisk's own
// database: Asterisk keeps such a PIN in the mailbox's folder.
const pinFamily = "voicemail"

// PINNews is a PIN that a telephone has chosen.
func PINNews(m Mailbox, pin string) News { return News{m.at(), pin} }

// at is where the memory has a PIN that was chosen for a mailbox.
func (m Mailbox) at() string { return pinFamily + "/" + m.Context + "/" + m.Number }

// chosenPINs returns of the memory the PINs that telephones have chosen, which it takes out of it.
func chosenPINs(memory map[string]string) map[Mailbox]string {
	pins := map[Mailbox]string{}
	for at, pin := range memory {
		if key, is := strings.CutPrefix(at, pinFamily+"/"); is {
			context, number, _ := strings.Cut(key, "/")
			pins[Mailbox{context, number}] = pin
			delete(memory, at)
		}
	}
	return pins
}

// chosen returns the PINs that telephones have chosen and that were stored since.
func (s *Service) chosen(ctx context.Context) (map[Mailbox]string, error) {
	memory, err := s.agreed.all(ctx)
	return chosenPINs(memory), err
}

// keepPINs stores the PINs that telephones have chosen while nobody heard of it. One that was replaced meanwhile is not stored, and goes
// with the next apply.
func (s *Service) keepPINs(ctx context.Context) error {
	configured, err := s.livePINs()
	if err != nil {
		return err
	}
	known, err := s.chosen(ctx)
	if err != nil {
		return err
	}
	var unread error
	for _, m := range sorted(configured) {
		pin, err := s.options.ReadPIN(m)
		if err != nil {
			unread = cmp.Or(unread, fmt.Errorf("mailbox %s@%s: %w", m.Number, m.Context, err))
			continue
		}
		last, is := known[m]
		if !is {
			last = configured[m]
		}
		if pin == "" || pin == last {
			continue
		}
		stored, err := s.options.KeepPIN(ctx, m, pin, last)
		if errors.Is(err, store.ErrUnavailable) {
			return err
		}
		if err != nil {
			slog.Warn("a PIN that was chosen by telephone is not stored", "mailbox", m.Number, "context", m.Context, "error", err)
		}
		if err != nil || !stored {
			continue
		}
		if err := s.agreed.set(ctx, m.at(), pin); err != nil {
			return err
		}
	}
	s.unreadPINs.about(unread, "PINs that were chosen by telephone cannot be read")
	return nil
}

// livePINs returns the PINs in the live files.
func (s *Service) livePINs() (map[Mailbox]string, error) {
	n, err := s.store.Live()
	if err != nil {
		return nil, err
	}
	return s.pinsIn(n)
}

// forgetPINs makes new PINs count: Asterisk prefers one that was changed by telephone to that of its file, for ever. Who takes a PIN away
// from somebody, or gives a mailbox to somebody else, must not leave them the one that they have chosen. chosen are those that were
// stored before the files were generated. It returns those of them that count no longer, for forgotten.
//
// It runs before the files are swapped. Interrupted in between, or taken back, the PINs before count, as they are in the files: never
// one that was to be replaced.
func (s *Service) forgetPINs(ctx context.Context, r *run, change generation.Change, chosen map[Mailbox]string) (gone []Mailbox, err error) {
	if change.From == 0 { // before the first generation nobody had a PIN of ours
		return nil, nil
	}
	before, err := s.pinsIn(change.From)
	if err != nil {
		return nil, err
	}
	after, err := s.pinsIn(change.To)
	if err != nil {
		return nil, err
	}
	for _, m := range sorted(after) {
		old, had := before[m]
		pin, is := chosen[m]
		if is {
			old = pin
		}
		if had && old == after[m] {
			continue
		}
		if err := s.options.ForgetPIN(m); err != nil {
			const message = "the new PIN does not count as long as the file secret.conf is in the mailbox's folder"
			slog.Warn(message, "mailbox", m.Number, "context", m.Context, "error", err)
			r.undone = append(r.undone, fmt.Errorf("mailbox %s@%s: %s: %w", m.Number, m.Context, message, err))
			// The next apply tries again, and until then it is none that nobody heard of.
			if err := s.keepStaying(ctx, m); err != nil {
				return nil, err
			}
		} else if is {
			gone = append(gone, m)
		}
	}
	for _, m := range sorted(chosen) {
		if _, there := after[m]; !there {
			gone = append(gone, m)
		}
	}
	return gone, nil
}

// keepStaying remembers that a telephone may have chosen the PIN in a mailbox's folder, which could not be forgotten.
func (s *Service) keepStaying(ctx context.Context, m Mailbox) error {
	stays, err := s.options.ReadPIN(m)
	if err != nil {
		stays = unreadPIN
	}
	if stays == "" {
		return nil
	}
	return s.agreed.set(ctx, m.at(), stays)
}

// forgotten removes PINs that telephones have chosen from the memory, once Asterisk has read the mailboxes without them: by the change, or,
// if that left their file as it was, once more. Until then the next apply finds them again. The caller holds reloading.
func (s *Service) forgotten(ctx context.Context, change generation.Change, gone []Mailbox) error {
	if len(gone) > 0 && s.client != nil && !slices.Contains(change.Modules, "app_voicemail") {
		if err := s.readMailboxes(ctx); err != nil {
			return fmt.Errorf("PINs that were chosen by telephone count until the mailboxes are reloaded: %w", err)
		}
	}
	for _, m := range gone {
		if err := s.agreed.set(ctx, m.at(), ""); err != nil {
			return err
		}
	}
	return nil
}

// readMailboxes makes Asterisk read the live mailboxes once more, although their file is the same.
func (s *Service) readMailboxes(ctx context.Context) error {
	asterisk, err := s.reach(ctx)
	if err != nil {
		return err
	}
	if err := s.store.Touch("voicemail.conf"); err != nil {
		return err
	}
	return asterisk.Reload(ctx, "app_voicemail")
}

func sorted(mailboxes map[Mailbox]string) []Mailbox {
	return slices.SortedFunc(maps.Keys(mailboxes), func(a, b Mailbox) int {
		return cmp.Or(strings.Compare(a.Context, b.Context), strings.Compare(a.Number, b.Number))
	})
}

// pinsIn returns the PINs in the files of a generation.
func (s *Service) pinsIn(n int64) (map[Mailbox]string, error) {
	_, files, err := s.store.Read(n)
	if err != nil {
		return nil, fmt.Errorf("looking for PINs: %w", err)
	}
	f, err := conf.Parse(files["voicemail.conf"])
	if err != nil {
		return nil, fmt.Errorf("looking for PINs: %w", err)
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
