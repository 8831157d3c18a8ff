package asterisk

import (
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
)

func init() {
	parts = append(parts, part{"features.conf", 0, "features", writeFeatures})
}

// writeFeatures writes the codes that work during a call, for whom Dial's options let use them, and the code that picks up a call
// that rings in one's group: that of the pickup of one number, without the number.
func writeFeatures(p *plan, w *conf.Writer) {
	w.Section("general")
	pickup, _ := openCode(p.features["pickup"])
	w.Set("pickupexten", strings.TrimSpace(pickup))
	w.Section("featuremap")
	w.Set("blindxfer", "*1")
	w.Set("atxfer", "*2")
	w.Set("automixmon", "*3")
	w.Set("disconnect", "*0")
	w.Section("applicationmap")
}
