package asterisk

import (
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() { parts = append(parts, part{"extensions.conf", 2, "blocked", writeBlocked}) }

// writeBlocked writes from whom users take no calls, for the library's ringfence-blocked: the user's UUID with the digits of the number, or the word for
// calls without one. A number of the country of the tenant's main number is there as it is dialled inside the country, too.
func writeBlocked(p *plan, w *conf.Writer) {
	w.Section("ringfence-blocks")
	var all []entry
	for _, b := range p.Blocked {
		u := p.users.of(b.TenantUUID, confdsvc.ID(b.UserID))
		if u == nil {
			continue
		}
		forms := []string{strings.TrimPrefix(b.Number, "+")}
		code, begin := country(p.mains[u.TenantUUID])
		if inside, same := strings.CutPrefix(b.Number, code); code != "" && same {
			forms = append(forms, begin+inside)
		}
		for _, form := range forms {
			if form == confdsvc.Anonymous || isDigits(form) {
				all = append(all, entry{exten: u.UUID + "-" + form, steps: []step{{"Return", ""}}})
			}
		}
	}
	p.writeEntries(w, all)
}
