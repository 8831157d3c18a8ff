package asterisk

import (
	"cmp"
	"embed"
	"fmt"
	"slices"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/asterisk/conf"
	"github.com/ringfence/ringfence/internal/asterisk/leftout"
)

// Files are the generated files, by name.
type Files map[string][]byte

// Options are what files depend on beside the data.
type Options struct {
	// Music returns the folder with the files of a music on hold, as Asterisk sees it, or "" if there is none. Without one, which nil
	// means for all, Asterisk would refuse the class: then it plays the default music.
	Music func(name string) string
	// DefaultMusic is the folder with the files of the default music, as Asterisk sees it. "": it is moh in Asterisk's own folder of data.
	DefaultMusic string
	// Interfaces are the channels of the machine that custom endpoints of all tenants may name, such as SCCP/door, or SCCP/* for all of a
	// technology. Nil: none.
	Interfaces []string
	// Taken are the names that the files must not have: see [ReadTaken].
	Taken Taken
}

// part writes a part of one file.
type part struct {
	file string
	// rank is the place of the part in its file; parts of one rank are in the order of their names.
	rank int
	name string
	// write adds the part. What it must leave out because it would be wrong, it leaves out, and names by the plan's leave.
	write func(p *plan, w *conf.Writer)
}

// parts are all parts, each added by its own file.
var parts []part

// Generate returns the files for a snapshot, and what they lack of it, and why.
func Generate(s *confdsvc.Snapshot, o Options) (Files, []leftout.Omission, error) {
	p := newPlan(s, o)
	all := slices.SortedFunc(slices.Values(parts), func(a, b part) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name))
	})
	files := Files{}
	for i := 0; i < len(all); {
		w, name := &conf.Writer{}, all[i].file
		w.Comment(conf.Mark)
		for ; i < len(all) && all[i].file == name; i++ {
			w.Blank()
			all[i].write(p, w)
		}
		text, err := w.Bytes()
		if err != nil {
			return nil, nil, fmt.Errorf("writing %s: %w", name, err)
		}
		if name == "extensions.conf" {
			text = p.mute(text)
		}
		files[name] = text
		p.leaveTaken(name, text)
	}
	return files, p.left, nil
}

//go:embed static
var static embed.FS

// Static returns the files of a stock Asterisk that load the generated ones, by name: what they hold where nobody has one yet.
// folder is the path of the generated files, as Asterisk sees it.
func Static(folder string) (Files, error) {
	entries, err := static.ReadDir("static")
	if err != nil {
		return nil, err
	}
	files := Files{}
	for _, entry := range entries {
		text, err := static.ReadFile("static/" + entry.Name())
		if err != nil {
			return nil, err
		}
		var w conf.Writer
		w.Include(folder + "/" + entry.Name())
		include, err := w.Bytes()
		if err != nil {
			return nil, err
		}
		files[entry.Name()] = slices.Concat(text, include)
	}
	return files, nil
}
