package confdsvc_test

import (
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	simple["conferences"] = simpleKind{"conference_id", object{}}
	samples["conferences"] = crudtest.Resource{
		Minimal: func(*crudtest.Client, int) object { return object{} },
		Values:  func(int) object { return object{"music_on_hold": "default"} },
		Links: map[string]crudtest.Link{"extensions": {
			Ready: func(c *crudtest.Client, _, extension object) { moveTo(c, extension, "internal") },
			Kept:  []string{"right"},
		}},
	}
}

// A conference has its own range of numbers, is called by keys and destinations, which go with it, and tells its leaders by another PIN.
func TestConference(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		in := c.Create("/contexts", object{"label": "in", "conference_room_ranges": []any{object{"start": "4000", "end": "4999"}}})
		room := c.Create("/conferences", object{"name": "Weekly", "pin": "12", "admin_pin": "34"})
		path := "/conferences/" + room.Text("id")
		for _, same := range []object{{"admin_pin": "12"}, {"pin": "34"}} {
			c.Do(http.MethodPut, path, same).Want(http.StatusBadRequest).Says("Participants have the same")
		}
		for exten, status := range map[string]int{"4001": http.StatusNoContent, "5001": http.StatusBadRequest} {
			x := c.Create("/extensions", object{"exten": exten, "context": in["name"]})
			c.Do(http.MethodPut, path+"/extensions/"+x.Text("id"), nil).Want(status)
			if got := c.Get("/extensions/" + x.Text("id")).Object(); (at(got, "conference.name") == "Weekly") != (status == http.StatusNoContent) {
				t.Errorf("%s is of %v", exten, got["conference"])
			}
		}
		to := object{"type": "conference", "conference_id": room["id"]}
		incall := c.Create("/incalls", object{"destination": to})
		al := c.Create("/users", object{"firstname": "Al"})
		key := "/users/" + al.Text("uuid") + "/funckeys/1"
		c.Do(http.MethodPut, key, object{"destination": to}).Want(http.StatusNoContent)
		if got := c.Get(path).Object(); at(got, "incalls.0.id") != incall["id"] || at(got, "extensions.0.exten") != "4001" {
			t.Errorf("it shows %v", got)
		}
		c.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
		c.Get(key).Want(http.StatusNotFound)
		if got := at(c.Get("/incalls/"+incall.Text("id")).Object(), "destination.type"); got != "none" {
			t.Errorf("the incall leads to %v", got)
		}
	})
}
