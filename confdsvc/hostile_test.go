package confdsvc_test

import (
	"context"
	"maps"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// everyKind creates an object of each kind and returns the values of the path parameters that name them.
func everyKind(c *resttest.Client) map[string]string {
	params := map[string]string{
		"position": "1", "forward_name": "busy", "service_name": "dnd", "range_type": "user", "tenant_uuid": c.Principal.TenantUUID,
	}
	context := c.Create("/contexts", object{"label": "All", "user_ranges": []any{object{"start": "100", "end": "199"}}})
	params["context_id"] = context.Text("id")
	one := func(path, param, key string, body object) object {
		made := c.Create(path, body)
		params[param] = made.Text(key)
		return made
	}
	name := context.Text("name")
	one("/extensions", "extension_id", "id", object{"exten": "100", "context": name})
	one("/lines", "line_id", "id", object{"context": name})
	user := one("/users", "user_id", "uuid", object{"firstname": "Al"})
	params["user_uuid"] = user.Text("uuid")
	one("/voicemails", "voicemail_id", "id", object{"name": "V", "number": "1", "context": name})
	one("/groups", "group_uuid", "uuid", object{"label": "G"})
	one("/incalls", "incall_id", "id", object{"destination": object{"type": "none"}})
	one("/moh", "moh_uuid", "uuid", object{"label": "M", "mode": "files"})
	one("/phone-numbers", "phone_number_uuid", "uuid", object{"number": "+1555"})
	one("/registrars", "registrar_id", "id", object{"main_host": "192.0.2.1", "proxy_main_host": "192.0.2.1"})
	one("/funckeys/templates", "template_id", "id", object{})
	one("/endpoints/custom", "custom_id", "id", object{"interface": "Local/1@x"})
	one("/endpoints/sip", "sip_uuid", "uuid", object{"label": "S"})
	one("/endpoints/sip/templates", "template_uuid", "uuid", object{"label": "T"})
	one("/sip/transports", "transport_uuid", "uuid", object{"name": "t"})
	one("/sounds", "sound_category", "name", object{"name": "menus"})
	params["moh_filename"], params["sound_filename"] = "x", "x"
	maps.Copy(params, makeSimple(c))
	params["extension_uuid"] = c.Get("/extensions/features").List().Column("uuid")[0]
	return params
}

// No operation has a body, a header or a query that it cannot refuse.
func TestHostileRequests(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		svc, err := confdsvc.New(confdsvc.Options{DB: db, Trunk: func(context.Context, string) (confdsvc.TrunkStatus, error) { return confdsvc.TrunkStatus{}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		w.svc = svc
		c := w.as(t, "master")
		resttest.Hostile{
			Client: c, Params: everyKind(c), State: storetest.Contents(t, db), Missing: []string{"Devices are set up by a provisioning daemon"},
		}.Run(t)
	})
}
