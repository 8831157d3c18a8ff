package wazo

import (
	"encoding/json"
	"maps"
	"regexp"
	"strconv"
	"strings"
)

// led says where calls are sent: the type and keys that confd stores, and the key of them that names an object, with its value.
type led struct {
	kind, sub string
	keys      map[string]any
	target    string
	// reason says why calls cannot be sent there.
	reason string
}

// destination adds to a row where its calls are sent, from the columns of an action and of its two arguments.
func destination(action, first, second string) func(*spool, map[string]*string) error {
	return func(_ *spool, row map[string]*string) error {
		if row[action] == nil {
			return nil
		}
		d := leads(*row[action], text(row[first]), text(row[second]))
		if d.reason == "" {
			d.check()
		}
		row["type"], row["sub"], row["keys"], row["reason"] = &d.kind, &d.sub, jsonText(d.keys), orNull(d.reason)
		if d.target != "" {
			row["target"] = &d.target
			switch key := d.keys[d.target].(type) {
			case int64:
				row["target_key"] = new(strconv.FormatInt(key, 10))
			case string:
				row["target_key"] = &key
			}
		}
		return nil
	}
}

// tenantsSounds is where the platform has a tenant's own sounds, which are named there by their paths, and here by category and name.
var tenantsSounds = regexp.MustCompile(`^/var/lib/wazo/sounds/tenants/[0-9a-f-]{36}/`)

func soundOf(name string) string { return tenantsSounds.ReplaceAllString(name, "") }

// toObject are the actions that lead to an object, with the key that names it, and whether that is a number.
var toObject = map[string]struct{ kind, key string }{
	"user": {"user", "user_id"}, "group": {"group", "group_id"}, "conference": {"conference", "conference_id"}, "ivr": {"ivr", "ivr_id"},
	"voicemail": {"voicemail", "voicemail_id"}, "outcall": {"outcall", "outcall_id"}, "queue": {"queue", "queue_id"},
}

// leads reads an action of the platform's dialplan.
func leads(action, first, second string) led {
	if to, ok := toObject[action]; ok {
		id, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return led{reason: "leads to " + to.kind + " " + first + ", which is no number"}
		}
		d := led{kind: to.kind, keys: map[string]any{to.key: id}, target: to.key}
		d.more(second)
		return d
	}
	switch action {
	case "none":
		return led{kind: "none", keys: map[string]any{}}
	case "extension":
		return led{kind: "extension", keys: map[string]any{"exten": first, "context": second}}
	case "sound":
		return led{kind: "sound", keys: map[string]any{
			"filename": soundOf(first), "skip": strings.Contains(second, "skip"), "no_answer": strings.Contains(second, "noanswer"),
		}}
	case "custom":
		return led{kind: "custom", keys: map[string]any{"command": first}}
	case "endcall:hangup":
		return led{kind: "hangup", sub: "normal", keys: map[string]any{}}
	case "endcall:busy", "endcall:congestion":
		return led{kind: "hangup", sub: strings.TrimPrefix(action, "endcall:"), keys: map[string]any{"timeout": seconds(first)}}
	case "application:callbackdisa", "application:disa":
		sub := map[string]string{"application:callbackdisa": "callback_disa", "application:disa": "disa"}[action]
		return led{kind: "application", sub: sub, keys: map[string]any{"context": second, "pin": orNull(first)}}
	case "application:directory":
		return led{kind: "application", sub: "directory", keys: map[string]any{"context": first}}
	case "application:voicemailmain":
		return led{kind: "application", sub: "voicemail", keys: map[string]any{"context": first}}
	case "application:faxtomail":
		return led{kind: "application", sub: "fax_to_mail", keys: map[string]any{"email": first}}
	case "application:custom":
		return led{kind: "application", sub: "custom", keys: map[string]any{"application_uuid": first}, target: "application_uuid"}
	case "switchboard":
		return led{kind: "switchboard", keys: map[string]any{"switchboard_uuid": first, "ring_time": seconds(second)}, target: "switchboard_uuid"}
	default:
		return led{reason: "leads to " + strconv.Quote(action) + ", which is not here"}
	}
}

// more adds what the second argument says of an object to which calls lead.
func (d *led) more(second string) {
	switch d.kind {
	case "user":
		ring, music, _ := strings.Cut(second, ";")
		d.keys["ring_time"], d.keys["moh_uuid"] = seconds(ring), orNull(music)
	case "group":
		d.keys["ring_time"] = seconds(second)
	case "queue":
		d.keys["ring_time"], d.keys["skill_rule_id"], d.keys["skill_rule_variables"] = nil, nil, nil
		ring, rule, _ := strings.Cut(second, ";")
		if n := seconds(ring); n != 0.0 {
			d.keys["ring_time"] = n
		}
		number, variables, _ := strings.Cut(rule, ";")
		if id, err := strconv.ParseInt(number, 10, 64); err == nil {
			d.keys["skill_rule_id"] = id
			named := map[string]string{} // with | for each comma
			if json.Unmarshal([]byte(strings.ReplaceAll(variables, "|", ",")), &named) == nil && len(named) > 0 {
				d.keys["skill_rule_variables"] = named
			}
		}
	case "outcall":
		d.keys["exten"] = second
	case "voicemail":
		d.keys["skip_instructions"], d.keys["greeting"] = strings.Contains(second, "s"), nil
		switch {
		case strings.Contains(second, "b"):
			d.keys["greeting"] = "busy"
		case strings.Contains(second, "u"):
			d.keys["greeting"] = "unavailable"
		}
	}
}

// subKeys are the attributes that tell kinds of destinations of one type apart.
var subKeys = map[string]string{"hangup": "cause", "application": "application"}

// check finds out whether our service takes the destination.
func (d *led) check() {
	body := maps.Clone(d.keys)
	body["type"] = d.kind
	if d.sub != "" {
		body[subKeys[d.kind]] = d.sub
	}
	if err := accepted(destinationSchema, body); err != nil {
		d.reason = "leads to " + d.kind + ", and cannot be here: " + err.Error()
	}
}

// seconds reads a time, or returns nil.
func seconds(text string) any {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && n < 1e9 {
		return n
	}
	return nil
}
