// Package report says what has become of what was moved into an installation that is in use: what was made, and what was left out, with its
// reason. It has no secrets.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/ringfence/ringfence/internal/operator"
)

// Report says what has become of what was moved. Its JSON has the names of that about a whole platform.
type Report struct {
	// Notes are what somebody must know first.
	Notes []Told `json:"decisions"`
	// Kinds are how many of each kind were made, by the kinds' names.
	Kinds []Kind `json:"tables"`
	// Left are those that were left out, in the order in which they were.
	Left []Told `json:"left_out"`
}

// Kind is how many objects of a kind were made, changed, were there from an earlier run, and left out, whole or in part.
type Kind struct {
	Name    string `json:"name"`
	Made    int    `json:"made"`
	Changed int    `json:"changed"`
	There   int    `json:"there"`
	Left    int    `json:"left_out"`
}

// Told is what is told of an object: that it, or something of it, was left out or changed, and why, or what somebody must decide or know.
type Told struct {
	Kind   string `db:"source" json:"table,omitempty"`
	Tenant string `db:"tenant" json:"tenant"`
	Object string `db:"object" json:"object"`
	// Line is that of the file, or 0.
	Line   int    `json:"line,omitempty"`
	Reason string `db:"reason" json:"reason"`
	// Of is how many there are of the kind with this reason, if only the first are told of.
	Of int `db:"n" json:"of,omitempty"`
}

// Note adds what somebody must know, once.
func (r *Report) Note(format string, args ...any) {
	if note := (Told{Reason: fmt.Sprintf(format, args...)}); !slices.Contains(r.Notes, note) {
		r.Notes = append(r.Notes, note)
	}
}

// Of returns the counts of a kind. They are its own until the next call.
func (r *Report) Of(name string) *Kind {
	i, there := slices.BinarySearchFunc(r.Kinds, name, func(k Kind, name string) int { return cmp.Compare(k.Name, name) })
	if !there {
		r.Kinds = slices.Insert(r.Kinds, i, Kind{Name: name})
	}
	return &r.Kinds[i]
}

// Leave says what is left out.
func (r *Report) Leave(l Told) {
	r.Of(l.Kind).Left++
	r.Left = append(r.Left, l)
}

// Taken reports whether something was taken. That the API refuses it is told, behind what l has as the reason, and is no error.
func (r *Report) Taken(l Told, err error) (bool, error) {
	reason, refused := Refused(err)
	if refused {
		l.Reason += reason
		r.Leave(l)
		return false, nil
	}
	return err == nil, err
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) error {
	p := NewPrinter(w)
	for _, note := range r.Notes {
		p.Line("%s", note.Reason)
	}
	p.Groups("Left out:", r.Left)
	p.Line("\n  %-28s %8s %8s %8s %8s", "", "made", "changed", "there", "left out")
	for _, k := range r.Kinds {
		p.Line("  %-28s %8d %8d %8d %8d", k.Name, k.Made, k.Changed, k.There, k.Left)
	}
	return p.Err
}

// Printer writes lines for people, without what a terminal would obey: names are chosen by others. Err is the first error of writing.
type Printer struct {
	Err error

	w io.Writer
}

// NewPrinter returns a printer.
func NewPrinter(w io.Writer) *Printer { return &Printer{w: w} }

// Line writes a line.
func (p *Printer) Line(format string, args ...any) {
	if p.Err == nil {
		text := strings.Map(func(c rune) rune {
			if c != '\n' && c != '\t' && !unicode.IsPrint(c) {
				return unicode.ReplacementChar
			}
			return c
		}, fmt.Sprintf(format, args...))
		_, p.Err = fmt.Fprintln(p.w, text)
	}
}

// Shown is how many objects with one reason are shown.
const Shown = 20

// Groups writes what is told of objects below their reasons, and all below a head: each reason once, and of many objects the first. It writes nothing
// of none.
func (p *Printer) Groups(head string, all []Told) {
	if len(all) > 0 {
		p.Line("\n%s", head)
	}
	var reasons []string
	objects, counts := map[string][]string{}, map[string]int{}
	for _, t := range all {
		reason, object := strings.TrimPrefix(t.Kind+": "+t.Reason, ": "), strings.TrimPrefix(t.Tenant+": "+t.Object, ": ")
		if t.Line > 0 {
			object = fmt.Sprintf("line %d: %s", t.Line, object)
		}
		if objects[reason] == nil {
			reasons = append(reasons, reason)
		}
		objects[reason] = append(objects[reason], object)
		counts[reason] = max(t.Of, len(objects[reason]))
	}
	for _, reason := range reasons {
		p.Line("  %s (%d)", reason, counts[reason])
		for i, o := range objects[reason] {
			if i == Shown {
				p.Line("    … and %d more; --json has them", counts[reason]-i)
				break
			}
			p.Line("    %.200s", strings.ReplaceAll(o, "\n", " "))
		}
	}
}

// Refused returns why the API refuses one object, if others may still be taken: it is not one of the errors that end an import.
func Refused(err error) (reason string, is bool) {
	refused, ok := errors.AsType[*operator.RefusedError](err)
	if !ok {
		return "", false
	}
	switch refused.Status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity:
		return refused.Message, true
	default:
		return "", false
	}
}
