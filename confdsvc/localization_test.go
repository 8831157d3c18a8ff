package confdsvc_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	documentSamples["localization"] = crudtest.Document{Resource: crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { // as many as are sent at once, twice: none is what is there already
			return object{"country": []string{"FR", "DE", "CA", "BE", "CH", "GB", "IT", "ES"}[n%8]}
		},
	}}
	documentSamples["recordings/announcements"] = crudtest.Document{Resource: crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object {
			return object{"recording_start": fmt.Sprintf("beep-%d", n)}
		},
	}}
}

// The users of a tenant show its country, to who may read it.
func TestUsersShowTheCountryOfTheirTenant(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		al := c.Create("/users", object{"firstname": "Al"})
		if al["country"] != nil {
			t.Errorf("at first it is %v", al["country"])
		}
		for _, bad := range []string{"fr", "XX", "", "F", "FRA", "D\nE"} {
			c.Do(http.MethodPut, "/localization", object{"country": bad}).Want(http.StatusBadRequest).Says("country")
		}
		c.Do(http.MethodPut, "/localization", object{"country": "FR"}).Want(http.StatusNoContent)
		d := newDoorkeeper(t, w.svc)
		for _, test := range []struct {
			denied string
			want   any
		}{{"!confd.x.read", "FR"}, {"!confd.localization.read", nil}} {
			reader := d.holding(t, w.tenants["a"], uuid.NewString(), "confd.#", test.denied)
			if o := reader.Get("/users/" + al.Text("uuid")).Want(http.StatusOK).Object(); o["country"] != test.want {
				t.Errorf("with %s the country of a user is %v", test.denied, o["country"])
			}
			if o := reader.Get("/users").Want(http.StatusOK).List().Items[0]; o["country"] != test.want {
				t.Errorf("with %s the country in the list is %v", test.denied, o["country"])
			}
		}
		if o := w.as(t, "b").Create("/users", object{"firstname": "Bo"}); o["country"] != nil {
			t.Errorf("another tenant's is %v", o["country"])
		}
		c.Do(http.MethodPut, "/localization", object{"country": nil}).Want(http.StatusNoContent)
		if o := c.Get("/users/" + al.Text("uuid")).Object(); o["country"] != nil {
			t.Errorf("then it is %v", o["country"])
		}
	})
}
