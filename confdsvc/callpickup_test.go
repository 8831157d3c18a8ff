package confdsvc_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	simple["callpickups"] = simpleKind{"callpickup_id", object{"name": "Sales"}}
	samples["callpickups"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"name": fmt.Sprintf("Pickup %d", n)} },
	}
}

// A user shows whose calls they may answer: by themselves or as members of groups, of users and of the members of groups, each once.
func TestCallPickup(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		al, bo, cy := c.Create("/users", c.user("1001")), c.Create("/users", c.user("1002")), c.Create("/users", object{"firstname": "Cy"})
		group := c.Create("/groups", object{"label": "Sales"})
		users := func(of ...object) object {
			items := []any{}
			for _, u := range of {
				items = append(items, object{"uuid": u["uuid"]})
			}
			return object{"users": items}
		}
		groups := object{"groups": []any{object{"id": group["id"]}}}
		c.Do(http.MethodPut, "/groups/"+group.Text("uuid")+"/members/users", users(al, bo)).Want(http.StatusNoContent)
		path := "/callpickups/" + c.Create("/callpickups", object{"name": "Sales"}).Text("id")
		answers := func(who object, want ...any) {
			t.Helper()
			got := []any{}
			for _, target := range at(c.Get("/users/"+who.Text("uuid")).Object(), "call_pickup_target_users").([]any) {
				got = append(got, target.(map[string]any)["uuid"])
			}
			if len(got) != len(want) || slices.ContainsFunc(want, func(uuid any) bool { return !slices.Contains(got, uuid) }) {
				t.Errorf("they may answer %v, want %v", got, want)
			}
		}
		c.Do(http.MethodPut, path+"/interceptors/users", users(cy)).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path+"/targets/users", users(al)).Want(http.StatusNoContent)
		answers(cy, al["uuid"])
		c.Do(http.MethodPut, path+"/targets/groups", groups).Want(http.StatusNoContent)
		answers(cy, al["uuid"], bo["uuid"])
		answers(bo)
		c.Do(http.MethodPut, path+"/interceptors/groups", groups).Want(http.StatusNoContent)
		answers(bo, al["uuid"], bo["uuid"])
		got := c.Get(path).Object()
		if at(got, "interceptors.groups.0.name") != group["name"] || at(got, "targets.users.0.uuid") != al["uuid"] || at(got, "targets.users.0.links") != nil {
			t.Errorf("%v", got)
		}
		c.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
		answers(cy)
	})
}
