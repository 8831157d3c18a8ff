package asterisk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/asterisk/conf"
	"github.com/ringfence/ringfence/internal/asterisk/leftout"
)

// Taken are the names of sections that nothing of a tenant may have: by file and name, why.
type Taken map[string]map[string]string

// Add takes a name, unless it is taken already.
func (t Taken) Add(file, name, why string) {
	if t[file] == nil {
		t[file] = map[string]string{}
	}
	if t[file][name] == "" {
		t[file][name] = why
	}
}

// besideOf are further files of Asterisk whose sections meet those of a generated one.
var besideOf = map[string][]string{"pjsip.conf": {"pjsip_wizard.conf"}}

// ReadTaken reads what Asterisk's own files in a folder have beside the generated ones. Of a file that Asterisk could not load either it
// returns a fault, and what could be read; one that is missing has nothing, and so has no folder, "".
func ReadTaken(folder string) (Taken, []leftout.Omission) {
	taken := Taken{}
	if folder == "" {
		return taken, nil
	}
	static, err := Static("/")
	if err != nil {
		return taken, []leftout.Omission{{Kind: "file", Key: folder, Reason: err.Error()}}
	}
	var faults []leftout.Omission
	for _, file := range slices.Sorted(maps.Keys(static)) {
		for _, name := range append([]string{file}, besideOf[file]...) {
			read, err := conf.ReadTree(folder, name)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				faults = append(faults, leftout.Omission{Kind: "file", Key: name, Reason: "Asterisk loads nothing of it, or it cannot be examined: " + err.Error()})
			}
			for _, s := range read.Sections {
				if s.Template {
					continue
				}
				why := fmt.Sprintf("Asterisk's own file %s has a section [%s] in line %d", s.Path, s.Name, s.Line)
				taken.Add(file, s.Name, why)
				if kind, _ := s.Get("type"); file == "pjsip.conf" && (kind == "global" || kind == "system") {
					taken.Add(file, kind, why) // there is one of each, whatever its name
				}
			}
		}
	}
	return taken, faults
}

// taken is the fault of what needs a section of a name that it cannot have, or nothing.
func (p *plan) taken(name string, files ...string) string {
	for _, file := range files {
		if why := p.options.Taken[file][name]; why != "" {
			return why
		}
	}
	return ""
}

// leaveTaken names the sections of the files' own, such as [general], whose names are taken: the first of a name counts.
func (p *plan) leaveTaken(file string, text []byte) {
	if len(p.options.Taken[file]) == 0 {
		return
	}
	for line := range bytes.Lines(text) {
		if name, is := strings.CutPrefix(strings.TrimSpace(string(line)), "["); is {
			name, _, _ = strings.Cut(name, "]")
			if why := p.taken(name, file); why != "" {
				p.leave(leftout.Omission{Kind: "section", Key: file, Name: name}, why+", which counts before the generated one")
			}
		}
	}
}

// wrongName is the fault of an object whose name no section can have, or nothing.
func wrongName(name string) string {
	if !conf.IsSectionName(name) || confdsvc.IsReserved(name) {
		return kept(name)
	}
	return ""
}

func kept(name string) string {
	return fmt.Sprintf("its name %q is kept for something else, or has a character that Asterisk cannot read there", name)
}
