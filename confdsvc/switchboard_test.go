package confdsvc_test

import (
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	maps.Copy(ours, map[string]string{"PUT /users/{}/switchboards": "confd.users.{}.switchboards.update"})
	simple["switchboards"] = simpleKind{"switchboard_uuid", object{"name": "Reception"}}
	samples["switchboards"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"name": fmt.Sprintf("Switchboard %d", n)} },
		Values:  func(int) object { return object{"queue_music_on_hold": "", "waiting_room_music_on_hold": ""} },
		Parts:   map[string]object{"fallbacks": {"noanswer_destination": object{"type": "hangup", "cause": "normal"}}},
	}
}

// A switchboard has members, once each, whom a user can be made with; its music is forgotten when that is deleted, and calls lead to it.
func TestSwitchboard(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		music := c.Create("/moh", object{"label": "Waltz", "mode": "files"})
		board := c.Create("/switchboards", object{"name": "Reception", "queue_music_on_hold": music["name"]})
		path := "/switchboards/" + board.Text("uuid")
		al := c.Create("/users", object{"firstname": "Al", "switchboards": []any{object{"uuid": board["uuid"]}}})
		bo := c.Create("/users", object{"firstname": "Bo"})
		if at(c.Get("/users/"+al.Text("id")).Object(), "switchboards.0.name") != "Reception" {
			t.Errorf("who was made with it is %v", al)
		}
		c.Do(http.MethodPut, path+"/members/users", usersList(bo, al, bo)).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path+"/members/users", usersList(bo, bo)).Want(http.StatusNoContent)
		incall := c.Create("/incalls", object{"destination": object{"type": "switchboard", "switchboard_uuid": board["uuid"], "ring_time": 20}})
		c.Do(http.MethodPut, path+"/fallbacks", object{"noanswer_destination": object{"type": "user", "user_id": bo["id"]}}).Want(http.StatusNoContent)
		for _, column := range []string{"queue_music_on_hold", "waiting_room_music_on_hold"} {
			c.Do(http.MethodPut, path, object{column: "default"}).Want(http.StatusBadRequest).Says("field '" + column + "': moh was not found")
			c.Do(http.MethodPut, path, object{column: music["name"]}).Want(http.StatusNoContent)
		}
		c.Do(http.MethodDelete, "/moh/"+music.Text("uuid"), nil).Want(http.StatusNoContent)
		got := c.Get(path).Object()
		if len(at(got, "members.users").([]any)) != 1 || at(got, "members.users.0.firstname") != "Bo" || got["queue_music_on_hold"] != nil ||
			got["waiting_room_music_on_hold"] != nil || got["code"] != "*381" ||
			at(got, "incalls.0.id") != incall["id"] || at(got, "fallbacks.noanswer_destination.user_firstname") != "Bo" {
			t.Errorf("%v", got)
		}
		if got := c.Get("/incalls/" + incall.Text("id")).Object(); at(got, "destination.switchboard_name") != "Reception" {
			t.Errorf("the incall leads to %v", got)
		}
	})
}
