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

// push tells Asterisk the states that have changed in what is stored. What a telephone has changed since stays as it is, until the
// same value is changed in what is stored. Of what was never told since this start, only what is on is told, and only where Asterisk
// knows nothing. A state that could not be told is told with the next job, which the next connection asks for.
func (s *Service) push(ctx context.Context, states []State) error {
	if s.client == nil {
		return nil
	}
	for _, state := range states {
		at := [2]string{state.Family, state.Key}
		before, told := s.knows(at)
		if told && before == state.Value {
			continue
		}
		tell := told
		if !told && state.On {
			_, there, err := ami.Value(ctx, s.client, state.Family, state.Key)
			if err != nil {
				return fmt.Errorf("reading the state of users: %w", err)
			}
			tell = !there
		}
		if tell {
			if err := s.tellState(ctx, state); err != nil {
				return fmt.Errorf("telling Asterisk the state of users: %w", err)
			}
		}
		s.learn(at, state.Value)
	}
	return nil
}

func (s *Service) knows(at [2]string) (value string, told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, told = s.known[at]
	return value, told
}

func (s *Service) learn(at [2]string, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[at] = value
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
		slog.Warn("a change of a telephone is not stored: too many wait", "key", state.Key)
	}
}

// keepHeard stores what telephones change, in their order. While the database cannot be used, it tries again.
func (s *Service) keepHeard(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case h := <-s.heard:
			s.learn([2]string{h.state.Family, h.state.Key}, h.state.Value) // Asterisk has it already
			var failing complaint
			for {
				err := h.store(ctx)
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
