package ami

import (
	"context"
	"errors"
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
	if refused, ok := errors.AsType[*ResponseError](err); ok && strings.Contains(refused.Message, "not found") {
		return nil
	}
	return err
}

// Value returns a value of Asterisk's own database, and whether there is one.
func Value(ctx context.Context, d Doer, family, key string) (value string, found bool, err error) {
	events, err := d.List(ctx, Action{"DBGet", []Header{{"Family", family}, {"Key", key}}})
	if refused, ok := errors.AsType[*ResponseError](err); ok && strings.Contains(refused.Message, "not found") {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	for _, m := range events {
		if m.Event() == "DBGetResponse" {
			return m.Get("Val"), true, nil
		}
	}
	return "", false, nil
}

// Tree returns all values of a family of Asterisk's own database, by their keys. Asterisk has the action since version 20.2.
func Tree(ctx context.Context, d Doer, family string) (map[string]string, error) {
	events, err := d.List(ctx, Action{"DBGetTree", []Header{{"Family", family}}})
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, m := range events {
		if key, ok := strings.CutPrefix(m.Get("Key"), "/"+family+"/"); ok && m.Event() == "DBGetTreeResponse" {
			values[key] = m.Get("Val")
		}
	}
	return values, nil
}

// Endpoints returns the names of the SIP endpoints that Asterisk has.
func Endpoints(ctx context.Context, d Doer) (map[string]bool, error) {
	all, err := names(ctx, d, "PJSIPShowEndpoints", "EndpointList", func(m Message) string { return m.Get("ObjectName") })
	if refused, ok := errors.AsType[*ResponseError](err); ok && strings.HasPrefix(refused.Message, "No endpoints found") {
		return nil, nil
	}
	return all, err
}

// Endpoint returns what Asterisk has of a SIP endpoint, an event for it and one for each aor and auth, or nothing if there is no such one.
func Endpoint(ctx context.Context, d Doer, name string) ([]Message, error) {
	events, err := d.List(ctx, Action{"PJSIPShowEndpoint", []Header{{"Endpoint", name}}})
	if refused, ok := errors.AsType[*ResponseError](err); ok && strings.HasPrefix(refused.Message, "Unable to retrieve endpoint") {
		return nil, nil
	}
	return events, err
}

// Registrations returns the registrations at other systems that Asterisk has, by their names, each with its state, such as Registered.
func Registrations(ctx context.Context, d Doer) (map[string]string, error) {
	events, err := d.List(ctx, Action{Name: "PJSIPShowRegistrationsOutbound"})
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, m := range events {
		if m.Event() == "OutboundRegistrationDetail" {
			all[m.Get("ObjectName")] = m.Get("Status")
		}
	}
	return all, nil
}

// Queues returns the names of the queues that Asterisk has.
func Queues(ctx context.Context, d Doer) (map[string]bool, error) {
	return names(ctx, d, "QueueSummary", "QueueSummary", func(m Message) string { return m.Get("Queue") })
}

// ParkingLots returns the names of the parking lots that Asterisk has.
func ParkingLots(ctx context.Context, d Doer) (map[string]bool, error) {
	return names(ctx, d, "Parkinglots", "Parkinglot", func(m Message) string { return m.Get("Name") })
}

// Mailboxes returns the mailboxes that Asterisk has, as number@context. It needs write = reporting or call.
func Mailboxes(ctx context.Context, d Doer) (map[string]bool, error) {
	return names(ctx, d, "VoicemailUsersList", "VoicemailUserEntry", func(m Message) string { return m.Get("VoiceMailbox") + "@" + m.Get("VMContext") })
}

// HasMailbox reports whether Asterisk has a mailbox, without looking into the folders of all, as a list does. It needs write = reporting or call.
func HasMailbox(ctx context.Context, d Doer, number, in string) (bool, error) {
	events, err := d.List(ctx, Action{"VoicemailUserStatus", []Header{{"Context", in}, {"Mailbox", number}}})
	return len(events) > 0, err
}

// names returns the names in the events of a list.
func names(ctx context.Context, d Doer, action, event string, name func(Message) string) (map[string]bool, error) {
	events, err := d.List(ctx, Action{Name: action})
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, m := range events {
		if m.Event() == event {
			all[name(m)] = true
		}
	}
	return all, nil
}

// Extensions returns the extensions of a context in Asterisk's dialplan, one for each of their priorities, or none if there is no such
// context. It needs write = reporting.
func Extensions(ctx context.Context, d Doer, name string) (all []string, err error) {
	events, err := d.List(ctx, Action{"ShowDialPlan", []Header{{"Context", name}}})
	if refused, ok := errors.AsType[*ResponseError](err); ok && strings.HasPrefix(refused.Message, "Did not find context") {
		return nil, nil
	}
	for _, e := range events {
		all = append(all, e.Get("Extension"))
	}
	return all, err
}
