package asterisk

import (
	"fmt"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts, part{"extensions.conf", 2, "menus", writeMenus})
	destinations["ivr"] = with(func(p *plan, tenantUUID string, to *confdsvc.ToIVR) []step {
		return enters(p.menus.of(tenantUUID, to.IVRID), func(m *confdsvc.IVR) step { return step{"Goto", menuContext(m) + ",s,1"} })
	})
}

func menuContext(m *confdsvc.IVR) string { return fmt.Sprintf("ringfence-menu-%d", m.ID) }

// How often a menu asks, and for how many seconds it waits, at most: nobody listens longer, and a machine would hold a line for ever.
const (
	mostTries   = 50
	longestWait = 300
)

// writeMenus writes a context for each menu, in which what is chosen is dialled. What a caller chooses is a new beginning: a menu may lead back to
// the one before as often as somebody wants it.
func writeMenus(p *plan, w *conf.Writer) {
	for _, m := range p.Menus {
		named := named("ivr", m.TenantUUID, m.ID, m.Name)
		w.Section(menuContext(m))
		w.Comment(m.Name)
		steps := []step{{"Gosub", "ringfence-hop,s,1"}, {"Answer", ""}, {"Set", "RINGFENCE_TRIES=0"}}
		steps = append(steps, p.plays(named, "greeting_sound", "Playback", m.GreetingSound)...)
		p.writeEntry(w, entry{exten: "s", steps: append(steps, step{"Goto", "menu,1"})})
		steps = append([]step{{"Set", "RINGFENCE_TRIES=$[${RINGFENCE_TRIES} + 1]"}}, p.plays(named, "menu_sound", "Background", &m.MenuSound)...)
		p.writeEntry(w, entry{exten: "menu", steps: append(steps, step{"WaitExten", fmt.Sprint(min(max(1, m.Timeout), longestWait))})})
		p.writeEntry(w, entry{exten: "i", steps: append(p.plays(named, "invalid_sound", "Playback", m.InvalidSound), p.tryAgain(m, m.Invalid)...)})
		p.writeEntry(w, entry{exten: "t", steps: p.tryAgain(m, m.TimedOut)})
		steps = p.lead(m.TenantUUID, m.Aborted)
		if steps == nil {
			steps = []step{{"Hangup", ""}}
		}
		p.writeEntry(w, entry{exten: "abort", steps: append(p.plays(named, "abort_sound", "Playback", m.AbortSound), steps...)})
		var all []entry
		for _, choice := range m.Choices.V {
			if !conf.IsExten(choice.Exten) {
				p.optionOf(named, "choices.")(choice.Exten, "it is no number, and no pattern, that Asterisk can read")
				continue
			}
			steps := p.leadsOn(named, "choices."+choice.Exten, &choice.Destination)
			if kind, _ := choice.Destination.Kind(); kind == "none" { // also after what it led to is deleted
				p.optionOf(named, "choices.")(choice.Exten, "it leads nowhere")
			}
			all = append(all, entry{exten: choice.Exten, steps: append([]step{{"Set", "__RINGFENCE_HOPS=0"}}, steps...)})
		}
		p.writeEntries(w, all)
	}
}

// tryAgain begins a menu anew, or goes where it leads, until the tries are used up.
func (p *plan) tryAgain(m *confdsvc.IVR, to *confdsvc.Destination) []step {
	if leads := p.lead(m.TenantUUID, to); leads != nil {
		return leads
	}
	return []step{{"GotoIf", fmt.Sprintf("$[${RINGFENCE_TRIES} < %d]?menu,1:abort,1", min(max(1, m.MaxTries), mostTries))}}
}

// plays plays a sound that a tenant's object names, if there is one. One that nobody hears is named as left out.
func (p *plan) plays(of leftout.Omission, attribute, app string, sound *string) []step {
	if fault := p.soundFault(of.TenantUUID, text(sound)); fault != "" {
		p.optionOf(of, "")(attribute, fault)
	}
	if name := p.sound(of.TenantUUID, text(sound)); name != "" {
		return []step{{app, name}}
	}
	return nil
}
