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
	simple["endpoints/iax"] = simpleKind{"iax_id", object{}}
	simple["registers/iax"] = simpleKind{"register_iax_id", object{"remote_host": "iax.example"}}
	samples["endpoints/iax"] = crudtest.Resource{
		Minimal: func(*crudtest.Client, int) object { return object{} },
		Values: func(n int) object {
			return object{"name": fmt.Sprintf("iax-%d", n), "options": pairs(fmt.Sprintf("secret=s%d", n))}
		},
		Except: []string{"name"},
	}
	samples["registers/iax"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object {
			return object{"remote_host": "iax.example", "auth_password": "x", "callback_extension": fmt.Sprint(n)}
		},
		Except: []string{"auth_password", "callback_extension"}, // others need them
	}
	documentSamples["asterisk/iax/general"] = crudtest.Document{Resource: crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object {
			return object{"options": object{"pingtime": fmt.Sprint(500 + n)}, "ordered_options": pairs("disallow=all allow=ulaw allow=gsm")}
		},
	}}
	documentSamples["asterisk/iax/callnumberlimits"] = crudtest.Document{Resource: crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object {
			return object{"items": []any{object{"ip_address": "192.0.2.0", "netmask": "255.255.255.0", "limit": n}}}
		},
	}}
}

// A trunk by IAX has an endpoint and a registration of its own tenant, and nothing of another protocol beside them. They go with it.
func TestIAXTrunk(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		for _, bad := range []object{
			{"name": "general"},
			{"name": "callnumberlimits"},
			{"name": "Ringfence-x"},
			{"name": "a b"},
			{"type": "x"},
			{"host": "a;b"},
			{"options": pairs("dial=x")},
			{"options": []any{[]any{"secret", "a\nb"}}},
			{"options": []any{[]any{"secret"}}},
			{"options": []any{[]any{"secret", 5}}},
		} {
			c.Do(http.MethodPost, "/endpoints/iax", bad).Want(http.StatusBadRequest)
		}
		for _, bad := range []object{
			{},
			{"remote_host": "a:b"},
			{"remote_host": "x", "callback_context": "y"},
			{"remote_host": "x", "auth_username": "a/b", "auth_password": "x"},
			{"remote_host": "x", "remote_port": 65536},
		} {
			c.Do(http.MethodPost, "/registers/iax", bad).Want(http.StatusBadRequest)
		}
		iax := c.Create("/endpoints/iax", object{"name": "lyon", "host": "iax.example", "options": pairs("username=us secret=s3cret allow=ulaw allow=gsm")})
		if len(iax["options"].([]any)) != 4 || iax["type"] != "friend" {
			t.Errorf("%v", iax)
		}
		c.Do(http.MethodPost, "/endpoints/iax", object{"name": "lyon"}).Want(http.StatusBadRequest).Says("IAXEndpoint already exists")
		register := c.Create("/registers/iax", object{"remote_host": "iax.example", "auth_username": "us", "auth_password": "s3cret"})
		trunk, sip := "/trunks/"+c.Create("/trunks", object{}).Text("id"), c.Create("/endpoints/sip", object{})
		mine, his := "/endpoints/iax/"+iax.Text("id"), "/registers/iax/"+register.Text("id")
		c.Do(http.MethodPut, trunk+mine, nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, trunk+his, nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, trunk+"/endpoints/sip/"+sip.Text("uuid"), nil).Want(http.StatusBadRequest).Says("Trunk is associated with a Endpoint")
		c.Do(http.MethodDelete, trunk+mine, nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, trunk+"/endpoints/sip/"+sip.Text("uuid"), nil).Want(http.StatusBadRequest).Says("Trunk is associated with a IAXRegister")
		c.Do(http.MethodPut, trunk+mine, nil).Want(http.StatusNoContent)
		o := c.Get(trunk).Object()
		if at(o, "endpoint_iax.name") != "lyon" || at(o, "register_iax.id") != register["id"] || c.Get("/trunks?name=lyon").List().Total != 1 {
			t.Errorf("the trunk is %v", o)
		}
		if c.Get(mine).Object()["trunk"] == nil || c.Get(his).Object()["trunk"] == nil {
			t.Error("they do not show their trunk")
		}
		other := w.as(t, "b").Create("/registers/iax", object{"remote_host": "x"})
		c.Get("/registers/iax/" + other.Text("id")).Want(http.StatusNotFound)
		c.Do(http.MethodPut, trunk+"/registers/iax/"+other.Text("id"), nil).Want(http.StatusNotFound)
		if kept, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM audit WHERE coalesce(before, '') || coalesce(after, '') LIKE '%s3cret%'`); err != nil || kept > 0 {
			t.Errorf("the audit has a password: %d, %v", kept, err)
		}
		c.Do(http.MethodDelete, trunk, nil).Want(http.StatusNoContent)
		c.Get(mine).Want(http.StatusNotFound)
		c.Get(his).Want(http.StatusNotFound)
		master := w.as(t, "master")
		first := master.Get("/asterisk/iax/general").Want(http.StatusOK).Object()
		master.Do(http.MethodPut, "/asterisk/iax/general", first).Want(http.StatusNoContent)
		for _, bad := range []object{
			{"options": object{}}, {"options": object{"register": "x"}, "ordered_options": []any{}}, {"options": object{}, "ordered_options": pairs("register=x")},
		} {
			master.Do(http.MethodPut, "/asterisk/iax/general", bad).Want(http.StatusBadRequest)
		}
	})
}

// Clients that ask for devices, and whether the installation is set up, get an answer.
func TestNoDevices(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	c := w.as(t, "a")
	if l := c.Get("/devices?order=mac&direction=desc&recurse=true").Want(http.StatusOK).List(); l.Total != 0 || len(l.Items) != 0 {
		t.Errorf("%v", l)
	}
	line := c.Create("/lines", object{"context": "default"})
	c.Get("/lines/" + line.Text("id") + "/devices").Want(http.StatusNotFound).Says("LineDevice was not found")
	c.Get("/lines/999999/devices").Want(http.StatusNotFound).Says("Line was not found")
	c.Do(http.MethodPost, "/devices", object{"mac": "00:00:00:00:00:01"}).Want(http.StatusNotImplemented).Says("provisioning daemon")
	c.Get("/devices/x").Want(http.StatusNotFound)
	if o := c.Get("/wizard").Want(http.StatusOK).Object(); o["configured"] != true || at(o, "configurable_status.wazo-auth") != "ok" {
		t.Errorf("%v", o)
	}
	c.Get("/wizard/discover").Want(http.StatusForbidden)
	c.Do(http.MethodPost, "/wizard", object{}).Want(http.StatusForbidden).Says("already configured")
}
