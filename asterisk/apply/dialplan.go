package apply

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/generation"
)

const (
	// maxActions is how many actions change the dialplan at most: Asterisk does some thousand in a second, and reads all of the dialplan of
	// 10,000 users in a few seconds.
	maxActions = 1000
	// maxHeader is how long a header of such an action is at most: Asterisk reads 1,024 bytes.
	maxHeader = 1000
)

// Change implements [generation.Changer]: it tells Asterisk of the extensions that differ, which then has the dialplan that it would read from
// the files. Watchers of numbers whose devices change go on watching. What differs otherwise, or in too much, needs a reload, and so does what
// Asterisk has not taken: a part of it may be there.
func (a *running) Change(ctx context.Context, module string, from, to generation.Files) (done bool) {
	const file = "extensions.conf"
	if module != "pbx_config" || from[file] == nil || to[file] == nil {
		return false
	}
	actions, ok := dialplanActions(from[file], to[file])
	if !ok {
		return false
	}
	for _, action := range actions {
		if _, err := a.client.Do(ctx, action.Action); err != nil && !action.mayFail {
			return false
		}
	}
	return true
}

// dialplanAction is an action that changes the dialplan.
type dialplanAction struct {
	ami.Action
	mayFail bool // it removes what may not be there
}

// dialplanActions returns what makes one dialplan of another, if that can be said in few actions.
func dialplanActions(from, to []byte) (actions []dialplanAction, ok bool) {
	gone, come := conf.Differences("extensions.conf", from, to)
	before, ok1 := parseContexts(gone)
	after, ok2 := parseContexts(come)
	if !ok1 || !ok2 || !slices.Equal(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))) {
		return nil, false
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		d := contextChange{name: name}
		if !d.read(before[name], after[name]) {
			return nil, false
		}
		if actions = append(actions, d.actions...); len(actions) > maxActions {
			return nil, false
		}
	}
	fits := func(h ami.Header) bool { return len(h.Value) <= maxHeader && strings.TrimSpace(h.Value) == h.Value }
	for _, action := range actions {
		if !slices.ContainsFunc(action.Headers, func(h ami.Header) bool { return !fits(h) }) {
			continue
		}
		return nil, false
	}
	return actions, true
}

// contextChange is how a context changes.
type contextChange struct {
	name    string
	actions []dialplanAction
}

// read reads what a context was and is, without what has not changed.
func (d *contextChange) read(was, is contextParts) bool {
	if !slices.Equal(was.includes, is.includes) {
		return false
	}
	for exten, steps := range is.steps {
		for _, step := range slices.Backward(steps) { // the first one last: until then nobody runs the others
			if !slices.ContainsFunc(was.steps[exten], func(s conf.Step) bool { return sameStep(s, step) }) {
				d.add(exten, strconv.Itoa(step.Priority), step.App, step.Args)
			}
		}
		for _, step := range was.steps[exten] {
			if !slices.ContainsFunc(steps, func(s conf.Step) bool { return s.Priority == step.Priority }) {
				d.remove(exten, strconv.Itoa(step.Priority), false)
			}
		}
	}
	for exten := range was.steps {
		if is.steps[exten] == nil {
			d.remove(exten, "", false) // with the hint that it has from a pattern
		}
	}
	d.changeHints(was, is)
	slices.SortStableFunc(d.actions, func(a, b dialplanAction) int { return cmp.Compare(a.Headers[1].Value, b.Headers[1].Value) })
	return true
}

// changeHints tells of the hints that differ. Numbers that somebody watches have a hint that Asterisk has made from that of a pattern: it is
// replaced where it would watch something else.
func (d *contextChange) changeHints(was, is contextParts) {
	for exten, hint := range is.hints {
		if was.hints[exten] != hint {
			d.add(exten, "hint", hint, "")
		}
	}
	for exten := range was.hints {
		if _, still := is.hints[exten]; !still && strings.HasPrefix(exten, "_") {
			d.remove(exten, "", false)
		}
	}
	watched := is.watched()
	for number, devices := range was.watched() {
		now, still := watched[number]
		switch {
		case still && now != devices && is.hints[number] == "":
			d.add(number, "hint", now, "")
		case !still && (is.steps[number] != nil || was.steps[number] == nil):
			d.remove(number, "hint", true)
		}
	}
}

func (d *contextChange) add(exten, priority, app, args string) {
	headers := []ami.Header{
		header("Context", d.name), header("Extension", exten), header("Priority", priority), header("Application", app), header("Replace", "yes"),
	}
	if args != "" {
		headers = append(headers, header("ApplicationData", args))
	}
	d.actions = append(d.actions, dialplanAction{ami.Action{Name: "DialplanExtensionAdd", Headers: headers}, false})
}

func (d *contextChange) remove(exten, priority string, mayFail bool) {
	headers := []ami.Header{header("Context", d.name), header("Extension", exten)}
	if priority != "" {
		headers = append(headers, header("Priority", priority))
	}
	d.actions = append(d.actions, dialplanAction{ami.Action{Name: "DialplanExtensionRemove", Headers: headers}, mayFail})
}

func header(name, value string) ami.Header { return ami.Header{Name: name, Value: value} }

// contextParts are what a context consists of.
type contextParts struct {
	includes []string
	steps    map[string][]conf.Step
	hints    map[string]string
}

// watched returns what the numbers of a context watch that somebody can watch by their names.
func (c contextParts) watched() map[string]string {
	all := map[string]string{}
	for exten, hint := range c.hints {
		for number, devices := range conf.Watched(exten, hint) {
			if !strings.HasPrefix(number, "_") && !strings.HasSuffix(number, ".") {
				all[number] = devices
			}
		}
	}
	return all
}

// parseContexts reads contexts by their names, unless there is something else, or what no action can say: labels, or callers' numbers.
func parseContexts(text []byte) (map[string]contextParts, bool) {
	f, err := conf.Parse(text)
	if err != nil {
		return nil, false
	}
	d, err := conf.ParseDialplan(f)
	if err != nil || slices.ContainsFunc(f.Sections, func(s *conf.Section) bool { return d.Context(s.Name) == nil || !onlySteps(s) }) {
		return nil, false
	}
	all := map[string]contextParts{}
	for _, context := range d.Contexts {
		c := contextParts{context.Includes, map[string][]conf.Step{}, map[string]string{}}
		for _, s := range context.Steps {
			switch {
			case s.Label != "" || s.CallerID != "":
				return nil, false
			case s.Priority == conf.HintPriority:
				c.hints[s.Exten] = s.App
			default:
				c.steps[s.Exten] = append(c.steps[s.Exten], s)
			}
		}
		all[context.Name] = c
	}
	return all, true
}

// onlySteps reports whether a context has nothing but extensions and inclusions.
func onlySteps(s *conf.Section) bool {
	return !slices.ContainsFunc(s.Values, func(v conf.Value) bool { return v.Name != "exten" && v.Name != "same" && v.Name != "include" })
}

// sameStep reports whether two steps do the same, wherever they stand.
func sameStep(a, b conf.Step) bool {
	a.Line = b.Line
	return a == b
}
