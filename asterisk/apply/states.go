package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/asterisk/ami"
	"github.com/ringfence/ringfence/internal/store"
)

// State is a value of a user's state, which is in Asterisk's own database and not in the files.
type State struct {
	Family, Key, Value string
	// On reports whether the value switches something on. Device is what lamps watch: it is in use while the value is on.
	On     bool
	Device string
}

// isOn reports whether a value of Asterisk's own database switches something on.
func isOn(value string) bool { return value != "" && value != "0" }

// on returns the value if it switches something on, otherwise "": there are several ways to say off.
func on(value string) string {
	if isOn(value) {
		return value
	}
	return ""
}

// exchangeStates makes the users' states agree, and leaves the files alone. Another node may have asked for it.
func (s *Service) exchangeStates(ctx context.Context) error {
	if s.options.States == nil {
		return nil
	}
	states, err := s.options.States(ctx)
	if err != nil {
		return err
	}
	return s.reconcile(ctx, states)
}

// reconcile makes the states that are stored and those of Asterisk agree. A side that still has the value on which both agreed last
// takes that of the other. If both have changed, which takes a broken connection between two that run, the stored value stands.
//
// The last value is written after the other side has taken it. Interrupted between the two, the next time finds that both sides agree.
//
// What Asterisk, or the memory, still has of a user who is gone is removed; see forget.
func (s *Service) reconcile(ctx context.Context, states []State) (err error) {
	last, err := s.agreed.all(ctx)
	if err != nil {
		return err
	}
	chosenPINs(last) // they are no states
	owners := map[string]bool{}
	for _, state := range states {
		owners[owner(state.at())] = true
	}
	left := notOf(owners, last)
	if s.client == nil {
		return s.forget(ctx, left)
	}
	if len(left) > 0 || len(notOf(owners, s.owners)) > 0 { // Asterisk alone may have more of theirs
		s.compare.Store(true)
	}
	theirs := last // while events come, Asterisk has nothing else
	if s.compare.Swap(false) {
		defer func() {
			if err != nil {
				s.compare.Store(true)
			}
		}()
		if theirs, err = s.theirs(ctx, families(owners, last, s.owners), states); err != nil {
			return fmt.Errorf("reading the state of users: %w", err)
		}
		if err := s.forget(ctx, append(left, notOf(owners, theirs)...)); err != nil {
			return fmt.Errorf("removing the state of users who are gone: %w", err)
		}
		if err := s.keepPINs(ctx); err != nil {
			return fmt.Errorf("storing the PINs that were chosen by telephone: %w", err)
		}
	}
	s.owners = owners
	for _, state := range states {
		if err := s.agree(ctx, state, last[state.at()], theirs[state.at()]); err != nil {
			return err
		}
	}
	return nil
}

// at is where a state is: its family and its key.
func (s State) at() string { return s.Family + "/" + s.Key }

// owner returns whose a state is: its family, and the part of its key that names the user.
func owner(at string) string {
	family, key, _ := strings.Cut(at, "/")
	user, _, _ := strings.Cut(key, "/")
	return family + "/" + user
}

// notOf returns the places that are none of these owners', in order.
func notOf[V any](owners map[string]bool, places map[string]V) []string {
	var all []string
	for _, at := range slices.Sorted(maps.Keys(places)) {
		if !owners[owner(at)] {
			all = append(all, at)
		}
	}
	return all
}

// families returns the families in which there may be something.
func families(owners map[string]bool, last map[string]string, before map[string]bool) map[string]bool {
	all := map[string]bool{}
	for _, at := range slices.Concat(slices.Collect(maps.Keys(owners)), slices.Collect(maps.Keys(last)), slices.Collect(maps.Keys(before))) {
		family, _, _ := strings.Cut(at, "/")
		all[family] = true
	}
	return all
}

// lamps is the family in which Asterisk keeps the states of devices such as Custom:x.
const lamps = "CustomDevstate"

// forget removes states of users who are gone: in Asterisk, with their lamps, and then in the memory. Interrupted in between, the next
// time finds what is left. The same state may be there twice.
func (s *Service) forget(ctx context.Context, places []string) error {
	for _, at := range places {
		family, key, _ := strings.Cut(at, "/")
		if s.client != nil {
			if s.options.Lamp != nil {
				if lamp, is := strings.CutPrefix(s.options.Lamp(key), "Custom:"); is {
					if err := ami.Delete(ctx, s.client, lamps, lamp); err != nil {
						return err
					}
				}
			}
			if err := ami.Delete(ctx, s.client, family, key); err != nil {
				return err
			}
		}
		if err := s.agreed.set(ctx, at, ""); err != nil {
			return err
		}
	}
	return nil
}

