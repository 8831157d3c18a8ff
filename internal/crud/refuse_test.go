package crud_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

func TestDuplicateInAuthsStyle(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.want(200, "POST", "/things", `{"name":"it's"}`)
		got := w.want(409, "POST", "/things", `{"name":"it's"}`)
		details, _ := got["details"].(map[string]any)
		if got["message"] != "Thing already exists ('name': 'it's')" || details["name"] == nil || got["resource"] != "things" {
			t.Errorf("%v", got)
		}
		if strings.Contains(fmt.Sprint(got), "thing_name") || strings.Contains(fmt.Sprint(got), "tenant_uuid") {
			t.Errorf("the refusal names the database's own: %v", got)
		}
	})
}

// A refusal names the columns of the constraint that the client sent, and none of another table.
func TestDuplicatesAreNamedByTheirColumns(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		made := w.want(200, "POST", "/things", `{"name":"a","code":"X","parts":["p"]}`)
		for body, want := range map[string]string{
			`{"name":"b","code":"x"}`:                             "size code: Thing already exists ('code': 'x')",
			`{"name":"b","uuid":"` + made["uuid"].(string) + `"}`: "uuid: Thing already exists ('uuid': '" + made["uuid"].(string) + "')",
			`{"name":"b","parts":["p"]}`:                          ": Thing already exists",
		} {
			got := w.want(409, "POST", "/things", body)
			var named []string
			for _, name := range []string{"uuid", "tenant_uuid", "name", "size", "note", "code", "parts"} {
				if got["details"].(map[string]any)[name] != nil {
					named = append(named, name)
				}
			}
			if said := strings.Join(named, " ") + ": " + got["message"].(string); said != want {
				t.Errorf("%s: %s", body, said)
			}
		}
	})
}

// A key that a client may choose is set on create and never changes.
func TestKeysNeverChange(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		chosen := uuid.NewString()
		if got := w.want(200, "POST", "/things", `{"name":"a","uuid":"`+chosen+`"}`); got["uuid"] != chosen {
			t.Errorf("made with %v", got["uuid"])
		}
		if got := w.want(200, "PUT", "/things/"+chosen, `{"uuid":"`+uuid.NewString()+`","size":1}`); got["uuid"] != chosen || got["size"] != 1.0 {
			t.Errorf("updated to %v", got)
		}
		w.want(409, "POST", "/things", `{"name":"b","uuid":"`+chosen+`"}`)
	})
}

func TestDeleteOfWhatIsReferredTo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		made := w.want(200, "POST", "/things", `{"name":"a","parts":["p"]}`)
		if got := w.want(409, "DELETE", "/things/"+made["uuid"].(string), ""); !strings.Contains(got["message"].(string), "is associated with") {
			t.Errorf("%v", got)
		}
	})
}

func TestAssociationsOfOnePair(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		path := "/things/" + w.want(200, "POST", "/things", `{"name":"a"}`)["uuid"].(string) + "/same"
		count := func() int {
			t.Helper()
			n, err := store.Get[int](t.Context(), w.db, `SELECT count(*) FROM pair`)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for range 2 {
			w.want(204, "PUT", path, "")
			if count() != 1 {
				t.Errorf("%d pairs", count())
			}
		}
		for range 2 {
			w.want(204, "DELETE", path, "")
			if count() != 0 {
				t.Errorf("%d pairs", count())
			}
		}
		w.want(404, "PUT", "/things/"+uuid.NewString()+"/same", "")
	})
}

func TestAMistakeInADeclarationIsSeenAtOnce(t *testing.T) {
	for name, resource := range map[string]crud.Resource[Thing]{
		"order":  {Order: []string{"title"}},
		"search": {Search: []string{"parts"}},
		"filter": {Filters: []string{"Name"}},
		"key":    {Keys: []string{"id"}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("a column that is not there was taken")
				}
			}()
			crud.Collect(&crud.Engine{Service: "test"}, resource)
		})
	}
}

func TestPlaceholders(t *testing.T) {
	for _, test := range []struct {
		from, n int
		want    string
	}{{1, 0, "NULL"}, {1, 1, "$1"}, {3, 2, "$3, $4"}} {
		if got := crud.Placeholders(test.from, test.n); got != test.want {
			t.Errorf("Placeholders(%d, %d) = %q", test.from, test.n, got)
		}
	}
}
