package migrations_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/migrations"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Both databases have the same tables, columns, constraints, indexes, views and triggers. Each is described by lines of one
// form.
func TestBothDatabasesHaveOneSchema(t *testing.T) {
	lite, pg := sqliteSchema(t, storetest.SQLite(t)), postgresSchema(t, storetest.Postgres(t))
	for _, line := range lite {
		if !slices.Contains(pg, line) {
			t.Errorf("only SQLite has    %s", line)
		}
	}
	for _, line := range pg {
		if !slices.Contains(lite, line) {
			t.Errorf("only PostgreSQL has %s", line)
		}
	}
	for _, want := range []string{ // so an empty result does not pass for an equal one
		"confd_user.id integer not null key",
		"confd_user.created_at time not null default now_utc",
		"confd_user_voicemail primary key (user_id, voicemail_id)",
		"confd_user_voicemail unique (user_id)",
		"auth_token references auth_refresh_token (refresh_uuid = uuid) on delete set null",
		"auth_user references auth_tenant (tenant_uuid = uuid) on delete no action",
		"auth_server check id=1",
		"unique index confd_user_email on confd_user (loweremail)",
		"index confd_user_lastname on confd_user (tenant_uuid, foldlastname, id)",
		"trigger before delete on audit", "trigger after insert on auth_tenant",
		"unique index confd_voicemail_global on confd_voicemail (tenant_uuid, context) where accesstype='global'",
	} {
		if !slices.Contains(pg, want) {
			t.Errorf("no line %q", want)
		}
	}
	if t.Failed() {
		t.Logf("PostgreSQL:\n%s", strings.Join(pg, "\n"))
	}
}

// The description of a schema has everything that matters of it: each of these changes it, and in the same way on both
// databases.
func TestEveryDifferenceIsTold(t *testing.T) {
	own := regexp.MustCompile(`^[ade][. ]|(index|view) a_`) // not the schema itself
	var told [2][]string
	for i, db := range []store.DB{storetest.SQLite(t), storetest.Postgres(t)} {
		schema := func() []string { return sqliteSchema(t, db) }
		if i == 1 {
			schema = func() []string { return postgresSchema(t, db) }
		}
		before := schema()
		for _, statement := range []string{
			"CREATE TABLE a (id integer NOT NULL PRIMARY KEY, b bigint NOT NULL, c bigint)",
			"CREATE TABLE d (b bigint REFERENCES a (id) ON DELETE RESTRICT, c bigint CHECK (c IN (1, 2)), UNIQUE (b, c))",
			"CREATE TABLE e (b bigint NOT NULL REFERENCES a (id) ON DELETE SET NULL, c bigint NOT NULL, PRIMARY KEY (c, b))",
			"CREATE INDEX a_1 ON a (b, c)", "CREATE INDEX a_2 ON a (c, b)", "CREATE UNIQUE INDEX a_3 ON a (b, c)",
			"CREATE UNIQUE INDEX a_4 ON a (b, c) WHERE b > 0", "CREATE UNIQUE INDEX a_5 ON a (b, c) WHERE b > 1",
			"CREATE INDEX a_6 ON a (coalesce(c, 0), b)", "ALTER TABLE a ADD COLUMN f boolean NOT NULL DEFAULT false",
			"CREATE VIEW a_7 AS SELECT a.id AS x, d.b AS y FROM a JOIN d ON d.b = a.id",
		} {
			if _, err := db.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
			after := schema()
			if slices.Equal(before, after) {
				t.Errorf("%s: %s is not told", db.Engine(), statement)
			}
			before = after
		}
		for _, line := range before {
			if own.MatchString(line) {
				told[i] = append(told[i], line)
			}
		}
	}
	if !slices.Equal(told[0], told[1]) {
		t.Errorf("SQLite tells\n%s\nPostgreSQL\n%s", strings.Join(told[0], "\n"), strings.Join(told[1], "\n"))
	}
}

