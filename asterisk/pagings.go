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
	parts = append(parts, part{"extensions.conf", 2, "pagings", writePagings})
	featureCodes["paging"] = serviceStep("", "page")
}

// maxPaged is through how many users' telephones one speaks at once: their names must fit into a line.
const maxPaged = 100

// writePagings writes the pagings of each tenant that has some: {number}u{user's id} is what a caller dials, so that nobody else can. Users are
// paged by their ids, unless they do not want to be disturbed.
func writePagings(p *plan, w *conf.Writer) {
	byTenant, paged := map[string][]entry{}, map[confdsvc.ID]bool{}
	for _, g := range p.Pagings {
		pages := p.pages(g, paged)
		if pages == nil {
			continue
		}
		for _, u := range p.users.among(g.TenantUUID, p.PagingCallers[g.ID]) {
			byTenant[g.TenantUUID] = append(byTenant[g.TenantUUID], entry{exten: fmt.Sprintf("%su%d", g.Number, u.ID), steps: pages})
		}
	}
	for _, tenant := range slices.Sorted(maps.Keys(byTenant)) {
		w.Section("ringfence-pagings-" + tenant)
		p.writeEntries(w, byTenant[tenant])
	}
	w.Section("ringfence-paged")
	for _, u := range p.Users {
		if paged[u.ID] {
			page := fmt.Sprintf("ringfence-page,s,1(%s,%d)", u.UUID, max(1, len(p.devices(u))))
			p.writeEntry(w, entry{exten: fmt.Sprint(u.ID), steps: []step{{"Gosub", page}, {"Hangup", ""}}})
		}
	}
}

// pages returns what the number of a paging does, or nil if it reaches nobody. It adds who is paged.
func (p *plan) pages(g *confdsvc.Paging, paged map[confdsvc.ID]bool) []step {
	var members []string
	for _, u := range p.users.among(g.TenantUUID, p.PagingMembers[g.ID]) {
		if len(members) < maxPaged {
			members = append(members, fmt.Sprintf("Local/%d@ringfence-paged", u.ID))
			paged[u.ID] = true
		}
	}
	if n := len(p.PagingMembers[g.ID]); n > maxPaged {
		p.leave(named("paging", g.TenantUUID, g.ID, g.Number), fmt.Sprintf("only %d of its %d members are paged", maxPaged, n))
	}
	if !g.Enabled || len(members) == 0 || !isDigits(g.Number) {
		return nil
	}
	sound := cmp.Or(p.sound(g.TenantUUID, text(g.AnnounceSound)), "beep")
	options := letters(
		choice{g.Duplex, "d"}, choice{g.IgnoreForward, "i"}, choice{g.Record, "r"}, choice{!g.CallerNotification, "q"}, choice{g.AnnounceCaller, "A(" + sound + ")n"})
	var steps []step
	if g.Record {
		steps = append(steps, step{"Set", "CONFBRIDGE(bridge,record_file)=" + recording(g.TenantUUID, fmt.Sprintf("paging-%d", g.ID))})
	}
	return append(steps, step{"Page", strings.Join(members, "&") + "," + options}, step{"Hangup", ""})
}
