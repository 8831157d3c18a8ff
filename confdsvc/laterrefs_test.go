package confdsvc_test

import (
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Clients read what no object here can have yet as they do where nothing of it is configured.
func TestObjectsShowWhatIsNotThereYet(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		none, empty := []string(nil), []any{}
		for path, try := range map[string]struct{ body, want object }{
			"/extensions": {object{"exten": "1000", "context": "default"}, object{
				"conference": none, "group": none, "incall": none, "lines": empty, "outcall": none, "parking_lot": none, "queue": none,
			}},
			"/lines": {object{"context": "default"}, object{
				"application": none, "endpoint_sip": none, "endpoint_sccp": none, "endpoint_custom": none, "device_id": none, "users": empty,
			}},
			"/users": {object{"firstname": "Al"}, object{
				"agent": none, "call_permissions": empty, "call_pickup_target_users": empty, "country": none, "groups": empty, "incalls": empty,
				"lines": empty, "queues": empty, "schedules": empty, "switchboards": empty, "voicemail": none,
			}},
			"/groups":           {object{"label": "G"}, object{"call_permissions": empty, "extensions": empty, "incalls": empty, "schedules": empty}},
			"/incalls":          {object{"destination": object{"type": "none"}}, object{"extensions": empty, "schedules": empty}},
			"/endpoints/custom": {object{"interface": "Local/1@x"}, object{"line": none, "trunk": none}},
			"/endpoints/sip":    {object{}, object{"line": none, "trunk": none}},
			"/moh":              {object{"label": "M", "mode": "files"}, object{"files": empty}},
		} {
			made := c.Create(path, try.body)
			key := made.Text("id")
			if made["id"] == nil {
				key = made.Text("uuid")
			}
			for _, o := range []object{made, c.Get(path + "/" + key).Object(), c.Get(path).List().Items[0]} {
				for name, want := range try.want {
					if _, shown := o[name]; !shown || !o.Same(name, want) {
						t.Errorf("%s: %s is %v, want %v", path, name, o[name], want)
					}
				}
			}
		}
	})
}
