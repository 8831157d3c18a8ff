package asterisk

import (
	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/asterisk/conf"
)

// The records of calls go to the manager interface, and into a file for the time when nobody listens there.
func init() {
	parts = append(parts,
		part{"cdr_manager.conf", 0, "records", func(_ *plan, w *conf.Writer) {
			w.Section("general")
			w.Set("enabled", "yes")
			w.Section("mappings")
			for _, f := range cdr.Headers() {
				w.Object(f[0], f[1])
			}
		}},
		part{"cdr_custom.conf", 0, "records", func(_ *plan, w *conf.Writer) {
			w.Section("mappings")
			w.Object(cdr.File, cdr.Line())
		}},
		part{"extensions.conf", 2, "announces", writeAnnouncements},
	)
}

// writeAnnouncements writes, by tenant, what the called hear when a call is recorded, and what both sides do where a key starts and stops that.
func writeAnnouncements(p *plan, w *conf.Writer) {
	w.Section("ringfence-announces")
	for _, a := range p.Announcements {
		named := named("recordings/announcements", a.TenantUUID, a.TenantUUID, "")
		hears := func(option string, typed *string) string {
			why := p.soundFault(a.TenantUUID, text(typed))
			if why != "" {
				p.optionOf(named, "")(option, why)
				return ""
			}
			return p.sound(a.TenantUUID, text(typed))
		}
		start, stop := hears("recording_start", a.Start), hears("recording_stop", a.Stop)
		if start+stop != "" {
			p.writeEntry(w, entry{exten: a.TenantUUID, steps: []step{
				{"Set", "__TOUCH_MIXMONITOR_MESSAGE_START=" + start}, {"Set", "__TOUCH_MIXMONITOR_MESSAGE_STOP=" + stop}, {"Return", start},
			}})
		}
	}
}
