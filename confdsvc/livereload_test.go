package confdsvc_test

import (
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	documentSamples["configuration/live_reload"] = crudtest.Document{Switch: true, Resource: crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"enabled": n%2 == 0} },
	}}
}

// It is the installation's, and so the master tenant's alone.
func TestLiveReload(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		const path = "/configuration/live_reload"
		below := w.as(t, "a")
		master := w.as(t, "master")
		below.Get(path).Want(http.StatusForbidden).Says("Only the master tenant may do this")
		if o := master.Get(path).Want(http.StatusOK).Object(); len(o) != 1 || o["enabled"] != true {
			t.Errorf("at first %v", o)
		}
		below.Do(http.MethodPut, path, object{"enabled": false}).Want(http.StatusForbidden)
		for _, bad := range []any{object{}, object{"enabled": nil}, object{"enabled": "false"}, "[]"} {
			master.Do(http.MethodPut, path, bad).Want(http.StatusBadRequest)
		}
		master.Do(http.MethodPut, path, object{"enabled": false}).Want(http.StatusNoContent)
		if o := master.Get(path).Object(); o["enabled"] != false {
			t.Errorf("then %v", o)
		}
	})
}
