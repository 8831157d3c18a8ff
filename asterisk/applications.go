package asterisk

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts, part{"extensions.conf", 2, "applications", writeApplications})
	numbers = append(numbers, func(p *plan, add func(context string, e entry)) {
		for _, l := range p.Lines {
			if o, e := p.takes(l), p.endpoints.at(p.LineSIP[l.ID]); o != nil && e != nil {
				add(p.takenContext(p.dialsIn(l, e), o), entry{exten: "_[0-9a-zA-Z*#+]!", steps: []step{enterApplication(o)}})
			}
		}
	})
	destinations["application:custom"] = with(func(p *plan, tenantUUID string, to *confdsvc.ToApplication) []step {
		return enters(p.applications.of(tenantUUID, to.ApplicationUUID), enterApplication)
	})
}

func enterApplication(o *confdsvc.Application) step {
	return step{"Goto", "ringfence-applications," + o.UUID + ",1"}
}

// takes returns the application that takes what a line dials, or nil.
func (p *plan) takes(l *confdsvc.Line) *confdsvc.Application {
	return p.applications.of(l.TenantUUID, p.LineApplication[l.ID])
}

// takenContext is the context of the lines that would dial in another one, and of which an application takes the calls: only emergency numbers are
// their own there.
func (p *plan) takenContext(in string, o *confdsvc.Application) string {
	return fmt.Sprintf("ringfence-taken-%s-%d", o.UUID, p.contexts.at(in).ID) // a name of a context may be too long to be part of another one
}

// dialled returns the contexts of what telephones dial in a context: itself, and those of the lines whose calls an application takes.
func (p *plan) dialled(in string) []string {
	names := []string{in}
	for _, id := range slices.Sorted(maps.Keys(p.LineApplication)) {
		if l, e := p.lines.at(id), p.endpoints.at(p.LineSIP[id]); l != nil && e != nil && p.takes(l) != nil && p.dialsIn(l, e) == in {
			names = append(names, p.takenContext(in, p.takes(l)))
		}
	}
	return names
}

// writeApplications writes where calls to applications go: to the program that has registered as wazo-app-{UUID}, or into a bridge of the
// application's own, in which they wait.
func writeApplications(p *plan, w *conf.Writer) {
	w.Section("ringfence-applications")
	for _, o := range p.Applications {
		named := named("application", o.TenantUUID, o.UUID, text(o.Name))
		steps := []step{{"Gosub", "ringfence-hop,s,1"}}
		if o.Destination == nil {
			steps = append(steps,
				step{"Stasis", "wazo-app-" + o.UUID},
				step{"GotoIf", `$["${STASISSTATUS}" = "FAILED"]?ringfence-end,nowhere,1`}, // Asterisk says in its log that no program is there
				step{"Hangup", ""})
		} else {
			class := p.musicOf(o.TenantUUID, o.Options.MusicOnHold)
			if class == "" && text(o.Options.MusicOnHold) != "" {
				p.optionOf(named, "destination_options.")("music_on_hold", notTheirs)
			}
			begins, hears := step{"Ringing", ""}, "ne(r)"
			switch {
			case o.Options.Answer && class == "":
				begins, hears = step{"Answer", ""}, "e(s)"
			case o.Options.Answer:
				begins, hears = step{"Answer", ""}, "e(m)m("+class+")"
			case class != "":
				begins, hears = step{"Progress", ""}, "ne(m)m("+class+")"
			}
			steps = append(steps, begins, step{"BridgeWait", fmt.Sprintf("%s,participant,S(%d)%s", o.UUID, longestRing, hears)}, step{"Hangup", "19"})
		}
		p.writeEntry(w, entry{exten: o.UUID, about: named.Name, steps: steps})
	}
}