// Text sorts by its bytes on PostgreSQL too, and every searchable table has an index for the search.
func TestTextOfPostgres(t *testing.T) {
	db := storetest.Postgres(t)
	for _, column := range list[string](t, db, `SELECT c.relname || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
			AND a.attcollation <> 0 AND a.attcollation <> 'pg_catalog."C"'::regcollation`) {
		t.Errorf("%s sorts by the server's locale: it is @text", column)
	}
	if list[int](t, db, "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'")[0] == 0 {
		t.Skip("the server has no trigrams")
	}
	for _, table := range list[string](t, db, `SELECT a.attrelid::regclass::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		WHERE c.relkind = 'r' AND a.attname = 'search_text' AND NOT EXISTS (SELECT FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
			JOIN pg_am m ON m.oid = x.relam AND m.amname = 'gin' WHERE i.indrelid = a.attrelid)`) {
		t.Errorf("%s has no @search_index", table)
	}
}

// On SQLite every searchable table has one if its rows have numbers.
func TestSearchesOfSQLite(t *testing.T) {
	db := storetest.SQLite(t)
	tables := list[string](t, db, `SELECT m.name FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c WHERE m.type = 'table' AND c.name = 'search_text'
		AND m.sql LIKE '%AUTOINCREMENT%'`)
	if len(tables) < 7 {
		t.Errorf("only %q are searched", tables)
	}
	for _, table := range tables {
		if len(list[string](t, db, `SELECT name FROM pragma_table_list($1) WHERE type = 'virtual'`, table+"_search")) == 0 {
			t.Errorf("%s has no @search_index with its key", table)
		}
	}
}

// classes are the types of columns, by each database's name for them.
var classes = map[string]string{
	"text": "text", "uuid": "text", "bigint": "integer", "integer": "integer", "boolean": "boolean",
	"timestamp with time zone": "time", "timestamp": "time", "bytea": "bytes", "blob": "bytes", "double precision": "number",
}

type column struct {
	Table     string  `db:"table_name"`
	Name      string  `db:"name"`
	Type      string  `db:"type"`
	NotNull   bool    `db:"not_null"`
	Key       bool    `db:"key"` // the database sets it
	Default   *string `db:"default_value"`
	Generated bool    `db:"generated"`
}

func (c column) line() string {
	line := c.Table + "." + c.Name + " " + classes[c.Type]
	if classes[c.Type] == "" {
		line += "a type without a class: " + c.Type
	}
	if c.NotNull {
		line += " not null"
	}
	if c.Key {
		line += " key"
	}
	if c.Generated {
		line += " generated " + plain(*c.Default)
	} else if c.Default != nil {
		line += " default " + plain(*c.Default)
	}
	return line
}

type index struct {
	Name    string   `db:"name"`
	Table   string   `db:"table_name"`
	Unique  bool     `db:"is_unique"`
	Columns []string `db:"columns"`
	Where   *string  `db:"predicate"`
}

func (x index) line() string {
	parts := make([]string, len(x.Columns))
	for i, part := range x.Columns {
		parts[i] = plain(part)
	}
	line := fmt.Sprintf("index %s on %s (%s)", x.Name, x.Table, strings.Join(parts, ", "))
	if x.Unique {
		line = "unique " + line
	}
	if x.Where != nil {
		line += " where " + plain(*x.Where)
	}
	return line
}

var (
	anyOf  = regexp.MustCompile(`= any ?\(array\[(.*?)\]\)`)
	cast   = regexp.MustCompile(`(?i)::[a-z ]*[a-z]|cast\(([a-z0-9_]+) as text\)`)
	spaces = regexp.MustCompile(`[\s()]+`)
)

// plain returns an expression without the parts that the databases write differently: casts, parentheses, blanks.
func plain(expression string) string {
	e := cast.ReplaceAllString(strings.ToLower(expression), "$1")
	e = anyOf.ReplaceAllString(e, "in ($1)")
	e = strings.NewReplacer(` collate "c"`, "", "char(", "chr(", "stored_fold(", "fold(").Replace(e)
	return spaces.ReplaceAllString(e, "")
}

