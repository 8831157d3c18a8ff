package asterisk

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/confdsvc"
)

// library is the part of the dialplan that is the same everywhere.
//
//go:embed library/extensions.conf
var library string

func init() {
	parts = append(parts,
		part{"extensions.conf", 0, "library", writeLibrary},
		part{"extensions.conf", 1, "contexts", writeContexts},
		part{"extensions.conf", 2, "longest", writeLongest},
	)
}

// step is one application of the dialplan. Args holds nothing that somebody typed, unless conf.Argument wrote it.
type step struct{ app, args string }

// entry is what one number of a context does.
type entry struct {
	exten string
	hint  string // what a lamp for the number watches, or ""
	steps []step // none: the number has only a lamp
	about string // what a comment says of it, as somebody typed it, or ""
	// digit is the place of the digit in which the numbers differ whose lamps share a pattern, and behind is the pattern's end, behind
	// the digit. Without an end, it is the last digit.
	digit  int
	behind string
}

// numbers add what numbers lead to: each kind of object in its own file.
var numbers []func(p *plan, add func(context string, e entry))

// lamps add what lamps watch that has no number of its own. They run after numbers, and never replace one, but light one that has no
// lamp.
var lamps []func(p *plan, add func(context string, e entry))

// enter fills in what each context holds. Of two entries for one number, the first counts.
func (p *plan) enter() {
	seen := map[[2]string]int{} // one more than the place in entries
	add := func(context string, e entry) {
		key := [2]string{context, e.exten}
		if at := seen[key]; at > 0 {
			if has := &p.entries[context][at-1]; has.hint == "" && len(e.steps) == 0 {
				has.hint, p.lit[key] = e.hint, e.hint != ""
			}
			return
		}
		if len(e.steps) == 0 && e.hint == "" {
			return
		}
		p.entries[context] = append(p.entries[context], e)
		seen[key], p.lit[key] = len(p.entries[context]), e.hint != ""
		if len(e.steps) == 0 {
			return
		}
		p.leads[key] = true
		if strings.HasPrefix(e.exten, "_") {
			p.patterns[context] = append(p.patterns[context], e.exten)
		}
	}
	for _, some := range numbers {
		some(p, add)
	}
	for _, some := range lamps {
		some(p, add)
	}
}

func writeLibrary(_ *plan, w *conf.Writer) {
	f, err := conf.Parse([]byte(library))
	if err != nil {
		panic(err) // a mistake in the library, which every test reports
	}
	for _, s := range f.Sections {
		w.Section(s.Name)
		for _, v := range s.Values {
			w.Object(v.Name, v.Text)
		}
	}
}

// writeLongest writes after how long the call of a channel ends: it goes on with the channel, whoever is called or takes it.
func writeLongest(p *plan, w *conf.Writer) {
	w.Section("ringfence-longest")
	steps := []step{{"Return", ""}}
	if seconds := int64(p.options.LongestCall.Seconds()); seconds > 0 {
		steps = append([]step{{"Set", fmt.Sprintf("TIMEOUT(absolute)=%d", seconds)}}, steps...)
	}
	p.writeEntry(w, entry{exten: "s", steps: steps})
}

func writeContexts(p *plan, w *conf.Writer) {
	for _, c := range byName(p.Contexts, func(c *confdsvc.Context) string { return c.Name }) {
		w.Section(c.Name)
		w.Comment(c.Label)
		p.writeEntries(w, p.entries[c.Name])
		for _, name := range p.included(c) {
			w.Object("include", name)
		}
	}
	w.Section(featureContext)
	p.writeEntries(w, p.entries[featureContext])
	for _, name := range slices.Sorted(maps.Keys(p.entries)) {
		if strings.HasPrefix(name, "ringfence-") && p.contexts.at(name) == nil {
			w.Section(name)
			p.writeEntries(w, p.entries[name])
		}
	}
}

// includes returns the contexts of the tenant that a context includes.
func (p *plan) includes(c *confdsvc.Context) (all []*confdsvc.Context) {
	all = p.contextIDs.among(c.TenantUUID, p.Includes[c.ID])
	return slices.DeleteFunc(all, func(other *confdsvc.Context) bool { return other == c })
}

// included returns the names of what a context includes. One with the number of a parking lot includes that, one for telephones the feature codes,
// and its tenant's function keys.
func (p *plan) included(c *confdsvc.Context) (names []string) {
	for _, other := range p.includes(c) {
		names = append(names, other.Name)
	}
	for _, l := range p.parking[c.Name] {
		names = append(names, parkingContext(l))
	}
	if c.Type == "internal" {
		names = append(names, featureContext)
		if keys := keyContext(c.TenantUUID); len(p.entries[keys]) > 0 {
			names = append(names, keys)
		}
	}
	return names
}

