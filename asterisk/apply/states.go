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
	"github.com/ringfence/ringfence/asterisk/userstate"
	"github.com/ringfence/ringfence/internal/store"
)

// on returns the value if it switches something on, otherwise "": there are several ways to say off.
func on(value string) string {
	if (userstate.State{Value: value}).On() {
		return value
	}
	return ""
}

// meet makes the users' states agree if Asterisk is there: they wait for no file and no reload. What fails is tried again, and told, at the
// end of the job.
func (s *Service) meet(ctx context.Context) {
	if s.client != nil && s.client.Ready() {
		_ = s.reconcile(ctx)
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
func (s *Service) reconcile(ctx context.Context) (err error) {
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
	states, err := s.options.States(ctx)
	if err != nil {
		return err
	}
	owners := map[string]bool{}
	for _, state := range states {
		owners[owner(at(state))] = true
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
		if theirs, err = s.theirs(ctx, states); err != nil {
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
		if err := s.agree(ctx, state, last[at(state)], theirs[at(state)]); err != nil {
			return err
		}
	}
	return nil
}

// at is where a state is: its family and its key.
func at(s userstate.State) string { return userstate.Family + "/" + s.Key() }

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

// lamps is the family in which Asterisk keeps the states of devices such as Custom:x.
const lamps = "CustomDevstate"

// forget removes states of users who are gone: in Asterisk, with their lamps, and then in the memory. Interrupted in between, the next
// time finds what is left. The same state may be there twice.
func (s *Service) forget(ctx context.Context, places []string) error {
	for _, at := range places {
		family, key, _ := strings.Cut(at, "/")
		if s.client != nil {
			lamp := strings.TrimPrefix(userstate.Parse(key, "").Device(), "Custom:")
			if err := ami.Delete(ctx, s.client, lamps, lamp); err != nil {
				return err
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
func (s *Service) agree(ctx context.Context, state userstate.State, last, theirs string) error {
	ours := on(state.Value)
	switch {
	case ours == theirs:
	case ours == last && theirs != last && s.options.Keep != nil:
		err := s.options.Keep(ctx, userstate.State{User: state.User, Name: state.Name, Value: theirs})
		if errors.Is(err, store.ErrUnavailable) {
			return err
		}
		if err != nil {
			slog.Warn("a change of a telephone is not stored", "key", state.Key(), "error", err)
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
	return s.agreed.set(ctx, at(state), ours)
}

// theirs returns the states that Asterisk has, each with the value that is on, or "". Before version 20.2, which cannot list them, they are
// those that are asked for.
func (s *Service) theirs(ctx context.Context, states []userstate.State) (map[string]string, error) {
	values, err := ami.Tree(ctx, s.client, userstate.Family)
	if _, refused := errors.AsType[*ami.ResponseError](err); refused {
		values = map[string]string{}
		for _, state := range states {
			if values[state.Key()], _, err = ami.Value(ctx, s.client, userstate.Family, state.Key()); err != nil {
				return nil, err
			}
		}
	}
	all := make(map[string]string, len(values))
	for key, value := range values {
		all[userstate.Family+"/"+key] = on(value)
	}
	return all, err
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

func (s *Service) tellState(ctx context.Context, state userstate.State) error {
	if _, err := s.reach(ctx); err != nil { // before it has booted it has no lamps
		return err
	}
	if err := ami.Put(ctx, s.client, userstate.Family, state.Key(), state.Value); err != nil {
		return err
	}
	lamp := "NOT_INUSE"
	if state.On() {
		lamp = "INUSE"
	}
	err := ami.SetVariable(ctx, s.client, "DEVICE_STATE("+state.Device()+")", lamp)
	if refused, ok := errors.AsType[*ami.ResponseError](err); ok && strings.Contains(refused.Message, "Permission denied") {
		slog.Warn("a lamp stays as it was: does the manager account have write = call?", "device", state.Device())
		return nil
	}
	return err
}

// News is what a telephone has changed: where the memory has it, and its value. See [StateNews] and [PINNews].
type News struct{ At, Value string }

// StateNews is a state that a telephone has changed.
func StateNews(s userstate.State) News { return News{at(s), on(s.Value)} }

// heard is news, with what stores it.
type heard struct {
	News

	store func(ctx context.Context) error
	at    time.Time
}

// maxHeard is how many changes of telephones may wait to be stored.
const maxHeard = 1000

// hear takes an event from Asterisk. It must not block.
func (s *Service) hear(event ami.Message) {
	s.contacts.hear(event)
	news, keep := s.options.Heard(event)
	if keep == nil {
		return
	}
	select {
	case s.heard <- heard{news, keep, time.Now()}:
	default:
		slog.Warn("too many changes of telephones wait: all will be compared", "at", news.At)
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
	if strings.HasPrefix(h.At, pinFamily+"/") {
		if known, err := s.agreed.get(ctx, h.At); err != nil || known == h.Value {
			return err
		}
	}
	if err := h.store(ctx); err != nil {
		return err
	}
	return s.agreed.set(ctx, h.At, h.Value)
}
