package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/store"
)

// addColumns translates the error of a statement, and adds the table and the columns to a broken constraint. It asks on the connection
// of the statement: no other one may be free, or see the same tables.
func (db *DB) addColumns(ctx context.Context, on session, err error) error {
	if _, done := errors.AsType[*store.ConstraintError](err); done {
		return err
	}
	err = db.translate(ctx, err)
	broken, ok := errors.AsType[*store.ConstraintError](err)
	if !ok || broken.Kind != store.Unique && broken.Kind != store.NotNull {
		return err // SQLite does not say more
	}
	table, columns, named := keyOf(broken.Constraint)
	if named && broken.Kind == store.NotNull {
		broken.Table, broken.Columns = table, columns
		return err
	}
	var definition string // of the broken index, if it is more than its columns
	if named {
		definition = condition(ctx, on, table, columns)
	} else if row := texts(ctx, on, `SELECT tbl_name || char(10) || sql FROM sqlite_master WHERE type = 'index' AND name = $1`, broken.Constraint); len(row) == 1 {
		table, definition, _ = strings.Cut(row[0], "\n")
	}
	if _, after, found := strings.Cut(definition, " ON "); found {
		columns = append(columns, words(after)...)
	}
	broken.Table = table
	for _, name := range texts(ctx, on, `SELECT name FROM pragma_table_xinfo($1) ORDER BY cid`, table) {
		if slices.Contains(columns, name) {
			broken.Columns = append(broken.Columns, name)
		}
	}
	return err
}

// keyOf reads "table.column, table.column". A text without this form is an index's name.
func keyOf(constraint string) (table string, columns []string, ok bool) {
	for part := range strings.SplitSeq(constraint, ", ") {
		var column string
		if table, column, ok = strings.Cut(part, "."); !ok {
			return "", nil, false
		}
		columns = append(columns, column)
	}
	return table, columns, ok
}

// condition returns the definition of the partial index with this key, if no other unique index has the same one: SQLite names
// the columns of the key, and not the index.
func condition(ctx context.Context, on session, table string, key []string) string {
	found := texts(ctx, on, `SELECT CASE WHEN l.partial THEN m.sql ELSE '' END
		FROM pragma_index_list($1) l JOIN sqlite_master m ON m.type = 'index' AND m.name = l.name
		WHERE l."unique" AND $2 = (SELECT group_concat(coalesce(name, '()'), ', ') FROM
			(SELECT name FROM pragma_index_xinfo(l.name) WHERE key ORDER BY seqno))`, table, strings.Join(key, ", "))
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// A string, a name in quotes, or a word, with the parenthesis behind it if it is a function's.
var sqlWord = regexp.MustCompile(`'[^']*'|"([^"]+)"|(\w+)(\s*\()?`)

// words returns the words of an SQL text that may be columns.
func words(text string) []string {
	var all []string
	for _, m := range sqlWord.FindAllStringSubmatch(text, -1) {
		if m[3] == "" {
			all = append(all, m[1]+m[2])
		}
	}
	return all
}

// texts returns the rows of a query of one column. It returns none after an error: its caller has a worse one to report.
func texts(ctx context.Context, on session, query string, args ...any) []string {
	rows, err := on.QueryContext(ctx, query, args...)
	if err != nil {
		return nil
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text sql.NullString
		if rows.Scan(&text) != nil {
			return nil
		}
		all = append(all, text.String)
	}
	if rows.Err() != nil {
		return nil
	}
	return all
}
