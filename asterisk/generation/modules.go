package generation

import (
	"bytes"
	"maps"
	"slices"
)

// moduleOf says which module of Asterisk reads a file.
var moduleOf = map[string]string{
	"voicemail.conf":   "app_voicemail",
	"musiconhold.conf": "res_musiconhold",
	"confbridge.conf":  "app_confbridge",
	"queues.conf":      "app_queue",
	"res_parking.conf": "res_parking",
	"features.conf":    "features",
	"extensions.conf":  "pbx_config",
	"pjsip.conf":       "res_pjsip",
}

// alsoReads are further modules that read pjsip.conf, if it has an object of that type.
var alsoReads = []struct{ object, module string }{
	{"identify", "res_pjsip_endpoint_identifier_ip"},
	{"registration", "res_pjsip_outbound_registration"},
}

// order is the order in which modules are reloaded: what is referred to, before what refers to it. A telephone must not appear
// before its context, nor a queue before the hints by which it knows whether its members can be rung: it would never ring them.
var order = []string{
	"app_voicemail", "res_musiconhold", "app_confbridge", "res_parking", "features", "pbx_config", "app_queue",
	"res_pjsip", "res_pjsip_endpoint_identifier_ip", "res_pjsip_outbound_registration",
}

// Changes of a file.
const (
	Added   = "added"
	Changed = "changed"
	Removed = "removed"
)

// FileChange is a file that one generation has, and another has not or has with other content.
type FileChange struct {
	Name   string `json:"name"`
	Change string `json:"change"`
}

// Compare returns what differs, by name.
func Compare(from, to Files) []FileChange {
	var changes []FileChange
	for _, name := range slices.Sorted(maps.Keys(merged(from, to))) {
		before, had := from[name]
		after, has := to[name]
		switch {
		case !had:
			changes = append(changes, FileChange{name, Added})
		case !has:
			changes = append(changes, FileChange{name, Removed})
		case !bytes.Equal(before, after):
			changes = append(changes, FileChange{name, Changed})
		}
	}
	return changes
}

func merged(a, b Files) Files {
	all := maps.Clone(a)
	if all == nil {
		all = Files{}
	}
	maps.Copy(all, b)
	return all
}

// modules returns the modules that a change concerns, in the order in which they are reloaded: that of order, or its reverse for a
// change that only takes away.
func modules(changes []FileChange, from, to Files) []string {
	concerned := map[string]bool{}
	for _, c := range changes {
		concerned[moduleOf[c.Name]] = true
		if c.Name != "pjsip.conf" {
			continue
		}
		for _, also := range alsoReads {
			if has(from[c.Name], also.object) || has(to[c.Name], also.object) {
				concerned[also.module] = true
			}
		}
	}
	var sorted []string
	for _, m := range order {
		if concerned[m] {
			sorted = append(sorted, m)
		}
	}
	if onlyRemoves(from, to) {
		slices.Reverse(sorted)
	}
	return sorted
}

// has reports whether pjsip.conf has an object of a type.
func has(pjsip []byte, object string) bool {
	for line := range bytes.Lines(pjsip) {
		if name, value, ok := bytes.Cut(line, []byte("=")); ok &&
			string(bytes.TrimSpace(name)) == "type" && string(bytes.TrimLeft(bytes.TrimSpace(value), "> ")) == object {
			return true
		}
	}
	return false
}

// onlyRemoves reports whether a change takes sections away and adds none.
func onlyRemoves(from, to Files) bool {
	before, after := sections(from), sections(to)
	for s := range after {
		if !before[s] {
			return false
		}
	}
	return len(after) < len(before)
}

// sections returns the sections of the files.
func sections(files Files) map[string]bool {
	found := map[string]bool{}
	for name, content := range files {
		for line := range bytes.Lines(content) {
			if line[0] == '[' {
				found[name+string(line)] = true
			}
		}
	}
	return found
}