// agree makes one state the same on both sides.
func (s *Service) agree(ctx context.Context, state State, last, theirs string) error {
	ours := on(state.Value)
	switch {
	case ours == theirs:
	case ours == last && theirs != last && s.options.Keep != nil:
		err := s.options.Keep(ctx, State{Family: state.Family, Key: state.Key, Value: theirs, On: isOn(theirs), Device: state.Device})
		if errors.Is(err, store.ErrUnavailable) {
			return err
		}
		if err != nil {
			slog.Warn("a change of a telephone is not stored", "key", state.Key, "error", err)
			return nil
		}
		ours = theirs
	default:
		if err := s.tellState(ctx, state); err != nil {
			return fmt.Errorf("telling Asterisk the state of users: %w", err)
		}
	}
	if ours == last {
		return nil
	}
	return s.agreed.set(ctx, state.at(), ours)
}

// theirs returns the states that Asterisk has in some families, each with the value that is on, or "". Before version 20.2, which cannot
// list them, they are those that are asked for.
func (s *Service) theirs(ctx context.Context, families map[string]bool, states []State) (map[string]string, error) {
	all := map[string]string{}
	for _, family := range slices.Sorted(maps.Keys(families)) {
		values, err := ami.Tree(ctx, s.client, family)
		if _, refused := errors.AsType[*ami.ResponseError](err); refused {
			err = s.asked(ctx, family, states, all)
		}
		if err != nil {
			return nil, err
		}
		for key, value := range values {
			all[family+"/"+key] = on(value)
		}
	}
	return all, nil
}

// asked asks Asterisk for the states of a family, one by one.
func (s *Service) asked(ctx context.Context, family string, states []State, into map[string]string) error {
	for _, state := range states {
		if state.Family != family {
			continue
		}
		value, _, err := ami.Value(ctx, s.client, family, state.Key)
		if err != nil {
			return err
		}
		into[state.at()] = on(value)
	}
	return nil
}

// agreed is the memory of the values on which both sides agreed last: those that are on.
type agreed struct {
	db       store.DB
	asterisk string
}

func (a *agreed) all(ctx context.Context) (map[string]string, error) {
	rows, err := store.Select[struct {
		At    string `db:"at"`
		Value string `db:"value"`
	}](ctx, a.db, `SELECT at, value FROM asterisk_state WHERE asterisk = $1`, a.asterisk)
	if err != nil {
		return nil, err
	}
	all := make(map[string]string, len(rows))
	for _, r := range rows {
		all[r.At] = r.Value
	}
	return all, nil
}

func (a *agreed) set(ctx context.Context, at, value string) error {
	sql, args := `DELETE FROM asterisk_state WHERE asterisk = $1 AND at = $2`, []any{a.asterisk, at}
	if value != "" {
		sql = `INSERT INTO asterisk_state (asterisk, at, value) VALUES ($1, $2, $3) ON CONFLICT (asterisk, at) DO UPDATE SET value = excluded.value`
		args = append(args, value)
	}
	_, err := a.db.Exec(ctx, sql, args...)
	return err
}

func (s *Service) tellState(ctx context.Context, state State) error {
	if err := ami.Put(ctx, s.client, state.Family, state.Key, state.Value); err != nil {
		return err
	}
	lamp := "NOT_INUSE"
	if state.On {
		lamp = "INUSE"
	}
	err := ami.SetVariable(ctx, s.client, "DEVICE_STATE("+state.Device+")", lamp)
	if refused, ok := errors.AsType[*ami.ResponseError](err); ok && strings.Contains(refused.Message, "Permission denied") {
		slog.Warn("a lamp stays as it was: does the manager account have write = call?", "device", state.Device)
		return nil
	}
	return err
}

// heard is a change that a telephone has made.
type heard struct {
	state State
	store func(ctx context.Context) error
}

// maxHeard is how many changes of telephones may wait to be stored.
const maxHeard = 1000

// hear takes an event from Asterisk. It must not block.
func (s *Service) hear(event ami.Message) {
	if s.options.Heard == nil {
		return
	}
	state, keep := s.options.Heard(event)
	if keep == nil {
		return
	}
	select {
	case s.heard <- heard{state, keep}:
	default:
		slog.Warn("too many changes of telephones wait: all will be compared", "key", state.Key)
		s.compare.Store(true)
		poke(s.changed)
	}
}

// keepHeard stores what telephones change, in their order. While the database cannot be used, it tries again.
func (s *Service) keepHeard(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case h := <-s.heard:
			var failing complaint
			for {
				err := h.store(ctx)
				if err == nil {
					err = s.agreed.set(ctx, h.state.at(), on(h.state.Value))
				}
				if ctx.Err() != nil {
					return
				}
				failing.about(err, "a change of a telephone is not stored")
				if !errors.Is(err, store.ErrUnavailable) {
					break
				}
				pause(ctx, s.settings.Poll)
			}
		}
	}
}
