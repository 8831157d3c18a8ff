package asterisk

import (
	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
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

// writeAnnouncements writes what the called hear, by tenant, when a call is recorded.
func writeAnnouncements(p *plan, w *conf.Writer) {
	w.Section("ringfence-announces")
	for _, a := range p.Announcements {
		named := leftout.Omission{TenantUUID: a.TenantUUID, Kind: "recordings/announcements", Key: a.TenantUUID}
		if why := p.soundFault(a.TenantUUID, text(a.Start)); why != "" {
			p.optionOf(named, "")("recording_start", why)
		} else if sound := p.sound(a.TenantUUID, text(a.Start)); sound != "" {
			p.writeEntry(w, entry{exten: a.TenantUUID, steps: []step{{"Return", sound}}})
		}
	}
}
