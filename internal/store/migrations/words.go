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

// word is a word, or a comment or a string, in which there are none, at the beginning of a text.
var word = regexp.MustCompile(`^(?:--[^\n]*|'[^']*'|@([a-z_]+)(?:\(([a-z0-9_,\s]*)\))?)`)

// render writes the words of a migration for an engine.
func render(text, engine string) (string, error) {
	var b strings.Builder
	for {
		at := strings.IndexAny(text, "-'@")
		if at < 0 {
			b.WriteString(text)
			return b.String(), nil
		}
		b.WriteString(text[:at])
		text = text[at:]
		m := word.FindStringSubmatch(text)
		switch {
		case m == nil:
			b.WriteString(text[:1])
			text = text[1:]
			continue
		case m[1] == "":
			b.WriteString(m[0])
		default:
			expanded, ok := expand(m[1], m[2], engine)
			if !ok {
				return "", fmt.Errorf("%q is none of the words", m[0])
			}
			b.WriteString(expanded)
		}
		text = text[len(m[0]):]
	}
}

// expand returns what a word with its argument means to an engine.
func expand(name, argument, engine string) (text string, ok bool) {
	if argument == "" {
		t, ok := types[name]
		return pick(engine, t.postgres, t.sqlite), ok
	}
	switch name {
	case "search":
		return searched(argument, engine), true
	case "search_index":
		table, key, _ := strings.Cut(argument, ",")
		return pick(engine, "SELECT index_search('"+table+"')", trigrams(table, strings.TrimSpace(key))), true
	case "counted":
		return counted(argument, engine), true
	case "json":
		return pick(engine, "CAST("+argument+" AS json)", argument), true
	}
	return "", false
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
		" GENERATED ALWAYS AS (" + pick(engine, "stored_fold", "fold") + "(" + strings.Join(parts, between) + ")) STORED"
}

// trigrams returns the statements of @search_index on SQLite: an index of trigrams, triggers that keep it, and what is there already.
// The index has the numbers of the rows alone, so a search reads the texts of those that it finds once more.
func trigrams(table, key string) string {
	if key == "" {
		return "SELECT 'a search reads all rows of the tenant'" // rows without a number get another when the file is compacted
	}
	index := table + "_search"
	add := "INSERT INTO " + index + " (rowid, search_text) VALUES (NEW." + key + ", NEW.search_text); "
	remove := "INSERT INTO " + index + " (" + index + ", rowid, search_text) VALUES ('delete', OLD." + key + ", OLD.search_text); "
	trigger := func(event, when, do string) string {
		return "CREATE TRIGGER " + index + "_" + strings.ToLower(event) + " AFTER " + event + " ON " + table + when + " BEGIN " + do + "END;\n"
	}
	return "CREATE VIRTUAL TABLE " + index + " USING fts5(search_text, content='" + table + "', content_rowid='" + key +
		"', tokenize='trigram case_sensitive 1', detail='none', columnsize=0);\n" +
		trigger("INSERT", "", add) + trigger("DELETE", "", remove) +
		trigger("UPDATE", " WHEN OLD.search_text <> NEW.search_text", remove+add) +
		"INSERT INTO " + index + " (" + index + ") VALUES ('rebuild')"
}

// counted returns the statements of @counted: a trigger for each event, and the number of the rows that are there.
func counted(table, engine string) string {
	trigger := func(event, row, n string) string {
		head := "CREATE TRIGGER " + table + "_" + strings.ToLower(event) + "_counted AFTER " + event + " ON " + table
		return pick(engine, head+" FOR EACH ROW EXECUTE FUNCTION count_change();\n",
			head+" BEGIN INSERT INTO row_count (table_name, tenant_uuid, n) VALUES ('"+table+"', "+row+".tenant_uuid, "+n+
				"); END;\n")
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
