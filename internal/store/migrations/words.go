package migrations

import (
	"fmt"
	"regexp"
	"strings"
)

// types are the words for a column's type, for each engine.
var types = map[string]struct{ postgres, sqlite string }{
	"key":   {"bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "integer PRIMARY KEY AUTOINCREMENT"},
	"uuid":  {"uuid", "text"},
	"text":  {`text COLLATE "C"`, "text"},
	"time":  {"timestamptz", "timestamp"},
	"bytes": {"bytea", "blob"},
}

// word finds the words, but not those in a comment or a string.
var word = regexp.MustCompile(`--[^\n]*|'[^']*'|@([a-z_]+)(?:\(([a-z0-9_,\s]*)\))?`)

// render writes the words of a migration for an engine.
func render(text, engine string) (string, error) {
	var unknown error
	text = word.ReplaceAllStringFunc(text, func(found string) string {
		m := word.FindStringSubmatch(found)
		if m[1] == "" {
			return found
		}
		if t, ok := types[m[1]]; ok && m[2] == "" {
			return pick(engine, t.postgres, t.sqlite)
		}
		switch {
		case m[1] == "search" && m[2] != "":
			return searched(m[2], engine)
		case m[1] == "search_index" && m[2] != "":
			return pick(engine, "SELECT index_search('"+m[2]+"')", "SELECT 'a search reads all rows of the tenant'")
		case m[1] == "counted" && m[2] != "":
			return counted(m[2], engine)
		case m[1] == "json" && m[2] != "":
			return pick(engine, "CAST("+m[2]+" AS json)", m[2])
		}
		unknown = fmt.Errorf("%q is none of the words", found)
		return found
	})
	return text, unknown
}

// searched returns the column of @search: "firstname lastname, email".
func searched(columns, engine string) string {
	var parts []string
	for part := range strings.SplitSeq(columns, ",") {
		var joined []string
		for column := range strings.FieldsSeq(part) {
			joined = append(joined, "coalesce(CAST("+column+" AS text), '')")
		}
		parts = append(parts, strings.Join(joined, " || ' ' || "))
	}
	between := pick(engine, " || chr(1) || ", " || char(1) || ")
	return pick(engine, types["text"].postgres, types["text"].sqlite) +
		" GENERATED ALWAYS AS (fold(" + strings.Join(parts, between) + ")) STORED"
}

// counted returns the statements of @counted: a trigger for each event, and the number of the rows that are there.
func counted(table, engine string) string {
	trigger := func(event, row, n string) string {
		head := "CREATE TRIGGER " + table + "_" + strings.ToLower(event) + "_counted AFTER " + event + " ON " + table
		return pick(engine, head+" FOR EACH ROW EXECUTE FUNCTION count_change();\n",
			"-- +goose StatementBegin\n"+head+" BEGIN INSERT INTO row_count (table_name, tenant_uuid, n) VALUES ('"+table+"', "+row+".tenant_uuid, "+n+
				"); END;\n-- +goose StatementEnd\n")
	}
	return trigger("INSERT", "NEW", "1") + trigger("DELETE", "OLD", "-1") +
		"INSERT INTO row_count (table_name, tenant_uuid, n) SELECT '" + table + "', tenant_uuid, count(*) FROM " + table + " GROUP BY tenant_uuid"
}

func pick(engine, postgres, sqlite string) string {
	if engine == "postgres" {
		return postgres
	}
	return sqlite
}
