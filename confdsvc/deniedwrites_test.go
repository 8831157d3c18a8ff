package confdsvc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// What a denial keeps from being taken from an object is not taken with another object that is deleted. The access of the deletion alone is
// enough for everybody who is denied nothing.
func TestDeniedLinksAreNotDeleted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, c, d := guardedCompany(t, db)
		al := c.Create("/users", c.user("1001"))
		user, line := "/users/"+al.Text("uuid"), fmt.Sprint(at(al, "lines.0.id"))
		sip := at(al, "lines.0.endpoint_sip.uuid").(string)
		number, box := fmt.Sprint(at(al, "lines.0.extensions.0.id")), fmt.Sprint(at(al, "voicemail.id"))
		incall := fmt.Sprint(at(al, "incalls.0.id"))
		groupID := c.Get("/groups/" + c.group).Object().Text("id")
		template := c.Create("/funckeys/templates", object{"name": "T"}).Text("id")
		c.Do(http.MethodPut, user+"/funckeys/templates/"+template, nil).Want(http.StatusNoContent)
		inner, outer := c.Create("/contexts", object{"label": "inner"}).Text("id"), c.Create("/contexts", object{"label": "outer"}).Text("id")
		c.Do(http.MethodPut, "/contexts/"+outer+"/contexts", object{"contexts": []any{object{"id": at(c.Get("/contexts/"+inner).Object(), "id")}}}).Want(http.StatusNoContent)
		options := c.Create("/endpoints/sip/templates", object{"label": "T"}).Text("uuid")
		c.Do(http.MethodPut, "/endpoints/sip/"+sip, object{"templates": []any{object{"uuid": options}}}).Want(http.StatusNoContent)
		inherits := c.Create("/endpoints/sip/templates", object{"templates": []any{object{"uuid": options}}}).Text("uuid")
		music := c.Create("/moh", object{"label": "M", "mode": "files"})
		c.Do(http.MethodPut, user, object{"music_on_hold": music["name"]}).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, user+"/voicemails", nil).Want(http.StatusNoContent)
		bo := c.Create("/users", object{"firstname": "Bo"})
		toAl, toGroup, toBox := object{"type": "user", "user_id": al["id"]}, object{"type": "group", "group_id": json.Number(groupID)}, object{"type": "voicemail", "voicemail_id": at(al, "voicemail.id")}
		c.Do(http.MethodPut, "/users/"+bo.Text("id")+"/fallbacks", object{"busy_destination": toAl, "fail_destination": toBox}).Want(http.StatusNoContent)
		other := c.Create("/groups", object{"label": "Other"}).Text("uuid")
		c.Do(http.MethodPut, "/groups/"+other+"/fallbacks", object{"noanswer_destination": toGroup}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/users/"+bo.Text("id")+"/funckeys/3", keyTo("group", "group_id", json.Number(groupID))).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/users/"+bo.Text("id")+"/funckeys/4", keyTo("user", "user_id", al["id"])).Want(http.StatusNoContent)
		all := []string{"confd.#"}
		for _, test := range []struct {
			accesses []string
			denied   string
			path     string
		}{
			{all, "confd.users." + al.Text("id") + ".lines.*.delete", user},
			{all, "confd.users.*.lines." + line + ".delete", user + "?recursive=true"},
			{all, "confd.users." + al.Text("uuid") + ".lines." + line + ".delete", "/users/" + al.Text("id")},
			{all, "confd.groups." + groupID + ".members.users.update", user},
			{all, "confd.users." + al.Text("id") + ".groups.update", "/groups/" + c.group},
			{[]string{"confd.users.*.delete"}, "confd.groups.#", user},
			{all, "confd.users.*.lines.*.delete", "/lines/" + line},
			{all, "confd.lines.*.extensions.*.delete", "/lines/" + line},
			{all, "confd.endpoints.sip." + sip + ".delete", "/lines/" + line},
			{all, "confd.lines." + line + ".endpoints.sip.*.delete", "/endpoints/sip/" + sip},
			{all, "confd.incalls.*.extensions.*.delete", "/incalls/" + incall},
			{all, "confd.contexts." + outer + ".contexts.update", "/contexts/" + inner},
			{all, "confd.users.*.funckeys.templates." + template + ".delete", "/funckeys/templates/" + template},
			{all, "confd.endpoints.sip." + sip + ".update", "/endpoints/sip/templates/" + options},
			{all, "confd.endpoints.sip.templates." + inherits + ".update", "/endpoints/sip/templates/" + options},
			{all, "confd.users." + al.Text("id") + ".update", "/moh/" + music.Text("uuid")},
			{all, "confd.users." + bo.Text("uuid") + ".fallbacks.update", user},
			{all, "confd.users." + bo.Text("uuid") + ".fallbacks.update", "/voicemails/" + box},
			{all, "confd.incalls." + incall + ".update", user},
			{all, "confd.groups." + other + ".fallbacks.update", "/groups/" + c.group},
			{all, "confd.users." + bo.Text("uuid") + ".funckeys.3.delete", "/groups/" + c.group},
			{all, "confd.users." + bo.Text("id") + ".funckeys.*.delete", user},
			{all, "confd.funckeys.templates.*.4.delete", user},
		} {
			before := counts(t, db)
			caller := d.holding(t, w.tenants["a"], uuid.NewString(), append([]string{"!" + test.denied}, test.accesses...)...)
			caller.Do(http.MethodDelete, test.path, nil).Want(http.StatusForbidden)
			operation := bulk(object{"method": "DELETE", "path": test.path})
			if len(test.accesses) == 1 && test.accesses[0] == "confd.#" {
				caller.Do(http.MethodPost, "/bulk", operation).Want(http.StatusForbidden)
			}
			if after := counts(t, db); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("DELETE %s without %s left something: %v, before %v", test.path, test.denied, after, before)
			}
		}
		for _, path := range []string{"/incalls/" + incall, "/funckeys/templates/" + template, "/contexts/" + inner, "/moh/" + music.Text("uuid")} {
			d.holding(t, w.tenants["a"], uuid.NewString(), "confd.incalls.#.delete", "confd.funckeys.#.delete", "confd.contexts.#.delete", "confd.moh.#.delete").
				Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
		}
		d.holding(t, w.tenants["a"], uuid.NewString(), "confd.users.#.delete", "!confd.users.*.lines.1"+line+".delete").Do(http.MethodDelete, user, nil).Want(http.StatusNoContent)
		d.holding(t, w.tenants["a"], uuid.NewString(), "confd.groups.#.delete").Do(http.MethodDelete, "/groups/"+c.group, nil).Want(http.StatusNoContent)
		d.holding(t, w.tenants["a"], uuid.NewString(), "confd.lines.#.delete").Do(http.MethodDelete, "/lines/"+line, nil).Want(http.StatusNoContent)
		d.holding(t, w.tenants["a"], uuid.NewString(), "confd.extensions.*.delete").Do(http.MethodDelete, "/extensions/"+number, nil).Want(http.StatusNoContent)
		d.holding(t, w.tenants["a"], uuid.NewString(), "confd.voicemails.*.delete").Do(http.MethodDelete, "/voicemails/"+box, nil).Want(http.StatusNoContent)
	})
}

