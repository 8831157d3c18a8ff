package asterisk

import (
	"slices"
	"strings"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/asterisk/conf"
)

func init() {
	parts = append(parts, part{"extensions.conf", 3, "main numbers", writeMainNumbers})
}

// writeMainNumbers writes with which caller ID each tenant calls out: Gosub(ringfence-main-number,{tenant's UUID},1) sets it. What
// calls out of a tenant without a main number keeps its own.
func writeMainNumbers(p *plan, w *conf.Writer) {
	numbers := slices.Clone(p.Numbers)
	slices.SortFunc(numbers, func(a, b *confdsvc.PhoneNumber) int { return strings.Compare(a.TenantUUID, b.TenantUUID) })
	w.Section("ringfence-main-number")
	for _, n := range numbers {
		if !n.Main {
			continue
		}
		steps := []step{{"Set", "CALLERID(num)=" + dialable(n.Number)}}
		if n.CallerIDName != nil {
			steps = append(steps, step{"Set", "CALLERID(name)=" + conf.Argument(*n.CallerIDName)})
		}
		writeSteps(w, n.TenantUUID, append(steps, step{"Return", ""}))
	}
	writeSteps(w, "_[0-9a-f]!", []step{{"Return", ""}}) // any other tenant
}
