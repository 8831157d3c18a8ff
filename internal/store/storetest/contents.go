package storetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
)

// Contents returns a function that returns a text of everything in the database but some tables. Two texts are equal if nothing
// was changed between them.
func Contents(t *testing.T, db store.DB, except ...string) func() string {
	t.Helper()
	tables := list[struct {
		Name string `db:"name"`
		Row  string `db:"row"`
	}](t, db, map[string]string{
		"sqlite": `SELECT m.name, group_concat('quote("' || c.name || '")', ' || '','' || ') AS row
			FROM pragma_table_list m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' GROUP BY m.name`,
		"postgres": `SELECT table_name AS name, 'CAST(x AS text)' AS row FROM information_schema.tables
			WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'`,
	}[db.Engine()])
	var rows []string
	for _, table := range tables {
		if !slices.Contains(except, table.Name) {
			rows = append(rows, "SELECT '"+table.Name+" ' || "+table.Row+" FROM \""+table.Name+"\" x")
		}
	}
	return func() string {
		t.Helper()
		var all []string
		for chunk := range slices.Chunk(rows, 100) { // a compound SELECT has a limit
			all = append(all, list[string](t, db, strings.Join(chunk, " UNION ALL "))...)
		}
		slices.Sort(all)
		return strings.Join(all, "\n")
	}
}
