package asterisk

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/asterisk/conf"
)

func init() {
	parts = append(parts, part{"musiconhold.conf", 0, "classes", writeMusic})
}

// musicOrders are the orders of files, as Asterisk calls them.
var musicOrders = map[string]string{"alphabetical": "alpha", "random": "random", "random_start": "randstart"}

// writeMusic writes the classes. All of them play files: a program that somebody names would run on this machine. The default
// music is below Asterisk's own folder of data.
func writeMusic(p *plan, w *conf.Writer) {
	w.Section("default")
	w.Set("mode", "files")
	w.Set("directory", "moh")
	music := slices.Clone(p.Music)
	slices.SortFunc(music, func(a, b *confdsvc.MOH) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range music {
		if p.music[m.Name] == nil {
			continue
		}
		w.Section(m.Name)
		w.Comment(m.Label)
		w.Set("mode", "files")
		folder := ""
		if p.options.Music != nil {
			folder = p.options.Music(m.Name)
		}
		w.Set("directory", cmp.Or(folder, "moh"))
		if order := musicOrders[text(m.Sort)]; order != "" {
			w.Set("sort", order)
		}
	}
}
