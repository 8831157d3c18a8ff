package generation

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	// contextLines is how many lines around a change a diff shows.
	contextLines = 3
	// maxDiff is the longest diff of a file, in lines.
	maxDiff = 5000
)

// Diff returns the lines that come and go between two versions of a file, in the unified format, without its secrets. Behind the place of
// each part stands the section that it begins in, and the number of the dialplan. It is empty if they are equal.
func Diff(name string, before, after []byte) string {
	a, b := lines(before), lines(after)
	var out []string
	for _, h := range hunks(matches(a, b), len(a), len(b)) {
		out = append(out, fmt.Sprintf("@@ -%d,%d +%d,%d @@", h.a0+1, h.a1-h.a0, h.b0+1, h.b1-h.b0)+place(b, h.b0))
		out = append(out, h.lines(name, a, b)...)
		if len(out) > maxDiff {
			out = append(out[:maxDiff], "@@ the rest is left out @@")
			break
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "--- " + name + "\n+++ " + name + "\n" + strings.Join(out, "\n") + "\n"
}

var extension = regexp.MustCompile(`^exten\s*=>?\s*([^,]+),`)

// place names the section in which a line is, and the extension that it goes on with, with a blank before each.
func place(text []string, at int) (where string) {
	goesOn := at < len(text) && strings.HasPrefix(text[at], "same")
	for at--; at >= 0; at-- {
		if found := extension.FindStringSubmatch(text[at]); goesOn && found != nil {
			where, goesOn = " "+found[1], false
		}
		if strings.HasPrefix(text[at], "[") {
			return " " + text[at] + where
		}
	}
	return ""
}

var (
	secretSetting = regexp.MustCompile(`(?i)^(\s*[a-z0-9_-]*(?:password|passwd|secret|digest|cred|pin)[a-z0-9_-]*\s*=>?\s*).*`)
	secretMailbox = regexp.MustCompile(`^(\s*[^\s=]+\s*=>\s*)[^,]*`)
	secretCheck   = regexp.MustCompile(`(?i)((?:Authenticate|DISA|PIN[a-z_]*=)\(?)[^,)]*`)
)

func lines(content []byte) []string {
	if len(content) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
}

const hidden = "(hidden)"

// hide returns a line as it is shown: without its secrets. A changed secret shows as two lines that look alike.
func hide(file, text string) string {
	switch {
	case secretSetting.MatchString(text):
		return secretSetting.ReplaceAllString(text, "${1}"+hidden)
	case file == "voicemail.conf" && secretMailbox.MatchString(text):
		return secretMailbox.ReplaceAllString(text, "${1}"+hidden)
	case file == "extensions.conf":
		return secretCheck.ReplaceAllString(text, "${1}"+hidden)
	default:
		return text
	}
}

// match says that n lines from a on equal n lines from b on.
type match struct{ a, b, n int }

// matches returns what two files share, in order: what they begin and end with, and between that the lines that each has once, with
// what surrounds them.
func matches(a, b []string) []match {
	var found []match
	var within func(a0, a1, b0, b1 int)
	within = func(a0, a1, b0, b1 int) {
		start := match{a0, b0, 0}
		for a0 < a1 && b0 < b1 && a[a0] == b[b0] {
			a0, b0, start.n = a0+1, b0+1, start.n+1
		}
		end := 0
		for a0 < a1 && b0 < b1 && a[a1-1] == b[b1-1] {
			a1, b1, end = a1-1, b1-1, end+1
		}
		if start.n > 0 {
			found = append(found, start)
		}
		for _, m := range anchors(a, b, a0, a1, b0, b1) {
			if m.a < a0 || m.b < b0 { // a match before it has grown over this one
				continue
			}
			within(a0, m.a+1, b0, m.b+1)
			a0, b0 = m.a+1, m.b+1
			for a0 < a1 && b0 < b1 && a[a0] == b[b0] {
				found = append(found, match{a0, b0, 1})
				a0, b0 = a0+1, b0+1
			}
		}
		if end > 0 {
			found = append(found, match{a1, b1, end})
		}
	}
	within(0, len(a), 0, len(b))
	return found
}

// anchors returns the longest common order of the lines that both parts have exactly once.
func anchors(a, b []string, a0, a1, b0, b1 int) []match {
	type place struct{ countA, countB, a, b int }
	places := map[string]*place{}
	at := func(text string) *place {
		p := places[text]
		if p == nil {
			p = new(place)
			places[text] = p
		}
		return p
	}
	for i := a0; i < a1; i++ {
		p := at(a[i])
		p.countA, p.a = p.countA+1, i
	}
	for i := b0; i < b1; i++ {
		p := at(b[i])
		p.countB, p.b = p.countB+1, i
	}
	// The longest increasing sequence of places in b, by piles of patience.
	type card struct {
		match
		below *card
	}
	var piles []*card
	for i := a0; i < a1; i++ {
		p := places[a[i]]
		if p.countA != 1 || p.countB != 1 {
			continue
		}
		low, high := 0, len(piles)
		for low < high {
			if middle := (low + high) / 2; piles[middle].b < p.b {
				low = middle + 1
			} else {
				high = middle
			}
		}
		c := &card{match: match{i, p.b, 1}}
		if low > 0 {
			c.below = piles[low-1]
		}
		if low == len(piles) {
			piles = append(piles, c)
		} else {
			piles[low] = c
		}
	}
	if len(piles) == 0 {
		return nil
	}
	found := make([]match, len(piles))
	for i, c := len(piles)-1, piles[len(piles)-1]; c != nil; i, c = i-1, c.below {
		found[i] = c.match
	}
	return found
}

// hunk is a part of a diff: lines a0 to a1 become b0 to b1, and edits are what differs within.
type hunk struct {
	a0, a1, b0, b1 int
	edits          []edit
}

type edit struct{ a0, a1, b0, b1 int }

// hunks joins the differences between the matches that are near to each other.
func hunks(same []match, lenA, lenB int) []hunk {
	var all []hunk
	a, b := 0, 0
	for _, m := range append(same, match{lenA, lenB, 0}) {
		if e := (edit{a, m.a, b, m.b}); e.a0 != e.a1 || e.b0 != e.b1 {
			if last := len(all) - 1; last >= 0 && e.a0-all[last].a1 <= 2*contextLines {
				all[last].edits = append(all[last].edits, e)
				all[last].a1, all[last].b1 = e.a1, e.b1
			} else {
				all = append(all, hunk{e.a0, e.a1, e.b0, e.b1, []edit{e}})
			}
		}
		a, b = m.a+m.n, m.b+m.n
	}
	for i := range all {
		before := min(contextLines, all[i].a0, all[i].b0)
		after := min(contextLines, lenA-all[i].a1, lenB-all[i].b1)
		all[i].a0, all[i].b0 = all[i].a0-before, all[i].b0-before
		all[i].a1, all[i].b1 = all[i].a1+after, all[i].b1+after
	}
	return all
}

func (h hunk) lines(file string, a, b []string) []string {
	var out []string
	show := func(mark string, from []string) {
		for _, l := range from {
			out = append(out, mark+hide(file, l))
		}
	}
	at := h.a0
	for _, e := range h.edits {
		show(" ", a[at:e.a0])
		show("-", a[e.a0:e.a1])
		show("+", b[e.b0:e.b1])
		at = e.a1
	}
	show(" ", a[at:h.a1])
	return out
}
