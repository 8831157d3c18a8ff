package confdsvc_test

import (
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	simple["emergency-numbers"] = simpleKind{"emergency_number_id", object{"number": "112"}}
	samples["emergency-numbers"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"number": fmt.Sprint(90000 + n)} },
		Values:  func(n int) object { return object{"number": fmt.Sprint(91000 + n)} },
	}
	maps.Copy(ours, map[string]string{
		"GET /emergency-numbers": "confd.emergency-numbers.read", "POST /emergency-numbers": "confd.emergency-numbers.create",
		"GET /emergency-numbers/{}": "confd.emergency-numbers.{}.read", "PUT /emergency-numbers/{}": "confd.emergency-numbers.{}.update",
		"DELETE /emergency-numbers/{}":     "confd.emergency-numbers.{}.delete",
		"PUT /emergency-numbers/{}/trunks": "confd.emergency-numbers.{}.trunks.update",
		"PUT /emergency-numbers/{}/users":  "confd.emergency-numbers.{}.users.update",
	})
}

// No extension that telephones dial is an emergency number of their tenant, or of the installation, and the other way round.
func TestEmergencyNumbers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c, master := w.as(t, "a"), w.as(t, "master")
		in, out := c.Create("/contexts", object{"label": "in"}), c.Create("/contexts", object{"label": "out", "type": "outcall"})
		extension := func(exten string, in object) object { return object{"exten": exten, "context": in["name"]} }
		number := func(number string) object { return object{"number": number} }
		own := c.Create("/emergency-numbers", object{"number": "110", "caller_id": "+4930110", "context": in["name"]})
		master.Create("/emergency-numbers", number("112"))
		for _, taken := range []string{"110", "112"} {
			c.Do(http.MethodPost, "/extensions", extension(taken, in)).Want(http.StatusBadRequest).Says("Extension '" + taken + "' is an emergency number")
			c.Create("/extensions", extension(taken, out))
		}
		moves := c.Create("/extensions", extension("113", in))
		c.Do(http.MethodPut, "/extensions/"+moves.Text("id"), object{"exten": "112"}).Want(http.StatusBadRequest).Says("emergency number")
		for _, caller := range []*resttest.Client{c, master} {
			caller.Do(http.MethodPost, "/emergency-numbers", number("113")).Want(http.StatusBadRequest).Says("Number '113' is that of an extension")
		}
		w.as(t, "b").Create("/emergency-numbers", number("113"))
		path := "/emergency-numbers/" + own.Text("id")
		c.Do(http.MethodPut, path, number("113")).Want(http.StatusBadRequest).Says("Number '113' is that of an extension")
		c.Do(http.MethodPut, path, object{"context": out["name"]}).Want(http.StatusBadRequest).Says("Must be a context where telephones dial")
		c.Do(http.MethodPost, "/emergency-numbers", number("1x")).Want(http.StatusBadRequest).Says("number")
		c.Do(http.MethodDelete, "/contexts/"+in.Text("id"), nil).Want(http.StatusBadRequest)

		trunk, user := c.Create("/trunks", object{}), c.Create("/users", object{"firstname": "Al"})
		c.Do(http.MethodPut, path+"/trunks", object{"trunks": []any{object{"id": trunk["id"]}}}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path+"/users", object{"users": []any{object{"uuid": user["uuid"]}}}).Want(http.StatusNoContent)
		got := c.Get(path).Object()
		if at(got, "trunks.0.id") != trunk["id"] || at(got, "users.0.firstname") != "Al" {
			t.Errorf("%v", got)
		}
		c.Do(http.MethodDelete, "/trunks/"+trunk.Text("id"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, "/users/"+user.Text("uuid"), nil).Want(http.StatusNoContent)
		if got := c.Get(path).Object(); len(got["trunks"].([]any))+len(got["users"].([]any)) != 0 {
			t.Errorf("%v", got)
		}
	})
}
