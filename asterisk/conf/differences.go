package conf

import (
	"bytes"
	"strings"
)

// Differences returns how two versions of a file differ, as files: of extensions.conf the extensions, of voicemail.conf the mailboxes, and of
// others the sections that one has and the other has not, or not with the same lines. Everything with the name of such a one is in both, and so
// is the beginning of the section that it is in. Where in the file it stands does not matter.
func Differences(name string, before, after []byte) (gone, come []byte) {
	if bytes.Equal(before, after) {
		return nil, nil
	}
	gone, come = differences(before, after, false)
	if name == "extensions.conf" || name == "voicemail.conf" { // of sections that differ, what in them does: most are large, and do not
		return differences(gone, come, true)
	}
	return gone, come
}

func differences(before, after []byte, byLine bool) (gone, come []byte) {
	was, is := units(string(before), byLine), units(string(after), byLine)
	same := 0
	for same < len(was) && same < len(is) && was[same] == is[same] {
		same++
	}
	balance := map[unit]int{}
	for _, u := range was[same:] {
		balance[u]++
	}
	for _, u := range is[same:] {
		balance[u]--
	}
	differ := map[[2]string]bool{}
	for u, n := range balance {
		if n != 0 {
			differ[[2]string{u.section, u.item}], differ[[2]string{u.section}] = true, true
		}
	}
	return join(was, differ), join(is, differ)
}

// unit is what is compared as a whole: a section or, in one, the lines of an extension or of a mailbox.
type unit struct{ section, item, text string }

// units takes a file apart.
func units(text string, byLine bool) (all []unit) {
	var u unit
	from, at := 0, 0
	until := "\n["
	if byLine {
		until = "\n"
	}
	for at < len(text) {
		end := len(text)
		if i := strings.Index(text[at:], until); i >= 0 {
			end = at + i + 1
		}
		line := text[at:end]
		begins := line[0] == '['
		next := unit{section: u.section}
		switch {
		case begins:
			next.section, _, _ = strings.Cut(line[1:], "]")
		case byLine && line[0] != '\n' && !strings.HasPrefix(line, "same"):
			next.item, _, _ = strings.Cut(line, "=")
			if next.item = strip(next.item); next.item == "exten" {
				next.item, _, _ = strings.Cut(line, ",")
			}
			begins = next.item != u.item
		}
		if begins {
			all = append(all, u.until(text[from:at]))
			u, from = next, at
		}
		at = end
	}
	return append(all, u.until(text[from:]))
}

// until returns the unit with its text, without the blank lines behind it.
func (u unit) until(text string) unit {
	u.text = strings.TrimRight(text, "\n")
	return u
}

// join returns the units with these sections and items as a file.
func join(all []unit, which map[[2]string]bool) []byte {
	var out strings.Builder
	for _, u := range all {
		if which[[2]string{u.section, u.item}] {
			out.WriteString(u.text + "\n")
		}
	}
	return []byte(out.String())
}
