package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/migrations"
)

// column is a column whose value a backup has. Its type is that of SQLite's schema, and one of types.
type column struct {
	Name, Type string
	key        int64 // its place in the primary key, from 1
}

// types have what reads and writes a value of a column. A value in Go is nil, or of the type of the pointer.
var types = map[string]struct {
	into func() any          // a destination of Scan, which may be null
	held func(into any) any  // the value in it
	text func(value any) any // as JSON encodes it
	read func(json []byte) (any, error)
}{
	"text":             {into[string], held[string], same, read[string]},
	"integer":          {into[int64], held[int64], same, read[int64]},
	"bigint":           {into[int64], held[int64], same, read[int64]},
	"double precision": {into[float64], held[float64], same, read[float64]},
	"boolean":          {into[bool], held[bool], same, read[bool]},
	"blob":             {into[[]byte], heldBytes, same, read[[]byte]},
	"timestamp":        {into[time.Time], held[time.Time], func(v any) any { return v.(time.Time).UTC().Format(timeForm) }, readTime},
}

const timeForm = "2006-01-02T15:04:05.000000Z"

func into[T any]() any { return new(*T) }

func held[T any](into any) any {
	if v := *into.(**T); v != nil {
		return *v
	}
	return nil
}

// heldBytes tells no bytes from null: SQLite's driver returns a nil slice for no bytes.
func heldBytes(into any) any {
	switch v := *into.(**[]byte); {
	case v == nil:
		return nil
	case *v == nil:
		return []byte{}
	default:
		return *v
	}
}

func same(v any) any { return v }

func read[T any](text []byte) (any, error) {
	var v T
	err := json.Unmarshal(text, &v)
	return v, err
}

func readTime(text []byte) (any, error) {
	s, err := read[string](text)
	if err != nil {
		return nil, err
	}
	return time.Parse(timeForm, s.(string))
}

type table struct {
	Name    string
	Columns []column
	// Numbered says that the database gives each row its number, in the first column of the key.
	Numbered bool
}

// tablesOf returns the tables of a SQLite database that has the schema, by name.
func tablesOf(ctx context.Context, lite store.Conn) ([]table, error) {
	found, err := store.Select[struct {
		Table    string `db:"table_name"`
		Numbered bool   `db:"numbered"`
		Name     string `db:"name"`
		Type     string `db:"type"`
		Key      int64  `db:"key"`
	}](ctx, lite, `SELECT m.name AS table_name, instr(m.sql, 'AUTOINCREMENT') > 0 AS numbered, c.name, lower(c.type) AS type, c.pk AS key
		FROM sqlite_master m JOIN pragma_table_list(m.name) l JOIN pragma_table_xinfo(m.name) c
		WHERE l.type = 'table' AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND m.name <> $1 AND c.hidden = 0 ORDER BY m.name, c.cid`, migrations.Table)
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	var all []table
	for _, c := range found {
		if _, ok := types[c.Type]; !ok {
			return nil, fmt.Errorf("column %s of %s has the type %q, which no backup can have", c.Name, c.Table, c.Type)
		}
		if len(all) == 0 || all[len(all)-1].Name != c.Table {
			all = append(all, table{Name: c.Table, Numbered: c.Numbered})
		}
		t := &all[len(all)-1]
		t.Columns = append(t.Columns, column{c.Name, c.Type, c.Key})
	}
	return all, nil
}

