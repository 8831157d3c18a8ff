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
	simple["pagings"] = simpleKind{"paging_id", object{"number": "600"}}
	samples["pagings"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"number": fmt.Sprint(600 + n)} },
		Values:  func(n int) object { return object{"number": fmt.Sprint(6000 + n)} },
	}
}

// The callers and the members of a paging are two lists of users, of which one user may be in both. A function key that leads to it goes with it.
func TestPaging(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		al, bo := c.Create("/users", object{"firstname": "Al"}), c.Create("/users", object{"firstname": "Bo"})
		paging := c.Create("/pagings", object{"number": "600"})
		path := "/pagings/" + paging.Text("id")
		list := func(users ...object) object {
			items := []any{}
			for _, u := range users {
				items = append(items, object{"uuid": u["uuid"]})
			}
			return object{"users": items}
		}
		c.Do(http.MethodPut, path+"/callers/users", list(al)).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path+"/members/users", list(bo, al)).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path+"/members/users", list(bo, bo)).Want(http.StatusBadRequest).Says("Cannot associate same user more than once.")
		got := c.Get(path).Object()
		if at(got, "callers.users.0.firstname") != "Al" || len(at(got, "callers.users").([]any)) != 1 || len(at(got, "members.users").([]any)) != 2 {
			t.Errorf("%v", got)
		}
		key := "/users/" + al.Text("uuid") + "/funckeys/1"
		c.Do(http.MethodPut, key, object{"destination": object{"type": "paging", "paging_id": 999999}}).Want(http.StatusBadRequest).Says("Paging was not found")
		c.Do(http.MethodPut, key, object{"destination": object{"type": "paging", "paging_id": paging["id"]}}).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, "/users/"+bo.Text("uuid"), nil).Want(http.StatusNoContent)
		if got := c.Get(path).Object(); len(at(got, "members.users").([]any)) != 1 {
			t.Errorf("after a member was deleted: %v", got)
		}
		c.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
		c.Get(key).Want(http.StatusNotFound)
	})
}
