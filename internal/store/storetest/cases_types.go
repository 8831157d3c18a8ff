package storetest

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
)

// all has a field of every type that a column may have.
type all struct {
	ID     int        `db:"id"`
	Yes    bool       `db:"yes"`
	Big    int64      `db:"big"`
	Ratio  float64    `db:"ratio"`
	Words  string     `db:"words"`
	Digest []byte     `db:"digest"`
	At     time.Time  `db:"at"`
	List   stringList `db:"list"`
	Ref    string     `db:"ref"`
}

type stringList = store.JSON[[]string]

// perhaps is all with nullable fields.
type perhaps struct {
	ID     int         `db:"id"`
	Yes    *bool       `db:"yes"`
	Big    *int64      `db:"big"`
	Ratio  *float64    `db:"ratio"`
	Words  *string     `db:"words"`
	Digest []byte      `db:"digest"`
	At     *time.Time  `db:"at"`
	List   *stringList `db:"list"`
	Ref    *string     `db:"ref"`
}

const (
	insertTypes = "INSERT INTO st_types (id, yes, big, ratio, words, digest, at, list, ref) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
	selectTypes = "SELECT id, yes, big, ratio, words, digest, at, list, ref FROM st_types WHERE id = $1"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 123456000, time.UTC)

func types(t *testing.T, db store.DB) {
	digest := bytes.Repeat([]byte{0x00, 0xff}, 16)
	ref := uuid.NewString()
	list := stringList{V: []string{"confd.#", `"é"`}}
	for id, yes := range map[int]bool{1: true, 2: false} {
		do(t, db, insertTypes, id, yes, int64(math.MaxInt64), 0.25, "Zoë ☎", digest, noon, list, ref)
		got := get[all](t, db, selectTypes, id)
		if got.Yes != yes || got.Big != math.MaxInt64 || got.Ratio != 0.25 || got.Words != "Zoë ☎" ||
			!bytes.Equal(got.Digest, digest) || !got.At.Equal(noon) || !slices.Equal(got.List.V, list.V) || got.Ref != ref {
			t.Errorf("came back as %+v", got)
		}
		if got.At.Location() != time.UTC {
			t.Errorf("a time came back in %v", got.At.Location())
		}
		maybe := get[perhaps](t, db, selectTypes, id)
		if maybe.Yes == nil || *maybe.Yes != yes || maybe.At == nil || !maybe.At.Equal(noon) || maybe.Ref == nil || *maybe.Ref != ref || maybe.List == nil {
			t.Errorf("came back into pointers as %+v", maybe)
		}
	}
	if n := do(t, db, "DELETE FROM st_types WHERE yes AND digest = $1 AND at = $2 AND ref = $3", digest, noon, ref); n != 1 {
		t.Errorf("comparing found %d rows, want 1", n)
	}
	do(t, db, "UPDATE st_types SET yes = NOT yes, ref = $1", uuid.MustParse(ref))
	if got := get[uuid.UUID](t, db, "SELECT ref FROM st_types WHERE yes"); got.String() != ref {
		t.Errorf("a uuid.UUID came back as %v", got)
	}
}

func nulls(t *testing.T, db store.DB) {
	var noText *string
	var noTime *time.Time
	do(t, db, insertTypes, 1, nil, nil, nil, noText, nil, noTime, nil, nil)
	got := get[perhaps](t, db, selectTypes, 1)
	if got.Yes != nil || got.Big != nil || got.Ratio != nil || got.Words != nil || got.Digest != nil || got.At != nil || got.Ref != nil {
		t.Errorf("NULL came back as %+v", got)
	}
	if got := list[*string](t, db, "SELECT words FROM st_types"); len(got) != 1 || got[0] != nil {
		t.Errorf("NULL came back as %v", got)
	}
	if got := list[*time.Time](t, db, "SELECT max(at) AS latest FROM st_types"); len(got) != 1 || got[0] != nil {
		t.Errorf("NULL came back as %v", got)
	}
	if _, err := store.Get[string](t.Context(), db, "SELECT words FROM st_types"); err == nil {
		t.Error("NULL was read into a string")
	}
	if _, err := store.Get[time.Time](t.Context(), db, "SELECT at FROM st_types"); err == nil {
		t.Error("NULL was read into a time")
	}
}

// expressions have no declared type on SQLite.
func expressions(t *testing.T, db store.DB) {
	do(t, db, insertTypes, 1, true, 1, 1.5, "x", []byte{1}, noon, "[]", nil)
	type row struct {
		Found  bool      `db:"found"`
		None   *bool     `db:"none"`
		Latest time.Time `db:"latest"`
		Total  int64     `db:"total"`
		Text   string    `db:"text"`
	}
	got := get[row](t, db, `SELECT EXISTS (SELECT 1 FROM st_types) AS found, ref IS NOT NULL AND yes AS none, coalesce(at, now_utc()) AS latest,
		(SELECT count(*) FROM st_types) AS total, coalesce(words, '') || '2026-11-21 12:00:00+00:00' AS text FROM st_types`)
	if !got.Found || got.None == nil || *got.None || !got.Latest.Equal(noon) || got.Total != 1 || got.Text != "x2026-11-21 12:00:00+00:00" {
		t.Errorf("got %+v", got)
	}
	if got := get[time.Time](t, db, "SELECT max(at) FROM st_types"); !got.Equal(noon) {
		t.Errorf("max(at) is %v", got)
	}
	// Text that looks like a time stays text.
	do(t, db, "UPDATE st_types SET words = $1", "2026-11-21 12:00:00")
	if got := get[string](t, db, "SELECT coalesce(words, '') FROM st_types"); got != "2026-11-21 12:00:00" {
		t.Errorf("text came back as %q", got)
	}
}

