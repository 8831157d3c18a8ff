package query_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Shelf and Book are made-up objects; books stand on shelves.
type (
	Shelf struct {
		ID         int64  `db:"id" json:"id" readOnly:"true" generated:"true"`
		TenantUUID string `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
		Name       string `db:"name" json:"name"`
		Books      []Book `json:"books" readOnly:"true"`
	}
	Book struct {
		ID         int64  `db:"id" json:"id" readOnly:"true" generated:"true"`
		TenantUUID string `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
		Name       string `db:"name" json:"name"`
		Pages      *int64 `db:"pages" json:"pages"`
	}
)

// library is a tenant with a tenant below it, and readers of their shelves and books.
type library struct {
	db          store.DB
	tenant, sub string
	shelves     *query.Reader[*Shelf]
	books       *query.Reader[*Book]
}

func each(t *testing.T, test func(t *testing.T, l *library)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		l := &library{db: db, tenant: uuid.NewString(), sub: uuid.NewString()}
		kind := map[bool]string{true: "uuid", false: "text"}[db.Engine() == "postgres"]
		for _, sql := range []string{
			"CREATE TABLE shelf (id bigint PRIMARY KEY, tenant_uuid " + kind + " NOT NULL, name text NOT NULL)",
			"CREATE TABLE book (id bigint PRIMARY KEY, tenant_uuid " + kind + " NOT NULL, name text NOT NULL, pages bigint)",
			"CREATE TABLE shelf_book (shelf_id bigint NOT NULL, book_id bigint NOT NULL, place bigint NOT NULL)",
			"INSERT INTO auth_tenant (uuid, parent_uuid, slug) VALUES ('" + l.tenant + "', '" + l.tenant + "', 'master'), ('" + l.sub + "', '" + l.tenant + "', 'sub')",
			"INSERT INTO book VALUES (1, '" + l.tenant + "', 'Émile', 3), (2, '" + l.tenant + "', 'emma', NULL), (3, '" + l.sub + "', '100%', 1), (4, '" + l.tenant + "', 'Zazie', 2)",
			"INSERT INTO shelf VALUES (1, '" + l.tenant + "', 'long'), (2, '" + l.tenant + "', 'empty')",
			"INSERT INTO shelf_book VALUES (1, 4, 0), (1, 1, 1)",
		} {
			if _, err := db.Exec(t.Context(), sql); err != nil {
				t.Fatal(sql, err)
			}
		}
		base := &declaration.Base{Service: "test", DB: db, Style: declaration.Style{Filtered: true, Duplicate: apierr.Conflict}}
		plain := func(_ context.Context, sql declaration.SQL, _ func(any) string) string { return sql.Plain }
		l.shelves = query.NewReader(declaration.Prepare(base, declaration.Resource[*Shelf]{
			Path: "shelves", Singular: "shelf", Param: "shelf_id", Table: "shelf", Keys: []string{"id"}, Order: []string{"name"},
		}), plain)
		l.books = query.NewReader(declaration.Prepare(base, declaration.Resource[*Book]{
			Path: "books", Singular: "book", Param: "book_id", Table: "book", Keys: []string{"id"}, Names: []string{"name"},
			Order: []string{"name", "pages"}, Search: []string{"name"}, Filters: []string{"pages", "thick"},
			Matches: map[string]declaration.Match{"thick": {Condition: "pages > %s", Type: "integer"}},
		}), plain)
		near := &query.Side{Entity: l.shelves.Entity, Joined: l.shelves, Joining: "shelf_book", Refers: "shelf_id", Position: "place"}
		far := &query.Side{Entity: l.books.Entity, Joined: l.books, Joining: "shelf_book", Refers: "book_id"}
		show := query.Many(func(s *Shelf) *[]Book { return &s.Books })
		l.shelves.Show(show.Of(), show.Loader(near, far, func() bool { return false }))
		test(t, l)
	})
}

// A list has a page, in an order in which accents and case mean nothing and null is last, and says how many there are.
func TestPage(t *testing.T) {
	each(t, func(t *testing.T, l *library) {
		for _, step := range []struct {
			list            rest.List
			recurse         bool
			want            string
			total, filtered int
		}{
			{rest.List{Order: "name"}, false, "Émile emma Zazie", 3, 3},
			{rest.List{Order: "name", Desc: true}, true, "Zazie emma Émile 100%", 4, 4},
			{rest.List{Order: "pages"}, true, "100% Zazie Émile emma", 4, 4},
			{rest.List{Order: "name", Limit: 1, Offset: 1}, false, "emma", 3, 3},
			{rest.List{Order: "name", Limit: 2, Offset: 7}, false, "", 3, 3},
			{rest.List{Order: "name", Search: "EM"}, true, "Émile emma", 4, 2},
			{rest.List{Order: "name", Search: "%"}, true, "100%", 4, 1},
			{rest.List{Order: "name", Filters: []rest.Filter{{Name: "pages", Value: "2"}}}, false, "Zazie", 3, 1},
			{rest.List{Order: "name", Filters: []rest.Filter{{Name: "pages", Value: "two"}}}, false, "", 3, 0},
			{rest.List{Order: "name", Filters: []rest.Filter{{Name: "thick", Value: "2"}}}, true, "Émile", 4, 1},
		} {
			args := &query.Arguments{}
			where := l.books.InScope(step.recurse, args.Add(l.tenant))
			books, page, err := l.books.Page(t.Context(), l.db, step.list, where, l.tenant, args, nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, b := range books {
				names = append(names, b.Name)
			}
			if got := strings.Join(names, " "); got != step.want || page.Total != step.total || *page.Filtered != step.filtered {
				t.Errorf("%+v: %s, %d, %d, want %s, %d, %d", step.list, got, page.Total, *page.Filtered, step.want, step.total, step.filtered)
			}
		}
	})
}

// A path names an object by the one form of its key, or by its name in the tenant itself, and nothing above or beside the tenant.
func TestFind(t *testing.T) {
	each(t, func(t *testing.T, l *library) {
		for _, step := range []struct {
			scope, typed string
			want         string
		}{
			{l.tenant, "1", "Émile"},
			{l.tenant, "3", "100%"},
			{l.tenant, "emma", "emma"},
			{l.tenant, "100%", ""},
			{l.sub, "1", ""},
			{l.tenant, "01", ""},
			{l.tenant, "9", ""},
		} {
			got := ""
			b, err := l.books.Find(t.Context(), l.db, step.scope, step.typed)
			if err == nil {
				got = b.Name
			} else if e := apierr.As(err); e == nil || e.Kind != apierr.NotFound {
				t.Fatal(err)
			}
			if got != step.want {
				t.Errorf("%s: %q, want %q", step.typed, got, step.want)
			}
		}
	})
}

// An object shows what it is linked with in the order of the links.
func TestShow(t *testing.T) {
	each(t, func(t *testing.T, l *library) {
		shelves, err := l.shelves.FindAll(t.Context(), l.db, l.tenant, []any{int64(2), int64(1)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range shelves {
			got = append(got, s.Name)
			for _, b := range s.Books {
				got = append(got, fmt.Sprint(b.ID))
			}
		}
		if want := []string{"empty", "long", "4", "1"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}
