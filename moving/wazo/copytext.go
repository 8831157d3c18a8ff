package wazo

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxLine is the longest row that is kept, in bytes. Of a table that is not kept a row may have any length.
const maxLine = 4 << 20

// maxTable is how many bytes the rows of a table may have that is kept, with perRow for each beside its own: some ten times the largest table of 100,000
// users. More would fill the disk for an hour, and no company has them.
const (
	maxTable = 1 << 30
	perRow   = 100
)

// errCut says that a dump ends too early.
var errCut = errors.New("the dump ends in the middle: it was cut, or is still being written")

// rowsOfTable takes the rows of one table. A nil one is not kept: its rows are counted alone.
type rowsOfTable func(row []*string) error

// copyHead is a statement before rows. Other schemas than public are another database's.
var copyHead = regexp.MustCompile(`^COPY public\.([a-z0-9_]+|"[^"]+") \((.*)\) FROM stdin;$`)

// readCopies reads the text of a dump. For each table it calls begin with its columns, in the order of the rows, then what begin returned with
// each row, in which null is nil, and end with the number of rows. Whatever is not between COPY and \. is skipped.
func readCopies(text io.Reader, begin func(table string, columns []string) (rowsOfTable, error), end func(table string, rows int64) error) error {
	in := bufio.NewReaderSize(text, 1<<16)
	complete := false
	for {
		line, err := lineOf(in, 1<<16, false)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		complete = complete || string(line) == "-- PostgreSQL database dump complete"
		if !bytes.HasPrefix(line, []byte("COPY ")) {
			if bytes.HasPrefix(line, []byte("INSERT INTO ")) {
				return errors.New("the rows are INSERT statements: make the dump without --inserts")
			}
			continue
		}
		head := copyHead.FindSubmatch(line)
		if head == nil {
			return fmt.Errorf("a statement is not what pg_dump writes before the rows of a table: %.80q", line)
		}
		table := strings.Trim(string(head[1]), `"`)
		columns := strings.Split(string(head[2]), ", ")
		for i := range columns {
			columns[i] = strings.ReplaceAll(strings.Trim(columns[i], `"`), `""`, `"`)
		}
		take, err := begin(table, columns)
		if err != nil {
			return err
		}
		n, err := readRows(in, len(columns), take)
		if err != nil {
			return fmt.Errorf("table %.80q, row %d: %w", table, n+1, err)
		}
		if err := end(table, n); err != nil {
			return err
		}
	}
	if !complete {
		return errCut
	}
	return nil
}

// readRows reads rows up to the line \. that ends them.
func readRows(in *bufio.Reader, columns int, take rowsOfTable) (n int64, err error) {
	row := make([]*string, columns)
	for size := 0; ; n++ {
		line, err := lineOf(in, maxLine, take == nil)
		if errors.Is(err, io.EOF) {
			return n, errCut
		}
		if err != nil {
			return n, err
		}
		if string(line) == `\.` {
			return n, nil
		}
		if take == nil {
			continue
		}
		if size += perRow + len(line); size > maxTable {
			return n, errors.New("there are more rows than any company has, whose platform this program can move: is the dump what the platform's backup wrote?")
		}
		if err := fields(line, row); err != nil {
			return n, err
		}
		if err := take(row); err != nil {
			return n, err
		}
	}
}

// lineOf returns the next line, without its end. A longer one is an error, or cut if its rest does not matter.
func lineOf(in *bufio.Reader, longest int, cut bool) (line []byte, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		switch {
		case len(line)+len(piece) <= longest:
			line = append(line, piece...)
		case !cut:
			return nil, fmt.Errorf("a line has more than %d bytes", longest)
		case len(line) == 0:
			line = append(line, piece[:1]...) // not the line that ends the rows
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
}

// fields splits a row. Null is decided before escapes are read: a value of the two signs backslash and N is written with two backslashes.
func fields(line []byte, row []*string) error {
	if !utf8.Valid(line) {
		return errors.New("it is not UTF-8: make the dump with --encoding=UTF8")
	}
	i := 0
	for value := range bytes.SplitSeq(line, []byte("\t")) {
		if i == len(row) {
			return fmt.Errorf("it has more than %d values", len(row))
		}
		row[i] = nil
		if string(value) != `\N` {
			text, err := unescaped(value)
			if err != nil {
				return err
			}
			row[i] = &text
		}
		i++
	}
	if i < len(row) {
		return fmt.Errorf("it has %d values, and the table %d columns", i, len(row))
	}
	return nil
}

var escapes = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// escaped begins with one character of an escape, by its number.
var escaped = regexp.MustCompile(`^(?:[0-7]{1,3}|x[0-9A-Fa-f]{1,2})`)

func unescaped(value []byte) (string, error) {
	if !bytes.ContainsRune(value, '\\') {
		return string(value), nil
	}
	out := make([]byte, 0, len(value))
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' {
			out = append(out, value[i])
			continue
		}
		if i++; i == len(value) {
			return "", errors.New("a value ends in a backslash")
		}
		if c, ok := escapes[value[i]]; ok {
			out = append(out, c)
			continue
		}
		number := escaped.Find(value[i:])
		if number == nil {
			out = append(out, value[i])
			continue
		}
		base, digits := 8, string(number)
		if number[0] == 'x' {
			base, digits = 16, digits[1:]
		}
		c, err := strconv.ParseUint(digits, base, 8)
		if err != nil {
			return "", errors.New("an escape is no character")
		}
		out = append(out, byte(c))
		i += len(number) - 1
	}
	if !utf8.Valid(out) {
		return "", errors.New("it is not UTF-8")
	}
	return string(out), nil
}

// array reads the text of an array of PostgreSQL's with one or two dimensions: {a,"b c"} and {{k,v},{k2,v2}}. One dimension is one list.
func array(text string) ([][]string, error) {
	bad := fmt.Errorf("%.40q is not a list", text)
	var lists [][]string
	var list []string
	var item strings.Builder
	depth, quoted, some := 0, false, false
	add := func() {
		if some {
			list = append(list, item.String())
		}
		item.Reset()
		some = false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\' || !quoted && c == '\\':
			if i++; i == len(text) {
				return nil, bad
			}
			item.WriteByte(text[i])
			some = true
		case c == '"':
			quoted, some = !quoted, true
		case quoted:
			item.WriteByte(c)
		case c == '{':
			if depth++; depth > 2 || some {
				return nil, bad
			}
			list = nil
		case c == '}':
			add()
			if list != nil {
				lists = append(lists, list)
			}
			list = nil
			if depth--; depth < 0 {
				return nil, bad
			}
		case c == ',':
			add()
		default:
			item.WriteByte(c)
			some = true
		}
	}
	if depth != 0 || quoted || some {
		return nil, bad
	}
	return lists, nil
}