// A line's caller ID is its endpoint's: who is denied to change the endpoint does not change it by the line. What stays as it is takes no
// access.
func TestDeniedEndpointOfALine(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, c, d := guardedCompany(t, db)
		al := c.Create("/users", c.user("1001"))
		line, sip := "/lines/"+fmt.Sprint(at(al, "lines.0.id")), at(al, "lines.0.endpoint_sip.uuid").(string)
		caller := d.holding(t, w.tenants["a"], uuid.NewString(), "confd.#", "!confd.endpoints.sip."+sip+".update")
		before := c.Get("/endpoints/sip/" + sip).Body
		for _, body := range []object{{"caller_id_name": "X"}, {"caller_id_num": "9"}} {
			caller.Do(http.MethodPut, line, body).Want(http.StatusForbidden)
		}
		caller.Do(http.MethodPut, line, c.Get(line).Body).Want(http.StatusNoContent)
		caller.Do(http.MethodPut, line, object{"position": 2}).Want(http.StatusNoContent)
		if after := c.Get("/endpoints/sip/" + sip).Body; after != before {
			t.Errorf("the endpoint is %s, before %s", after, before)
		}
	})
}

// The main number has two paths: what is denied by one is denied by the other, in lists too.
func TestDeniedMainPhoneNumber(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		d := newDoorkeeper(t, w.svc)
		first, other := c.Create("/phone-numbers", object{"number": "+1", "shared": true}), c.Create("/phone-numbers", object{"number": "+2", "shared": true})
		c.Do(http.MethodPut, "/phone-numbers/main", object{"phone_number_uuid": first["uuid"]}).Want(http.StatusNoContent)
		user := "/users/" + c.Create("/users", object{"firstname": "Al"}).Text("id")
		of := func(denied string) *resttest.Client {
			return d.holding(t, w.tenants["a"], uuid.NewString(), "confd.#", "!"+denied)
		}
		main, number := "/phone-numbers/"+first.Text("uuid"), "/phone-numbers/"+other.Text("uuid")
		for _, denied := range []string{"confd.phone-numbers.main.read", "confd.phone-numbers." + first.Text("uuid") + ".read"} {
			caller := of(denied)
			caller.Get(main).Want(http.StatusForbidden)
			caller.Get("/phone-numbers/main").Want(http.StatusForbidden)
			caller.Get(number).Want(http.StatusOK)
			if l := caller.Get("/phone-numbers").List(); l.Total != 1 || l.Column("uuid")[0] != other.Text("uuid") {
				t.Errorf("without %s: %v", denied, l.Items)
			}
			if l := caller.Get(user + "/callerids/outgoing").List(); fmt.Sprint(l.Column("number")) != "[+2 <null>]" {
				t.Errorf("without %s: %v", denied, l.Column("number"))
			}
		}
		for _, denied := range []string{"confd.phone-numbers.main.update", "confd.phone-numbers.main.#"} {
			caller := of(denied)
			caller.Do(http.MethodPut, main, object{"number": "+3"}).Want(http.StatusForbidden)
			caller.Do(http.MethodDelete, main, nil).Want(http.StatusForbidden)
			caller.Do(http.MethodPost, "/bulk", bulk(object{"method": "DELETE", "path": main})).Want(http.StatusForbidden)
			caller.Do(http.MethodPut, number, object{"number": "+4"}).Want(http.StatusNoContent)
		}
		of("confd.phone-numbers.main.update").Do(http.MethodDelete, number, nil).Want(http.StatusNoContent)
		if got := c.Get(main).Object(); got["number"] != "+1" || got["main"] != true {
			t.Errorf("the main number is %v", got)
		}
		d.holding(t, w.tenants["a"], uuid.NewString(), "confd.phone-numbers.*.delete").Do(http.MethodDelete, main, nil).Want(http.StatusNoContent)
	})
}

