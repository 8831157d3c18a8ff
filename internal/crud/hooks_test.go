package crud_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
)

func TestTransactionsThatRunAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		made := w.want(200, "POST", "/things", `{"name":"first","parts":["a","b"]}`)
		if !reflect.DeepEqual(made["parts"], []any{"a", "b"}) {
			t.Errorf("made with parts %v", made["parts"])
		}
		if prepared := w.want(200, "POST", "/things", `{"name":"prepare "}`); prepared["name"] != "prepared " {
			t.Errorf("prepared twice: %v", prepared["name"])
		}
		path := "/things/" + made["uuid"].(string)
		if got := w.want(200, "PUT", path, `{"name":"second","parts":["c"]}`); got["name"] != "second" || !reflect.DeepEqual(got["parts"], []any{"c"}) {
			t.Errorf("updated to %v", got)
		}
		if got := w.want(200, "GET", path, ""); got["name"] != "second" || !reflect.DeepEqual(got["parts"], []any{"c"}) {
			t.Errorf("read %v", got)
		}
		if got := w.want(200, "PUT", path, `{"size":3}`); !reflect.DeepEqual(got["parts"], []any{"c"}) {
			t.Errorf("parts that were not sent became %v", got["parts"])
		}
		w.want(200, "PUT", path, `{"parts":[]}`)
		w.want(204, "DELETE", path, "")
		if want := []string{"- first", "- prepared ", "first second", "second second", "second second", "second -"}; !slices.Equal(w.committed, want) {
			t.Errorf("committed %q, want %q", w.committed, want)
		}
	})
}

func TestPrepareAloneChanges(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		made := w.want(200, "POST", "/things", `{"name":"prepare one"}`)
		path := "/things/" + made["uuid"].(string)
		w.want(200, "PUT", path, `{"name":"prepare two","parts":["a"]}`)
		if got := w.want(200, "GET", path, ""); made["name"] != "prepared one" || got["name"] != "prepared two" || len(got["parts"].([]any)) != 1 {
			t.Errorf("made %v, and then %v", made, got)
		}
	})
}

// A fixed column is set on create and never changes.
func TestFixedColumnsNeverChange(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		path := "/things/" + w.want(200, "POST", "/things", `{"name":"a","code":"c"}`)["uuid"].(string)
		if got := w.want(200, "PUT", path, `{"name":"b","code":"d"}`); got["name"] != "b" || got["code"] != "c" {
			t.Errorf("updated to %v", got)
		}
	})
}

func TestHookErrorsUndo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		made := w.want(200, "POST", "/things", `{"name":"first","parts":["a"]}`)
		path := "/things/" + made["uuid"].(string)
		w.committed = nil
		w.want(400, "POST", "/things", `{"name":"refused"}`)
		w.want(400, "PUT", path, `{"name":"refused"}`)
		for _, answer := range []resttest.Answer{
			w.do("POST", "/things", `{"name":"other","parts":["b","broken"]}`), w.do("PUT", path, `{"name":"other","parts":["b","broken"]}`),
		} {
			if answer.Status != 500 || strings.Contains(answer.Body, "secret") {
				t.Errorf("%d %s", answer.Status, answer.Body)
			}
		}
		if got := w.want(200, "GET", path, ""); !reflect.DeepEqual(got, made) {
			t.Errorf("it is %v, and was %v", got, made)
		}
		if l := w.want(200, "GET", "/things", ""); l["total"] != 1.0 {
			t.Errorf("total %v", l["total"])
		}
		if w.committed != nil {
			t.Errorf("committed %q", w.committed)
		}
	})
}
