package ami

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
)

// Doer sends actions: a [Conn], or a [Client], which waits for its connection first.
type Doer interface {
	Do(ctx context.Context, a Action) (Message, error)
	List(ctx context.Context, a Action) ([]Message, error)
}

// Command runs a line of Asterisk's console and returns what it printed. It needs write = command.
func Command(ctx context.Context, d Doer, line string) ([]string, error) {
	m, err := d.Do(ctx, Action{"Command", []Header{{"Command", line}}})
	if err != nil {
		return nil, err
	}
	return m.All("Output"), nil
}

// nothing is how Asterisk refuses a list of what it has not.
var nothing = regexp.MustCompile(`^(?:No |Unable to retrieve endpoint|Did not find context)|not found`)

// Listed returns the events of a name, or all if that is "", of the list that an action answers with: none where Asterisk has nothing to list.
func Listed(ctx context.Context, d Doer, a Action, event string) ([]Message, error) {
	all, err := d.List(ctx, a)
	if refused, is := errors.AsType[*ResponseError](err); is && nothing.MatchString(refused.Message) {
		return nil, nil
	}
	return slices.DeleteFunc(all, func(m Message) bool { return event != "" && m.Event() != event }), err
}

// Put stores a value in Asterisk's own database.
func Put(ctx context.Context, d Doer, family, key, value string) error {
	_, err := d.Do(ctx, Action{"DBPut", []Header{{"Family", family}, {"Key", key}, {"Val", value}}})
	return err
}

// SetVariable sets a global variable, or a function of the dialplan that needs no call, such as DEVICE_STATE(Custom:x). It needs
// write = call.
func SetVariable(ctx context.Context, d Doer, name, value string) error {
	_, err := d.Do(ctx, Action{"Setvar", []Header{{"Variable", name}, {"Value", value}}})
	return err
}

// Delete removes a value from Asterisk's own database; there may be none.
func Delete(ctx context.Context, d Doer, family, key string) error {
	_, err := d.Do(ctx, Action{"DBDel", []Header{{"Family", family}, {"Key", key}}})
	if refused, ok := errors.AsType[*ResponseError](err); ok && nothing.MatchString(refused.Message) {
		return nil
	}
	return err
}

// Value returns a value of Asterisk's own database, and whether there is one.
func Value(ctx context.Context, d Doer, family, key string) (value string, found bool, err error) {
	events, err := Listed(ctx, d, Action{"DBGet", []Header{{"Family", family}, {"Key", key}}}, "DBGetResponse")
	if len(events) > 0 {
		value, found = events[0].Get("Val"), true
	}
	return value, found, err
}

// Tree returns all values of a family of Asterisk's own database, by their keys. Asterisk has the action since version 20.2.
func Tree(ctx context.Context, d Doer, family string) (map[string]string, error) {
	events, err := Listed(ctx, d, Action{"DBGetTree", []Header{{"Family", family}}}, "DBGetTreeResponse")
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, m := range events {
		if key, ok := strings.CutPrefix(m.Get("Key"), "/"+family+"/"); ok {
			values[key] = m.Get("Val")
		}
	}
	return values, nil
}

// Endpoint returns what Asterisk has of a SIP endpoint, an event for it and one for each aor and auth, or nothing if there is no such one.
func Endpoint(ctx context.Context, d Doer, name string) ([]Message, error) {
	return Listed(ctx, d, Action{"PJSIPShowEndpoint", []Header{{"Endpoint", name}}}, "")
}

// Registrations returns the registrations at other systems that Asterisk has, by their names, each with its state, such as Registered.
func Registrations(ctx context.Context, d Doer) (map[string]string, error) {
	events, err := Listed(ctx, d, Action{Name: "PJSIPShowRegistrationsOutbound"}, "OutboundRegistrationDetail")
	all := map[string]string{}
	for _, m := range events {
		all[m.Get("ObjectName")] = m.Get("Status")
	}
	return all, err
}

// The names of what Asterisk has. Those of mailboxes, which are number@context, need write = reporting or call.
var (
	Endpoints   = names("PJSIPShowEndpoints", "EndpointList", func(m Message) string { return m.Get("ObjectName") })
	Queues      = names("QueueSummary", "QueueSummary", func(m Message) string { return m.Get("Queue") })
	ParkingLots = names("Parkinglots", "Parkinglot", func(m Message) string { return m.Get("Name") })
	Mailboxes   = names("VoicemailUsersList", "VoicemailUserEntry", func(m Message) string { return m.Get("VoiceMailbox") + "@" + m.Get("VMContext") })
)

// names returns what returns the names in the events of a list.
func names(action, event string, name func(Message) string) func(ctx context.Context, d Doer) (map[string]bool, error) {
	return func(ctx context.Context, d Doer) (map[string]bool, error) {
		events, err := Listed(ctx, d, Action{Name: action}, event)
		all := map[string]bool{}
		for _, m := range events {
			all[name(m)] = true
		}
		return all, err
	}
}

// HasMailbox reports whether Asterisk has a mailbox, number@context, without looking into the folders of all, as a list does. It needs
// write = reporting or call.
func HasMailbox(ctx context.Context, d Doer, name string) (bool, error) {
	number, in, _ := strings.Cut(name, "@")
	events, err := d.List(ctx, Action{"VoicemailUserStatus", []Header{{"Context", in}, {"Mailbox", number}}})
	return len(events) > 0, err
}

// Extensions returns the extensions of a context in Asterisk's dialplan, one for each of their priorities, or none if there is no such
// context. It needs write = reporting.
func Extensions(ctx context.Context, d Doer, name string) (all []string, err error) {
	events, err := Listed(ctx, d, Action{"ShowDialPlan", []Header{{"Context", name}}}, "")
	for _, e := range events {
		all = append(all, e.Get("Extension"))
	}
	return all, err
}
