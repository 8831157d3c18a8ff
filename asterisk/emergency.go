package asterisk

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	numbers = slices.Insert(numbers, 0, emergencyNumbers) // of two entries for one number, the first counts
	lamps = append(lamps, prefixedEmergencies)
}

// emergencyContext is the context of what a tenant's emergency numbers do, by their ids, and of {number}u{user's id} where users have their own.
func emergencyContext(tenantUUID string) string { return "ringfence-emergency-" + tenantUUID }

// emergenciesOf returns what emergencies has of a tenant.
func (p *plan) emergenciesOf(tenantUUID string) map[string][]*confdsvc.EmergencyNumber {
	all := map[string][]*confdsvc.EmergencyNumber{}
	for _, owner := range slices.Compact([]string{tenantUUID, p.Master}) {
		for _, n := range p.Emergencies {
			if n.TenantUUID == owner && isDigits(n.Number) && len(p.emergencyDials(n, tenantUUID)) > 0 {
				all[n.Number] = append(all[n.Number], n)
			}
		}
	}
	return all
}

// emergencyNumbers makes emergency numbers known in each context where telephones dial: there nothing else can have the call first.
func emergencyNumbers(p *plan, add func(context string, e entry)) {
	p.eachEmergency(func(c *confdsvc.Context, number string, steps []step) {
		for _, in := range p.dialled(c.Name) {
			add(in, entry{exten: number, steps: steps})
		}
	})
}

// maxPrefix is how many digits calls to the outside begin with at most where emergency numbers can be dialled behind them: there are not many.
const maxPrefix = 2

// prefixedEmergencies adds emergency numbers behind the digits that calls to the outside begin with, such as 0112, where nothing else has these.
func prefixedEmergencies(p *plan, add func(context string, e entry)) {
	prefixes := map[string][]string{} // by tenant
	for _, o := range p.Outcalls {
		for _, x := range o.Extensions {
			digits := strings.TrimPrefix(x.Exten, "_")
			if n := int(x.StripDigits); n > 0 && n <= min(maxPrefix, len(digits)) && isDigits(digits[:n]) {
				prefixes[o.TenantUUID] = append(prefixes[o.TenantUUID], digits[:n])
			}
		}
	}
	p.eachEmergency(func(c *confdsvc.Context, number string, steps []step) {
		for _, prefix := range prefixes[c.TenantUUID] { // one that comes again changes nothing
			for _, in := range p.dialled(c.Name) {
				add(in, entry{exten: prefix + number, steps: steps})
			}
		}
	})
}

// eachEmergency yields what an emergency number does in each context where telephones dial, or may. Where none is meant for that, any of the tenant's is.
func (p *plan) eachEmergency(yield func(c *confdsvc.Context, number string, steps []step)) {
	dials := map[string]bool{}
	for _, l := range p.Lines { // what comes in by a trunk is no telephone's
		if c := p.contexts.at(l.Context); c != nil && c.Type != "incall" {
			dials[c.Name] = true
		}
	}
	for _, c := range p.Contexts {
		if p.contexts.at(c.Name) != c || c.Type != "internal" && !dials[c.Name] {
			continue
		}
		for _, number := range slices.Sorted(maps.Keys(p.emergencies[c.TenantUUID])) {
			all := p.emergencies[c.TenantUUID][number]
			rank := func(n *confdsvc.EmergencyNumber) int {
				foreign := n.TenantUUID != c.TenantUUID
				switch {
				case !foreign && len(n.Users) == 0 && text(n.Context) == c.Name:
					return 0
				case len(n.Users) == 0 && n.Context == nil:
					return map[bool]int{false: 1, true: 2}[foreign]
				}
				return map[bool]int{false: 3, true: 4}[foreign]
			}
			best := slices.MinFunc(all, func(a, b *confdsvc.EmergencyNumber) int { return cmp.Compare(rank(a), rank(b)) })
			in := emergencyContext(c.TenantUUID)
			var steps []step
			if slices.ContainsFunc(all, func(n *confdsvc.EmergencyNumber) bool { return n.TenantUUID == c.TenantUUID && len(n.Users) > 0 }) {
				own := in + "," + number + "u${WAZO_USERID},1"
				steps = []step{{"GotoIf", "$[${DIALPLAN_EXISTS(" + own + ")} = 1]?" + own}}
			}
			yield(c, number, append(steps, step{"Goto", fmt.Sprintf("%s,%d,1", in, best.ID)}))
		}
	}
}

