package asterisk

import (
	"fmt"

	"github.com/ringfence/ringfence/asterisk/userstate"
	"github.com/ringfence/ringfence/confdsvc"
)

// stateLeft is the name of the state that a user has left a group, which confd has not either. It is the group's id, as in
// feature codes: with two UUIDs the name of the device would have more than the 79 bytes that Asterisk watches.
func stateLeft(groupID confdsvc.ID) string { return fmt.Sprintf("left-%d", groupID) }

// PINEvent is the event by which Asterisk (18.21, 20.6, 21.1) reports that a telephone has changed the PIN of a voicemail, with the headers
// Context, Mailbox and NewPassword.
const PINEvent = "VoicemailPasswordChange"

// StateOf returns the state of a user as confd has it, which is the initial state in Asterisk.
func StateOf(u *confdsvc.User) []userstate.State {
	forward := func(f confdsvc.Forward) string {
		if !f.Enabled || f.Destination == nil {
			return ""
		}
		return dialable(*f.Destination)
	}
	service := func(on bool) string {
		if on {
			return "1"
		}
		return "0"
	}
	state := func(name, value string) userstate.State {
		return userstate.State{User: u.UUID, Name: name, Value: value}
	}
	return []userstate.State{
		state(userstate.DND, service(u.Services.DND.Enabled)),
		state(userstate.IncallFilter, service(u.Services.IncallFilter.Enabled)),
		state(userstate.CallRecord, recorded(u)),
		state(userstate.Unconditional, forward(u.Forwards.Unconditional)),
		state(userstate.Busy, forward(u.Forwards.Busy)),
		state(userstate.NoAnswer, forward(u.Forwards.NoAnswer)),
	}
}

// recorded returns which calls of a user are recorded: 1 is all of them, as telephones switch it; otherwise there is a digit for each kind.
func recorded(u *confdsvc.User) string {
	switch kinds := letters([]choice{
		{u.CallRecordOutgoingExternalEnabled, "2"},
		{u.CallRecordOutgoingInternalEnabled, "3"},
		{u.CallRecordIncomingExternalEnabled, "4"},
		{u.CallRecordIncomingInternalEnabled, "5"},
	}...); kinds {
	case "":
		return "0"
	case "2345":
		return "1"
	default:
		return kinds
	}
}
