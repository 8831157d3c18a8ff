// Package check finds in a generated configuration what Asterisk would not load, or would load and stumble over during a call. It
// reads the files as Asterisk does, and follows every reference: a reload checks hardly any.
//
// What depends on a variable is known only at call time, and is not checked.
package check

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
)

// Finding is one thing that is wrong.
type Finding struct {
	File    string
	Line    int // 0: the file as a whole
	Message string
}

func (f Finding) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
}

// checker checks one configuration.
type checker struct {
	files    map[string]*conf.File // by name
	findings []Finding

	dialplan  *conf.Dialplan
	contexts  map[string]bool
	steps     map[string]map[string][]conf.Step // of a context, by extension
	objects   map[string]map[string]bool        // of pjsip.conf, by type and name
	mailboxes map[string]bool                   // number@context
	queues    map[string]bool
	classes   map[string]bool // of music
	zones     map[string]bool // of voicemail
	// whole are the files of which files are a part, or nil. What that refers to may stand there.
	whole map[string][]byte
}

// Files checks the files of a configuration, by name, and returns what is wrong, by file and line.
func Files(files map[string][]byte) []Finding { return read(files).check() }

// read reads files, and what can be referred to.
func read(files map[string][]byte) *checker {
	c := &checker{files: map[string]*conf.File{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := conf.Parse(files[name])
		c.errs(name, err)
		c.files[name] = f
		c.raw(name, files[name])
		c.includes(name, f)
	}
	c.collect()
	return c
}

func (c *checker) check() []Finding {
	c.checkPJSIP()
	c.checkDialplan()
	c.checkVoicemail()
	c.checkQueues()
	c.checkMusic()
	c.checkConfbridge()
	c.checkFeatures()
	c.checkRTP()
	slices.SortFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, strings.Compare(a.Message, b.Message))
	})
	return slices.Compact(c.findings)
}

func (c *checker) addf(file string, line int, format string, args ...any) {
	c.findings = append(c.findings, Finding{file, line, fmt.Sprintf(format, args...)})
}

var lineError = regexp.MustCompile(`(?s)^line (\d+): (.*)$`)

// errs adds what a parser found, of which each error names its line.
func (c *checker) errs(file string, err error) {
	if err == nil {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			c.errs(file, e)
		}
		return
	}
	if m := lineError.FindStringSubmatch(err.Error()); m != nil {
		line, _ := strconv.Atoi(m[1])
		c.addf(file, line, "%s", m[2])
		return
	}
	c.addf(file, 0, "%s", err)
}

// raw checks the lines as they are. A semicolon that is not escaped ends a value, whatever was meant: generated comments are lines
// of their own.
func (c *checker) raw(file string, text []byte) {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == ';' {
			continue
		}
		for i, b := range line {
			if b == ';' && line[i-1] != '\\' {
				c.addf(file, number, "a semicolon cuts the line short")
				break
			}
			if b < ' ' && b != '\t' || b == 0x7f {
				c.addf(file, number, "the line has a control character")
				break
			}
		}
	}
}

// includes refuses files that read others: a generation is complete in itself.
func (c *checker) includes(file string, f *conf.File) {
	for _, i := range f.Includes {
		c.addf(file, i.Line, "it reads another file, %q", i.Path)
	}
}

// collect notes everything that can be referred to.
func (c *checker) collect() {
	c.objects = map[string]map[string]bool{}
	c.mailboxes, c.queues, c.classes, c.zones = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	c.contexts, c.steps = map[string]bool{}, map[string]map[string][]conf.Step{}
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		c.note(name, c.files[name])
	}
	if f := c.files[dialplanFile]; f != nil {
		var err error
		c.dialplan, err = conf.ParseDialplan(f)
		c.errs(dialplanFile, err)
		c.noteDialplan(c.dialplan)
	}
}

const dialplanFile = "extensions.conf"

// note notes what a file has, beside the dialplan. Its faults are findings of the checks.
func (c *checker) note(name string, f *conf.File) {
	switch name {
	case "pjsip.conf":
		for _, s := range f.Sections {
			if kind, ok := s.Get("type"); ok && !s.Template {
				set(c.objects, kind)[s.Name] = true
			}
		}
	case "voicemail.conf":
		c.noteVoicemail(f)
	case "queues.conf":
		noteSections(c.queues, f)
	case "musiconhold.conf":
		noteSections(c.classes, f)
	}
}

func (c *checker) noteDialplan(d *conf.Dialplan) {
	for _, context := range d.Contexts {
		c.contexts[context.Name] = true
		if c.steps[context.Name] == nil {
			c.steps[context.Name] = map[string][]conf.Step{}
		}
		for _, s := range context.Steps {
			c.steps[context.Name][s.Exten] = append(c.steps[context.Name][s.Exten], s)
		}
	}
}

func (c *checker) noteVoicemail(f *conf.File) {
	for _, s := range f.Sections {
		for _, v := range s.Values {
			switch s.Name {
			case "general":
			case "zonemessages":
				c.zones[v.Name] = true
			default:
				c.mailboxes[v.Name+"@"+s.Name] = true
			}
		}
	}
}

func noteSections(into map[string]bool, f *conf.File) {
	for _, s := range f.Sections {
		if s.Name != "general" && !s.Template {
			into[s.Name] = true
		}
	}
}

func set(of map[string]map[string]bool, key string) map[string]bool {
	if of[key] == nil {
		of[key] = map[string]bool{}
	}
	return of[key]
}

//go:embed applications.txt
var applicationNames string

//go:embed functions.txt
var functionNames string

var (
	// applications are known by their names in lower case, functions by their names as they are.
	applications = words(strings.ToLower(applicationNames))
	functions    = words(functionNames)
)

func words(text string) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(text) {
		if line[0] != '#' {
			all[strings.TrimSpace(line)] = true
		}
	}
	return all
}

// dynamic reports whether a text depends on the call.
func dynamic(text string) bool { return strings.Contains(text, "${") || strings.Contains(text, "$[") }

// list splits a value at its commas.
func list(value string) []string {
	var all []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			all = append(all, item)
		}
	}
	return all
}
