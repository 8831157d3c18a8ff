package asterisk

import (
	"fmt"
	"slices"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts, part{"extensions.conf", 2, "pickups", writePickups})
}

// pickups is the context in which the numbers of a context tell whose call is picked up. It includes what the context includes.
func pickups(c *confdsvc.Context) string { return fmt.Sprintf("ringfence-pickups-%d", c.ID) }

// pickupMark is what all telephones of a user have, and by which a call that rings there is found: one of their numbers, or their UUID.
func (p *plan) pickupMark(u *confdsvc.User) string {
	if x := p.number(u); x != nil {
		return x.Exten + "%" + x.Context
	}
	return u.UUID
}

// writePickups writes to whom each number belongs: a user has one mark, and may have several numbers and patterns.
func writePickups(p *plan, w *conf.Writer) {
	marks := map[string][]entry{} // by context
	for _, l := range p.Lines {
		u := p.mainUser(l.ID)
		if u == nil || u.TenantUUID != l.TenantUUID {
			continue
		}
		for _, x := range p.extensions.among(l.TenantUUID, p.LineExtensions[l.ID]) {
			marks[x.Context] = append(marks[x.Context], entry{exten: x.Exten, steps: []step{{"Return", p.pickupMark(u)}}})
		}
	}
	for _, c := range p.Contexts {
		w.Section(pickups(c))
		p.writeEntries(w, marks[c.Name])
		for _, other := range p.includes(c) {
			w.Object("include", pickups(other))
		}
	}
}

// pickupGroups returns the groups by which a user's calls are picked up, and by which the user picks up calls, each of a call pickup. Their names
// hold a +, as none does that somebody types.
func (p *plan) pickupGroups(u *confdsvc.User) map[string][]string {
	groups := map[string][]string{}
	if u == nil {
		return groups
	}
	has := func(of confdsvc.PickupMembers) bool {
		return slices.ContainsFunc(of.Users, func(one confdsvc.PickupUser) bool { return confdsvc.ID(one.ID) == u.ID }) ||
			slices.ContainsFunc(of.Groups, func(one confdsvc.PickupGroup) bool { return slices.Contains(p.GroupUsers[one.UUID], u.ID) })
	}
	for _, k := range p.CallPickups {
		if k.TenantUUID != u.TenantUUID {
			continue
		}
		name := fmt.Sprintf("%s+%d", k.TenantUUID, k.ID)
		if has(k.Targets) {
			groups["call"] = append(groups["call"], name)
		}
		if has(k.Interceptors) {
			groups["pickup"] = append(groups["pickup"], name)
		}
	}
	return groups
}
