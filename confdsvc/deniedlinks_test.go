package confdsvc_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A link that a caller is denied to make, or to end, is not made or ended by an operation that does more: by a list, by the list of the other
// side, or by making what it joins.
func TestDeniedLinks(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, c, d := guardedCompany(t, db)
		al, bo := c.Create("/users", c.user("1001")), c.Create("/users", c.user("1002"))
		user, group := "/users/"+al.Text("uuid"), "/groups/"+c.group
		c.Do(http.MethodPut, user+"/groups", object{"groups": []any{}}).Want(http.StatusNoContent)
		mine, others := fmt.Sprint(at(al, "lines.0.id")), fmt.Sprint(at(bo, "lines.0.id"))
		of := func(lines ...any) object {
			list := []any{}
			for _, id := range lines {
				list = append(list, object{"id": id})
			}
			return object{"lines": list}
		}
		joins, alone := object{"groups": []any{object{"uuid": c.group}}}, object{"users": []any{object{"uuid": bo["uuid"]}}}
		free := c.Create("/lines", object{"context": c.in, "endpoint_custom": object{"interface": "Local/1@x"}}).Text("id")
		boxless := "/users/" + c.Create("/users", object{"firstname": "Cy"}).Text("uuid") + "/voicemails"
		for _, test := range []struct {
			denied, method, path string
			body                 object
		}{
			{"confd.users.*.lines." + others + ".update", http.MethodPut, user + "/lines", of(at(al, "lines.0.id"), at(bo, "lines.0.id"))},
			{"confd.users." + al.Text("id") + ".lines.*.update", http.MethodPut, user + "/lines", of(at(bo, "lines.0.id"))},
			{"confd.users.*.lines." + mine + ".delete", http.MethodPut, user + "/lines", of(at(bo, "lines.0.id"))},
			{"confd.users.*.lines.*.delete", http.MethodPut, user + "/lines", of()},
			{"confd.groups." + c.group + ".members.users.update", http.MethodPut, user + "/groups", joins},
			{"confd.groups." + c.Get(group).Object().Text("id") + ".members.users.update", http.MethodPut, user + "/groups", joins},
			{"confd.groups.*.members.users.update", http.MethodPut, user + "?recursive=true", joins},
			{"confd.groups.*.members.users.update", http.MethodPut, "/users/" + bo.Text("id") + "/groups", object{"groups": []any{}}},
			{"confd.users." + al.Text("id") + ".groups.update", http.MethodPut, group + "/members/users", object{"users": []any{object{"uuid": al["uuid"]}, object{"uuid": bo["uuid"]}}}},
			{"confd.users." + bo.Text("uuid") + ".groups.update", http.MethodPut, group + "/members/users", object{"users": []any{}}},
			{"confd.extensions.create", http.MethodPost, "/lines/" + free + "/extensions", object{"exten": "1003", "context": c.in}},
			{"confd.lines.*.extensions.*.update", http.MethodPost, "/lines/" + free + "/extensions", object{"exten": "1003", "context": c.in}},
			{"confd.voicemails.create", http.MethodPost, boxless, object{"name": "Cy", "number": "1003", "context": c.in}},
			{"confd.users.*.voicemails.*.update", http.MethodPost, boxless, object{"name": "Cy", "number": "1003", "context": c.in}},
		} {
			before := counts(t, db)
			d.holding(t, w.tenants["a"], uuid.NewString(), "confd.#", "!"+test.denied).Do(test.method, test.path, test.body).
				Want(http.StatusForbidden).Says(test.denied[len(test.denied)-6:])
			if after := counts(t, db); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("%s by %s left something: %v, before %v", test.denied, test.path, after, before)
			}
		}
		// What stays as it is takes no access.
		except := d.holding(t, w.tenants["a"], uuid.NewString(), "confd.#", "!confd.users.*.lines."+mine+".#", "!confd.users."+bo.Text("id")+".groups.update")
		except.Do(http.MethodPut, user+"/lines", of(at(al, "lines.0.id"))).Want(http.StatusNoContent)
		except.Do(http.MethodPut, group+"/members/users", alone).Want(http.StatusNoContent)
		except.Do(http.MethodPut, user+"/groups", joins).Want(http.StatusNoContent)
	})
}

// A user's voicemail has two paths below the user: who is denied to read it by one does not read it by the other.
func TestDeniedVoicemailOfAUser(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, c, d := guardedCompany(t, db)
		al := c.Create("/users", c.user("1001"))
		user, box := "/users/"+al.Text("uuid"), fmt.Sprint(at(al, "voicemail.id"))
		for denied, refused := range map[string]string{
			"confd.users.me.voicemails.read":                      "/voicemail /voicemails",
			"confd.users." + al.Text("id") + ".voicemail.read":    "/voicemail /voicemails",
			"confd.voicemails." + box + ".read":                   "/voicemail",
			"confd.voicemails.1000.read":                          "",
			"confd.users." + al.Text("id") + ".voicemails.delete": "",
		} {
			caller := d.holding(t, w.tenants["a"], al.Text("uuid"), "confd.#", "!"+denied)
			for _, path := range []string{"/voicemail", "/voicemails"} {
				want := http.StatusOK
				if slices.Contains(strings.Fields(refused), path) {
					want = http.StatusForbidden
				}
				if got := caller.Get(user + path); got.Status != want {
					t.Errorf("%s without %s: %d, want %d", path, denied, got.Status, want)
				}
			}
		}
	})
}

// A line that a user keeps is not checked again: its endpoint may have been deleted meanwhile.
func TestKeptLineWithoutEndpoint(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		al, bo := c.Create("/users", c.user("1001")), c.Create("/users", c.user("1002"))
		path := "/users/" + al.Text("uuid") + "/lines"
		c.Do(http.MethodDelete, "/endpoints/sip/"+at(al, "lines.0.endpoint_sip.uuid").(string), nil).Want(http.StatusNoContent)
		both := object{"lines": []any{object{"id": at(bo, "lines.0.id")}, object{"id": at(al, "lines.0.id")}}}
		c.Do(http.MethodPut, path, both).Want(http.StatusNoContent)
		if got := at(c.Get("/users/"+al.Text("uuid")).Object(), "lines.0.id"); got != at(bo, "lines.0.id") {
			t.Errorf("the first line is %v", got)
		}
		c.Do(http.MethodPut, path, object{"lines": []any{}}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path, both).Want(http.StatusBadRequest).Says("Line must be associated with a Endpoint")
	})
}