func times(t *testing.T, db store.DB) {
	zone := time.FixedZone("east", 5*3600)
	in := []time.Time{
		noon, noon.Add(999), noon.Truncate(time.Second), noon.Truncate(time.Second).In(zone), noon.Add(-time.Microsecond),
		noon.Truncate(time.Second).Add(500 * time.Millisecond), noon.Truncate(time.Second).Add(50 * time.Millisecond), noon.Add(24 * time.Hour).In(zone),
	}
	for i, at := range in {
		do(t, db, "INSERT INTO st_types (id, at) VALUES ($1, $2)", i, &at)
		if got := get[time.Time](t, db, "SELECT at FROM st_types WHERE id = $1", i); !got.Equal(at.Truncate(time.Microsecond)) {
			t.Errorf("%v came back as %v", at, got)
		}
	}
	got := list[time.Time](t, db, "SELECT at FROM st_types ORDER BY at")
	if !slices.IsSortedFunc(got, time.Time.Compare) {
		t.Errorf("ordered as %v", got)
	}
	for _, pivot := range in {
		want := 0
		for _, at := range in {
			if at.Truncate(time.Microsecond).Before(pivot.Truncate(time.Microsecond)) {
				want++
			}
		}
		if got := get[int](t, db, "SELECT count(*) FROM st_types WHERE at < $1", pivot); got != want {
			t.Errorf("%d times before %v, want %d", got, pivot, want)
		}
	}
}

func jsonText(t *testing.T, db store.DB) {
	type options struct{ Codecs [][2]string }
	in := store.JSON[options]{V: options{Codecs: [][2]string{{"allow", "ulaw\x00é"}}}}
	do(t, db, "INSERT INTO st_types (id, list) VALUES ($1, $2)", 1, in)
	got := get[store.JSON[options]](t, db, "SELECT list FROM st_types")
	if len(got.V.Codecs) != 1 || got.V.Codecs[0] != in.V.Codecs[0] {
		t.Errorf("came back as %+v", got)
	}
	do(t, db, "UPDATE st_types SET list = NULL")
	if got := get[store.JSON[options]](t, db, "SELECT list FROM st_types"); got.V.Codecs != nil {
		t.Errorf("NULL came back as %+v", got)
	}
	do(t, db, "UPDATE st_types SET list = '{'")
	if _, err := store.Get[store.JSON[options]](t.Context(), db, "SELECT list FROM st_types"); err == nil {
		t.Error("broken JSON was read")
	}
}

func selectAndGet(t *testing.T, db store.DB) {
	type user struct {
		Name string `db:"name"`
	}
	if got := list[user](t, db, "SELECT name FROM st_user"); got == nil || len(got) != 0 {
		t.Errorf("no rows are %#v, want an empty slice", got)
	}
	if _, err := store.Get[user](t.Context(), db, "SELECT name FROM st_user"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of no rows: %v", err)
	}
	addUsers(t, db, "ann", "bob")
	if _, err := store.Get[user](t.Context(), db, "SELECT name FROM st_user"); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of two rows: %v", err)
	}
	for what, sql := range map[string]string{
		"a column without a field": "SELECT id, name FROM st_user",
		"a column twice":           "SELECT name, name FROM st_user",
		"a syntax error":           "SELEC name FROM st_user",
		"a column that is no text": `SELECT name FROM st_user WHERE name = "bob"`,
		"a missing argument":       "SELECT name FROM st_user WHERE id = $1",
	} {
		_, err := store.Select[user](t.Context(), db, sql)
		if err == nil || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := list[string](t, db, "SELECT name FROM st_user ORDER BY name"); !slices.Equal(got, []string{"ann", "bob"}) {
		t.Errorf("after the errors: %v", got)
	}
}

func invalidText(t *testing.T, db store.DB) {
	type name string
	nul := "a\x00b"
	for what, arg := range map[string]any{"NUL": nul, "invalid UTF-8": "a\xffb", "a pointer": &nul, "a named type": name(nul)} {
		_, err := db.Exec(t.Context(), "INSERT INTO st_user (id, name) VALUES (1, $1)", arg)
		if !errors.Is(err, store.ErrInvalidText) || strings.Contains(err.Error(), nul) {
			t.Errorf("writing %s: %v", what, err)
		}
		if _, err := store.Select[int](t.Context(), db, "SELECT id FROM st_user WHERE name = $1", arg); !errors.Is(err, store.ErrInvalidText) {
			t.Errorf("searching %s: %v", what, err)
		}
	}
	do(t, db, "INSERT INTO st_user (id, name) VALUES (1, $1)", name("ok"))
	if got := get[name](t, db, "SELECT name FROM st_user"); got != "ok" {
		t.Errorf("a named type came back as %q", got)
	}
}
