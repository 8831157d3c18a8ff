package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/asterisk/ami"
	"github.com/ringfence/ringfence/internal/local"
)

// statePaths are where confd keeps the state of a user that telephones change, by its name.
var statePaths = map[string]string{
	asterisk.StateDND:           "/services/dnd",
	asterisk.StateIncallFilter:  "/services/incallfilter",
	asterisk.StateCallRecord:    callRecordPath,
	asterisk.StateUnconditional: "/forwards/unconditional",
	asterisk.StateBusy:          "/forwards/busy",
	asterisk.StateNoAnswer:      "/forwards/noanswer",
}

// callRecordPath is that of the user itself, who has the attribute call_record_enabled.
const callRecordPath = "/"

// stateAccesses are all that this process may do in the name of telephones.
var stateAccesses = []string{"confd.users.*.update", "confd.users.*.services.*.update", "confd.users.*.forwards.*.update"}

// heard returns the state that an event tells, and a function that stores it by the same operation as a client: with its checks, and
// its entry in the audit.
func (t *telephone) heard(event ami.Message) (apply.State, func(ctx context.Context) error) {
	if event.Event() == asterisk.PINEvent {
		m, pin := apply.Mailbox{Context: event.Get("Context"), Number: event.Get("Mailbox")}, event.Get("NewPassword")
		return apply.ChosenPIN(m, pin), func(ctx context.Context) error {
			_, err := t.storePIN(ctx, m, pin, nil)
			return err
		}
	}
	if event.Event() != "UserEvent" || event.Get("UserEvent") != asterisk.StateEvent {
		return apply.State{}, nil
	}
	state := asterisk.State{User: event.Get("User"), Name: event.Get("Name"), Value: event.Get("Value")}
	if !isState(state) {
		return apply.State{}, nil
	}
	return stateOf(state), func(ctx context.Context) error { return t.store(ctx, state) }
}

// keep stores what a telephone has changed while nobody heard of it.
func (t *telephone) keep(ctx context.Context, s apply.State) error {
	state := asterisk.State{Value: s.Value}
	state.User, state.Name, _ = strings.Cut(s.Key, "/")
	if !isState(state) {
		return fmt.Errorf("%q is no state of a user", s.Key)
	}
	return t.store(ctx, state)
}

// isState reports whether a state has a known name, and its user's UUID the form of one.
func isState(s asterisk.State) bool {
	id, err := uuid.Parse(s.User)
	return err == nil && id.String() == s.User && statePaths[s.Name] != ""
}

func (t *telephone) store(ctx context.Context, state asterisk.State) error {
	path, body := statePaths[state.Name], map[string]any{"enabled": state.On()}
	switch {
	case path == callRecordPath:
		path, body = "", map[string]any{"call_record_enabled": state.On()}
	case strings.HasPrefix(path, "/forwards/") && state.On():
		body["destination"] = state.Value
	}
	caller, err := local.Caller(ctx, t.db, stateAccesses...)
	if err != nil {
		return err
	}
	return local.Call(ctx, t.confd, caller, "", http.MethodPut, "/users/"+state.User+path, body, nil)
}

// pinAccesses are all that this process may do with a PIN that a telephone has chosen.
var pinAccesses = []string{"confd.voicemails.read", "confd.voicemails.*.read", "confd.voicemails.*.update"}

// maxPIN is how many digits a PIN may have in confd.
const maxPIN = 80

// storePIN stores the PIN that a telephone has chosen for a mailbox, if that is one of confd's, and reports whether confd has it now. With
// last, one that confd has changed since it was last stands; without, one that confd changes while this runs. An error has no PIN in it.
func (t *telephone) storePIN(ctx context.Context, m apply.Mailbox, pin string, last *string) (stored bool, err error) {
	if pin == "" || len(pin) > maxPIN || strings.Trim(pin, "0123456789") != "" {
		return false, errors.New("a PIN in confd has up to 80 digits, and nothing else")
	}
	caller, err := local.Caller(ctx, t.db, pinAccesses...)
	if err != nil {
		return false, err
	}
	var found struct{ Items []*confdsvc.Voicemail }
	query := url.Values{"recurse": {"true"}, "context": {m.Context}, "number": {m.Number}}
	if err := local.Call(ctx, t.confd, caller, "", http.MethodGet, "/voicemails?"+query.Encode(), nil, &found); err != nil {
		return false, fmt.Errorf("looking for the voicemail: %w", err)
	}
	for _, v := range found.Items {
		if v.Context != m.Context || v.Number != m.Number {
			continue
		}
		before := asterisk.PIN(v)
		if last != nil {
			before = *last
		}
		err := local.Update(ctx, t.confd, caller, fmt.Sprintf("/voicemails/%d", v.ID), func(now *confdsvc.Voicemail) any {
			current := asterisk.PIN(now)
			if stored = current == pin || current == before; !stored || current == pin {
				return nil
			}
			return map[string]string{"password": pin}
		})
		if refused, ok := errors.AsType[*local.RefusedError](err); ok {
			return false, fmt.Errorf("confd refuses it with status %d", refused.Status)
		}
		return stored && err == nil, err
	}
	return false, nil
}

func stateOf(s asterisk.State) apply.State {
	return apply.State{Family: asterisk.StateFamily, Key: s.Key(), Value: s.Value, On: s.On(), Device: s.Device()}
}

// lampOf returns the device that shows the state with this key.
func lampOf(key string) string {
	user, name, _ := strings.Cut(key, "/")
	return asterisk.State{User: user, Name: name}.Device()
}
