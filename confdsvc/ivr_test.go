package confdsvc_test

import (
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	simple["ivr"] = simpleKind{"ivr_id", object{"name": "Welcome", "menu_sound": "beep"}}
	samples["ivr"] = crudtest.Resource{
		Minimal: func(*crudtest.Client, int) object { return object{"name": "Welcome", "menu_sound": "beep"} },
		Values: func(n int) object {
			busy := object{"type": "hangup", "cause": "busy", "timeout": float64(n)}
			return object{
				"choices":             []any{object{"exten": "1", "destination": busy}, object{"exten": "_2X", "destination": object{"type": "none"}}},
				"invalid_destination": busy, "timeout_destination": busy, "abort_destination": busy,
			}
		},
	}
}

// A menu's choices lead anywhere, also to menus; each is dialled in one way.
func TestIVR(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		main, sub := c.Create("/ivr", object{"name": "Main", "menu_sound": "beep"}), c.Create("/ivr", object{"name": "Sub", "menu_sound": "beep"})
		path := "/ivr/" + main.Text("id")
		choice := func(exten string, to object) object { return object{"exten": exten, "destination": to} }
		to := object{"type": "ivr", "ivr_id": sub["id"]}
		for says, choices := range map[string][]any{
			"exten '1' used in more than one choice":                    {choice("1", to), choice("1", to)},
			"Must be a number, or a pattern that some numbers are like": {choice("_.", to)},
			"IVR was not found": {choice("1", object{"type": "ivr", "ivr_id": 999999})},
			"choices":           {choice("1a", to)},
		} {
			c.Do(http.MethodPut, path, object{"choices": choices}).Want(http.StatusBadRequest).Says(says)
		}
		c.Do(http.MethodPut, path, object{"choices": []any{choice("1", to), choice("_2X", object{"type": "none"})}, "abort_destination": to}).Want(http.StatusNoContent)
		incall := c.Create("/incalls", object{"destination": object{"type": "ivr", "ivr_id": main["id"]}})
		got := c.Get(path).Object()
		if at(got, "choices.0.destination.ivr_name") != "Sub" || at(got, "choices.1.exten") != "_2X" || at(got, "incalls.0.id") != incall["id"] {
			t.Errorf("it shows %v", got)
		}
		c.Do(http.MethodDelete, "/ivr/"+sub.Text("id"), nil).Want(http.StatusNoContent)
		if got = c.Get(path).Object(); at(got, "choices.0.destination.type") != "none" || got["abort_destination"] != nil {
			t.Errorf("after what it led to was deleted: %v", got)
		}
	})
}
