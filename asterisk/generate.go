package asterisk

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/confdsvc"
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
	// Sounds is the folder of tenants' own sounds, as Asterisk sees it. "": there is none.
	Sounds string
	// Interfaces are the channels of the machine that custom endpoints of all tenants may name, such as SCCP/door, or SCCP/* for all of a
	// technology. Nil: none.
	Interfaces []string
	// Own are the addresses and the names of the machine, in small letters, by which a trunk would lead to Asterisk itself.
	Own []string
	// NoFaxes says why faxes are not received. "": they are.
	NoFaxes string
	// LongestCall is after how long a call ends, in whole seconds. 0: never.
	LongestCall time.Duration
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

// Generate returns the files for a snapshot, and what they lack of it, and why. It writes them side by side.
func Generate(s *confdsvc.Snapshot, o Options) (Files, []leftout.Omission, error) {
	p := newPlan(s, o)
	byFile := map[string][]part{}
	for _, one := range slices.SortedFunc(slices.Values(parts), func(a, b part) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name))
	}) {
		byFile[one.file] = append(byFile[one.file], one)
	}
	names := slices.Sorted(maps.Keys(byFile))
	texts, left, errs := make([][]byte, len(names)), make([][]leftout.Omission, len(names)), make([]error, len(names))
	var work sync.WaitGroup
	for i, name := range names {
		work.Go(func() { texts[i], left[i], errs[i] = p.writeFile(name, byFile[name]) })
	}
	work.Wait()
	files := Files{}
	for i, name := range names {
		files[name] = texts[i]
		p.left = append(p.left, left[i]...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	return files, p.left, nil
}

// writeFile writes a file of these parts, and returns what it lacks.
func (p *plan) writeFile(name string, parts []part) ([]byte, []leftout.Omission, error) {
	own := *p // for what it leaves out alone: the rest is only read
	own.left = nil
	w := &conf.Writer{}
	w.Comment(conf.Mark)
	for _, one := range parts {
		w.Blank()
		one.write(&own, w)
	}
	text, err := w.Bytes()
	if err != nil {
		return nil, nil, fmt.Errorf("writing %s: %w", name, err)
	}
	own.leaveTaken(name, w.Sections())
	return text, own.left, nil
}

//go:embed static
var static embed.FS

// Optional are those of [Static] that nobody needs: Asterisk listens for IAX where there is an iax.conf, and complains of a hep.conf that says nothing.
var Optional = []string{"hep.conf", "iax.conf"}

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
