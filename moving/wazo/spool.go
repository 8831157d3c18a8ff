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

	"github.com/google/uuid"

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
	// told counts what has become of rows, by the rows that tell has made so far, without their objects.
	told map[[3]string]int64
}

// perStatement is how many values a statement inserts, about: SQLite's driver looks for each of them among all.
const perStatement = 100

func (s *spool) fill(text io.Reader) error {
	if err := s.create(); err != nil {
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
	return s.complete()
}

// complete checks that the whole database was there, and leaves out what the platform's own would have refused.
func (s *spool) complete() error {
	for like, n := range s.told {
		if n > toldOf {
			if _, err := s.tx.Exec(s.ctx, "INSERT INTO "+like[0]+" (source, reason, n) VALUES ($1, $2, $3)", like[1], like[2], n-toldOf); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if tables[name].kept() && !s.seen[name] {
			return fmt.Errorf("it has no table %s: it is not the whole database of the platform", name)
		}
		if err := s.distinct(tables[name]); err != nil {
			return err
		}
	}
	masters, err := store.Get[int](s.ctx, s.tx, `SELECT count(*) FROM w_auth_tenant WHERE uuid = parent_uuid`)
	if err == nil && masters != 1 {
		err = fmt.Errorf("the dump has %d tenants without one above, and must have one, the master tenant", masters)
	}
	return err
}

// create makes the tables.
func (s *spool) create() error {
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if t := tables[name]; t.kept() {
			if _, err := s.tx.Exec(s.ctx, "CREATE TEMP TABLE w_"+name+" ("+quotedList(slices.Concat(t.columns, t.derived))+")"); err != nil {
				return err
			}
		}
	}
	const told = " (source text, tenant text, object text, reason text, n integer NOT NULL DEFAULT 1)" // n: how many are alike
	for _, sql := range []string{
		"CREATE TEMP TABLE w_left" + told, "CREATE TEMP TABLE w_mended" + told,
		"CREATE TEMP TABLE w_found (id integer, tenant text, object text, reason text)", // of one directive
	} {
		if _, err := s.tx.Exec(s.ctx, sql); err != nil {
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
	again := fmt.Sprintf("-- leave %[1]s because another row has its key\nSELECT rowid, NULL, %[2]s FROM w_%[1]s "+
		"WHERE rowid NOT IN (SELECT min(rowid) FROM w_%[1]s GROUP BY %[3]s)", t.name, object, key)
	for _, sql := range append([]string{"CREATE INDEX w_key_" + t.name + " ON w_" + t.name + " (" + key + ")"}, directed(again)...) {
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

// leaveError is why a row is left out.
type leaveError string

func (e leaveError) Error() string { return string(e) }

// take keeps a row, unless it has what nothing of ours may have.
func (s *spool) take(into *inserts, places []int, row []*string) error {
	t := into.table
	kept := make(map[string]*string, len(places)+len(t.derived))
	for i, place := range places {
		kept[t.columns[i]] = row[place]
	}
	err := s.clean(t, kept)
	if derive := derived[t.name]; derive != nil && err == nil {
		err = derive(s, kept)
	}
	if leave, ok := errors.AsType[leaveError](err); ok {
		return s.tell("w_left", t, kept, string(leave))
	}
	if err != nil {
		return err
	}
	return into.add(kept)
}

// referred are the tables whose names others refer to, or Asterisk's files have.
var referred = map[string]bool{
	"context": true, "moh": true, "endpoint_sip": true, "pjsip_transport": true, "groupfeatures": true, "queue": true, "asterisk_file": true,
	"asterisk_file_section": true, "auth_tenant_domain": true, "auth_external_auth_type": true,
}

// prose are the columns of text that only people read.
var prose = map[string]bool{
	"firstname": true, "lastname": true, "label": true, "displayname": true, "fullname": true, "userfield": true, "line_1": true, "line_2": true,
	"city": true, "state": true, "zip_code": true, "country": true, "phone": true, "callerdisplay": true, "user_agent": true, "name": true, "description": true,
	"caller_id_name": true,
}

// clean makes UUIDs ours, and takes control characters out of what people read. Elsewhere they could end a line of a file of Asterisk, and the row is
// left out.
func (s *spool) clean(t *table, row map[string]*string) error {
	for _, c := range t.columns {
		v := row[c]
		if v == nil {
			continue
		}
		if c == "uuid" || strings.HasSuffix(c, "_uuid") {
			if row[c] = lowerUUID(*v); row[c] == nil && *v != "" {
				return leaveError("its " + c + " is no UUID")
			}
			continue
		}
		if strings.HasSuffix(c, "_sound") || c == "announcement_file" {
			sound := soundOf(*v)
			v, row[c] = &sound, &sound
		}
		control := func(r rune) bool {
			return unicode.IsControl(r) && (!multiline[c] || r != '\n' && r != '\r' && r != '\t')
		}
		switch {
		case !strings.ContainsFunc(*v, control):
		case prose[c] && (c != "name" || !referred[t.name]):
			blank := blanked(*v, control)
			row[c] = &blank
			if err := s.tell("w_mended", t, row, c+": has control characters: blanks now"); err != nil {
				return err
			}
		default:
			return leaveError("its " + c + " has control characters")
		}
	}
	return nil
}

// lowerUUID returns a UUID in our spelling, or nil for what is none.
func lowerUUID(text string) *string {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(id.String()) {
		return nil
	}
	return new(id.String())
}

// blanked returns a text with blanks for some signs.
func blanked(text string, is func(r rune) bool) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if is(r) {
			return ' '
		}
		return r
	}, text))
}

// tell notes what becomes of a row, which is named by its key. Of many with one reason, most are only counted.
func (s *spool) tell(where string, t *table, row map[string]*string, reason string) error {
	like := [3]string{where, t.name, reason}
	if s.told[like] > 0 || len(s.told) < toldOf { // a reason may have what only this row has
		s.told[like]++
	}
	if s.told[like] > toldOf {
		return nil
	}
	var tenant *string
	if slices.Contains(t.columns, "tenant_uuid") {
		tenant = row["tenant_uuid"]
	}
	_, err := s.tx.Exec(s.ctx, "INSERT INTO "+where+" (source, tenant, object, reason) VALUES ($1, $2, $3, $4)", t.name, tenant, t.object(row), reason)
	return err
}

// object names a row to people. A refresh token's UUID is the token.
func (t *table) object(row map[string]*string) string {
	var parts []string
	for _, c := range slices.Concat(t.key, []string{"name", "username", "firstname", "exten", "mailbox", "number", "interface", "key"}) {
		if v := row[c]; v != nil && slices.Contains(t.columns, c) && (t.name != "auth_refresh_token" || c != "uuid") {
			parts = append(parts, fmt.Sprintf("%.80s", *v))
		}
	}
	return strings.Join(slices.Compact(parts), " ")
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
