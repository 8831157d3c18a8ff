package confdsvc_test

import (
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestLabelsAreRequired(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		for path, body := range map[string]object{"/contexts": {}, "/groups": {}, "/moh": {"mode": "files"}} {
			c.Do(http.MethodPost, path, body).Want(http.StatusBadRequest).Says("Input Error - label: ['Missing data for required field.']")
			body["name"] = "old name"
			if made := c.Create(path, body); made["label"] != "old name" {
				t.Errorf("%s: the label is %v", path, made["label"])
			}
		}
	})
}

// An update that has the old word alone changes the label, and one that sends back what it has read changes nothing.
func TestLabelsByTheirOldName(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		for _, of := range []string{"/contexts", "/groups"} {
			made := c.Create(of, object{"label": "first"})
			path := of + "/" + made.Text("id")
			for _, step := range []struct {
				body  object
				label string
			}{
				{object{"name": "second"}, "second"},
				{object{"name": made["name"]}, "second"},
				{object{"name": nil}, "second"},
				{object{"name": "third", "label": "fourth"}, "fourth"},
			} {
				c.Do(http.MethodPut, path, step.body).Want(http.StatusNoContent)
				if got := c.Get(path).Object(); got["label"] != step.label || got["name"] != made["name"] {
					t.Errorf("%v after %v", got, step.body)
				}
			}
			c.Do(http.MethodPut, path, object{"name": "x\ny"}).Want(http.StatusBadRequest).Says("name")
			c.Do(http.MethodPut, path, object{"name": 5}).Want(http.StatusBadRequest).Says("Input Error - name: ['Not a valid string.']")
		}
	})
}
