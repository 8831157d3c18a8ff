package asterisk

import (
	"maps"
	"slices"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
)

func init() {
	parts = append(parts, part{"features.conf", 0, "features", writeFeatures})
}

// writeFeatures writes the codes that work during a call, for whom Dial's options let use them. The section's own code for a call that rings in one's
// group counts only while the feature is disabled: the dialplan, which knows the names of who talks, has that.
func writeFeatures(p *plan, w *conf.Writer) {
	const file, general, featuremap, applicationmap = "features.conf", "features/general", "features/featuremap", "features/applicationmap"
	w.Section("general")
	typed := p.Section(general)["pickupexten"]
	if code, there := p.features["pickup"]; there {
		if pickup, _ := openCode(code); typed != "" && typed != pickup {
			p.leave(leftout.Omission{Kind: "section", Key: file, Name: general, Option: "pickupexten"}, "the service code pickup is another one, and is enabled")
		}
		typed = ""
	}
	w.Set("pickupexten", typed)
	p.writeOptionsOf(w, file, general, "pickupexten")
	// Of two actions with the same keys Asterisk would do one, and nobody could tell which.
	w.Section("featuremap")
	taken, twice := map[string]bool{}, []string(nil)
	isTaken := func(section, option, keys string) bool {
		if taken[keys] {
			p.leave(leftout.Omission{Kind: "section", Key: file, Name: section, Option: option}, "another action has these keys")
			return true
		}
		taken[keys] = true
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(p.Section(featuremap))) {
		if isTaken(featuremap, name, p.Section(featuremap)[name]) {
			twice = append(twice, name)
		}
	}
	p.writeOptionsOf(w, file, featuremap, twice...)
	// The keys for recordings start what Asterisk itself has for them, and no application.
	if keys := p.Section(applicationmap)["togglerecord"]; !isTaken(applicationmap, "togglerecord", keys) {
		w.Set("automixmon", keys)
	}
	w.Section("applicationmap")
}
