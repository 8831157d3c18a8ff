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
	)
}
