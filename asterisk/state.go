package asterisk

import (
	"fmt"

	"github.com/ringfence/ringfence/confdsvc"
)

// StateFamily is the family of the state of users in Asterisk's database, which telephones change by feature codes and clients through the API. The dialplan reads
// it there in each call, so that a change needs no reload:
//
//	/ringfence/{user's UUID}/dnd             1: do not disturb; anything else: off
//	/ringfence/{user's UUID}/unconditional   the number to which calls are forwarded; empty or missing: off
//	/ringfence/{user's UUID}/busy            the same, while the user is on the telephone
//	/ringfence/{user's UUID}/noanswer        the same, when nobody answers
//	/ringfence/{user's UUID}/incallfilter    1: the user hears who calls, and may refuse the call
//	/ringfence/{user's UUID}/callrecord      1: calls from and to the user are recorded
//	/ringfence/{user's UUID}/novoicemail     1: the mailbox takes no calls; only telephones change it
//	/ringfence/{user's UUID}/left-{group}    1: the user has left the group with this id; only telephones change it
//
// So the family of AMI's DBPut is "ringfence", and its key "{UUID}/dnd". For each there is a device, which lamps watch: INUSE while it
// is on. A telephone's change sends the event UserEvent, with UserEvent: RingfenceState and the headers User (the UUID), Name and Value.
const StateFamily = "ringfence"

// The names of the state of a user.
const (
	StateDND           = "dnd"
	StateUnconditional = "unconditional"
	StateBusy          = "busy"
	StateNoAnswer      = "noanswer"
	StateIncallFilter  = "incallfilter"
	StateCallRecord    = "callrecord"
	StateNoVoicemail   = "novoicemail" // confd has no attribute for it
)

// stateLeft is the name of the state that a user has left a group, which confd has not either. It is the group's id, as in
// feature codes: with two UUIDs the name of the device would have more than the 79 bytes that Asterisk watches.
func stateLeft(groupID int64) string { return fmt.Sprintf("left-%d", groupID) }

// StateEvent is the UserEvent by which the dialplan reports that a telephone has changed state.
const StateEvent = "RingfenceState"

// PINEvent is the event by which Asterisk (18.21, 20.6, 21.1) reports that a telephone has changed the PIN of a voicemail, with the headers
// Context, Mailbox and NewPassword.
const PINEvent = "VoicemailPasswordChange"

// State is one value of a user's state.
type State struct {
	User, Name, Value string
}

// Key returns the key of the value in the family StateFamily.
func (s State) Key() string { return s.User + "/" + s.Name }

// Device returns the device that lamps watch: its state is INUSE if the value is on, NOT_INUSE otherwise.
func (s State) Device() string { return stateDevice(s.User, s.Name) }

// On reports whether the value switches something on.
func (s State) On() bool { return s.Value != "" && s.Value != "0" }

func stateDevice(userUUID, name string) string {
	return fmt.Sprintf("Custom:ringfence-%s-%s", name, userUUID)
}

// StateOf returns the state of a user as confd has it, which is the initial state in Asterisk.
func StateOf(u *confdsvc.User) []State {
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
	records := u.CallRecordIncomingExternalEnabled && u.CallRecordIncomingInternalEnabled && u.CallRecordOutgoingExternalEnabled && u.CallRecordOutgoingInternalEnabled
	return []State{
		{u.UUID, StateDND, service(u.Services.DND.Enabled)},
		{u.UUID, StateIncallFilter, service(u.Services.IncallFilter.Enabled)},
		{u.UUID, StateCallRecord, service(records)},
		{u.UUID, StateUnconditional, forward(u.Forwards.Unconditional)},
		{u.UUID, StateBusy, forward(u.Forwards.Busy)},
		{u.UUID, StateNoAnswer, forward(u.Forwards.NoAnswer)},
	}
}