// An import makes users: who is denied that is denied the import.
func TestDeniedImport(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		d := newDoorkeeper(t, w.svc)
		for denied, status := range map[string]int{"confd.users.create": http.StatusForbidden, "confd.users.1.create": http.StatusCreated} {
			caller := d.holding(t, w.tenants["a"], uuid.NewString(), "confd.#", "!"+denied)
			caller.Do(http.MethodPost, "/users/import", "firstname\nAl\n", sendsCSV).Want(status)
		}
	})
}

// A response that was kept for an Idempotency-Key is not for another token of the same user, which might not read what is in it.
func TestKeptResponseIsForTheSameAccesses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		d := newDoorkeeper(t, w.svc)
		caller := uuid.NewString()
		group := c.Create("/groups", object{"label": "Secret"})
		sent := bulk(create("/users", object{"firstname": "Al"}))
		wide := []string{"confd.users.#", "confd.bulk.create"}
		for _, body := range []struct {
			path string
			body object
		}{{"/bulk", sent}, {"/users", object{"firstname": "Bo"}}} {
			first := d.holding(t, w.tenants["a"], caller, wide...).Do(http.MethodPost, body.path, body.body, keyed("k"))
			if first.Status >= 300 {
				t.Fatal(first.Body)
			}
			users := c.Get("/users").List().Total
			for _, narrow := range [][]string{
				{"confd.bulk.create", "confd.users.create"}, append([]string{"!confd.groups." + group.Text("uuid") + ".read"}, wide...), {"confd.#", "!confd.users.*.read"},
			} {
				got := d.holding(t, w.tenants["a"], caller, narrow...).Do(http.MethodPost, body.path, body.body, keyed("k"))
				if got.Want(http.StatusForbidden).Says("is done"); got.Body == first.Body {
					t.Errorf("%q: %s", narrow, got.Body)
				}
			}
			again := d.holding(t, w.tenants["a"], caller, wide[1], wide[0], wide[1]).Do(http.MethodPost, body.path, body.body, keyed("k"))
			if again.Body != first.Body || c.Get("/users").List().Total != users {
				t.Errorf("%s, first %s", again.Body, first.Body)
			}
		}
	})
}
