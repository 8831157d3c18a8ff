package crud_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Paper is a document of the tests. Only those with a drawer in their path have one.
type Paper struct {
	TenantUUID string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Drawer     string  `db:"drawer" json:"-"`
	Title      string  `db:"title" json:"title" required:"true" minLength:"1" maxLength:"20"`
	Pages      int64   `db:"pages" json:"pages" minimum:"1" default:"3"`
	Note       *string `db:"note" json:"note" maxLength:"50"`
	Sealed     *string `db:"sealed" json:"-"`

	Secret *string `json:"secret,omitempty" writeOnly:"true" maxLength:"50"`
}

// sealPaper stores the secret backwards.
func sealPaper(_ context.Context, _ store.Conn, change *crud.Change[Paper]) error {
	if !change.Sent.Has("secret") {
		return nil
	}
	change.New.Sealed = nil
	if change.New.Secret != nil {
		letters := []rune(*change.New.Secret)
		slices.Reverse(letters)
		sealed := string(letters)
		change.New.Sealed = &sealed
	}
	return nil
}

// papers has a document of each kind, in the style of confd. Every transaction runs twice.
func papers(db store.DB) (*rest.Service, *crud.Engine, error) {
	e := crud.New(crud.Base{
		Service: "test", Prefix: "/api/test", DB: rerun{db}, Style: crud.Style{CreateStatus: http.StatusCreated, Duplicate: apierr.Conflict},
	})
	for _, d := range []struct {
		path, table string
		scope       declaration.Scope
		blank       func(*Paper) any
		only        []string
	}{
		{"paper", "paper_own", crud.PerTenant, crud.Defaults[Paper], nil},
		{"papers/{drawer}/first", "paper_drawn", crud.PerTenant, nil, nil},
		{"papers/everybodys", "paper_global", crud.Global, crud.Defaults[Paper], []string{"read", "update"}},
		{"the/masters/paper", "paper_master", crud.Master, crud.Defaults[Paper], nil},
	} {
		crud.Document[Paper]{
			Resource: crud.Resource[Paper]{Path: d.path, Singular: d.table, Table: d.table, Scope: d.scope, Only: d.only, Prepare: sealPaper},
			Blank:    d.blank,
		}.On(e)
	}
	svc := &rest.Service{Name: "test", Prefix: "/api/test", Errors: rest.AuthErrors, Operations: e.Operations()}
	return svc, e, svc.Mount()
}

// makePapers creates the tables.
func makePapers(tb testing.TB, db store.DB) {
	tb.Helper()
	kind := "text"
	if db.Engine() == "postgres" {
		kind = "uuid"
	}
	for _, table := range []string{"paper_own", "paper_drawn", "paper_global", "paper_master"} {
		if _, err := db.Exec(tb.Context(), `CREATE TABLE `+table+` (tenant_uuid `+kind+` NOT NULL REFERENCES auth_tenant (uuid), drawer text NOT NULL,
			title text NOT NULL, pages bigint NOT NULL, note text, sealed text, PRIMARY KEY (tenant_uuid, drawer))`); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestDocuments(t *testing.T) {
	_, e, err := papers(nil)
	if err != nil {
		t.Fatal(err)
	}
	paper := crudtest.Document{
		Resource: crudtest.Resource{
			Minimal: func(_ *crudtest.Client, n int) crudtest.Object {
				return crudtest.Object{"title": fmt.Sprintf("Title %d", n)}
			},
		},
		Secrets: []string{"secret"},
	}
	drawn := paper
	drawn.Parameters = []string{"top"}
	crudtest.Suite{
		Described: e.Described(), Access: "test.#",
		Mount: func(tb testing.TB, db store.DB) *rest.Service {
			tb.Helper()
			makePapers(tb, db)
			svc, _, err := papers(db)
			if err != nil {
				tb.Fatal(err)
			}
			return svc
		},
		Documents: map[string]crudtest.Document{
			"paper": paper, "papers/{drawer}/first": drawn, "papers/everybodys": paper, "the/masters/paper": paper,
		},
	}.Run(t)
}

// Notify gets a document by its name, and drawers are documents of their own.
func TestDocumentEvents(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		makePapers(t, w.db)
		svc, e, err := papers(w.db)
		if err != nil {
			t.Fatal(err)
		}
		w.svc = svc
		var notified []crud.Event
		e.Notify = func(events []crud.Event) { notified = append(notified, events...) }
		w.want(204, "PUT", "/paper", `{"title":"a"}`)
		w.want(200, "GET", "/paper", "")
		w.want(204, "PUT", "/paper", `{"title":"a"}`)
		w.want(201, "POST", "/papers/left/first", `{"title":"b"}`)
		w.want(404, "GET", "/papers/right/first", "")
		w.want(201, "POST", "/papers/right/first", `{"title":"c"}`)
		w.want(204, "DELETE", "/papers/left/first", "")
		w.want(204, "PUT", "/the/masters/paper", `{"title":"d","pages":4}`)
		if got := w.want(200, "GET", "/papers/right/first", ""); got["title"] != "c" || got["pages"] != 3.0 {
			t.Errorf("another drawer has %v", got)
		}
		want := []crud.Event{
			{Resource: "paper", Key: "paper", Tenant: w.tenant},
			{Resource: "papers/first", Key: "left", Tenant: w.tenant},
			{Resource: "papers/first", Key: "right", Tenant: w.tenant},
			{Resource: "papers/first", Key: "left", Tenant: w.tenant},
			{Resource: "the/masters", Key: "paper", Tenant: w.tenant},
		}
		if !slices.Equal(notified, want) {
			t.Errorf("notified %v\nwant %v", notified, want)
		}
	})
}
