// Package userstate says what the state of users is that telephones and clients change while calls run.
package userstate

import "strings"

// Family is the family of the state of users in Asterisk's database, which telephones change by feature codes and clients through the API. The dialplan reads
// it there in each call, so that a change needs no reload:
//
//	/ringfence/{user's UUID}/dnd             1: do not disturb; anything else: off
//	/ringfence/{user's UUID}/unconditional   the number to which calls are forwarded; empty or missing: off
//	/ringfence/{user's UUID}/busy            the same, while the user is on the telephone
//	/ringfence/{user's UUID}/noanswer        the same, when nobody answers
//	/ringfence/{user's UUID}/incallfilter    1: the user hears who calls, and may refuse the call
//	/ringfence/{user's UUID}/callrecord      1: calls from and to the user are recorded; or a digit for each kind of calls that is: 2 to the outside,
//	                                         3 to the inside, 4 from outside, 5 from inside
//	/ringfence/{user's UUID}/novoicemail     1: the mailbox takes no calls; only telephones change it
//	/ringfence/{user's UUID}/left-{group}    1: the user has left the group with this id; only telephones change it
//	/ringfence/{user's UUID}/filter-{member} 1: the call filter in which the user has this number is on for them; only telephones change it
//
// So the family of AMI's DBPut is "ringfence", and its key "{UUID}/dnd". For each there is a device, which lamps watch: INUSE while it
// is on. A telephone's change sends the event UserEvent, with UserEvent: RingfenceState and the headers User (the UUID), Name and Value.
const Family = "ringfence"

// The names of the state of a user.
const (
	DND           = "dnd"
	Unconditional = "unconditional"
	Busy          = "busy"
	NoAnswer      = "noanswer"
	IncallFilter  = "incallfilter"
	CallRecord    = "callrecord"
	NoVoicemail   = "novoicemail" // confd has no attribute for it
)

// Event is the UserEvent by which the dialplan reports that a telephone has changed state.
const Event = "RingfenceState"

// State is one value of a user's state.
type State struct{ User, Name, Value string }

// Parse returns the value with a key in the family.
func Parse(key, value string) State {
	user, name, _ := strings.Cut(key, "/")
	return State{user, name, value}
}

// Key returns the key of the value in the family.
func (s State) Key() string { return s.User + "/" + s.Name }

// Device returns the device that lamps watch: its state is INUSE if the value is on, NOT_INUSE otherwise.
func (s State) Device() string { return "Custom:ringfence-" + s.Name + "-" + s.User }

// On reports whether the value switches something on.
func (s State) On() bool { return s.Value != "" && s.Value != "0" }
