package check

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
)

// place is where a reference is.
type place struct {
	file string
	line int
	what string
	// context and exten are those of the step, for targets that name neither.
	context, exten string
}

// checkDialplan checks the steps of the contexts.
func (c *checker) checkDialplan() {
	const file = dialplanFile
	if c.dialplan == nil {
		return
	}
	for _, context := range c.dialplan.Contexts {
		for _, name := range context.Includes {
			c.refer(file, context.Line, "["+context.Name+"] include", "context", name)
		}
		c.checkPriorities(file, context)
		for _, s := range context.Steps {
			at := place{file, s.Line, "[" + context.Name + "] " + s.Exten, context.Name, s.Exten}
			if s.Priority == conf.HintPriority {
				for _, devices := range conf.Watched(s.Exten, s.App) {
					for device := range strings.SplitSeq(devices, "&") {
						if technology, _, _ := strings.Cut(device, "/"); !strings.EqualFold(technology, "Local") { // without its number the lamp is only dark
							c.device(at, device)
						}
					}
				}
				continue
			}
			c.application(at, s.App, s.Args)
		}
	}
}

// checkPriorities checks that the priorities of each extension begin with 1 and have no gap, and that no label is there twice.
func (c *checker) checkPriorities(file string, context *conf.DialplanContext) {
	type exten struct{ exten, callerID string }
	byExten := map[exten][]conf.Step{}
	for _, s := range context.Steps {
		if s.Priority != conf.HintPriority {
			k := exten{s.Exten, s.CallerID}
			byExten[k] = append(byExten[k], s)
		}
	}
	for k, steps := range byExten {
		slices.SortStableFunc(steps, func(a, b conf.Step) int { return a.Priority - b.Priority })
		labels := map[string]bool{}
		for i, s := range steps {
			if want := i + 1; s.Priority > want && (i == 0 || s.Priority > steps[i-1].Priority+1) {
				c.addf(file, s.Line, "[%s] %s has a gap before priority %d", context.Name, k.exten, s.Priority)
			}
			if s.Label != "" && labels[s.Label] {
				c.addf(file, s.Line, "[%s] %s has the label %q twice", context.Name, k.exten, s.Label)
			}
			labels[s.Label] = true
		}
	}
}

