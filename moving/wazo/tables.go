package wazo

import (
	_ "embed" // tables.txt
	"fmt"
	"slices"
	"strings"
)

//go:embed tables.txt
var tablesText string

// table is what becomes of a table of the dump.
type table struct {
	name string
	// columns are those that are kept, key those by which its rows are told apart, and derived those that derive.go adds. Without columns nothing of
	// the table is kept.
	columns, key, derived []string
	// become are the tables of ours of which its rows become rows, each one of them.
	become []string
	// reason says why nothing is kept. lost says that a customer may miss it.
	reason string
	lost   bool
}

// tables are those of tables.txt, by name.
var tables = parseTables(tablesText)

func parseTables(text string) map[string]*table {
	out := map[string]*table{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		i := strings.IndexAny(line, ":!-")
		if line == "" || line[0] == '#' {
			continue
		}
		t := &table{name: line[:i]}
		switch rest := strings.TrimSpace(line[i+1:]); line[i] {
		case ':':
			rest, ours, _ := strings.Cut(rest, "=")
			kept, derived, _ := strings.Cut(rest, "+")
			t.derived, t.become = strings.Fields(derived), strings.Fields(ours)
			for c := range strings.FieldsSeq(kept) {
				c, isKey := strings.CutSuffix(c, "*")
				t.columns = append(t.columns, c)
				if isKey {
					t.key = append(t.key, c)
				}
			}
		default:
			t.reason, t.lost = rest, line[i] == '!'
		}
		out[t.name] = t
	}
	return out
}

func (t *table) kept() bool { return t != nil && t.columns != nil }

// places returns where the columns that are kept are among those of the dump.
func (t *table) places(of []string) ([]int, error) {
	var places []int
	for _, c := range t.columns {
		i := slices.Index(of, c)
		if i < 0 {
			return nil, fmt.Errorf("table %s has no column %s: it is the one of another release, or of another database", t.name, c)
		}
		places = append(places, i)
	}
	return places, nil
}
