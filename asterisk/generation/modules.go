package generation

import (
	"bytes"
	"maps"
	"slices"
)

// readers are the modules of Asterisk that read a file, in the order in which they are reloaded: what is referred to, before what refers to
// it. A telephone must not appear before its context, nor a queue before the hints by which it knows whether its members can be rung: it
// would never ring them.
var readers = []reader{
	{file: "voicemail.conf", module: "app_voicemail"},
	{file: "musiconhold.conf", module: "res_musiconhold"},
	{file: "features.conf", module: "features"},
	{file: "rtp.conf", module: "res_rtp_asterisk"},
	{file: "hep.conf", module: "res_hep", optional: true},
	{file: "confbridge.conf", module: "app_confbridge"},
	{file: "res_parking.conf", module: "res_parking"},
	{file: "iax.conf", module: "chan_iax2", optional: true},
	{file: "extensions.conf", module: "pbx_config"},
	{file: "queues.conf", module: "app_queue"},
	{file: "pjsip.conf", module: "res_pjsip"},
	{file: "pjsip.conf", module: "res_pjsip_endpoint_identifier_ip", kind: "identify"},
	{file: "pjsip.conf", module: "res_pjsip_outbound_registration", kind: "registration"},
	{file: "cdr_manager.conf", module: "cdr_manager"},
	{file: "cdr_custom.conf", module: "cdr_custom"},
}

// reader is a module that reads a file or, if it has a kind, the sections of that type alone: it may not be loaded where there are none. Neither may
// an optional one be where the file has no sections.
type reader struct {
	file, module, kind string
	optional           bool
}

// reads returns what the module reads of the files.
func (r reader) reads(files Files) (all []byte) {
	switch {
	case r.kind == "" && r.optional && !bytes.Contains(files[r.file], []byte("\n[")):
		return nil
	case r.kind == "":
		return files[r.file]
	}
	for section := range bytes.SplitSeq(files[r.file], []byte("\n[")) {
		_, body, _ := bytes.Cut(section, []byte("]\n"))
		if first, _, _ := bytes.Cut(body, []byte("\n")); string(first) == "type = "+r.kind {
			all = append(append(all, bytes.TrimSpace(section)...), '\n')
		}
	}
	return all
}

// isRead reports whether a module reads a file.
func isRead(name string) bool {
	return slices.ContainsFunc(readers, func(r reader) bool { return r.file == name })
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
	both := Files{}
	maps.Copy(both, from)
	maps.Copy(both, to)
	for _, name := range slices.Sorted(maps.Keys(both)) {
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

// modules returns the modules that a change concerns, in the order in which they are reloaded: that of readers, or its reverse for a
// change that only takes away.
func modules(changes []FileChange, from, to Files) (all []string) {
	for _, r := range readers {
		changed := slices.ContainsFunc(changes, func(c FileChange) bool { return c.Name == r.file })
		if changed && (r.kind == "" && !r.optional || !bytes.Equal(r.reads(from), r.reads(to))) {
			all = append(all, r.module)
		}
	}
	if onlyRemoves(from, to) {
		slices.Reverse(all)
	}
	return all
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
