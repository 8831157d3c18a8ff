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
	simple["pagings"] = simpleKind{"paging_id", object{"number": "600"}}
	samples["pagings"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"number": fmt.Sprint(600 + n)} },
		Values:  func(n int) object { return object{"number": fmt.Sprint(6000 + n)} },
	}
}

// The callers and the members of a paging are two lists of users, of which one user may be in both. A function key that leads to it goes with it.
func TestPaging(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
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

		// It is made with both lists in one request that asks for it, or not at all.
		whole := func(number string, members ...object) object {
			return object{"number": number, "callers": list(al), "members": list(members...)}
		}
		made := c.Do(http.MethodPost, "/pagings?recursive=true", whole("601", al)).Want(http.StatusCreated)
		read := c.Get("/pagings/" + made.Object().Text("id"))
		if read.Body != made.Body || at(read.Object(), "callers.users.0.firstname") != "Al" || at(read.Object(), "members.users.0.firstname") != "Al" {
			t.Errorf("it is %s, made was %s", read.Body, made.Body)
		}
		c.Do(http.MethodPut, "/pagings/"+made.Object().Text("id")+"?recursive=true", read.Object()).Want(http.StatusNoContent)
		if copied := c.Do(http.MethodPost, "/pagings", whole("602", al)).Want(http.StatusCreated).Object(); len(at(copied, "members.users").([]any)) != 0 {
			t.Errorf("one that does not ask has members: %v", copied)
		}
		theirs := w.as(t, "b").Create("/users", object{"firstname": "Cy"})
		before := counts(t, db)
		c.Do(http.MethodPost, "/pagings?recursive=true", whole("603", al, al)).Want(http.StatusBadRequest).Says("more than once")
		c.Do(http.MethodPost, "/pagings?recursive=true", whole("603", theirs)).Want(http.StatusBadRequest).Says("User was not found")
		w.holding(t, "confd.pagings.create", "confd.pagings.*.callers.users.update").Do(http.MethodPost, "/pagings?recursive=true", whole("603", al)).Want(http.StatusForbidden)
		w.holding(t, "confd.#", "!confd.users."+al.Text("uuid")+".read").Do(http.MethodPost, "/pagings?recursive=true", whole("603", al)).Want(http.StatusForbidden)
		if after := counts(t, db); !reflect.DeepEqual(after, before) {
			t.Errorf("what was refused left something: %v, before %v", after, before)
		}
		c.Do(http.MethodPut, "/pagings/"+made.Object().Text("id")+"?recursive=true", object{"members": list()}).Want(http.StatusNoContent)
		if now := c.Get("/pagings/" + made.Object().Text("id")).Object(); len(at(now, "members.users").([]any)) != 0 || len(at(now, "callers.users").([]any)) != 1 {
			t.Errorf("it is %v", now)
		}
		c.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
		c.Get(key).Want(http.StatusNotFound)
	})
}
