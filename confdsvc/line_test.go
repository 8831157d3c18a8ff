package confdsvc_test

import (
	"fmt"
	"net/http"
	"reflect"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["lines"] = crudtest.Resource{
		Minimal: func(c *crudtest.Client, _ int) object { return object{"context": contextOf(c)} },
		Values:  func(n int) object { return object{"provisioning_code": fmt.Sprint(100000 + n)} },
		Except:  []string{"caller_id_name", "caller_id_num", "registrar"}, // they need an endpoint, or a registrar
		Follow:  map[string][]string{"provisioning_code": {"provisioning_extension"}, "position": {"device_slot"}},
		Links: map[string]crudtest.Link{
			"extensions": {Ready: func(c *crudtest.Client, line, _ object) { giveEndpoint(c, line) }, Kept: []string{"right"}},
		},
	}
}

// A user with a line, an endpoint, a number and a voicemail, made with the calls of real clients.
func TestTelephone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		in := c.Create("/contexts", object{"label": "inside", "user_ranges": []any{object{"start": "1000", "end": "1999"}}})
		other := c.Create("/contexts", object{"name": "old name"})
		c.Do(http.MethodPut, "/contexts/"+in.Text("id")+"/contexts", object{"contexts": []any{object{"id": other["id"]}}}).Want(http.StatusNoContent)
		u := c.Create("/users", object{"firstname": "Al"})
		l := c.Create("/lines", object{"context": in["name"]})
		x := c.Create("/extensions", object{"exten": "1001", "context": in["name"]})
		e := c.Create("/endpoints/custom", object{"interface": "Local/1@x"})
		line, user := "/lines/"+l.Text("id"), "/users/"+u.Text("id")
		c.Do(http.MethodPut, line+"/extensions/"+x.Text("id"), nil).Want(http.StatusBadRequest).Says("Line must be associated with a Endpoint")
		c.Do(http.MethodPut, line+"/endpoints/custom/"+e.Text("id"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, line+"/endpoints/custom/"+e.Text("id"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, line+"/extensions/"+x.Text("id"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, user+"/lines/"+l.Text("id"), nil).Want(http.StatusNoContent)
		if free := c.Get("/contexts/" + in.Text("id") + "/ranges/user").List(); free.Total != 2 || free.Items[0].Text("end") != "1000" || free.Items[1].Text("start") != "1002" {
			t.Errorf("free numbers: %v", free.Items)
		}
		for path, want := range map[string]object{
			"/users?search=1001": u, "/users?exten=1,1001,2&order=lastname": u, "/users?extension=1001,": u,
			"/lines?search=1001&order=exten": l, "/extensions?type=internal&order=type": x,
			"/endpoints/custom?context=" + in.Text("name"): e, "/endpoints/custom?search=ctx-a-inter&order=context": e,
		} {
			if found := c.Get(path).List(); found.Total != 1 || found.Items[0].Text("id") != want.Text("id") {
				t.Errorf("%s: %v", path, found.Items)
			}
		}
		c.Do(http.MethodDelete, "/extensions/"+x.Text("id"), nil).Want(http.StatusBadRequest).Says("Extension is associated with a line")
		c.Do(http.MethodDelete, line+"/endpoints/custom/"+e.Text("id"), nil).Want(http.StatusBadRequest).Says("Line is associated with a User")
		c.Do(http.MethodPut, user+"/lines", object{"lines": []any{object{"id": l["id"]}, object{"id": l["id"]}}}).Want(http.StatusBadRequest).Says("same line")
		c.Do(http.MethodPut, user+"/lines", object{"lines": []any{object{"id": 99}}}).Want(http.StatusBadRequest).Says("Input Error - field 'lines': Line was not found ('id': 99)")
		c.Do(http.MethodPut, user+"/lines", object{"lines": []any{}}).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, line, nil).Want(http.StatusNoContent)
		c.Get("/endpoints/custom/" + e.Text("id")).Want(http.StatusNotFound)
		c.Do(http.MethodDelete, "/extensions/"+x.Text("id"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, "/contexts/"+in.Text("id"), nil).Want(http.StatusNoContent)
	})
}

// The reply to a line that is made with its endpoint has the whole endpoint, with what the client cannot know yet.
func TestLineAnswersWithItsEndpoint(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		sip := c.Create("/lines", object{"context": "default", "endpoint_sip": object{"auth_section_options": pairs("username=al password=secret")}})
		custom := c.Create("/lines", object{"context": "default", "endpoint_custom": object{"interface": "Local/1@x"}})
		for path, shown := range map[string]any{
			"/endpoints/sip/" + fmt.Sprint(at(sip, "endpoint_sip.uuid")): sip["endpoint_sip"], "/endpoints/custom/" + fmt.Sprint(at(custom, "endpoint_custom.id")): custom["endpoint_custom"],
		} {
			if got := c.Get(path).Object(); !reflect.DeepEqual(map[string]any(got), shown) {
				t.Errorf("%v, and the reply has %v", got, shown)
			}
		}
		if made := c.Create("/lines", object{"context": "default"}); made["endpoint_sip"] != nil || made["endpoint_custom"] != nil {
			t.Errorf("%v", made)
		}
	})
}
