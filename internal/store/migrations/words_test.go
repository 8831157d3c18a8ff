package migrations

import (
	"io/fs"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	const text = `CREATE TABLE t ( -- @key is no word here, and this database's quote is none
    id @key, u @uuid NOT NULL DEFAULT '@text''@uuid', n @text, at @time, b @bytes,
    search_text @search(first last,
        email)
);
@search_index(t);
@search_index(t, id);
SELECT @json(n) -> 0 FROM t;`
	for engine, want := range map[string]string{
		"postgres": `CREATE TABLE t ( -- @key is no word here, and this database's quote is none
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, u uuid NOT NULL DEFAULT '@text''@uuid', n text COLLATE "C", at timestamptz, b bytea,
    search_text text COLLATE "C" GENERATED ALWAYS AS (stored_fold(coalesce(CAST(first AS text), '') || ' ' || coalesce(CAST(last AS text), '') || chr(1) || coalesce(CAST(email AS text), ''))) STORED
);
SELECT index_search('t');
SELECT index_search('t');
SELECT CAST(n AS json) -> 0 FROM t;`,
		"sqlite": `CREATE TABLE t ( -- @key is no word here, and this database's quote is none
    id integer PRIMARY KEY AUTOINCREMENT, u text NOT NULL DEFAULT '@text''@uuid', n text, at timestamp, b blob,
    search_text text GENERATED ALWAYS AS (fold(coalesce(CAST(first AS text), '') || ' ' || coalesce(CAST(last AS text), '') || char(1) || coalesce(CAST(email AS text), ''))) STORED
);
SELECT 'a search reads all rows of the tenant';
CREATE VIRTUAL TABLE t_search USING fts5(search_text, content='t', content_rowid='id', tokenize='trigram case_sensitive 1', detail='none', columnsize=0);
CREATE TRIGGER t_search_insert AFTER INSERT ON t BEGIN INSERT INTO t_search (rowid, search_text) VALUES (NEW.id, NEW.search_text); END;
CREATE TRIGGER t_search_delete AFTER DELETE ON t BEGIN INSERT INTO t_search (t_search, rowid, search_text) VALUES ('delete', OLD.id, OLD.search_text); END;
CREATE TRIGGER t_search_update AFTER UPDATE ON t WHEN OLD.search_text <> NEW.search_text BEGIN INSERT INTO t_search (t_search, rowid, search_text) VALUES ('delete', OLD.id, OLD.search_text); INSERT INTO t_search (rowid, search_text) VALUES (NEW.id, NEW.search_text); END;
INSERT INTO t_search (t_search) VALUES ('rebuild');
SELECT n -> 0 FROM t;`,
	} {
		if got, err := render(text, engine); err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", engine, err, got, want)
		}
	}
}

func TestWhatIsNoWord(t *testing.T) {
	for _, text := range []string{"a @texts", "a @search", "a @search()", "a @search(fold(b))", "a @uuid(b)", "@search_index;", "a b@c"} {
		if got, err := render(text, "sqlite"); err == nil || !strings.Contains(err.Error(), "@") {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
}

// The time that a start which has to migrate spends on the words.
func BenchmarkWords(b *testing.B) {
	names, err := fs.Glob(Files("postgres"), "*")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for _, name := range names {
			if _, err := fs.ReadFile(Files("postgres"), name); err != nil {
				b.Fatal(err)
			}
		}
	}
}
