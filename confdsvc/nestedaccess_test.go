package confdsvc_test

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A POST takes its own access, and no denial of what it contains is evaded by it; under a PUT or a DELETE the caller holds the accesses of
// all that it contains: a user who may change themselves does not make themselves a telephone.
func TestNestedAccess(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := newCompany(w.as(t, "a"))
		made := c.Create("/users", c.user("1001"))
		of := func(patterns ...string) *resttest.Client {
			t.Helper()
			set, err := acl.Compile(patterns)
			if err != nil {
				t.Fatal(err)
			}
			return resttest.To(t, w.svc, prefix, &principal.Principal{
				UserUUID: made.Text("uuid"), ACL: set, Affiliation: &principal.Affiliation{TenantUUID: w.tenants["a"], Purpose: "user"},
			})
		}
		of("confd.users.create").Do(http.MethodPost, "/users", c.user("1002")).Want(http.StatusCreated)
		for _, denied := range []string{
			"confd.lines.create", "confd.extensions.create", "confd.endpoints.sip.create", "confd.voicemails.create", "confd.incalls.create",
			"confd.users.*.lines.*.update", "confd.users.*.groups.update", "confd.contexts.*.update",
			"confd.users.*.forwards.update", "confd.users.*.forwards.busy.update", "confd.users.*.fallbacks.update", "confd.users.*.voicemails.create",
			"confd.users.*.voicemails.*.update", "confd.users.*.lines.update", "confd.lines.*.extensions.create", "confd.lines.*.endpoints.sip.*.update",
			"confd.lines.*.extensions.*.update", "confd.incalls.*.extensions.*.update",
		} {
			before := counts(t, db)
			of("confd.#", "!"+denied).Do(http.MethodPost, "/users", c.user("1003")).Want(http.StatusForbidden)
			if after := counts(t, db); !reflect.DeepEqual(after, before) {
				t.Errorf("%s left something", denied)
			}
		}
		path := "/users/" + made.Text("uuid") + "?recursive=true"
		me := of("confd.users.me.update", "confd.users.me.delete")
		me.Do(http.MethodPut, path, object{"lastname": "Two"}).Want(http.StatusNoContent)
		for _, body := range []object{
			{"lines": []any{}},
			{"lines": []any{object{"context": c.in}}},
			{"lines": []any{object{"id": at(made, "lines.0.id"), "position": 2}}},
			{"voicemail": nil},
			{"voicemail": object{"name": "X"}},
			{"incalls": []any{}},
			{"groups": []any{}},
			{"forwards": object{"busy": object{"enabled": false}}},
			{"fallbacks": object{}},
		} {
			before := counts(t, db)
			me.Do(http.MethodPut, path, body).Want(http.StatusForbidden)
			if after := counts(t, db); !reflect.DeepEqual(after, before) {
				t.Errorf("%v left something", body)
			}
		}
		// What the caller holds is not enough where its own operation is denied.
		for denied, body := range map[string]object{
			"confd.users.*.forwards.update":          {"forwards": object{"noanswer": object{"enabled": false}}},
			"confd.users.*.forwards.noanswer.update": {"forwards": object{"noanswer": object{"enabled": false}}},
			"confd.users.*.fallbacks.update":         {"fallbacks": object{}},
			"confd.users.*.lines.update":             {"lines": []any{}},
			"confd.users.*.voicemails.delete":        {"voicemail": nil},
			"confd.users.*.groups.update":            {"groups": []any{}},
			"confd.lines.*.extensions.create":        {"lines": []any{object{"id": at(made, "lines.0.id"), "extensions": []any{object{"exten": "1009"}}}}},
		} {
			before := c.Get(path).Body
			of("confd.#", "!"+denied).Do(http.MethodPut, path, body).Want(http.StatusForbidden).Says(denied[len(denied)-6:])
			if c.Get(path).Body != before {
				t.Errorf("%s left something", denied)
			}
		}
		of("confd.#", "!confd.users.*.forwards.busy.update").Do(http.MethodPut, path, object{"forwards": object{"noanswer": object{"enabled": false}}}).Want(http.StatusNoContent)
		forwards := "/users/" + made.Text("uuid") + "/forwards"
		of("confd.#", "!confd.users.*.forwards.busy.update").Do(http.MethodPut, forwards, object{"busy": object{"enabled": false}}).Want(http.StatusForbidden)
		of("confd.#", "!confd.users.*.services.dnd.update").Do(http.MethodPut, "/users/"+made.Text("id")+"/services", object{"dnd": object{"enabled": true}}).Want(http.StatusForbidden)
		keys := object{"func_key_template_id": c.Create("/funckeys/templates", object{"name": "T"})["id"]}
		template := of("confd.#", "!confd.users.*.funckeys.templates.*.update")
		template.Do(http.MethodPut, "/users/"+made.Text("id"), keys).Want(http.StatusForbidden)
		template.Do(http.MethodPost, "/users", object{"firstname": "Bo", "func_key_template_id": keys["func_key_template_id"]}).Want(http.StatusForbidden)
		of("confd.users.*.update").Do(http.MethodPut, "/users/"+made.Text("id"), keys).Want(http.StatusNoContent)
		of("confd.#", "!confd.users.*.funckeys.templates.*.delete").Do(http.MethodPut, "/users/"+made.Text("id"), object{"func_key_template_id": nil}).Want(http.StatusForbidden)

		me.Do(http.MethodDelete, path, nil).Want(http.StatusForbidden)
		of("confd.#", "!confd.lines.*.delete").Do(http.MethodDelete, path, nil).Want(http.StatusForbidden)
		of("confd.users.me.#", "confd.voicemails.*.delete", "confd.lines.*.delete", "confd.lines.*.extensions.*.delete", "confd.extensions.*.delete").
			Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
	})
}