// writeEntries writes what a context holds, of two entries for one number the first. It begins at the end: Asterisk looks for the place of each number
// from the beginning of those that it has, patterns last. In the other order 20,000 numbers take it half a minute.
func (p *plan) writeEntries(w *conf.Writer, entries []entry) {
	seen := map[string]bool{}
	entries = sharePatterns(slices.DeleteFunc(slices.Clone(entries), func(e entry) bool {
		again := seen[e.exten]
		seen[e.exten] = true
		return again
	}))
	slices.SortStableFunc(entries, func(a, b entry) int {
		if isPattern, other := strings.HasPrefix(a.exten, "_"), strings.HasPrefix(b.exten, "_"); isPattern != other {
			return map[bool]int{true: -1, false: 1}[isPattern]
		}
		return compareDashless(b.exten, a.exten)
	})
	for _, e := range entries {
		p.writeEntry(w, e)
	}
}

// compareDashless compares two numbers without their dashes, of which Asterisk takes no notice.
func compareDashless(a, b string) int {
	for {
		a, b = strings.TrimLeft(a, "-"), strings.TrimLeft(b, "-")
		if a == "" || b == "" || a[0] != b[0] {
			return strings.Compare(a, b)
		}
		a, b = a[1:], b[1:]
	}
}

// maxShared is how many bytes the hint of a pattern has at most: Asterisk reads 4 KiB.
const maxShared = 3000

// sharePatterns changes entries, and returns them, with one hint for all numbers that differ in a digit. A number alone keeps its own, and so does one that
// does not fit.
func sharePatterns(all []entry) []entry {
	members := map[[2]string][]int{} // by what stands before and behind the digit
	var order [][2]string
	for i, e := range all {
		if e.hint == "" || strings.HasPrefix(e.exten, "_") || e.digit < 0 {
			continue
		}
		at, behind := e.digit, e.behind
		if behind == "" {
			at = len(e.exten) - 1
		}
		if digit := e.exten[at]; digit >= '0' && digit <= '9' {
			key := [2]string{e.exten[:at], behind}
			if members[key] == nil {
				order = append(order, key)
			}
			members[key] = append(members[key], i)
		}
	}
	for _, key := range order {
		lamps := conf.Lamps{Before: key[0], After: key[1], Devices: map[byte]string{}}
		for _, i := range members[key] {
			lamps.Devices[all[i].exten[len(key[0])]] = all[i].hint
		}
		if len(members[key]) == 1 || len(lamps.Hint()) > maxShared {
			continue
		}
		for _, i := range members[key] {
			all[i].hint = ""
		}
		all = append(all, entry{exten: lamps.Pattern(), hint: lamps.Hint()})
	}
	return all
}

// writeEntry writes what a number does.
func (p *plan) writeEntry(w *conf.Writer, e entry) {
	e = p.mute(e, w.In())
	if e.about != "" {
		w.Comment(e.about)
	}
	if e.hint != "" {
		w.Object("exten", e.exten+",hint,"+e.hint)
	}
	for i, s := range e.steps {
		if i == 0 {
			w.Object("exten", e.exten+",1,"+s.app+"("+s.args+")")
		} else {
			w.Object("same", "n,"+s.app+"("+s.args+")")
		}
	}
}

// reaches reports whether a number leads somewhere in a context, or in those that it includes.
func (p *plan) reaches(context, number string) bool {
	return p.finds(context, map[string]bool{}, func(context string) bool {
		return p.leads[[2]string{context, number}] || slices.ContainsFunc(p.patterns[context], func(pattern string) bool { return conf.Matches(pattern, number) })
	})
}

// hasLamp reports whether a number has a lamp in a context, or in those that it includes.
func (p *plan) hasLamp(context, number string) bool {
	return p.finds(context, map[string]bool{}, func(context string) bool { return p.lit[[2]string{context, number}] })
}

// finds reports whether one of a context and those that it includes, which are not among seen, has something.
func (p *plan) finds(context string, seen map[string]bool, has func(context string) bool) bool {
	if seen[context] {
		return false
	}
	seen[context] = true
	if has(context) {
		return true
	}
	c := p.contexts.at(context)
	return c != nil && slices.ContainsFunc(p.included(c), func(name string) bool { return p.finds(name, seen, has) })
}

// isDigits reports whether a text is a number without anything else.
func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// dialable returns the characters of a number that somebody typed with which it can be dialled.
func dialable(number string) string { return conf.Digits(number) }
