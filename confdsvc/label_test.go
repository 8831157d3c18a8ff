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
