package conf

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// File is a parsed configuration file.
type File struct {
	Sections []*Section
	// Includes are the files that it names; they are not read.
	Includes []Include
	// Refused says that Asterisk loads nothing of it. Other faults it only warns about.
	Refused bool
}

// Section is a section with its values, those of its templates first.
type Section struct {
	Name     string
	Template bool // it serves others alone
	Values   []Value
	Path     string // of its file, if that was read from a folder
	Line     int
}

// Value is one line of a section.
type Value struct {
	Name, Text string
	Object     bool // it is written with =>
	Inherited  bool // it comes from a template
	Line       int
}

// Include is a directive to read another file.
type Include struct {
	Path     string
	Optional bool // #tryinclude
	Line     int
}

// IsYes reports whether Asterisk reads an option's value as yes.
func IsYes(value string) bool { return slices.Contains([]string{"yes", "true", "on", "1"}, value) }

// Section returns the first section of a name, or nil.
func (f *File) Section(name string) *Section {
	for _, s := range f.Sections {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Get returns the last value of a name, and whether there is one.
func (s *Section) Get(name string) (string, bool) {
	for _, v := range slices.Backward(s.Values) {
		if v.Name == name {
			return v.Text, true
		}
	}
	return "", false
}

// All returns the values of a name, in order.
func (s *Section) All(name string) (all []string) {
	for _, v := range s.Values {
		if v.Name == name {
			all = append(all, v.Text)
		}
	}
	return all
}

// Parse reads a configuration file as Asterisk does. What Asterisk would warn about is an error, which names the line; then the file
// holds what Asterisk would have read.
func Parse(text []byte) (*File, error) {
	p := &parser{file: &File{}}
	p.read(text)
	return p.file, errors.Join(p.errs...)
}

func (p *parser) read(text []byte) {
	for line := range bytes.Lines(text) {
		p.number++
		p.readLine(line)
	}
	if p.depth > 0 {
		p.fail("a comment has no end")
		p.depth = 0
	}
}

type parser struct {
	file   *File
	in     *Section
	number int
	depth  int // of comments between ;-- and --;
	errs   []error
	// path is that of the file that is read, if it is one; include reads those that it names.
	path    string
	include func(i Include)
	// more says that there are sections which are not read.
	more bool
}

func (p *parser) fail(format string, args ...any) {
	at := fmt.Sprintf("line %d: ", p.number)
	if p.path != "" {
		at = p.path + ", " + at
	}
	p.errs = append(p.errs, fmt.Errorf(at+format, args...))
}

// refuse is fail for a fault by which Asterisk loads nothing of the file.
func (p *parser) refuse(format string, args ...any) {
	p.file.Refused = true
	p.fail(format, args...)
}

func (p *parser) readLine(line []byte) {
	if len(bytes.TrimSuffix(line, []byte("\n"))) > lineSize {
		p.fail("is too long")
		return
	}
	if i := bytes.IndexByte(line, 0); i >= 0 {
		p.fail("holds a NUL character")
		line = line[:i]
	}
	if text := strip(p.uncomment(string(line))); text != "" {
		p.readText(text)
	}
}

// uncomment returns what a line holds outside comments.
func (p *parser) uncomment(line string) string {
	var out []byte
	outside := func(text string) {
		if p.depth == 0 {
			out = append(out, text...)
		}
	}
	for {
		i := strings.IndexByte(line, ';')
		if i < 0 {
			outside(line)
			return string(out)
		}
		switch {
		case i > 0 && line[i-1] == '\\':
			outside(line[:i-1])
			outside(";")
			line = line[i+1:]
		case strings.HasPrefix(line[i:], ";--") && !strings.HasPrefix(line[i:], ";---"):
			outside(line[:i])
			p.depth++
			line = line[i+3:]
		case i > 1 && line[i-2:i] == "--":
			if p.depth == 0 { // Asterisk would count below zero, and read nothing more
				p.fail("--; ends no comment")
				outside(line[:i])
				return string(out)
			}
			p.depth--
			line = line[i+1:]
		case p.depth > 0:
			line = line[i+1:]
		default:
			outside(line[:i])
			return string(out)
		}
	}
}

func (p *parser) readText(text string) {
	switch text[0] {
	case '[':
		p.readHeader(text)
	case '#':
		p.readDirective(text)
	default:
		p.readValue(text)
	}
}

// readHeader reads the name of a section, and in parentheses its templates, ! for a template and + for an addition.
func (p *parser) readHeader(text string) {
	name, rest, closed := strings.Cut(text[1:], "]")
	if !closed {
		p.refuse("a section has no closing bracket")
		return
	}
	s := &Section{Name: name, Path: p.path, Line: p.number}
	added := s
	if strings.HasPrefix(rest, "(") {
		inner, after, closed := strings.Cut(rest[1:], ")")
		if !closed {
			p.refuse("the templates of [%s] have no closing parenthesis", name)
			return
		}
		rest = after
		for option := range strings.SplitSeq(inner, ",") {
			switch {
			case option == "!":
				s.Template = true
			case strings.HasPrefix(option, "+"):
				if s = p.known(p.file.last(name)); s == nil {
					p.refuse("there is no section [%s] to add to", name)
					return
				}
			default:
				base := p.known(p.file.Section(option))
				if base == nil {
					p.refuse("there is no template [%s]", option)
					return
				}
				for _, v := range base.Values {
					v.Inherited = true
					s.Values = append(s.Values, v)
				}
			}
		}
	}
	if strip(rest) != "" {
		p.fail("there is text behind the section [%s]", name)
	}
	if s == added {
		p.file.Sections = append(p.file.Sections, s)
	}
	p.in = s
}

// known returns a section or, if there may be more than those that are read, an empty one in its place.
func (p *parser) known(s *Section) *Section {
	if s == nil && p.more {
		return new(Section)
	}
	return s
}

func (f *File) last(name string) *Section {
	for _, s := range slices.Backward(f.Sections) {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func (p *parser) readDirective(text string) {
	word, path := text[1:], ""
	if i := strings.IndexFunc(word, isBlank); i >= 0 {
		word, path = word[:i], strip(word[i:])
	}
	if word = strings.ToLower(word); word != "include" && word != "tryinclude" {
		p.fail("the directive #%s is not accepted", word)
		return
	}
	for _, quotes := range []string{`""`, "<>"} {
		if len(path) > 1 && path[0] == quotes[0] && path[len(path)-1] == quotes[1] {
			path = path[1 : len(path)-1]
			break
		}
	}
	if path == "" {
		p.fail("#%s names no file", word)
		return
	}
	i := Include{Path: path, Optional: word == "tryinclude", Line: p.number}
	p.file.Includes = append(p.file.Includes, i)
	if p.include != nil {
		p.include(i)
	}
}

// readValue reads name = value, name => value, and name += value, which adds to the last value of that name.
func (p *parser) readValue(text string) {
	if p.in == nil {
		p.refuse("is in no section")
		return
	}
	from := 0
	if text[0] == '\\' { // it escapes the first character of a name
		if text = text[1:]; text == "" || isBlank(rune(text[0])) {
			p.fail("a backslash escapes nothing")
			return
		}
		from = 1
	}
	i := strings.IndexByte(text[from:], '=')
	if i < 0 {
		p.fail("has no =")
		return
	}
	name, value := text[:from+i], text[from+i+1:]
	if strings.HasSuffix(name[from:], "+") {
		name = strip(name[:len(name)-1])
		for j, v := range slices.Backward(p.in.Values) {
			if v.Name == name {
				p.in.Values[j].Text = strip(v.Text + value)
				return
			}
		}
		p.add(name, value, false)
		return
	}
	value, object := strings.CutPrefix(value, ">")
	p.add(name, value, object)
}

func (p *parser) add(name, value string, object bool) {
	if name = strip(name); name == "" {
		p.fail("a value has no name")
		return
	}
	p.in.Values = append(p.in.Values, Value{Name: name, Text: strip(value), Object: object, Line: p.number})
}

// isBlank reports whether Asterisk strips a character: a blank or a control character.
func isBlank(r rune) bool { return r <= ' ' }

func strip(text string) string { return strings.TrimFunc(text, isBlank) }
