package caddymodule

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/internal/asterisk/ami"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/tenant"
)

// statePaths are where confd keeps the state that telephones change, by its name.
var statePaths = map[string]string{
	asterisk.StateDND:           "/services/dnd",
	asterisk.StateUnconditional: "/forwards/unconditional",
	asterisk.StateBusy:          "/forwards/busy",
	asterisk.StateNoAnswer:      "/forwards/noanswer",
}

// stateAccesses are all that this process may do in the name of telephones.
var stateAccesses = []string{"confd.users.*.services.*.update", "confd.users.*.forwards.*.update"}

// heard returns the state that an event tells, and a function that stores it by the same operation as a client: with its checks, and
// its entry in the audit.
func (t *telephone) heard(event ami.Message) (apply.State, func(ctx context.Context) error) {
	if event.Event() != "UserEvent" || event.Get("UserEvent") != asterisk.StateEvent {
		return apply.State{}, nil
	}
	state := asterisk.State{User: event.Get("User"), Name: event.Get("Name"), Value: event.Get("Value")}
	path, known := statePaths[state.Name]
	if id, err := uuid.Parse(state.User); err != nil || id.String() != state.User || !known {
		return apply.State{}, nil
	}
	body := map[string]any{"enabled": state.On()}
	if state.Name != asterisk.StateDND && state.On() {
		body["destination"] = state.Value
	}
	return stateOf(state), func(ctx context.Context) error {
		master, err := tenant.Master(ctx, t.db)
		if err != nil {
			return err
		}
		may, err := acl.Compile(stateAccesses)
		if err != nil {
			return err
		}
		caller := &principal.Principal{UserUUID: uuid.Nil.String(), ACL: may, Affiliation: &principal.Affiliation{TenantUUID: master, Purpose: "internal"}}
		return callService(ctx, t.confd, caller, "", http.MethodPut, "/users/"+state.User+path, body, nil)
	}
}

func stateOf(s asterisk.State) apply.State {
	return apply.State{Family: asterisk.StateFamily, Key: s.Key(), Value: s.Value, On: s.On(), Device: s.Device()}
}
