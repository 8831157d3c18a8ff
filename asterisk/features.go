package asterisk

import (
	"cmp"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
)

func init() {
	parts = append(parts, part{"features.conf", 0, "features", writeFeatures})
}

// writeFeatures writes the codes that work during a call, for whom Dial's options let use them, and the code that picks up a call
// that rings in one's group: that of the pickup of one number, without the number, or the section's own while there is none.
func writeFeatures(p *plan, w *conf.Writer) {
	const file, general = "features.conf", "features/general"
	w.Section("general")
	pickup, _ := openCode(p.features["pickup"])
	pickup = strings.TrimSpace(pickup)
	typed := p.Section(general)["pickupexten"]
	if pickup != "" && typed != "" && typed != pickup {
		p.leave(leftout.Omission{Kind: "section", Key: file, Name: general, Option: "pickupexten"}, "the service code pickup is another one, and is enabled")
	}
	w.Set("pickupexten", cmp.Or(pickup, typed))
	p.writeOptionsOf(w, file, general, "pickupexten")
	w.Section("featuremap")
	p.writeOptionsOf(w, file, "features/featuremap")
	// The keys for recordings start what Asterisk itself has for them, and no application.
	w.Set("automixmon", p.Section("features/applicationmap")["togglerecord"])
	w.Section("applicationmap")
}