// key returns the columns of the primary key, in its order.
func (t table) key() []column {
	key := slices.DeleteFunc(slices.Clone(t.Columns), func(c column) bool { return c.key == 0 })
	slices.SortFunc(key, func(a, b column) int { return int(a.key - b.key) })
	return key
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (t table) columnNames() string {
	var names []string
	for _, c := range t.Columns {
		names = append(names, quoted(c.Name))
	}
	return strings.Join(names, ", ")
}

// rows are the rows of a table: it calls fn with each, in the order of the key. fn keeps nothing of a row.
type rows func(ctx context.Context, t table, fn func(row []any) error) error

// rowsOf returns the rows of a database. PostgreSQL has UUIDs, and sorts text by its locale, unless they are cast.
func rowsOf(engine string, c store.Conn) rows {
	text := func(c column) string {
		if engine == "postgres" && c.Type == "text" {
			return "CAST(" + quoted(c.Name) + ` AS text)`
		}
		return quoted(c.Name)
	}
	return func(ctx context.Context, t table, fn func(row []any) error) error {
		var selected, order []string
		into, row := make([]any, len(t.Columns)), make([]any, len(t.Columns))
		for i, c := range t.Columns {
			selected = append(selected, text(c))
			into[i] = types[c.Type].into()
		}
		for _, c := range t.key() {
			by := text(c)
			if by != quoted(c.Name) {
				by += ` COLLATE "C"`
			}
			order = append(order, by)
		}
		query := "SELECT " + strings.Join(selected, ", ") + " FROM " + quoted(t.Name) + " ORDER BY " + strings.Join(order, ", ")
		return store.Each(ctx, c, into, func() error {
			for i, c := range t.Columns {
				row[i] = types[c.Type].held(into[i])
			}
			return fn(row)
		}, query)
	}
}

func (t table) encode(row []any) ([]byte, error) {
	line := make([]any, len(row))
	for i, v := range row {
		if v != nil {
			line[i] = types[t.Columns[i].Type].text(v)
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text) // ends the line
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(line)
	return text.Bytes(), err
}

// decode reads a line into a row. Its errors hold nothing of the line, which may be secret.
func (t table) decode(line []byte, row []any) error {
	var values []json.RawMessage
	if err := json.Unmarshal(line, &values); err != nil || len(values) != len(t.Columns) {
		return fmt.Errorf("a row of %s is not a list of %d values", t.Name, len(t.Columns))
	}
	for i, c := range t.Columns {
		if string(values[i]) == "null" {
			row[i] = nil
			continue
		}
		v, err := types[c.Type].read(values[i])
		if err == nil {
			err = store.CheckText([]any{v})
		}
		if err != nil {
			return fmt.Errorf("column %s of a row of %s does not hold a value of type %s", c.Name, t.Name, c.Type)
		}
		row[i] = v
	}
	return nil
}

// atOnce is how many arguments a statement that inserts rows has, about. SQLite's driver looks for each of them among all.
var atOnce = map[string]int{"sqlite": 100, "postgres": 3000}

// load inserts all rows of a table, and returns how many there were.
func (t table) load(ctx context.Context, tx store.Conn, engine string, from rows) (n int64, err error) {
	head := "INSERT INTO " + quoted(t.Name) + " (" + t.columnNames() + ") "
	if engine == "postgres" {
		head += "OVERRIDING SYSTEM VALUE "
	}
	head += "VALUES "
	batch := max(1, atOnce[engine]/len(t.Columns))
	var arguments []any
	insert := func() error {
		if len(arguments) == 0 {
			return nil
		}
		var text strings.Builder
		text.WriteString(head)
		for i := range arguments {
			switch {
			case i == 0:
				text.WriteString("(")
			case i%len(t.Columns) == 0:
				text.WriteString("), (")
			default:
				text.WriteString(", ")
			}
			fmt.Fprintf(&text, "$%d", i+1)
		}
		text.WriteString(")")
		_, err := tx.Exec(ctx, text.String(), arguments...)
		arguments = arguments[:0]
		return err
	}
	err = from(ctx, t, func(row []any) error {
		n++
		if arguments = append(arguments, row...); len(arguments) < batch*len(t.Columns) {
			return nil
		}
		return insert()
	})
	if err = errors.Join(err, ctx.Err()); err == nil {
		err = insert()
	}
	if err != nil {
		return n, fmt.Errorf("writing the rows of %s: %w", t.Name, err)
	}
	return n, nil
}

// lastNumber returns the last number that the database gave a row, which may be deleted, or 0.
func (t table) lastNumber(ctx context.Context, tx store.Conn, engine string) (int64, error) {
	if engine == "sqlite" {
		return store.Get[int64](ctx, tx, "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = $1", t.Name)
	}
	sequence, err := store.Get[string](ctx, tx, "SELECT pg_get_serial_sequence($1, $2)", quoted(t.Name), t.key()[0].Name)
	if err != nil {
		return 0, err
	}
	return store.Get[int64](ctx, tx, "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM "+sequence)
}

// setLastNumber makes the database give the next row a higher number. Unlike setval, ALTER is undone with the transaction.
func (t table) setLastNumber(ctx context.Context, tx store.Conn, engine string, n int64) error {
	if engine == "postgres" {
		_, err := tx.Exec(ctx, fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s RESTART WITH %d", quoted(t.Name), quoted(t.key()[0].Name), n+1))
		return err
	}
	const begin = "INSERT INTO sqlite_sequence (name, seq) SELECT $1, 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = $1)"
	if _, err := tx.Exec(ctx, begin, t.Name); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "UPDATE sqlite_sequence SET seq = max(seq, $2) WHERE name = $1", t.Name, n)
	return err
}
