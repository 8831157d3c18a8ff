package check

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
)

// Changed is [Files] of a configuration that differs from one in which nothing is wrong. Where that takes nothing away which something else may
// refer to, it checks what differs alone.
func Changed(before, after map[string][]byte) []Finding {
	if !slices.Equal(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))) {
		return Files(after)
	}
	was, is := map[string][]byte{}, map[string][]byte{}
	for name, text := range after {
		gone, come := conf.Differences(name, before[name], text)
		if len(gone)+len(come) > len(text)/2 { // that is as much work as all of it
			return Files(after)
		}
		was[name], is[name] = gone, come
	}
	c := read(is)
	defined := c.defined()
	for what := range read(was).defined() {
		if hint := strings.HasPrefix(what, hintOf); !defined[what] && (!hint || bytes.Contains(after["queues.conf"], []byte(what))) {
			return Files(after)
		}
	}
	c.whole = after
	if len(c.check()) > 0 { // or it cannot be told without the rest
		return Files(after)
	}
	return nil
}

// hintOf is how queues, and nothing else, refer to a hint.
const hintOf = "hint:"

// defined returns everything that can be referred to.
func (c *checker) defined() map[string]bool {
	all := map[string]bool{}
	add := func(of ...any) { all[fmt.Sprintf("%q", of)] = true }
	for kind, names := range c.objects {
		for name := range names {
			add(kind, name)
		}
	}
	for kind, names := range map[string]map[string]bool{"mailbox": c.mailboxes, "queue": c.queues, "class": c.classes, "zone": c.zones} {
		for name := range names {
			add(kind, name)
		}
	}
	if c.dialplan == nil {
		return all
	}
	for _, context := range c.dialplan.Contexts {
		add("context", context.Name)
		for _, name := range context.Includes {
			add("include", context.Name, name)
		}
		for _, s := range context.Steps {
			if s.Priority == conf.HintPriority {
				all[hintOf+s.Exten+"@"+context.Name] = true
				continue
			}
			add("step", context.Name, s.Exten, fmt.Sprint(s.Priority))
			add("step", context.Name, s.Exten, s.Label)
		}
	}
	return all
}

// hasSection reports whether a file of the whole has a section of a name that begins like this.
func (c *checker) hasSection(file, name, begin string) bool {
	return bytes.Contains(c.whole[file], []byte("\n["+name+"]\n"+begin))
}

// hasLine reports whether a section of a file of the whole has a line that begins like this.
func (c *checker) hasLine(file, section, begin string) bool {
	return bytes.Contains(c.section(file, section), []byte("\n"+begin))
}

// section returns the first section of a name of a file of the whole, behind its name.
func (c *checker) section(file, name string) []byte {
	begin := []byte("\n[" + name + "]\n")
	at := bytes.Index(c.whole[file], begin)
	if at < 0 {
		return nil
	}
	text := c.whole[file][at+len(begin)-1:]
	if end := bytes.Index(text, []byte("\n[")); end >= 0 {
		text = text[:end+1]
	}
	return text
}

// stepsOf returns the steps of an extension of a context.
func (c *checker) stepsOf(context, exten string) []conf.Step {
	if steps := c.steps[context][exten]; steps != nil || c.whole == nil {
		return steps
	}
	text := c.section(dialplanFile, context)
	at := bytes.Index(text, []byte("\nexten => "+exten+","))
	if at < 0 {
		return nil
	}
	part := []byte("[" + context + "]")
	for line := range bytes.Lines(text[at:]) {
		if len(part) > len(context)+3 && !bytes.HasPrefix(line, []byte("same")) && !bytes.HasPrefix(line, []byte("exten => "+exten+",")) {
			break
		}
		part = append(part, line...)
	}
	f, _ := conf.Parse(part)
	d, _ := conf.ParseDialplan(f)
	c.noteDialplan(d)
	return c.steps[context][exten]
}
