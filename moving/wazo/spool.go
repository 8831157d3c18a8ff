package wazo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/ringfence/ringfence/internal/store"
)

// heads are the versions of the schema that this package knows, with the releases that have them.
var heads = map[string]map[string]string{
	"alembic_version":      {"1e0ff683a94e": "26.08"},
	"alembic_version_auth": {"1c862ebfbb3a": "26.08"},
}

// multiline are the columns in which text may have line breaks and tabs.
var multiline = map[string]bool{"description": true, "data": true, "search_filters": true, "options": true}

// spool writes what is kept of a dump into w_ tables.
type spool struct {
	ctx context.Context
	tx  store.Conn
	// seen are the tables of the dump.
	seen map[string]bool
	job  *Job
}

// perStatement is how many values a statement inserts, about: SQLite's driver looks for each of them among all.
const perStatement = 100

func (s *spool) fill(text io.Reader) error {
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if t := tables[name]; t.kept() {
			if _, err := s.tx.Exec(s.ctx, "CREATE TABLE w_"+name+" ("+quotedList(slices.Concat(t.columns, t.derived))+")"); err != nil {
				return err
			}
		}
	}
	if _, err := s.tx.Exec(s.ctx, `CREATE TABLE w_left (source text, tenant text, object text, reason text)`); err != nil {
		return err
	}
	var insert *inserts
	err := readCopies(text, func(name string, columns []string) (rowsOfTable, error) {
		if s.seen[name] {
			return nil, fmt.Errorf("it has the table %s twice", name)
		}
		s.seen[name] = true
		insert = nil
		t := tables[name]
		if !t.kept() {
			return nil, s.ctx.Err()
		}
		places, err := t.places(columns)
		if err != nil {
			return nil, err
		}
		insert = &inserts{spool: s, table: t}
		return func(row []*string) error { return s.take(insert, places, row) }, nil
	}, func(name string, rows int64) error {
		s.job.Report.read(name, rows)
		if head, ok := heads[name]; ok {
			if err := insert.flush(); err != nil {
				return err
			}
			return s.checkHead(name, head)
		}
		return insert.flush()
	})
	if err != nil {
		return s.explain(err)
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if tables[name].kept() && !s.seen[name] {
			return fmt.Errorf("it has no table %s: it is not the whole database of the platform", name)
		}
		if err := s.distinct(tables[name]); err != nil {
			return err
		}
	}
	return nil
}

// distinct leaves out rows whose key another row has, which no database of the platform has, and finds rows by their keys from then on.
func (s *spool) distinct(t *table) error {
	if t.key == nil {
		return nil
	}
	key, object := quotedList(t.key), `"`+strings.Join(t.key, `" || ' ' || "`)+`"`
	for _, sql := range []string{
		"CREATE INDEX w_key_" + t.name + " ON w_" + t.name + " (" + key + ")",
		"INSERT INTO w_left (source, object, reason) SELECT '" + t.name + "', " + object + ", 'another row has its key' FROM w_" + t.name +
			" WHERE rowid NOT IN (SELECT min(rowid) FROM w_" + t.name + " GROUP BY " + key + ")",
		"DELETE FROM w_" + t.name + " WHERE rowid NOT IN (SELECT min(rowid) FROM w_" + t.name + " GROUP BY " + key + ")",
	} {
		if _, err := s.tx.Exec(s.ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// explain says of a dump that ended too early, or has other tables, that it is another release's, if it is: pg_dump writes tables by their names, so
// that comes first.
func (s *spool) explain(err error) error {
	if !s.seen["alembic_version"] && !errors.Is(err, errCut) && s.ctx.Err() == nil {
		return fmt.Errorf("%w (its tables do not say which release it is of)", err)
	}
	return err
}

func (s *spool) checkHead(name string, known map[string]string) error {
	found, err := store.Select[string](s.ctx, s.tx, "SELECT version_num FROM w_"+name)
	if err != nil {
		return err
	}
	if len(found) == 1 && known[found[0]] != "" {
		return nil
	}
	var list []string
	for _, head := range slices.Sorted(maps.Keys(known)) {
		list = append(list, head+" (release "+known[head]+")")
	}
	return fmt.Errorf("its schema (%s) is %.80q, which this program does not know; it knows %s: bring the platform to such a release first",
		name, strings.Join(found, ", "), strings.Join(list, ", "))
}

// take keeps a row, unless it has a character that nothing of ours may have: it could end a line of a file of Asterisk.
func (s *spool) take(into *inserts, places []int, row []*string) error {
	t := into.table
	kept := make(map[string]*string, len(places)+len(t.derived))
	for i, place := range places {
		kept[t.columns[i]] = row[place]
	}
	for _, c := range t.columns {
		if v := kept[c]; v != nil && strings.ContainsFunc(*v, func(r rune) bool {
			return unicode.IsControl(r) && (!multiline[c] || r != '\n' && r != '\r' && r != '\t')
		}) {
			var tenant *string
			if slices.Contains(t.columns, "tenant_uuid") {
				tenant = kept["tenant_uuid"]
			}
			_, err := s.tx.Exec(s.ctx, `INSERT INTO w_left (source, tenant, object, reason) VALUES ($1, $2, $3, $4)`,
				t.name, tenant, printable(kept[t.columns[0]]), "its "+c+" has control characters")
			return err
		}
	}
	if derive := derived[t.name]; derive != nil {
		if err := derive(s, kept); err != nil {
			return err
		}
	}
	return into.add(kept)
}

func printable(v *string) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%.80q", *v)
}

// inserts collects rows of one table.
type inserts struct {
	spool *spool
	table *table
	args  []any
}

func (in *inserts) add(row map[string]*string) error {
	for _, c := range slices.Concat(in.table.columns, in.table.derived) {
		in.args = append(in.args, row[c])
	}
	if len(in.args) < perStatement {
		return nil
	}
	return in.flush()
}

func (in *inserts) flush() error {
	if in == nil || len(in.args) == 0 {
		return nil
	}
	width := len(in.table.columns) + len(in.table.derived)
	var text strings.Builder
	fmt.Fprintf(&text, "INSERT INTO w_%s VALUES ", in.table.name)
	for i := range in.args {
		switch {
		case i == 0:
			text.WriteString("(")
		case i%width == 0:
			text.WriteString("), (")
		default:
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "$%d", i+1)
	}
	text.WriteString(")")
	_, err := in.spool.tx.Exec(in.spool.ctx, text.String(), in.args...)
	in.args = in.args[:0]
	return err
}

func quotedList(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = `"` + n + `"`
	}
	return strings.Join(out, ", ")
}
