package crud_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
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

func TestAMistakeInADeclarationIsSeenAtOnce(t *testing.T) {
	for name, resource := range map[string]crud.Resource[Thing]{
		"order":  {Order: []string{"title"}},
		"search": {Search: []string{"parts"}},
		"filter": {Filters: []string{"Name"}},
		"key":    {Keys: []string{"id"}},
		"alias":  {Aliases: map[string]string{"label": "title"}},
		"values": {Several: []string{"names"}},
		"shown":  {Shown: map[string]string{"title": "name"}},
	} {
		t.Run(name, func(t *testing.T) {
			mistake(t, "has no column", func() { crud.Collect(crud.New(crud.Base{Service: "test"}), resource) })
		})
	}
}

// mistake fails the test unless a declaration panics with this text.
func mistake(t *testing.T, want string, declare func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
			t.Errorf("it panicked with %s, want %s", got, want)
		}
	}()
	declare()
}

// What a request may not read it may not change either.
func TestWhatIsNotReadableIsNotChanged(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.readable = func(_ *rest.Request, add func(any) string) string { return "name <> " + add("hidden") }
		w.mount()
		shown := "/things/" + w.want(200, "POST", "/things", `{"name":"shown"}`)["uuid"].(string)
		hidden := "/things/" + w.want(200, "POST", "/things", `{"name":"hidden"}`)["uuid"].(string)
		for method, body := range map[string]string{"GET": "", "PUT": `{"size":1}`, "DELETE": ""} {
			w.want(404, method, hidden, body)
		}
		w.want(200, "PUT", shown, `{"size":1}`)
		if got := names(w.want(200, "GET", "/things", "")); !slices.Equal(got, []string{"shown"}) {
			t.Errorf("the list is %q", got)
		}
	})
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

// A request without a token is denied everything: an operation that is public by mistake does not get around a denial.
func TestWithoutATokenAllIsDenied(t *testing.T) {
	for name, check := range map[string]func(r *rest.Request) error{
		"an operation":   func(r *rest.Request) error { return rights.NotDenied(r, "test.things.update") },
		"what is nested": func(r *rest.Request) error { return rights.MayNest(r, "test.things.create") },
		"whether to look": func(r *rest.Request) error {
			if rights.HasDenials(r) {
				return apierr.New(apierr.Forbidden, "Denied")
			}
			return nil
		},
	} {
		svc := &rest.Service{Name: "test", Version: "1", Prefix: "/api/test", Errors: rest.AuthErrors, Operations: []rest.Operation{{
			Method: http.MethodPost, Path: "/things", Public: true, ID: "make", Summary: "Make", Success: http.StatusNoContent, Statuses: []int{http.StatusForbidden},
			Handle: func(_ context.Context, r *rest.Request) (rest.Reply, error) { return rest.Reply{}, check(r) },
		}}}
		if err := svc.Mount(); err != nil {
			t.Fatal(err)
		}
		all, err := acl.Compile([]string{"#"})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		resttest.To(t, svc, "/api/test", nil).Do(http.MethodPost, "/things", nil).Want(http.StatusForbidden)
		resttest.To(t, svc, "/api/test", &principal.Principal{ACL: all}).Do(http.MethodPost, "/things", nil).Want(http.StatusNoContent)
	}
}
