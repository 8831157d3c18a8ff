package crudtest

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

type shelf struct {
	ID         int64  `db:"id" json:"id" readOnly:"true" generated:"true"`
	TenantUUID string `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Books      []book `json:"books" readOnly:"true"`
}

type book struct {
	ID         int64  `db:"id" json:"id" readOnly:"true" generated:"true"`
	TenantUUID string `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	ShelfID    int64  `db:"shelf_id" json:"shelf_id" readOnly:"true"`
	Size       size   `json:"size"`
}

type size struct {
	Pages *int64 `db:"pages" json:"pages"`
}

type rules struct {
	TenantUUID string `db:"tenant_uuid" json:"-"`
	Loans      *int64 `db:"loans" json:"loans"`
}

// Whatever is declared, in whatever way, the suite fails for each operation that no check has reached.
func TestEveryOperationMustBeTested(t *testing.T) {
	e := crud.New(crud.Base{
		Service: "test", Prefix: "/api/test", DB: storetest.SQLite(t), Style: crud.Style{CreateStatus: http.StatusCreated, Duplicate: apierr.Invalid},
	})
	crud.Collect(e, crud.Resource[shelf]{Path: "shelves", Singular: "shelf", Param: "shelf_id", Table: "shelf", Keys: []string{"id"}, Only: []string{"create"}})
	crud.Collect(e, crud.Resource[book]{Path: "books", Singular: "book", Param: "book_id", Table: "book", Keys: []string{"id"}, Only: []string{"read", "list"}})
	crud.Link[shelf, book]{
		Table: "shelf_book", Only: []string{"delete", "set"}, Set: &crud.List{Path: "books", By: []string{"id"}},
	}.On(e)
	crud.Children[shelf, book]{Column: "shelf_id"}.On(e)
	crud.Part[book, size]{Path: "size", Field: func(b *book) *size { return &b.Size }}.On(e)
	crud.Document[rules]{Resource: crud.Resource[rules]{Path: "rules", Singular: "rules", Table: "rules", Only: []string{"read"}}}.On(e)
	e.Add(rest.Operation{Method: http.MethodGet, Path: "/apart", Access: "test.apart.read", ID: "apart", Success: http.StatusOK, Handle: nothing})
	operations := e.Operations()
	for i := range operations { // as if they had no rules but those of package rest
		operations[i].Handle = nothing
	}
	service := &rest.Service{Name: "test", Prefix: "/api/test", Operations: operations, Errors: rest.MessageList}
	if err := service.Mount(); err != nil {
		t.Fatal(err)
	}
	covered := cover(service)
	declared := []string{
		"DELETE /shelves/{shelf_id}/books/{book_id}", "GET /books", "GET /books/{book_id}", "GET /books/{book_id}/size", "GET /rules",
		"GET /shelves/{shelf_id}/books", "POST /shelves", "PUT /books/{book_id}/size", "PUT /shelves/{shelf_id}/books",
	}
	missing := func(want []string) {
		t.Helper()
		got := slices.Clone(covered.missing(e.Described()))
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
	var both []string
	for _, name := range declared {
		both = append(both, name+" has not succeeded", name+" has not refused anything")
	}
	missing(both)
	acls, err := acl.Compile([]string{"test.#"})
	if err != nil {
		t.Fatal(err)
	}
	c := resttest.To(t, covered, "/api/test", &principal.Principal{ACL: acls})
	c.Get("/books").Want(http.StatusOK)
	c.Get("/books/1", resttest.Header("Accept", ""), resttest.Header("Accept", "text/html")).Want(http.StatusNotAcceptable)
	missing(slices.DeleteFunc(both, func(text string) bool {
		return text == "GET /books has not succeeded" || text == "GET /books/{book_id} has not refused anything"
	}))
}

func nothing(context.Context, *rest.Request) (rest.Reply, error) { return rest.Reply{}, nil }
