package confdsvc_test

import (
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	documentSamples["voicemails/transcription"] = crudtest.Document{Switch: true, Resource: crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"enabled": n%2 == 0} },
	}}
}

// Each tenant has a setting of its own, which no voicemail's path hides.
func TestVoicemailTranscription(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		const path = "/voicemails/transcription"
		c := w.as(t, "a")
		if o := c.Get(path).Want(http.StatusOK).Object(); len(o) != 1 || o["enabled"] != false {
			t.Errorf("at first %v", o)
		}
		for _, bad := range []any{object{}, object{"enabled": nil}, object{"enabled": "true"}, object{"enabled": 1}, "[]"} {
			c.Do(http.MethodPut, path, bad).Want(http.StatusBadRequest)
		}
		c.Do(http.MethodPut, path, object{"enabled": true}).Want(http.StatusNoContent)
		for tenant, want := range map[string]bool{"a": true, "a1": false, "b": false, "master": false} {
			if o := w.as(t, tenant).Get(path).Object(); o["enabled"] != want {
				t.Errorf("%s reads %v", tenant, o)
			}
		}
		c.Do(http.MethodDelete, path, nil).Want(http.StatusMethodNotAllowed)
		c.Do(http.MethodPost, path, object{"enabled": true}).Want(http.StatusMethodNotAllowed)
		if o := c.Create("/voicemails", voicemail("1001")); c.Get("/voicemails/" + o.Text("id")).Want(http.StatusOK).Object()["number"] != "1001" {
			t.Errorf("%v", o)
		}
	})
}
