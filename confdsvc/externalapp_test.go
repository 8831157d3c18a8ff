package confdsvc_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["external/apps"] = crudtest.Resource{
		Minimal: func(*crudtest.Client, int) object { return object{} },
		Values: func(n int) object {
			return object{"label": fmt.Sprintf("App %d", n), "configuration": object{"n": float64(n)}}
		},
	}
	samples["users/external/apps"] = samples["external/apps"]
}

// What a program keeps for a user counts before what it keeps for their tenant.
func TestExternalApps(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c, above := w.as(t, "a"), w.as(t, "master")
		al := c.Create("/users", object{"firstname": "Al"})
		long := strings.Repeat("x", 129)
		for _, bad := range []any{object{"label": long + long}, object{"configuration": "x"}, object{"configuration": object{"x": strings.Repeat("x", 65536)}}} {
			c.Do(http.MethodPost, "/external/apps/one", bad).Want(http.StatusBadRequest)
		}
		c.Do(http.MethodPost, "/external/apps/"+long, object{}).Want(http.StatusNotFound)
		c.Do(http.MethodPost, "/external/apps", object{}).Want(http.StatusMethodNotAllowed)
		for _, name := range []string{"one", "two"} {
			made := c.Do(http.MethodPost, "/external/apps/"+name, object{"name": "x", "configuration": object{"of": "tenant", "n": 1}}).Want(http.StatusCreated)
			if o := made.Object(); o["name"] != name || !strings.HasSuffix(made.Header.Get("Location"), "/external/apps/"+name) {
				t.Errorf("%v %v", made.Header, o)
			}
		}
		c.Do(http.MethodPost, "/external/apps/one", object{}).Want(http.StatusBadRequest).Says("ExternalApp already exists")
		above.Get("/external/apps/one").Want(http.StatusNotFound)
		c.Do(http.MethodPut, "/external/apps/one", object{"label": "One"}).Want(http.StatusNoContent)
		if href := fmt.Sprint(at(c.Get("/external/apps/one").Object(), "links.0.href")); href != prefix+"/external/apps/one" {
			t.Errorf("it is at %s", href)
		}
		if o := c.Get("/external/apps/one").Object(); o["label"] != "One" || at(o, "configuration.of") != "tenant" {
			t.Errorf("changed it is %v", o)
		}

		of := "/users/" + al.Text("uuid") + "/external/apps"
		c.Do(http.MethodPost, of+"/one", object{"configuration": []any{1}}).Want(http.StatusBadRequest).Says("configuration")
		made := above.Do(http.MethodPost, of+"/one", object{"configuration": object{"of": "user"}}).Want(http.StatusCreated)
		if !strings.HasSuffix(made.Header.Get("Location"), of+"/one") || len(made.Object()) != 3 {
			t.Errorf("%v %v", made.Header, made.Object())
		}
		c.Do(http.MethodPost, of+"/one", object{}).Want(http.StatusBadRequest).Says("UserExternalApp already exists")
		c.Do(http.MethodPut, of+"/one", object{"label": "Mine"}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, of+"/one", object{"label": 5}).Want(http.StatusBadRequest)
		c.Do(http.MethodPut, of+"/two", object{"label": "x"}).Want(http.StatusNotFound).Says("UserExternalApp was not found")
		c.Do(http.MethodPut, of+"/two", object{"label": 5}).Want(http.StatusNotFound).Says("UserExternalApp was not found")
		names := func(query string) (all []any) {
			for _, item := range c.Get(of + query).Want(http.StatusOK).List().Items {
				all = append(all, item["name"], at(item, "configuration.of"))
			}
			return all
		}
		if got := names(""); !reflect.DeepEqual(got, []any{"one", "user"}) {
			t.Errorf("a user's own are %v", got)
		}
		if got := names("?view=fallback"); !reflect.DeepEqual(got, []any{"one", "user", "two", "tenant"}) {
			t.Errorf("with the tenant's they are %v", got)
		}
		c.Get(of + "?view=x").Want(http.StatusBadRequest)
		c.Get(of + "/two").Want(http.StatusNotFound)
		if o := c.Get(of + "/two?view=fallback").Want(http.StatusOK).Object(); at(o, "configuration.of") != "tenant" {
			t.Errorf("%v", o)
		}
		w.as(t, "b").Get(of).Want(http.StatusNotFound)
		less := newDoorkeeper(t, w.svc).holding(t, w.tenants["a"], uuid.NewString(), "confd.#", "!confd.users."+al.Text("uuid")+".external.apps.one.read")
		if l := less.Get(of).List(); l.Total != 0 {
			t.Errorf("denied one, the list is %v", l.Items)
		}
		c.Do(http.MethodDelete, of+"/one", nil).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, of+"/one", nil).Want(http.StatusNotFound)
	})
}
