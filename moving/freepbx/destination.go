package freepbx

import (
	"fmt"
	"strings"
)

// places are what FreePBX's destinations may lead to here, by their numbers.
type places struct {
	users map[string]*person
	// others are groups, queues and conferences, by the word of the destination's context and the number.
	others map[[2]string]object
}

// person is a user who has a number.
type person struct {
	id       int64
	endpoint string // the UUID of the SIP endpoint of the line with the number, or ""
	mailbox  int64  // 0: none
}

// collections are those that destinations lead to by a number: the context there, the collection, and the type and the key of ours.
var collections = []struct{ context, path, kind, key string }{
	{"ext-group", "/groups", "group", "group_id"},
	{"ext-queues", "/queues", "queue", "queue_id"},
	{"ext-meetme", "/conferences", "conference", "conference_id"},
}

// to returns our destination of one of FreePBX: CONTEXT,NUMBER,PRIORITY. It is nil, without a reason, where there is none: calls go on as usual.
func (p *places) to(text, own string) (destination object, reason string) {
	parts := strings.Split(text, ",")
	if text == "" {
		return nil, ""
	}
	if len(parts) != 3 {
		return nil, "the destination has not the form context,number,priority"
	}
	context, number := strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1])
	switch context {
	case "from-did-direct", "ext-local", "from-internal":
		return p.toNumber(number, own, parts[2])
	case "app-blackhole":
		switch number {
		case "busy", "congestion":
			return object{"type": "hangup", "cause": number}, ""
		case "hangup":
			return object{"type": "hangup", "cause": "normal"}, ""
		}
		return nil, fmt.Sprintf("it leads to the signal %.40q", number)
	}
	for _, c := range collections {
		if c.context == context {
			if found := p.others[[2]string{context, number}]; found != nil {
				return found, ""
			}
			return nil, fmt.Sprintf("it leads to a %s, which is not in these files: make one with this number, and import once more", c.kind)
		}
	}
	return nil, fmt.Sprintf("it leads to %.60q, which is not in these files", context)
}

// toNumber leads to a user, or their mailbox: vmb, vmu, vms and vmi before the number are the greeting of a busy one, of an absent one, none, and
// the instructions alone.
func (p *places) toNumber(number, own, priority string) (object, string) {
	if len(number) > 3 && strings.HasPrefix(number, "vm") {
		box := p.users[number[3:]]
		if box == nil || box.mailbox == 0 {
			return nil, "it leads to a mailbox that is not here"
		}
		to := object{"type": "voicemail", "voicemail_id": box.mailbox}
		switch number[2] {
		case 'b':
			to["greeting"] = "busy"
		case 'u':
			to["greeting"] = "unavailable"
		case 's':
			to["skip_instructions"] = true
		}
		return to, ""
	}
	switch user := p.users[number]; {
	case number == own && priority == "dest":
		return nil, ""
	case user != nil:
		return object{"type": "user", "user_id": user.id}, ""
	default:
		return nil, "it leads to a number that is not here"
	}
}
