package check

import (
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
)

// pjsipTypes are the types of the objects of pjsip.conf.
var pjsipTypes = words("endpoint\naor\nauth\ntransport\nglobal\nsystem\nidentify\nregistration\n")

// references are the settings of pjsip.conf that name something, by the type of the object that has them.
var references = map[string][]struct{ setting, names string }{
	"endpoint": {
		{"context", "context"},
		{"message_context", "context"},
		{"subscribe_context", "context"},
		{"overlap_context", "context"},
		{"aors", "aor"},
		{"auth", "auth"},
		{"outbound_auth", "auth"},
		{"transport", "transport"},
		{"mailboxes", "mailbox"},
		{"moh_suggest", "class"},
	},
	"aor":          {{"mailboxes", "mailbox"}},
	"identify":     {{"endpoint", "endpoint"}},
	"registration": {{"endpoint", "endpoint"}, {"outbound_auth", "auth"}, {"transport", "transport"}},
}

// checkPJSIP checks the objects of pjsip.conf and what they refer to.
func (c *checker) checkPJSIP() {
	const file = "pjsip.conf"
	f := c.files[file]
	if f == nil {
		return
	}
	seen := map[[2]string]bool{}
	for _, s := range f.Sections {
		if s.Template {
			continue
		}
		kind, ok := s.Get("type")
		if !ok || !pjsipTypes[kind] {
			c.addf(file, s.Line, "[%s] has no known type", s.Name)
			continue
		}
		if seen[[2]string{kind, s.Name}] {
			c.addf(file, s.Line, "[%s] is twice of type %s", s.Name, kind)
		}
		seen[[2]string{kind, s.Name}] = true
		for _, r := range references[kind] {
			for _, value := range s.All(r.setting) {
				for _, name := range list(value) {
					c.refer(file, lineOf(s, r.setting), "["+s.Name+"] "+r.setting, r.names, name)
				}
			}
		}
		if kind == "endpoint" {
			if _, ok := s.Get("context"); !ok {
				c.addf(file, s.Line, "[%s] has no context", s.Name)
			}
		}
	}
}

// lineOf returns the line of a setting; one from a template counts where the section begins.
func lineOf(s *conf.Section, setting string) int {
	for _, v := range s.Values {
		if v.Name == setting && !v.Inherited {
			return v.Line
		}
	}
	return s.Line
}

// refer checks that something exists.
func (c *checker) refer(file string, line int, what, kind, name string) {
	if name == "" || dynamic(name) {
		return
	}
	if !c.has(kind, name) {
		c.addf(file, line, "%s: there is no %s %q", what, kind, name)
	}
}

// has reports whether there is something of a kind and a name.
func (c *checker) has(kind, name string) bool {
	switch kind {
	case "context":
		return c.contexts[name] || c.hasSection(dialplanFile, name, "")
	case "mailbox":
		number, context, _ := strings.Cut(name, "@")
		return c.mailboxes[name] || c.hasLine("voicemail.conf", context, number+" =")
	case "queue":
		return c.queues[name] || c.hasSection("queues.conf", name, "")
	case "class": // the class default is always there
		return c.classes[name] || name == "default" || c.hasSection("musiconhold.conf", name, "")
	case "zone":
		return c.zones[name] || c.hasLine("voicemail.conf", "zonemessages", name+" =")
	default:
		return c.objects[kind][name] || c.hasSection("pjsip.conf", name, "type = "+kind+"\n")
	}
}

// checkVoicemail checks the lines of the mailboxes.
func (c *checker) checkVoicemail() {
	const file = "voicemail.conf"
	f := c.files[file]
	if f == nil {
		return
	}
	seen := map[string]bool{}
	for _, s := range f.Sections {
		switch s.Name {
		case "general":
			c.checkSilence(file, s)
			continue
		case "zonemessages":
			continue
		}
		for _, v := range s.Values {
			if box := v.Name + "@" + s.Name; seen[box] {
				c.addf(file, v.Line, "the mailbox %s is there twice", box)
			} else {
				seen[box] = true
			}
			fields := strings.Split(v.Text, ",")
			if len(fields) > 5 {
				c.addf(file, v.Line, "the mailbox %s has %d fields: a comma is in one of them", v.Name, len(fields))
				continue
			}
			if len(fields) < 5 {
				continue
			}
			for option := range strings.SplitSeq(fields[4], "|") {
				name, value, ok := strings.Cut(option, "=")
				switch {
				case option == "":
				case !ok:
					c.addf(file, v.Line, "the mailbox %s has an option %q without a value", v.Name, option)
				case strings.TrimSpace(name) == "tz" && !c.has("zone", value):
					c.addf(file, v.Line, "the mailbox %s: there is no zone message %q", v.Name, value)
				}
			}
		}
	}
}

// checkSilence checks what Asterisk warns about at every load: messages must be longer than the silence that ends them.
func (c *checker) checkSilence(file string, s *conf.Section) {
	least, ok := s.Get("minsecs")
	silence, has := s.Get("maxsilence")
	a, errA := strconv.Atoi(least)
	b, errB := strconv.Atoi(silence)
	if ok && has && errA == nil && errB == nil && a > 0 && a <= b {
		c.addf(file, lineOf(s, "minsecs"), "minsecs must be larger than maxsilence")
	}
}

var strategies = words("ringall\nleastrecent\nfewestcalls\nrandom\nrrmemory\nrrordered\nlinear\nwrandom\n")

// sections returns the sections of a file that name one thing each, and reports those that are there twice.
func (c *checker) sections(file string) (sections []*conf.Section) {
	f := c.files[file]
	if f == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, s := range f.Sections {
		if s.Name == "general" || s.Template {
			continue
		}
		if seen[s.Name] {
			c.addf(file, s.Line, "[%s] is there twice", s.Name)
		}
		seen[s.Name] = true
		sections = append(sections, s)
	}
	return sections
}

// checkQueues checks the queues and their members.
func (c *checker) checkQueues() {
	const file = "queues.conf"
	for _, s := range c.sections(file) {
		for _, v := range s.Values {
			switch v.Name {
			case "strategy":
				if !strategies[v.Text] {
					c.addf(file, v.Line, "[%s] has an unknown strategy %q", s.Name, v.Text)
				}
			case "context":
				c.refer(file, v.Line, "["+s.Name+"]", "context", v.Text)
			case "musicclass", "musiconhold":
				c.refer(file, v.Line, "["+s.Name+"]", "class", v.Text)
			case "member":
				fields := strings.Split(v.Text, ",")
				c.device(place{file: file, line: v.Line, what: "a member of [" + s.Name + "]"}, strings.TrimSpace(fields[0]))
				if len(fields) > 3 {
					if hint, ok := strings.CutPrefix(strings.TrimSpace(fields[3]), hintOf); ok {
						c.hint(place{file: file, line: v.Line, what: "a member of [" + s.Name + "]"}, hint)
					}
				}
			}
		}
	}
}

var musicModes = words("files\ncustom\nplaylist\nmp3\nmp3nb\nquietmp3\nquietmp3nb\n")

// checkMusic checks the classes of music on hold.
func (c *checker) checkMusic() {
	const file = "musiconhold.conf"
	for _, s := range c.sections(file) {
		mode, _ := s.Get("mode")
		needs := map[string]string{"files": "directory", "custom": "application"}[mode]
		if !musicModes[mode] {
			c.addf(file, s.Line, "[%s] has an unknown mode %q", s.Name, mode)
		} else if _, ok := s.Get(needs); needs != "" && !ok {
			c.addf(file, s.Line, "[%s] has no %s", s.Name, needs)
		}
	}
}
