package confdsvc_test

import (
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	slots := object{"slots_start": "701", "slots_end": "720"}
	simple["parkinglots"] = simpleKind{"parking_lot_id", slots}
	samples["parkinglots"] = crudtest.Resource{
		Minimal: func(*crudtest.Client, int) object { return slots },
		Values:  func(int) object { return object{"slots_start": "705", "slots_end": "706", "music_on_hold": "default"} },
		Links: map[string]crudtest.Link{"extensions": {
			Ready: func(c *crudtest.Client, lot, extension object) { // each in its own context, where its slots are free
				in := c.Create("/contexts", object{"label": "of " + lot.Text("id")})
				c.Do(http.MethodPut, "/extensions/"+extension.Text("id"), object{"context": in["name"]}).Want(http.StatusNoContent)
			},
			Kept: []string{"right"},
		}},
	}
}

// The slots of a lot are numbers that nothing else has in the context of the lot's extension; in another context they are free.
func TestParkingLot(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		in, other := c.Create("/contexts", object{"label": "in"}), c.Create("/contexts", object{"label": "other"})
		number := func(in object, exten string) string {
			return "/extensions/" + c.Create("/extensions", object{"exten": exten, "context": in["name"]}).Text("id")
		}
		lot := c.Create("/parkinglots", object{"slots_start": "701", "slots_end": "720"})
		path := "/parkinglots/" + lot.Text("id")
		for says, body := range map[string]object{
			"It is not a valid range": {"slots_end": "700"}, "no slot 0": {"slots_start": "00"}, "at most 1000 slots": {"slots_end": "99999999999999999999"}, "MOH was not found": {"music_on_hold": "none"},
		} {
			c.Do(http.MethodPut, path, body).Want(http.StatusBadRequest).Says(says)
		}
		key := "/users/" + c.Create("/users", object{"firstname": "Al"}).Text("uuid") + "/funckeys/1"
		parks := object{"destination": object{"type": "parking", "parking_lot_id": lot["id"]}}
		parksAt := func(position int) object {
			return object{"destination": object{"type": "park_position", "parking_lot_id": lot["id"], "position": position}}
		}
		c.Do(http.MethodPut, key, parks).Want(http.StatusBadRequest).Says("ParkingLot must be associated with a Extension")

		taken := number(in, "710")
		c.Do(http.MethodPut, path+number(in, "_7XX"), nil).Want(http.StatusBadRequest).Says("exten '_7XX' cannot be a pattern")
		c.Do(http.MethodPut, path+number(in, "700"), nil).Want(http.StatusBadRequest).Says("Extension already exists")
		c.Do(http.MethodDelete, taken, nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path+number(in, "699"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodPost, "/extensions", object{"exten": "710", "context": in["name"]}).Want(http.StatusBadRequest).Says("ParkingLot already exists")
		c.Do(http.MethodPut, number(other, "711"), object{"context": in["name"]}).Want(http.StatusBadRequest).Says("ParkingLot already exists")
		number(in, "0710")

		twin := "/parkinglots/" + c.Create("/parkinglots", object{"slots_start": "720", "slots_end": "730"}).Text("id")
		c.Do(http.MethodPut, twin+number(in, "698"), nil).Want(http.StatusBadRequest).Says("already used for a destination or parking slot")
		c.Do(http.MethodPut, twin, object{"slots_start": "721"}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, twin+number(in, "697"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, twin, object{"slots_start": "720"}).Want(http.StatusBadRequest)

		c.Do(http.MethodPost, "/emergency-numbers", object{"number": "725"}).Want(http.StatusBadRequest).Says("Number '725' is one at which calls are parked")
		c.Create("/emergency-numbers", object{"number": "112"})
		help := "/parkinglots/" + c.Create("/parkinglots", object{"slots_start": "110", "slots_end": "119"}).Text("id")
		c.Do(http.MethodPut, help+number(in, "100"), nil).Want(http.StatusBadRequest).Says("'112' is an emergency number")

		third := "/parkinglots/" + c.Create("/parkinglots", object{"slots_start": "715", "slots_end": "716"}).Text("id")
		its := number(other, "696")
		c.Do(http.MethodPut, third+its, nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, its, object{"context": in["name"]}).Want(http.StatusBadRequest).Says("already used for a destination or parking slot")

		c.Do(http.MethodPut, key, parks).Want(http.StatusNoContent)
		c.Do(http.MethodPut, key, parksAt(721)).Want(http.StatusBadRequest).Says("position")
		c.Do(http.MethodPut, key, parksAt(720)).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
		c.Get(key).Want(http.StatusNotFound)
	})
}
