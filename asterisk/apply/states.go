package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
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
	return s.reconcile(ctx, s.options.States)
}

// meet makes the users' states agree if Asterisk is there: they wait for no file and no reload. What fails is tried again, and told, at the
// end of the job.
func (s *Service) meet(ctx context.Context) {
	if s.client != nil && s.client.Ready() {
		_ = s.exchangeStates(ctx)
	}
}

// reconcile makes the states that are stored and those of Asterisk agree. A side that still has the value on which both agreed last
// takes that of the other. If both have changed, which takes a broken connection between two that run, the stored value stands.
//
// The last value is written after the other side has taken it. Interrupted between the two, the next time finds that both sides agree.
//
// What Asterisk, or the memory, still has of a user who is gone is removed; see forget.
//
// The stored states are read when Asterisk is there and after the last values, and both are written in the other order. So what a client or
// a telephone changes meanwhile may look like news of the API, which Asterisk is told once more, but never like an old value.
func (s *Service) reconcile(ctx context.Context, read func(context.Context) ([]State, error)) (err error) {
	if s.client != nil && s.compare.Load() {
		if _, err := s.reach(ctx); err != nil {
			return err
		}
	}
	last, err := s.agreed.all(ctx)
	if err != nil {
		return err
	}
	chosenPINs(last) // they are no states
	states, err := read(ctx)
	if err != nil {
		return err
	}
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

func (a *agreed) get(ctx context.Context, at string) (string, error) {
	values, err := store.Select[string](ctx, a.db, `SELECT value FROM asterisk_state WHERE asterisk = $1 AND at = $2`, a.asterisk, at)
	if err != nil || len(values) == 0 {
		return "", err
	}
	return values[0], nil
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
	if _, err := s.reach(ctx); err != nil { // before it has booted it has no lamps
		return err
	}
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
	at    time.Time
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
	case s.heard <- heard{state, keep, time.Now()}:
	default:
		slog.Warn("too many changes of telephones wait: all will be compared", "key", state.Key)
		s.compareLater()
	}
}

// compareLater treats changes of telephones as if nobody had heard of them: the next job compares all values.
func (s *Service) compareLater() {
	s.compare.Store(true)
	poke(s.changed)
}

// keepHeard stores what telephones change, in their order.
func (s *Service) keepHeard(ctx context.Context) {
	var failing complaint
	for {
		select {
		case <-ctx.Done():
			return
		case h := <-s.heard:
			err := s.keepFresh(ctx, h)
			if ctx.Err() != nil {
				return
			}
			failing.about(err, "a change of a telephone is not stored")
		}
	}
}

// keepFresh stores a change of a telephone. If it cannot be stored at once, it is compared later: another node may have stored it long ago,
// and a client may have replaced it since.
func (s *Service) keepFresh(ctx context.Context, h heard) error {
	if time.Since(h.at) > s.settings.Late {
		s.compareLater()
		return nil
	}
	err := s.keepNew(ctx, h)
	if errors.Is(err, store.ErrUnavailable) {
		s.compareLater()
	}
	return err
}

// keepNew stores a change of a telephone, unless it is a PIN that was stored already: confd may have another one since, which will be
// applied soon.
func (s *Service) keepNew(ctx context.Context, h heard) error {
	value := on(h.state.Value)
	if h.state.Family == pinFamily {
		value = h.state.Value // 0 is a PIN, too
		if known, err := s.agreed.get(ctx, h.state.at()); err != nil || known == value {
			return err
		}
	}
	if err := h.store(ctx); err != nil {
		return err
	}
	return s.agreed.set(ctx, h.state.at(), value)
}