var functionCall = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\(`)

// application checks one application and its arguments.
func (c *checker) application(at place, app, args string) {
	if dynamic(app) {
		return
	}
	if !applications[strings.ToLower(app)] {
		c.addf(at.file, at.line, "%s: Asterisk has no application %q", at.what, app)
		return
	}
	for _, m := range functionCall.FindAllStringSubmatch(args, -1) {
		c.function(at, m[1])
	}
	if !balanced(args) {
		c.addf(at.file, at.line, "%s: brackets or quotes of %s are not closed", at.what, app)
		return
	}
	at.what += " " + app
	parts := split(args, ',')
	switch strings.ToLower(app) {
	case "goto", "gosub":
		c.target(at, args)
	case "gotoif", "gosubif", "gotoiftime":
		_, targets, _ := strings.Cut(outside(args, '?'), "\x00")
		for target := range strings.SplitSeq(outside(targets, ':'), "\x00") {
			if target = strings.TrimSpace(target); target != "" {
				c.target(at, target)
			}
		}
	case "set":
		c.assignments(at, []string{args}) // its value may have commas
	case "mset":
		c.assignments(at, parts)
	case "execif", "execiftime":
		_, calls, _ := strings.Cut(outside(args, '?'), "\x00")
		for call := range strings.SplitSeq(outside(calls, ':'), "\x00") {
			c.call(at, call)
		}
	case "exec", "tryexec":
		c.call(at, args)
	case "dial", "retrydial", "page", "chanisavail":
		c.dial(at, strings.ToLower(app), parts)
	case "queue":
		c.refer(at.file, at.line, at.what, "queue", argument(parts, 0))
	case "voicemail", "voicemailmain", "vmauthenticate", "mailboxexists":
		for box := range strings.SplitSeq(argument(parts, 0), "&") {
			if strings.Contains(box, "@") && !strings.HasPrefix(box, "@") {
				c.refer(at.file, at.line, at.what, "mailbox", box)
			}
		}
	case "musiconhold", "startmusiconhold":
		c.refer(at.file, at.line, at.what, "class", argument(parts, 0))
	}
}

func (c *checker) function(at place, name string) {
	if !functions[name] {
		c.addf(at.file, at.line, "%s: Asterisk has no function %q", at.what, name)
	}
}

// assignments checks what Set and MSet set.
func (c *checker) assignments(at place, parts []string) {
	for _, p := range parts {
		name, value, ok := strings.Cut(outside(p, '='), "\x00")
		if !ok {
			c.addf(at.file, at.line, "%s sets nothing", at.what)
			continue
		}
		if function, arg, ok := strings.Cut(name, "("); ok && !dynamic(function) {
			c.function(at, strings.TrimSpace(function))
			switch name := strings.TrimSuffix(arg, ")"); {
			case function == "CHANNEL" && name == "musicclass":
				c.refer(at.file, at.line, at.what, "class", value)
			case function == "CHANNEL" && strings.HasPrefix(name, "hangup_handler_") && value != "":
				c.target(at, value)
			}
		}
	}
}

// call checks an application that is an argument of another: App(arguments).
func (c *checker) call(at place, text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	app, args, _ := strings.Cut(text, "(")
	c.application(at, strings.TrimSpace(app), strings.TrimSuffix(args, ")"))
}

// dial checks the devices that ring, and the routines that its options name.
func (c *checker) dial(at place, app string, parts []string) {
	for device := range strings.SplitSeq(argument(parts, 0), "&") {
		c.device(at, strings.TrimSpace(device))
	}
	if app != "dial" {
		return
	}
	for _, o := range options(argument(parts, 2)) {
		target := strings.ReplaceAll(o.argument, "^", ",")
		switch o.letter {
		case 'U': // a context, with arguments
			name, _, _ := strings.Cut(o.argument, "^")
			name, _, _ = strings.Cut(name, "(")
			c.refer(at.file, at.line, at.what+" option U", "context", name)
		case 'b', 'B', 'G':
			c.target(at, target)
		}
	}
}

// option is an option letter with its argument.
type option struct {
	letter   byte
	argument string
}

// options reads the options of an application: letters, each with an argument in parentheses or without.
func options(text string) []option {
	var all []option
	for i := 0; i < len(text); i++ {
		o := option{letter: text[i]}
		if i+1 < len(text) && text[i+1] == '(' {
			end := closing(text, i+1)
			o.argument = text[i+2 : end]
			i = min(end, len(text)-1)
		}
		all = append(all, o)
	}
	return all
}

// device checks a device that can ring: Local/exten@context, PJSIP/endpoint.
func (c *checker) device(at place, device string) {
	technology, rest, _ := strings.Cut(device, "/")
	switch {
	case strings.EqualFold(technology, "Local"):
		rest, _, _ = strings.Cut(rest, "/") // options
		exten, context, ok := strings.Cut(rest, "@")
		if !ok {
			context = "default"
		}
		c.extension(at, context, exten, "")
	case strings.EqualFold(technology, "PJSIP") && !dynamic(rest):
		name, _, _ := strings.Cut(rest, "/")
		if i := strings.LastIndexByte(name, '@'); i >= 0 {
			name = name[i+1:]
		}
		c.refer(at.file, at.line, at.what, "endpoint", name)
	}
}

// hint checks an extension that must have a hint: exten@context.
func (c *checker) hint(at place, hint string) {
	exten, context, _ := strings.Cut(hint, "@")
	if dynamic(hint) {
		return
	}
	for _, s := range c.stepsOf(context, exten) {
		if s.Priority == conf.HintPriority {
			return
		}
	}
	c.addf(at.file, at.line, "%s: there is no hint %q", at.what, hint)
}

// target checks where a step goes: [[context,]exten,]priority, with arguments for Gosub.
func (c *checker) target(at place, text string) {
	parts := split(text, ',')
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	context, exten := at.context, at.exten
	switch len(parts) {
	case 1:
	case 2:
		exten = parts[0]
	case 3:
		context, exten = parts[0], parts[1]
	default:
		c.addf(at.file, at.line, "%s: the target %q has too many parts", at.what, text)
		return
	}
	priority := parts[len(parts)-1]
	if open := strings.IndexByte(priority, '('); open >= 0 && !dynamic(priority[:open]) {
		priority = priority[:open]
	}
	c.extension(at, context, exten, priority)
}

// extension checks that a context has an extension, itself or by its includes, and that this has the priority or label, if one is
// asked for.
func (c *checker) extension(at place, context, exten, priority string) {
	if dynamic(context) {
		return
	}
	if !c.has("context", context) {
		c.addf(at.file, at.line, "%s: there is no context %q", at.what, context)
		return
	}
	if dynamic(exten) || exten == "" {
		return
	}
	steps := c.find(context, exten, map[string]bool{})
	if len(steps) == 0 {
		c.addf(at.file, at.line, "%s: there is no extension %q in [%s]", at.what, exten, context)
		return
	}
	if priority == "" || dynamic(priority) {
		return
	}
	number, err := strconv.Atoi(priority)
	for _, s := range steps {
		if err == nil && s.Priority == number || s.Label == priority {
			return
		}
	}
	c.addf(at.file, at.line, "%s: %s in [%s] has no priority %q", at.what, exten, context, priority)
}

// find returns the steps of an extension: those of the same name, else those of the patterns that match, else those of the
// included contexts. A step's own extension may be a pattern, which is looked up as it is.
func (c *checker) find(context, exten string, visited map[string]bool) []conf.Step {
	if visited[context] {
		return nil
	}
	visited[context] = true
	found := runnable(c.stepsOf(context, exten))
	if len(found) == 0 {
		for pattern, steps := range c.steps[context] {
			if conf.Matches(pattern, exten) {
				found = append(found, runnable(steps)...)
			}
		}
	}
	if len(found) > 0 || c.dialplan == nil {
		return found
	}
	if d := c.dialplan.Context(context); d != nil {
		for _, included := range d.Includes {
			if found = c.find(included, exten, visited); len(found) > 0 {
				break
			}
		}
	}
	return found
}

func runnable(steps []conf.Step) []conf.Step {
	var all []conf.Step
	for _, s := range steps {
		if s.Priority != conf.HintPriority {
			all = append(all, s)
		}
	}
	return all
}