func list[T any](t *testing.T, db store.DB, sql string, args ...any) []T {
	t.Helper()
	found, err := store.Select[T](t.Context(), db, sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return found
}

func postgresSchema(t *testing.T, db store.DB) []string {
	t.Helper()
	var lines []string
	for _, c := range list[column](t, db, `SELECT c.relname AS table_name, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
			a.attnotnull AS not_null, a.attidentity <> '' AS key, pg_get_expr(d.adbin, d.adrelid) AS default_value, a.attgenerated <> '' AS generated
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND c.relname <> $1`, migrations.Table) {
		lines = append(lines, c.line())
	}
	lines = append(lines, list[string](t, db, `SELECT c.relname || CASE n.contype
			WHEN 'p' THEN ' primary key (' || keys.names || ')'
			WHEN 'u' THEN ' unique (' || keys.names || ')'
			WHEN 'f' THEN ' references ' || n.confrelid::regclass::text || ' (' || keys.pairs || ') on delete ' ||
				CASE n.confdeltype WHEN 'a' THEN 'no action' WHEN 'r' THEN 'restrict' WHEN 'c' THEN 'cascade' WHEN 'n' THEN 'set null' ELSE 'set default' END
			ELSE ' is told apart' END
		FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid, LATERAL (
			SELECT string_agg(a.attname, ', ' ORDER BY k.place) AS names, string_agg(a.attname || ' = ' || f.attname, ', ' ORDER BY k.place) AS pairs
			FROM unnest(n.conkey) WITH ORDINALITY AS k (number, place)
			JOIN pg_attribute a ON a.attrelid = n.conrelid AND a.attnum = k.number
			LEFT JOIN pg_attribute f ON f.attrelid = n.confrelid AND f.attnum = n.confkey[k.place]) AS keys
		WHERE c.relnamespace = 'public'::regnamespace AND n.contype NOT IN ('c', 'n', 't') AND c.relname <> $1`, migrations.Table)...)
	for _, check := range list[struct {
		Table string `db:"table_name"`
		Text  string `db:"text"`
	}](t, db, `SELECT c.relname AS table_name, pg_get_expr(n.conbin, n.conrelid) AS text FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid
		WHERE c.relnamespace = 'public'::regnamespace AND n.contype = 'c'`) {
		lines = append(lines, check.Table+" check "+plain(check.Text))
	}
	for _, x := range list[index](t, db, `SELECT x.relname AS name, c.relname AS table_name, i.indisunique AS is_unique,
			ARRAY(SELECT pg_get_indexdef(i.indexrelid, k, true) FROM generate_series(1, i.indnkeyatts) AS k ORDER BY k) AS columns,
			pg_get_expr(i.indpred, i.indrelid) AS predicate
		FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_class c ON c.oid = i.indrelid JOIN pg_am m ON m.oid = x.relam
		WHERE c.relnamespace = 'public'::regnamespace AND m.amname = 'btree' AND c.relname <> $1
			AND NOT EXISTS (SELECT FROM pg_constraint n WHERE n.conindid = i.indexrelid AND n.contype IN ('p', 'u'))`, migrations.Table) {
		lines = append(lines, x.line())
	}
	lines = append(lines, list[string](t, db, `SELECT 'view ' || c.relname || ' (' || string_agg(a.attname, ', ' ORDER BY a.attnum) || ')'
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'v' GROUP BY c.relname`)...)
	lines = append(lines, list[string](t, db, `SELECT 'trigger ' || lower(action_timing) || ' ' || lower(event_manipulation) || ' on ' || event_object_table
		FROM information_schema.triggers WHERE trigger_schema = 'public'`)...)
	slices.Sort(lines)
	return lines
}

func sqliteSchema(t *testing.T, db store.DB) []string {
	t.Helper()
	var lines []string
	for _, table := range list[struct {
		Name string `db:"name"`
		SQL  string `db:"sql"`
	}](t, db, `SELECT m.name, m.sql FROM sqlite_master m JOIN pragma_table_list(m.name) l
			WHERE l.type = 'table' AND m.name NOT LIKE 'sqlite%' AND m.name <> $1`, migrations.Table) {
		lines = append(lines, sqliteColumns(t, db, table.Name, table.SQL)...)
		lines = append(lines, sqliteReferences(t, db, table.Name)...)
		lines = append(lines, sqliteIndexes(t, db, table.Name)...)
		for _, at := range regexp.MustCompile(`\bCHECK \(`).FindAllStringIndex(table.SQL, -1) {
			lines = append(lines, table.Name+" check "+plain(inner(table.SQL[at[1]:])))
		}
	}
	lines = append(lines, list[string](t, db, `SELECT 'view ' || v.name || ' (' || (SELECT group_concat(name, ', ') FROM
		(SELECT name FROM pragma_table_xinfo(v.name) ORDER BY cid)) || ')' FROM sqlite_master v WHERE type = 'view'`)...)
	event := regexp.MustCompile(`(?s)^CREATE TRIGGER \w+ (\w+ \w+ ON \w+)`)
	for _, definition := range list[string](t, db, `SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name NOT LIKE '%\_search\_%' ESCAPE '\'`) {
		if m := event.FindStringSubmatch(definition); m != nil {
			lines = append(lines, "trigger "+strings.ToLower(m[1]))
		} else {
			t.Errorf("when does this run? %s", definition)
		}
	}
	slices.Sort(lines)
	return lines
}

func sqliteColumns(t *testing.T, db store.DB, table, definition string) []string {
	t.Helper()
	var lines []string
	var keys []string
	found := list[struct {
		column
		Place int `db:"pk"`
	}](t, db, `SELECT $1 AS table_name, name, lower(type) AS type, "notnull" AS not_null, false AS key, dflt_value AS default_value,
		hidden > 0 AS generated, pk FROM pragma_table_xinfo($1) ORDER BY pk, cid`, table)
	for _, c := range found {
		if c.Place > 0 {
			keys = append(keys, c.Name)
		}
		c.Type = strings.TrimSuffix(c.Type, " generated always")
		if c.Place > 0 && c.Type == "integer" { // the row's number, which is never null
			c.NotNull = true
			c.Key = strings.Contains(definition, "AUTOINCREMENT")
		}
		if c.Generated {
			_, after, _ := strings.Cut(definition, c.Name+" ")
			_, after, _ = strings.Cut(after, "GENERATED ALWAYS AS (")
			text := inner(after)
			c.Default = &text
		}
		lines = append(lines, c.line())
	}
	if len(keys) > 0 {
		lines = append(lines, table+" primary key ("+strings.Join(keys, ", ")+")")
	}
	return lines
}

func sqliteReferences(t *testing.T, db store.DB, table string) []string {
	t.Helper()
	return list[string](t, db, `SELECT $1 || ' references ' || "table" || ' (' || group_concat("from" || ' = ' || "to", ', ') || ') on delete ' || lower(on_delete)
		FROM (SELECT * FROM pragma_foreign_key_list($1) ORDER BY id, seq) GROUP BY id`, table)
}

func sqliteIndexes(t *testing.T, db store.DB, table string) []string {
	t.Helper()
	var lines []string
	for _, x := range list[struct {
		Name   string  `db:"name"`
		Unique bool    `db:"is_unique"`
		Origin string  `db:"origin"`
		Names  string  `db:"names"`
		SQL    *string `db:"sql"`
	}](t, db, `SELECT l.name, l."unique" AS is_unique, l.origin, m.sql,
			(SELECT group_concat(coalesce(name, ''), ', ') FROM (SELECT name FROM pragma_index_xinfo(l.name) WHERE key ORDER BY seqno)) AS names
		FROM pragma_index_list($1) l JOIN sqlite_master m ON m.name = l.name AND m.type = 'index'`, table) {
		switch x.Origin {
		case "pk": // described with the columns
		case "u":
			lines = append(lines, table+" unique ("+x.Names+")")
		default:
			_, after, _ := strings.Cut(*x.SQL, " ON "+table+" (")
			columns := inner(after)
			one := index{Name: x.Name, Table: table, Unique: x.Unique, Columns: split(columns)}
			if _, where, partial := strings.Cut(after[len(columns):], " WHERE "); partial {
				one.Where = &where
			}
			lines = append(lines, one.line())
		}
	}
	return lines
}

// inner returns a text up to the parenthesis that closes the one before the text.
func inner(text string) string {
	depth := 1
	for i, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return text[:i]
			}
		}
	}
	return text
}

// split cuts a list at the commas outside of parentheses.
func split(text string) []string {
	depth := 0
	parts := strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return r == ',' && depth == 0
	})
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}
