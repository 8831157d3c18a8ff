package operator

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
)

// longestList is how many items of a list a table shows: one policy with many accesses would make every line as wide. [WriteObject] shows all.
const longestList = 3

// WriteTable writes objects as a table for people.
func WriteTable(w io.Writer, k Kind, objects []Object) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.ToUpper(strings.Join(k.Columns, "\t")))
	for _, o := range objects {
		var cells []string
		for _, column := range k.Columns {
			text := cell(o[column])
			if list, ok := o[column].([]any); ok && len(list) > longestList {
				text = fmt.Sprintf("%s and %d more", cell(list[:longestList]), len(list)-longestList)
			}
			cells = append(cells, text)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// WriteObject writes an object for people, an attribute a line.
func WriteObject(w io.Writer, o Object) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, name := range slices.Sorted(maps.Keys(o)) {
		fmt.Fprintf(t, "%s\t%s\n", name, cell(o[name]))
	}
	return t.Flush()
}

// cell returns a value as people read it.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, cell(item))
		}
		return strings.Join(all, ", ")
	case map[string]any:
		var all []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, name+": "+cell(v[name]))
		}
		return strings.Join(all, "; ")
	default:
		return printable(fmt.Sprint(v))
	}
}

// printable replaces what a terminal would obey: names are chosen by others.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
