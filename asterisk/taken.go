package asterisk

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/confdsvc"
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

// OwnFile is in the reason of what is left out because of one of Asterisk's own files.
const OwnFile = "Asterisk's own file"

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
			faults = append(faults, faultsOf(name, read, err)...)
			for _, s := range read.Sections {
				if s.Template {
					continue
				}
				why := fmt.Sprintf(OwnFile+" %s has a section [%s] in line %d", s.Path, s.Name, s.Line)
				taken.Add(file, s.Name, why)
				if kind, _ := s.Get("type"); file == "pjsip.conf" && (kind == "global" || kind == "system") {
					taken.Add(file, kind, why) // there is one of each, whatever its name
				}
			}
		}
	}
	return taken, faults
}

// faultsOf names the faults of a file, of which reading it has found err. Of an object that pjsip.conf has twice, Asterisk loads no other of the type
// either.
func faultsOf(name string, f *conf.File, err error) (faults []leftout.Omission) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		why := "it cannot be examined as a whole: "
		if f.Refused {
			why = leftout.Nothing
		}
		faults = append(faults, leftout.Omission{Kind: "file", Key: name, Reason: why + err.Error()})
	}
	seen := map[[2]string]*conf.Section{}
	for _, s := range f.Sections {
		kind, _ := s.Get("type")
		if name != "pjsip.conf" || s.Template || kind == "" {
			continue
		}
		at := [2]string{kind, s.Name}
		if first := seen[at]; first != nil {
			reason := fmt.Sprintf("Asterisk loads nothing of the type %s, of nobody: %s has a section [%s] of it in line %d, and %s in line %d",
				kind, first.Path, s.Name, first.Line, s.Path, s.Line)
			faults = append(faults, leftout.Omission{Kind: "file", Key: name, Name: s.Name, Reason: reason})
		}
		seen[at] = s
	}
	return faults
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
func (p *plan) leaveTaken(file string, sections []string) {
	for _, name := range sections {
		if why := p.taken(name, file); why != "" {
			p.leave(leftout.Omission{Kind: "section", Key: file, Name: name}, why+", which counts before the generated one")
		}
	}
}

// mute lets a number of the dialplan that is refused, by number@context, only say that it is not in service. One that is nobody's stays.
func (p *plan) mute(e entry, in string) entry {
	if why := p.taken(e.exten+"@"+in, "extensions.conf"); why != "" {
		if owner := p.ownerOf(e.exten, in); owner.Kind != "" {
			p.leave(owner, why)
			return entry{exten: e.exten, steps: []step{nowhere}}
		}
	}
	return e
}

// ownerOf names whose object a number of the dialplan is, or nothing.
func (p *plan) ownerOf(number, in string) leftout.Omission {
	if c := p.contexts.at(in); c != nil {
		return named("extension", c.TenantUUID, number, c.Label)
	}
	for _, u := range p.Users {
		if strings.HasPrefix(number, u.UUID) {
			return namedUser(u)
		}
	}
	for _, g := range p.Groups {
		if strings.HasPrefix(number, g.UUID) {
			return namedGroup(g)
		}
	}
	for _, i := range p.Incalls {
		if in == "ringfence-incalls" && number == fmt.Sprint(i.ID) {
			return named("incall", i.TenantUUID, number, "")
		}
	}
	return leftout.Omission{}
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
