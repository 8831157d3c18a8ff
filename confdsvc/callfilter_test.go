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
	filter := object{"name": "Boss", "strategy": "all", "source": "all"}
	simple["callfilters"] = simpleKind{"callfilter_id", filter}
	samples["callfilters"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object {
			return object{"name": fmt.Sprintf("Filter %d", n), "strategy": "all", "source": "internal"}
		},
		Values: func(n int) object { return object{"surrogates_timeout": float64(n + 1)} },
		Parts:  map[string]object{"fallbacks": {"noanswer_destination": object{"type": "hangup", "cause": "normal"}}},
	}
}

func usersList(users ...object) object {
	items := []any{}
	for _, u := range users {
		items = append(items, object{"uuid": u["uuid"]})
	}
	return object{"users": items}
}

// A filter has one recipient and surrogates in order, who keep their numbers while they are in it; a function key that leads to a surrogate goes with them.
func TestCallFilter(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		al, bo, cy := c.Create("/users", object{"firstname": "Al"}), c.Create("/users", object{"firstname": "Bo"}), c.Create("/users", object{"firstname": "Cy"})
		filter := c.Create("/callfilters", object{"name": "Boss", "strategy": "all", "source": "all", "surrogates_timeout": 0})
		path := "/callfilters/" + filter.Text("id")
		put := func(at string, body object) answer { return c.Do(http.MethodPut, path+at, body) }
		bad := func(at string, body object, says string) {
			t.Helper()
			put(at, body).Want(http.StatusBadRequest).Says(says)
		}
		bad("/recipients/users", usersList(al, bo), "Cannot associate more than one recipient.")
		put("/recipients/users", object{"users": []any{object{"uuid": al["uuid"], "timeout": 5}}}).Want(http.StatusNoContent)
		bad("/recipients/users", usersList(al, bo), "Cannot associate more than one recipient.")
		bad("/surrogates/users", usersList(al), "User is associated with a CallFilter")
		bad("/surrogates/users", usersList(bo, bo), "Cannot associate same user more than once.")
		put("/surrogates/users", usersList(cy, bo)).Want(http.StatusNoContent)
		bad("/recipients/users", usersList(bo), "User is associated with a CallFilter")
		got := c.Get(path).Object()
		number := at(got, "surrogates.users.1.member_id")
		if fmt.Sprint(at(got, "recipients.users.0.timeout")) != "5" || at(got, "surrogates.users.0.firstname") != "Cy" || got["surrogates_timeout"] != nil ||
			at(got, "surrogates.users.1.exten") != "*37"+fmt.Sprint(number) {
			t.Errorf("%v", got)
		}
		put("/surrogates/users", usersList(bo, cy)).Want(http.StatusNoContent)
		if got := c.Get(path).Object(); at(got, "surrogates.users.0.member_id") != number {
			t.Errorf("who was moved has another number: %v", got)
		}

		key := object{"destination": object{"type": "bsfilter", "filter_member_id": number}}
		keys := "/users/" + al.Text("uuid") + "/funckeys/1"
		dy := c.Create("/users", object{"firstname": "Dy"})
		c.Do(http.MethodPut, "/users/"+dy.Text("uuid")+"/funckeys/1", key).Want(http.StatusBadRequest).Says("User must be associated with a BSFilter")
		foreign := w.as(t, "b")
		other := foreign.Create("/users", object{"firstname": "Al"})
		foreign.Do(http.MethodPut, "/users/"+other.Text("uuid")+"/funckeys/1", key).Want(http.StatusBadRequest).Says("FilterMember was not found")
		c.Do(http.MethodPut, keys, key).Want(http.StatusNoContent)
		if got := c.Get(keys).Object(); at(got, "destination.filter_member_firstname") != "Bo" || got["blf"] != true {
			t.Errorf("the key is %v", got)
		}
		denied := w.holding(t, "confd.#", "!confd.users."+al.Text("id")+".funckeys.1.delete")
		denied.Do(http.MethodPut, path+"/surrogates/users", usersList(cy)).Want(http.StatusForbidden)
		denied.Do(http.MethodDelete, path, nil).Want(http.StatusForbidden)
		denied.Do(http.MethodDelete, "/users/"+bo.Text("uuid"), nil).Want(http.StatusForbidden)
		put("/surrogates/users", usersList(cy)).Want(http.StatusNoContent)
		c.Do(http.MethodGet, keys, nil).Want(http.StatusNotFound)

		c.Do(http.MethodPut, path+"/fallbacks", object{"noanswer_destination": object{"type": "user", "user_id": dy["id"]}}).Want(http.StatusNoContent)
		if got := c.Get(path).Object(); at(got, "fallbacks.noanswer_destination.user_firstname") != "Dy" {
			t.Errorf("%v", got)
		}
	})
}
