package crud_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Place is where visitors are.
type Place struct {
	UUID       string `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID string `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name       string `db:"name" json:"name" required:"true"`
}

// Visitor is at a place, or nowhere.
type Visitor struct {
	UUID       string  `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name       string  `db:"name" json:"name" required:"true"`
	Place      *string `db:"place" json:"place" names:"places.name"`
	PlaceUUID  *string `db:"place_uuid" json:"place_uuid" format:"uuid" ref:"places.uuid"`
}

// What an answer does not show of an object, since the other that it names is denied, does not show by filters, orders and searches either.
func TestListsCompareWhatTheyShow(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		kind, tenant, inn, bar := "text", uuid.NewString(), uuid.NewString(), uuid.NewString()
		if db.Engine() == "postgres" {
			kind = "uuid"
		}
		for _, sql := range []string{
			`CREATE TABLE place (uuid ` + kind + ` PRIMARY KEY, tenant_uuid ` + kind + ` NOT NULL, name text NOT NULL)`,
			`CREATE TABLE visitor (uuid ` + kind + ` PRIMARY KEY, tenant_uuid ` + kind + ` NOT NULL, name text NOT NULL, place text, place_uuid ` + kind + `)`,
			`INSERT INTO auth_tenant (uuid, parent_uuid, slug) VALUES ('` + tenant + `', '` + tenant + `', 'master')`,
			`INSERT INTO place VALUES ('` + inn + `', '` + tenant + `', 'inn'), ('` + bar + `', '` + tenant + `', 'bar')`,
			`INSERT INTO visitor VALUES ('` + uuid.NewString() + `', '` + tenant + `', 'ann', 'inn', '` + inn + `'),
				('` + uuid.NewString() + `', '` + tenant + `', 'bob', NULL, NULL), ('` + uuid.NewString() + `', '` + tenant + `', 'cy', 'bar', '` + bar + `')`,
		} {
			if _, err := db.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		engine := crud.New(crud.Base{Service: "test", Prefix: "/api/test", DB: db, Style: crud.Style{Filtered: true, Duplicate: apierr.Conflict}})
		reads := []string{"list", "read"}
		crud.Collect(engine, crud.Resource[Place]{
			Path: "places", Singular: "place", Param: "place_uuid", Table: "place", Keys: []string{"uuid"}, Order: []string{"name"}, Only: reads,
		})
		columns := []string{"place", "place_uuid", "name"}
		crud.Collect(engine, crud.Resource[Visitor]{
			Path: "visitors", Singular: "visitor", Param: "visitor_uuid", Table: "visitor", Keys: []string{"uuid"},
			Order: columns, Search: []string{"place"}, Filters: columns, Only: reads,
		})
		svc := &rest.Service{Name: "test", Prefix: "/api/test", Errors: rest.AuthErrors, Operations: engine.Operations()}
		if err := svc.Mount(); err != nil {
			t.Fatal(err)
		}
		for denied, want := range map[string]string{
			"": "[ann] [ann] [ann cy] [ann] inn", "!test.places." + inn + ".read": "[] [] [cy] [] bar", "!test.places.*.read": "[] [] [] [] <null>",
			"!test.places." + inn + ".update": "[ann] [ann] [ann cy] [ann] inn",
		} {
			held := []string{"test.#"}
			if denied != "" {
				held = append(held, denied)
			}
			set, err := acl.Compile(held)
			if err != nil {
				t.Fatal(err)
			}
			c := resttest.To(t, svc, "/api/test", &principal.Principal{UserUUID: uuid.NewString(), Affiliation: &principal.Affiliation{TenantUUID: tenant}, ACL: set})
			called := func(query string) []string { return c.Get("/visitors?order=name&" + query).List().Column("name") }
			got := fmt.Sprint(called("place=inn"), called("place_uuid="+inn), called("place_uuid="+inn+","+bar), called("search=inn"))
			if got += " " + c.Get("/visitors?order=place&direction=desc").List().Items[0].Text("place"); got != want {
				t.Errorf("%s: %s, want %s", denied, got, want)
			}
		}
	})
}
