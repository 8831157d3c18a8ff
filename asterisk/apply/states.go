package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// exchangeStates makes the users' states agree, and leaves the files alone.
func (s *Service) exchangeStates(ctx context.Context) error {
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
func (s *Service) reconcile(ctx context.Context, states []State) (err error) {
	if s.client == nil || len(states) == 0 {
		return nil
	}
	last, err := s.agreed.all(ctx)
	if err != nil {
		return err
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
	}
	for _, state := range states {
		at := state.Family + "/" + state.Key
		if err := s.agree(ctx, state, last[at], theirs[at]); err != nil {
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
	return s.agreed.set(ctx, state.Family+"/"+state.Key, ours)
}

// theirs returns the states that are on in Asterisk.
func (s *Service) theirs(ctx context.Context, states []State) (map[string]string, error) {
	all := map[string]string{}
	trees := map[string]bool{}
	for _, state := range states {
		at := state.Family + "/" + state.Key
		whole, asked := trees[state.Family]
		if !asked {
			values, err := ami.Tree(ctx, s.client, state.Family)
			_, refused := errors.AsType[*ami.ResponseError](err)
			if err != nil && !refused {
				return nil, err
			}
			whole = !refused // before Asterisk 20.2 there is no such action
			trees[state.Family] = whole
			for key, value := range values {
				all[state.Family+"/"+key] = on(value)
			}
		}
		if whole {
			continue
		}
		value, _, err := ami.Value(ctx, s.client, state.Family, state.Key)
		if err != nil {
			return nil, err
		}
		all[at] = on(value)
	}
	return all, nil
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
					err = s.agreed.set(ctx, h.state.Family+"/"+h.state.Key, on(h.state.Value))
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
