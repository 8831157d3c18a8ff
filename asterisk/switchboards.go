package asterisk

import (
	"fmt"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts, part{"extensions.conf", 2, "switchboards", writeSwitchboards})
	featureCodes["switchboard"] = serviceStep("", "take")
	lamps = append(lamps, switchboardLamps)
	destinations["switchboard"] = with(func(p *plan, tenantUUID string, to *confdsvc.ToSwitchboard) []step {
		return enters(p.switchboards.of(tenantUUID, to.SwitchboardUUID), func(s *confdsvc.Switchboard) step {
			return step{"Goto", "ringfence-switchboards," + s.UUID + ",1"}
		}, ringTime(to.RingTime)...)
	})
}

// writeSwitchboards writes where calls wait, at each switchboard's UUID. {id}u{user's id} says which switchboard that is, for its members.
func writeSwitchboards(p *plan, w *conf.Writer) {
	var boards, members []entry
	for _, s := range p.Switchboards {
		seconds := fmt.Sprintf(`${IF($["${RINGFENCE_SECONDS}" = ""]?%d:${RINGFENCE_SECONDS})}`, ringSeconds(s.Timeout))
		steps := []step{
			{"Gosub", "ringfence-hop,s,1"},
			{"Set", "RINGFENCE_LIMIT=" + seconds},
			{"Set", "RINGFENCE_SECONDS="},
			{"Gosub", fmt.Sprintf("ringfence-switchboard,wait,1(%s,${RINGFENCE_LIMIT},%s)", s.UUID, p.musicOf(s.TenantUUID, s.QueueMusic))},
		}
		to := p.lead(s.TenantUUID, s.Fallbacks.NoAnswer)
		if to == nil {
			to = []step{{"Hangup", "19"}}
		}
		boards = append(boards, entry{exten: s.UUID, about: s.Name, steps: append(steps, to...)})
		for _, m := range s.Members.Users {
			if u := p.users.of(s.TenantUUID, confdsvc.ID(m.ID)); u != nil {
				members = append(members, entry{exten: fmt.Sprintf("%du%d", s.ID, u.ID), steps: []step{{"Return", s.UUID}}})
			}
		}
	}
	w.Section("ringfence-switchboards")
	p.writeEntries(w, boards)
	w.Section("ringfence-switchboard-members")
	p.writeEntries(w, members)
}

// switchboardLamps are lit while calls wait. Every telephone of the tenant may watch them, and members take a call by the same number.
func switchboardLamps(p *plan, add func(context string, e entry)) {
	prefix, open := openCode(p.features["switchboard"])
	if !open {
		return
	}
	for _, s := range p.Switchboards {
		add(keyContext(s.TenantUUID), numberLamp(prefix, int64(s.ID), "switchboard", "Custom:ringfence-waiting-"+s.UUID))
	}
}
