package freepbx

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

const (
	// longestFile is how many bytes a file may have, and mostWrong how many errors of one are told.
	longestFile = 64 << 20
	mostWrong   = 100
)

// table is a file of the bulk handler.
type table struct {
	columns []string
	rows    []row
}

// row is a row of a file: its cells by column. It remembers which columns were asked for.
type row struct {
	line  int
	cells map[string]string
}

// text returns a cell without blanks at its ends, or "".
func (r row) text(column string) string { return strings.TrimSpace(r.cells[column]) }

// has reports whether the file has a column.
func (r row) has(column string) bool {
	_, has := r.cells[column]
	return has
}

// yes reports whether a cell switches something on, in any of the words that FreePBX's modules use.
func (r row) yes(column string) bool {
	switch strings.ToLower(r.text(column)) {
	case "yes", "true", "1", "on", "enabled", "checked", "force", "always":
		return true
	default:
		return false
	}
}

// WrongFileError says what is wrong with a file, each with its line.
type WrongFileError struct {
	File  string
	Wrong []string
}

func (e *WrongFileError) Error() string {
	return fmt.Sprintf("%s cannot be imported, and nothing was changed:\n  %s", e.File, strings.Join(e.Wrong, "\n  "))
}

// readTable reads a file, which has these columns, and in which no two rows have the same of the columns in unique.
func readTable(file string, required, unique []string) (*table, error) {
	f, err := os.Open(file) //nolint:gosec // the operator's own file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, longestFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > longestFile:
		return nil, fmt.Errorf("%s has more than %d MiB: import it in parts", file, longestFile>>20)
	case !utf8.Valid(text):
		return nil, fmt.Errorf("%s is not in UTF-8", file)
	}
	in := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	in.FieldsPerRecord = -1
	t, wrong := &table{}, &WrongFileError{File: file}
	if t.columns, err = in.Read(); err != nil {
		return nil, fmt.Errorf("%s: the first row must name the columns: %w", file, err)
	}
	named := map[string]bool{}
	for i, name := range t.columns {
		name = strings.ToLower(strings.TrimSpace(name))
		if named[name] {
			wrong.add(1, "two columns are called %q", name)
		}
		t.columns[i], named[name] = name, true
	}
	for _, name := range required {
		if !named[name] {
			wrong.add(1, "no column is called %q: is it a file of the bulk handler?", name)
		}
	}
	if len(wrong.Wrong) == 0 {
		t.read(in, unique, wrong)
	}
	if len(wrong.Wrong) > 0 {
		return nil, wrong
	}
	return t, nil
}

func (t *table) read(in *csv.Reader, unique []string, wrong *WrongFileError) {
	seen := map[string]int{}
	for len(wrong.Wrong) < mostWrong {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if parse, ok := errors.AsType[*csv.ParseError](err); ok {
			wrong.add(parse.Line, "the quotes are wrong") // what follows may not be what it seems
			return
		}
		line, _ := in.FieldPos(0)
		if len(cells) != len(t.columns) {
			wrong.add(line, "the row has %d cells, and the first row names %d columns", len(cells), len(t.columns))
			continue
		}
		r := row{line, make(map[string]string, len(cells))}
		for i, name := range t.columns {
			r.cells[name] = cells[i]
		}
		var key []string
		for _, name := range unique {
			key = append(key, r.text(name))
		}
		switch first := seen[strings.Join(key, "\x00")]; {
		case first > 0:
			wrong.add(line, "%s %.80q is in line %d already", unique[0], key[0], first)
		default:
			seen[strings.Join(key, "\x00")] = line
			t.rows = append(t.rows, r)
		}
	}
}

func (e *WrongFileError) add(line int, format string, args ...any) {
	e.Wrong = append(e.Wrong, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, args...))
}
