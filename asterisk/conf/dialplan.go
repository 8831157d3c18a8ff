package conf

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Dialplan is a parsed extensions.conf.
type Dialplan struct{ Contexts []*DialplanContext }

// DialplanContext is a context: what its sections of the file hold together.
type DialplanContext struct {
	Name     string
	Includes []string // the contexts whose extensions it has too
	Steps    []Step
	Line     int

	has map[stepKey]bool
}

// stepKey is what no two steps of a context share.
type stepKey struct {
	exten, callerID string
	priority        int
}

// HintPriority is the priority of a hint.
const HintPriority = -1

// Step is one application that an extension runs.
type Step struct {
	Exten    string
	CallerID string // behind a / in the extension: only calls from this number
	Priority int    // or HintPriority
	Label    string
	App      string // of a hint: what it watches
	Args     string
	Line     int
}

// Context returns the context of a name, or nil.
func (d *Dialplan) Context(name string) *DialplanContext {
	for _, c := range d.Contexts {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Lacks returns the applications that the dialplan runs and an Asterisk has not, since no module brings them. has is its answer to the command "core
// show applications"; if that is no such list, nothing is lacking.
func (d *Dialplan) Lacks(has []string) []string {
	known := map[string]bool{}
	for _, line := range has {
		name, _, _ := strings.Cut(line, ":")
		known[strings.ToLower(strip(name))] = true
	}
	lacks := map[string]bool{}
	for _, in := range d.Contexts {
		for _, s := range in.Steps {
			if known["goto"] && s.Priority != HintPriority && !known[strings.ToLower(s.App)] {
				lacks[s.App] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(lacks))
}

// ParseDialplan reads the contexts of extensions.conf: exten and same lines, hints and includes. What Asterisk would not read,
// is an error, which names the line.
func ParseDialplan(f *File) (*Dialplan, error) {
	d := &Dialplan{}
	byName := map[string]*DialplanContext{}
	var errs []error
	for _, s := range f.Sections {
		if s.Template || s.Name == "general" || s.Name == "globals" {
			continue
		}
		c := byName[s.Name]
		if c == nil {
			c = &DialplanContext{Name: s.Name, Line: s.Line, has: map[stepKey]bool{}}
			byName[s.Name], d.Contexts = c, append(d.Contexts, c)
		}
		errs = append(errs, c.read(s)...)
	}
	return d, errors.Join(errs...)
}

func (c *DialplanContext) read(s *Section) (errs []error) {
	var last *Step
	for _, v := range s.Values {
		fail := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("line %d: "+format, append([]any{v.Line}, args...)...))
		}
		switch v.Name {
		case "exten", "same":
			step, err := readStep(v, last)
			if err != nil {
				fail("%w", err)
				continue
			}
			key := stepKey{step.Exten, step.CallerID, step.Priority}
			if c.has[key] {
				fail("%s has priority %d twice", step.Exten, step.Priority)
			}
			c.has[key] = true
			c.Steps = append(c.Steps, step)
			last = &step
		case "include":
			name, _, _ := strings.Cut(v.Text, ",")
			c.Includes = append(c.Includes, strip(name))
		case "autohints", "ignorepat", "switch", "lswitch", "eswitch":
		default:
			fail("%s is no word of a context", v.Name)
		}
	}
	return errs
}

// readStep reads EXTEN,PRIORITY,APPLICATION(ARGUMENTS); a line same => has no extension.
func readStep(v Value, last *Step) (Step, error) {
	step, text := Step{Line: v.Line}, v.Text
	if v.Name == "same" {
		if last == nil {
			return step, errors.New("same has no extension before it")
		}
		step.Exten, step.CallerID = last.Exten, last.CallerID
	} else {
		exten, rest, ok := strings.Cut(text, ",")
		if exten = strip(exten); !ok || exten == "" {
			return step, errors.New("an extension has no priority")
		}
		step.Exten, step.CallerID, _ = strings.Cut(exten, "/")
		text = rest
	}
	priority, app, _ := strings.Cut(text, ",")
	priority = strip(priority)
	if i := strings.IndexByte(priority, '('); i >= 0 {
		label, rest, closed := strings.Cut(priority[i+1:], ")")
		if !closed || rest != "" {
			return step, fmt.Errorf("the label of %q is not closed", priority)
		}
		priority, step.Label = strip(priority[:i]), label
	}
	switch priority {
	case "hint":
		step.Priority, step.App = HintPriority, strip(app)
		return step, nil
	case "n", "next":
		if last == nil || last.Exten != step.Exten || last.Priority == HintPriority {
			return step, fmt.Errorf("%s has no priority before n", step.Exten)
		}
		step.Priority = last.Priority + 1
	default:
		n, err := strconv.Atoi(priority)
		if err != nil || n < 1 {
			return step, fmt.Errorf("%q is no priority", priority)
		}
		step.Priority = n
	}
	name, args, has := strings.Cut(app, "(")
	if has {
		end := strings.LastIndexByte(args, ')')
		if end < 0 || strip(args[end+1:]) != "" {
			return step, fmt.Errorf("the arguments of %s are not closed", strip(name))
		}
		args = args[:end]
	}
	if step.App, step.Args = strip(name), args; step.App == "" {
		return step, fmt.Errorf("%s has no application", step.Exten)
	}
	return step, nil
}
