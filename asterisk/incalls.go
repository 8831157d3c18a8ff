package asterisk

import (
	"fmt"
	"slices"

	"github.com/ringfence/ringfence/asterisk/conf"
)

func init() {
	parts = append(parts, part{"extensions.conf", 2, "incalls", writeIncalls})
	numbers = append(numbers, func(p *plan, add func(context string, e entry)) {
		for _, i := range p.Incalls {
			for _, x := range p.extensions.among(i.TenantUUID, p.IncallExtensions[i.ID]) {
				add(x.Context, entry{exten: x.Exten, steps: []step{{"Goto", fmt.Sprintf("ringfence-incalls,%d,1", i.ID)}}})
			}
		}
	})
}

// writeIncalls writes what calls from outside do.
func writeIncalls(p *plan, w *conf.Writer) {
	w.Section("ringfence-incalls")
	for _, i := range p.Incalls {
		named := named("incall", i.TenantUUID, i.ID, text(i.Description))
		p.writeEntry(w, entry{exten: named.Key, about: named.Name, steps: slices.Concat(
			[]step{{"Set", "__WAZO_TENANT_UUID=" + i.TenantUUID}, {"Set", "WAZO_CALLORIGIN=extern"}, {"Gosub", "ringfence-hop,s,1"}},
			p.preprocess(named, i.PreprocessSubroutine), p.opens(i.TenantUUID, p.IncallSchedule[i.ID]), callerIDRule(i.CallerIDMode, i.CallerIDName),
			p.plays(named, "greeting_sound", "Playback", i.GreetingSound), p.leadsOn(named, "destination", &i.Destination),
		)})
	}
}

// callerIDRule changes the name that the called telephone shows.
func callerIDRule(mode, name *string) []step {
	if text(name) == "" {
		return nil
	}
	const was = "${CALLERID(name)}"
	typed := conf.Argument(*name)
	switch text(mode) {
	case "prepend":
		typed += " " + was
	case "append":
		typed = was + " " + typed
	case "overwrite":
	default:
		return nil
	}
	return []step{{"Set", "CALLERID(name)=" + typed}}
}
