package confdsvc_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	simple["outcalls"] = simpleKind{"outcall_id", object{"name": "out"}}
	samples["outcalls"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"name": fmt.Sprintf("Outcall %d", n)} },
		Links: map[string]crudtest.Link{"extensions": {
			Ready: func(c *crudtest.Client, _, extension object) { moveTo(c, extension, "outcall") },
			Kept:  []string{"right"},
		}},
	}
}

// An outgoing call has patterns of a context of its own type, each with its digits, and trunks in order.
func TestOutcall(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		outside, inside := c.Create("/contexts", object{"label": "out", "type": "outcall"}), c.Create("/contexts", object{"label": "in"})
		outcall := c.Create("/outcalls", object{"name": "out"})
		path := "/outcalls/" + outcall.Text("id")
		x := c.Create("/extensions", object{"exten": "_0NXX.", "context": outside["name"]})
		pattern := path + "/extensions/" + x.Text("id")
		wrong := path + "/extensions/" + c.Create("/extensions", object{"exten": "0123", "context": inside["name"]}).Text("id")
		c.Do(http.MethodPut, wrong, object{}).Want(http.StatusBadRequest).Says("ContextType 'internal' cannot be associated")
		for _, body := range []object{{"prefix": "+abc"}, {"external_prefix": "00 "}, {"strip_digits": -1}, {"strip_digits": "1"}} {
			c.Do(http.MethodPut, pattern, body).Want(http.StatusBadRequest)
		}
		c.Do(http.MethodPut, pattern, object{"prefix": "+33", "strip_digits": 1}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, pattern, object{"caller_id": "+15551234"}).Want(http.StatusNoContent) // the others stay
		other := "/outcalls/" + c.Create("/outcalls", object{"name": "other"}).Text("id")
		c.Do(http.MethodPut, other+"/extensions/"+x.Text("id"), object{}).Want(http.StatusBadRequest).Says("Outcall")

		custom := c.Create("/endpoints/custom", object{"interface": "DAHDI/g1"})
		first, second := c.Create("/trunks", object{}), c.Create("/trunks", object{})
		c.Do(http.MethodPut, "/trunks/"+second.Text("id")+"/endpoints/custom/"+custom.Text("id"), nil).Want(http.StatusNoContent)
		list := func(trunks ...object) object {
			items := []any{}
			for _, one := range trunks {
				items = append(items, object{"id": one["id"]})
			}
			return object{"trunks": items}
		}
		c.Do(http.MethodPut, path+"/trunks", list(first, first)).Want(http.StatusBadRequest).Says("Cannot associate same trunk more than once.")
		c.Do(http.MethodPut, path+"/trunks", list(object{"id": 999999})).Want(http.StatusBadRequest).Says("Trunk was not found")
		c.Do(http.MethodPut, path+"/trunks", list(second, first)).Want(http.StatusNoContent)
		for kind, body := range map[string]object{"schedules": {"closed_destination": object{"type": "none"}}, "callpermissions": {"name": "cp"}} {
			c.Do(http.MethodPut, path+"/"+kind+"/"+c.Create("/"+kind, body).Text("id"), nil).Want(http.StatusNoContent)
		}
		got := c.Get(path).Object()
		for attribute, want := range map[string]any{
			"extensions.0.exten": "_0NXX.", "extensions.0.prefix": "+33", "extensions.0.caller_id": "+15551234", "trunks.0.id": second["id"],
			"trunks.0.endpoint_custom.interface": "DAHDI/g1", "trunks.1.id": first["id"], "call_permissions.0.name": "cp", "schedules.0.tenant_uuid": outcall["tenant_uuid"],
		} {
			if at(got, attribute) != want {
				t.Errorf("%s is %v, want %v", attribute, at(got, attribute), want)
			}
		}
		if got := c.Get("/trunks/" + first.Text("id")).Object(); at(got, "outcalls.0.name") != "out" {
			t.Errorf("the trunk shows %v", got)
		}
		incall := c.Create("/incalls", object{"destination": object{"type": "outcall", "outcall_id": outcall["id"], "exten": "01234"}})
		c.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
		if got := at(c.Get("/incalls/"+incall.Text("id")).Object(), "destination.type"); got != "none" {
			t.Errorf("the incall leads to %v", got)
		}
	})
}
