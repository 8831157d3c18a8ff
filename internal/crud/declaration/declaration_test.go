package declaration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/store"
)

// Book is a made-up object.
type Book struct {
	ID         int64   `db:"id" json:"id" readOnly:"true" generated:"true"`
	TenantUUID string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name       string  `db:"name" json:"name" required:"true"`
	Slug       string  `db:"slug" json:"-" of:"name"`
	Shelf      *string `db:"shelf" json:"shelf" ref:"shelves.name" owner:"true"`
	Lent       bool    `db:"lent" json:"lent" default:"false"`
	Title      string  `db:"title" json:"title" computed:"true" readOnly:"true"`
	Size       size    `json:"size" prefix:"size_" readOnly:"true"`
}

type size struct {
	Pages int64 `db:"pages" json:"pages"`
}

func books(change func(r *declaration.Resource[*Book])) *declaration.Model[*Book] {
	r := declaration.Resource[*Book]{
		Path: "old/books", Singular: "book", Param: "book_id", Table: "book", Keys: []string{"id"}, Order: []string{"name"}, Filters: []string{"lent"},
		Virtual: map[string]string{"title": "name || ' of ' || (SELECT s.name FROM {shelf} s WHERE s.name = shelf)"},
	}
	if change != nil {
		change(&r)
	}
	return declaration.Prepare(&declaration.Base{Service: "test", Style: declaration.Style{Duplicate: apierr.Conflict}}, r)
}

func TestPrepare(t *testing.T) {
	k := books(nil)
	var columns []string
	for _, c := range k.Columns {
		columns = append(columns, c.Scan)
	}
	for what, pair := range map[string][2]string{
		"columns":  {strings.Join(columns, " "), "id tenant_uuid name slug shelf lent title size.pages"},
		"title":    {k.Title, "Book"},
		"rel":      {k.Rel, "old_books"},
		"only":     {strings.Join(k.Only, " "), "list create read update delete"},
		"booleans": {strings.Join(k.List.Booleans, " "), "lent"},
		"reads":    {k.Reads()[0].Plain, "(name || ' of ' || (SELECT s.name FROM shelf s WHERE s.name = shelf))"},
		"owner":    {k.OwnerRefs[0].Ref, "shelves.name"},
		"key":      {fmt.Sprint(k.Key(&Book{ID: 17})), "17"},
		"path":     {k.OnePath(), "/old/books/{book_id}"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %q, want %q", what, pair[0], pair[1])
		}
	}
	fixed := slices.DeleteFunc(slices.Clone(k.Columns), func(c declaration.Column) bool { return !k.Fixed(c) })
	if len(fixed) != 3 { // the key, the tenant, the title
		t.Errorf("fixed: %v", fixed)
	}
}

// A mistake in a declaration is found when the service starts.
func TestMistakes(t *testing.T) {
	for want, change := range map[string]func(r *declaration.Resource[*Book]){
		`has no column "nothing"`: func(r *declaration.Resource[*Book]) { r.Order = []string{"nothing"} },
		"Virtual does not have":   func(r *declaration.Resource[*Book]) { r.Virtual = nil },
		`has no type "moon"`: func(r *declaration.Resource[*Book]) {
			r.Matches = map[string]declaration.Match{"near": {Condition: "1 = %s", Type: "moon"}}
		},
		"nothing says who may lose": func(r *declaration.Resource[*Book]) {
			r.Beside = []declaration.Beside[*Book]{{From: "lent", By: "book_id", Refers: map[string]string{"user_id": "users.id"}}}
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("%s, want %s", got, want)
				}
			}()
			books(change)
		}()
	}
}

// Only what a client sent and can read is named when it clashes: the name for the column that is made of it.
func TestRefused(t *testing.T) {
	k := books(nil)
	for columns, want := range map[string]string{
		"slug": "Book already exists ('name': 'Emma')", "tenant_uuid": "Book already exists", "shelf": "Book already exists",
	} {
		err := k.Refused(&store.ConstraintError{Kind: store.Unique, Table: "book", Columns: []string{columns}}, &Book{Name: "Emma"})
		if got := apierr.As(err); got == nil || got.Message != want || got.Kind != apierr.Conflict {
			t.Errorf("%s: %v, want %s", columns, err, want)
		}
	}
	if other := errors.New("other"); !errors.Is(k.Refused(other, nil), other) {
		t.Error("another error is hidden")
	}
}

func TestRow(t *testing.T) {
	type loan struct {
		Days *int64 `db:"days" json:"days"`
		Paid bool   `db:"paid" json:"paid" default:"true"`
	}
	row := declaration.RowOf[loan]()
	sent, err := row.From(map[string]any{"days": json.Number("3")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := row.Fresh()
	if err != nil {
		t.Fatal(err)
	}
	got := row.Texts([]declaration.StoredLink{{Key: "1", Row: sent}, {Key: "2", Row: fresh}})
	if want := []string{"1 (days 3, paid true)", "2 (days null, paid true)"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := declaration.NoRow.Texts([]declaration.StoredLink{{Key: "1"}}); !slices.Equal(got, []string{"1"}) {
		t.Errorf("%q", got)
	}
}
