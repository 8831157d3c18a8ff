package storetest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
)

// Row names the struct of the rows of a table: each field with a `db` tag is the column of that name.
type Row struct {
	// Table is a table, or a query in parentheses, which may have other columns beside those of Fields.
	Table  string
	Fields any
	// Kept are the columns without a field.
	Kept []string
	// Filled are the fields that may be null until a hook fills them in; their columns are not nullable.
	Filled []string
}

// ColumnsAreFields fails a test unless every field is a column and every column a field, and both are nullable or neither is.
func ColumnsAreFields(t *testing.T, db store.DB, rows ...Row) {
	t.Helper()
	for _, row := range rows {
		fields := fieldsOf(row.Fields)
		if strings.HasPrefix(row.Table, "(") {
			if _, err := db.Exec(t.Context(), "SELECT "+strings.Join(names(fields), ", ")+" FROM "+row.Table+" WHERE false"); err != nil {
				t.Errorf("%T: %v", row.Fields, err)
			}
			continue
		}
		columns := columnsOf(t, db, row.Table)
		for _, name := range row.Kept {
			if _, there := columns[name]; !there {
				t.Errorf("%s has no column %s", row.Table, name)
			}
			delete(columns, name)
		}
		for name, null := range fields {
			nullable, there := columns[name]
			if slices.Contains(row.Filled, name) {
				null = false
			}
			switch {
			case !there:
				t.Errorf("%s.%s is a field and no column", row.Table, name)
			case null != nullable:
				t.Errorf("%s.%s: null in the field %t, in the column %t", row.Table, name, null, nullable)
			}
			delete(columns, name)
		}
		delete(columns, "search_text") // the database's own
		for name := range columns {
			t.Errorf("%s.%s is a column and no field", row.Table, name)
		}
	}
}

// fieldsOf returns the columns that a struct's tags name, and whether the fields are nullable.
func fieldsOf(row any) map[string]bool {
	fields := make(map[string]bool)
	addFields(fields, reflect.TypeOf(row), "")
	return fields
}

// addFields adds the columns of a struct whose column names begin with a prefix. A computed field is not a column.
func addFields(fields map[string]bool, t reflect.Type, prefix string) {
	for _, f := range reflect.VisibleFields(t) {
		name := f.Tag.Get("db")
		if inner, ok := f.Tag.Lookup("prefix"); ok {
			addFields(fields, f.Type, prefix+inner)
		} else if name != "" && name != "-" && f.Tag.Get("computed") != "true" {
			fields[prefix+name] = f.Type.Kind() == reflect.Pointer || f.Type.Kind() == reflect.Slice // a slice holds bytes
		}
	}
}

func names(fields map[string]bool) []string {
	var all []string
	for name := range fields {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// columnsOf returns the columns of a table, and whether they are nullable.
func columnsOf(t *testing.T, db store.DB, table string) map[string]bool {
	t.Helper()
	type column struct {
		Name     string `db:"name"`
		Nullable bool   `db:"nullable"`
	}
	found := list[column](t, db, map[string]string{
		// A primary key of one integer is the row's number, which is never null.
		"sqlite": `SELECT name, "notnull" = 0 AND NOT (pk > 0 AND lower(type) = 'integer') AS nullable FROM pragma_table_xinfo($1)`,
		"postgres": `SELECT column_name AS name, is_nullable = 'YES' AS nullable FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name = $1`,
	}[db.Engine()], table)
	if len(found) == 0 {
		t.Errorf("there is no table %s", table)
	}
	columns := make(map[string]bool)
	for _, c := range found {
		columns[c.Name] = c.Nullable
	}
	return columns
}
