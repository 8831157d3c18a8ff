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
	samples["incalls"] = crudtest.Resource{
		Minimal: func(*crudtest.Client, int) object { return object{"destination": object{"type": "none"}} },
		Values: func(n int) object {
			return object{"destination": object{"type": "hangup", "cause": "busy", "timeout": float64(n)}}
		},
		Links: map[string]crudtest.Link{"extensions": {
			Ready: func(c *crudtest.Client, _, extension object) { moveTo(c, extension, "incall") },
			Kept:  []string{"right"},
		}},
	}
}

// moveTo moves an extension to a context of another type, in which all numbers of five digits are for everything.
func moveTo(c *crudtest.Client, extension object, contextType string) {
	in := c.Once(contextType, func() object {
		all := []any{object{"start": "00000", "end": "99999"}}
		return c.Create("/contexts", object{"label": contextType, "type": contextType, "group_ranges": all, "queue_ranges": all, "conference_room_ranges": all, "incall_ranges": all})
	})
	c.Do(http.MethodPut, "/extensions/"+extension.Text("id"), object{"context": in["name"]}).Want(http.StatusNoContent)
}

// The target of an incall shows it, with its numbers, and no other object does; deleting the target leaves an incall that leads
// nowhere.
func TestIncall(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		in := c.Create("/contexts", object{
			"label": "outside", "type": "incall", "incall_ranges": []any{object{"start": "5550", "end": "5559", "did_length": 4}},
		})
		user, other := c.Create("/users", object{"firstname": "Al"}), c.Create("/users", object{"firstname": "Bo"})
		to := object{"type": "user", "user_id": user["id"], "ring_time": 1.5}
		incall := c.Create("/incalls", object{"destination": to})
		path := "/incalls/" + incall.Text("id")
		c.Do(http.MethodPut, "/users/"+other.Text("id")+"/fallbacks", object{"busy_destination": to}).Want(http.StatusNoContent)

		// Its number need not be in the ranges when the two are linked, but must be when it changes.
		exten := c.Create("/extensions", object{"exten": "0133445551", "context": in["name"]})
		outside := c.Create("/extensions", object{"exten": "777", "context": in["name"]})
		inside := c.Create("/extensions", object{"exten": "777", "context": "default"})
		c.Do(http.MethodPut, path+"/extensions/"+inside.Text("id"), nil).Want(http.StatusBadRequest).
			Says("Resource Error - ContextType 'internal' cannot be associated ('id': " + inside.Text("id") + ", 'context': 'default')")
		c.Do(http.MethodPut, path+"/extensions/"+outside.Text("id"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/extensions/"+outside.Text("id"), object{"exten": "778"}).Want(http.StatusBadRequest).Says("outside of range")
		c.Do(http.MethodPut, "/extensions/"+outside.Text("id"), object{"exten": "0215559"}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/extensions/"+outside.Text("id"), object{"context": "default"}).Want(http.StatusBadRequest).Says("ContextType 'internal' cannot be associated")
		c.Do(http.MethodDelete, "/extensions/"+outside.Text("id"), nil).Want(http.StatusBadRequest).Says("Extension is associated with a incall")
		c.Do(http.MethodPut, path+"/extensions/"+exten.Text("id"), nil).Want(http.StatusBadRequest).Says("Incall is associated with a Extension")
		c.Do(http.MethodDelete, path+"/extensions/"+outside.Text("id"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path+"/extensions/"+exten.Text("id"), nil).Want(http.StatusNoContent)
		line := c.Create("/lines", object{"context": "default"})
		endpoint := c.Create("/endpoints/custom", object{"interface": "Local/1@x"})
		c.Do(http.MethodPut, "/lines/"+line.Text("id")+"/endpoints/custom/"+endpoint.Text("id"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/lines/"+line.Text("id")+"/extensions/"+exten.Text("id"), nil).Want(http.StatusBadRequest).
			Says("Extension is associated with a incall")

		shown := fmt.Sprintf("[map[extensions:[map[context:%s exten:0133445551 id:%s links:%s]] id:%s links:%s]]",
			in["name"], exten["id"], fmt.Sprint(exten["links"]), incall["id"], fmt.Sprint(incall["links"]))
		if got := fmt.Sprint(c.Get("/users/" + user.Text("id")).Object()["incalls"]); got != shown {
			t.Errorf("the user shows %s, want %s", got, shown)
		}
		if got := c.Get("/users/" + other.Text("id")).Object()["incalls"]; fmt.Sprint(got) != "[]" {
			t.Errorf("a user whose fallback leads to the same user shows %v", got)
		}
		read := c.Get("/users/" + user.Text("id")).Object()
		c.Do(http.MethodPut, "/users/"+user.Text("id"), read).Want(http.StatusNoContent)

		if shown := c.Get("/extensions/" + exten.Text("id")).Object()["incall"]; fmt.Sprint(shown) != fmt.Sprintf("map[id:%s links:%v]", incall["id"], incall["links"]) {
			t.Errorf("the extension shows %v", shown)
		}
		for _, query := range []string{"user_id=" + user.Text("id"), "exten=0133445551", "search=44555", "order=exten", "order=user_id"} {
			if l := c.Get("/incalls?" + query).List(); l.Total != 1 || l.Items[0].Text("id") != incall.Text("id") {
				t.Errorf("%s: %v", query, l.Items)
			}
		}
		for _, query := range []string{"user_id=" + other.Text("id"), "user_id=x", "user_id=1e0", "exten=4455", "search=zzz"} {
			if l := c.Get("/incalls?" + query).List(); l.Total != 0 {
				t.Errorf("%s: %v", query, l.Items)
			}
		}
		got, _ := c.Get(path).Object()["destination"].(map[string]any)
		if got["user_firstname"] != "Al" || fmt.Sprint(got["ring_time"]) != "1.5" {
			t.Errorf("the destination is %v", got)
		}
		c.Do(http.MethodDelete, "/users/"+user.Text("id"), nil).Want(http.StatusNoContent)
		if got := c.Get(path).Object()["destination"]; fmt.Sprint(got) != "map[type:none]" {
			t.Errorf("it leads to %v", got)
		}
		c.Do(http.MethodPut, path, c.Get(path).Object()).Want(http.StatusNoContent)

		c.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
		if x := c.Get("/extensions/" + exten.Text("id")).Want(http.StatusOK).Object(); x["incall"] != nil {
			t.Errorf("the extension still leads to %v", x["incall"])
		}
		c.Do(http.MethodDelete, "/extensions/"+exten.Text("id"), nil).Want(http.StatusNoContent)
	})
}

func TestIncallsThatAreRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		incall := c.Create("/incalls", object{"destination": object{"type": "none"}})
		elsewhere := w.as(t, "b").Create("/users", object{"firstname": "Eve"})
		for _, destination := range []any{
			nil, "none",
			object{},
			object{"type": "none "},
			object{"type": "user", "user_id": elsewhere["id"]},
			object{"type": "user", "user_id": 999999},
			object{"type": "user", "user_id": 1, "moh_uuid": elsewhere["uuid"]},
			object{"type": "custom", "command": "System(id)"},
		} {
			c.Do(http.MethodPost, "/incalls", object{"destination": destination}).Want(http.StatusBadRequest)
			c.Do(http.MethodPut, "/incalls/"+incall.Text("id"), object{"destination": destination}).Want(http.StatusBadRequest)
		}
		c.Do(http.MethodPost, "/incalls", object{}).Want(http.StatusBadRequest).Says("Input Error - destination")
		if l := c.Get("/incalls").List(); l.Total != 1 || fmt.Sprint(l.Items[0]["destination"]) != "map[type:none]" {
			t.Errorf("a refused request left %v", l.Items)
		}
	})
}