// writeEmergencies writes what emergency numbers do for each tenant, and names the tenants whose calls go out and that have none.
func (p *plan) writeEmergencies(w *conf.Writer) {
	for _, tenant := range slices.Sorted(maps.Keys(p.Slugs)) {
		all := p.emergencies[tenant]
		if len(all) > 0 {
			w.Section(emergencyContext(tenant))
			for _, number := range slices.Sorted(maps.Keys(all)) {
				p.writeEmergency(w, tenant, all[number])
			}
		} else if slices.ContainsFunc(p.Outcalls, func(o *confdsvc.Outcall) bool { return o.TenantUUID == tenant }) {
			p.leave(named("tenant", tenant, tenant, p.Slugs[tenant]), "it has outgoing calls, and no emergency number by which a call could go")
		}
	}
}

// writeEmergency writes what the emergency numbers of the same digits do for a tenant. These calls ask for no permission and no schedule, count against
// no limit, and the next trunk is tried until somebody answers.
func (p *plan) writeEmergency(w *conf.Writer, tenantUUID string, all []*confdsvc.EmergencyNumber) {
	usual := "" // the caller ID of the whole tenant
	for _, n := range all {
		if n.TenantUUID == tenantUUID && len(n.Users) == 0 && n.Context == nil {
			usual = cmp.Or(usual, text(n.CallerID))
		}
	}
	seen := map[int64]bool{}
	for _, n := range all {
		p.writeEntry(w, entry{exten: fmt.Sprint(n.ID), steps: p.calls(n, tenantUUID, usual)})
		for _, u := range n.Users {
			if n.TenantUUID == tenantUUID && !seen[u.ID] {
				seen[u.ID] = true
				p.writeEntry(w, entry{exten: fmt.Sprintf("%su%d", n.Number, u.ID), steps: []step{{"Goto", fmt.Sprintf("%d,1", n.ID)}}})
			}
		}
	}
}

// calls returns what an emergency number does for a tenant, of which usual is the caller ID where the number has none. It is never withheld.
func (p *plan) calls(n *confdsvc.EmergencyNumber, tenantUUID, usual string) []step {
	typed := cmp.Or(text(n.CallerID), usual, p.mains[tenantUUID])
	if n.TenantUUID != tenantUUID { // the place of the installation is not the tenant's
		typed = cmp.Or(p.mains[tenantUUID], typed)
	}
	steps := []step{
		{"Gosub", "ringfence-caller,s,1"},
		{"Gosub", "ringfence-account,s,1"},
		{"Set", "TIMEOUT(absolute)=0"},
		{"Set", "CALLERID(pres)=allowed"},
		{"Set", "RINGFENCE_NUMBER=" + n.Number},
	}
	number, name := p.calledBy(tenantUUID, typed)
	if number != "" {
		steps = append(steps, step{"Set", "CALLERID(num)=" + number})
	}
	if name != "" {
		steps = append(steps, step{"Set", "CALLERID(name)=" + conf.Argument(name)})
	}
	return append(append(append(steps, keepsNumber), p.emergencyDials(n, tenantUUID)...), step{"Goto", "ringfence-outgoing,full,1"})
}

// emergencyDials returns what calls an emergency number by each trunk: its own, those of the tenant's outgoing calls, and the installation's.
func (p *plan) emergencyDials(n *confdsvc.EmergencyNumber, tenantUUID string) (steps []step) {
	seen := map[confdsvc.ID]bool{}
	by := func(owner string, trunks []confdsvc.OutcallTrunk) {
		for _, t := range trunks {
			if dial := p.dialBy(t.ID, owner); dial != "" && !seen[t.ID] {
				seen[t.ID] = true
				steps = append(steps,
					step{"Gosub", fmt.Sprintf("ringfence-account,outbound,1(%d)", t.ID)},
					step{"Set", "CALLERID(num)=" + p.formatted(t.ID)},
					step{"Dial", dial})
			}
		}
	}
	by(n.TenantUUID, n.Trunks)
	for _, owner := range []string{tenantUUID, p.Master} {
		for _, o := range p.Outcalls {
			if o.TenantUUID == owner {
				by(owner, o.Trunks)
			}
		}
	}
	return steps
}
