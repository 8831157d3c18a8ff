package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ringfence/ringfence/internal/store"
)

func nowUTC(t *testing.T, db store.DB) {
	const slack = time.Minute // the server's clock may be another machine's
	got := get[time.Time](t, db, "SELECT now_utc()")
	if d := time.Since(got).Abs(); d > slack {
		t.Errorf("now_utc is %v away from this clock", d)
	}
	do(t, db, "INSERT INTO st_types (id, at) VALUES (1, now_utc()), (2, $1), (3, $2)", got.Add(-slack*2), got.Add(slack*2))
	if got := list[int](t, db, "SELECT id FROM st_types WHERE at < now_utc() ORDER BY id"); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("past: %v, want [1 2]", got)
	}
	if got := get[bool](t, db, "SELECT now_utc() > $1", got.Add(-slack)); !got {
		t.Error("now_utc is not after a minute ago")
	}
	if stored := get[time.Time](t, db, "SELECT at FROM st_types WHERE id = 1"); stored.Before(got) {
		t.Errorf("a later now_utc, %v, is before %v", stored, got)
	}
}

func manyRows(t *testing.T, db store.DB) {
	const rows = `[["0e5b6f04-1a2c-4d0f-9d7c-5c2b1f3a7e11", "a\"\u00e9\\", 17, true], [null, null, null, false]]`
	got := list[struct {
		UUID *string `db:"uuid"`
		Text *string `db:"text"`
		N    *int64  `db:"n"`
		Yes  bool    `db:"yes"`
	}](t, db, `SELECT as_uuid(e.value ->> 0) AS uuid, e.value ->> 1 AS text, CAST(e.value ->> 2 AS bigint) AS n, CAST(e.value ->> 3 AS boolean) AS yes
		FROM json_each(CAST($1 AS text)) AS e`, rows)
	if len(got) != 2 || *got[0].UUID != "0e5b6f04-1a2c-4d0f-9d7c-5c2b1f3a7e11" || *got[0].Text != `a"é\` || *got[0].N != 17 || !got[0].Yes ||
		got[1].UUID != nil || got[1].Text != nil || got[1].N != nil || got[1].Yes {
		t.Errorf("rows of a JSON list: %+v", got)
	}
}

func hasLine(t *testing.T, db store.DB) {
	for _, tt := range []struct {
		lines, line string
		has         bool
	}{
		{"confd/users/1\nconfd/users/17", "confd/users/17", true},
		{"confd/users/1\nconfd/users/17", "confd/users/1", true},
		{"confd/users/17", "confd/users/1", false},
		{"confd/users/17", "Confd/users/17", false},
		{"a b\n%\té", "a b", true},
		{"a b\n%\té", "a", false},
		{"a b\n%\té", "%\té", true},
		{"a b\n%\té", "%", false},
		{"a", "", false},
		{"", "", false},
		{"", "a", false},
	} {
		if got := get[bool](t, db, "SELECT has_line($1, $2)", tt.lines, tt.line); got != tt.has {
			t.Errorf("has_line(%q, %q): %t", tt.lines, tt.line, got)
		}
	}
}

func fold(t *testing.T, db store.DB) {
	for in, want := range map[string]string{
		"": "", "Bob": "bob", "É": "e", "e\u0301": "e", "ß": "ss", "Straße": "strasse", "STRASSE": "strasse", "ẞ": "ss", "İstanbul": "istanbul", "ı": "i",
		"Å": "a", "\u212b": "a", "\u212a": "k", "Ǆ": "ǆ", "ǅ": "ǆ", "Ñandú": "nandu", "Ω": "ω", "\u2126": "ω", "ά": "α", "ΆΣ": "ασ", "ς": "σ", "ᾳ": "α",
		"Ё": "е", "Й": "и", "ﬁ": "ﬁ", "Łódź": "lodz", "Ærø": "aero", "Œuvre": "oeuvre", "Þór": "thor", "Đ": "d", "Ĳ": "ij", "ſ": "s", "Việt": "viet",
		"Ǻ": "a", "ǽ": "ae", "日本": "日本", "が": "か\u3099", "한": "\u1112\u1161\u11ab", "👩‍👩‍👧": "👩‍👩‍👧", "%_\\": "%_\\", "％": "％", "A\tB\n": "a\tb\n",
	} {
		if got := store.Fold(in); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
		if got := get[string](t, db, "SELECT fold($1)", in); got != want {
			t.Errorf("fold(%q) = %q, want %q", in, got, want)
		}
	}
	if got := get[*string](t, db, "SELECT fold(NULL)"); got != nil {
		t.Errorf("fold(NULL) = %q", *got)
	}

	// Every character of the alphabets that fold covers, one per line.
	var text strings.Builder
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) && unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Mn, unicode.Nd, unicode.P, unicode.S) {
			text.WriteRune(r)
			text.WriteString("\n")
		}
	}
	got := strings.Split(get[string](t, db, "SELECT fold($1)", text.String()), "\n")
	want := strings.Split(store.Fold(text.String()), "\n")
	if len(got) != len(want) {
		t.Fatalf("fold made %d lines, Fold %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("line %d: fold made %+q, Fold %+q", i, got[i], want[i])
		}
	}
}

func foldIndex(t *testing.T, db store.DB) {
	do(t, db, "CREATE UNIQUE INDEX st_user_fold ON st_user (fold(name))")
	addUsers(t, db, "Zoé", "zoo")
	if _, err := db.Exec(t.Context(), "INSERT INTO st_user (id, name) VALUES (3, 'ZOE')"); !store.IsConstraint(err, store.Unique) {
		t.Errorf("a name that folds the same: %v", err)
	} else if got := constraintName(err); got != "st_user_fold" {
		t.Errorf("constraint %q", got)
	}
	if got := list[int](t, db, "SELECT id FROM st_user WHERE fold(name) = fold($1)", "ZOE\u0301"); !slices.Equal(got, []int{1}) {
		t.Errorf("found %v", got)
	}
}
