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
	samples["moh"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object {
			return object{"label": fmt.Sprintf("Label %d", n), "mode": "files"}
		},
		Values: func(n int) object { return object{"mode": []string{"files", "mp3"}[n%2]} },
	}
}

func TestMOH(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		moh := c.Create("/moh", object{"name": "Old name", "mode": "files"}) // the label, as it was called once
		path := "/moh/" + moh.Text("uuid")
		if moh["label"] != "Old name" || moh["name"] != "moh-a-"+moh.Text("uuid") {
			t.Errorf("made %v", moh)
		}
		for _, bad := range []object{
			{"mode": "files"},
			{"label": "x"},
			{"label": "x", "mode": "custom"},
			{"label": "x", "mode": "custom", "application": ""},
			{"label": "x", "mode": "quiet"},
		} {
			c.Do(http.MethodPost, "/moh", bad).Want(http.StatusBadRequest)
		}
		const custom = "Input Error - custom mode must have an application"
		c.Do(http.MethodPut, path, object{"mode": "custom"}).Want(http.StatusBadRequest).Says(custom)
		c.Do(http.MethodPut, path, object{"mode": "custom", "application": "/usr/bin/play"}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path, object{"application": nil}).Want(http.StatusBadRequest).Says(custom)
		c.Do(http.MethodPut, path, object{"name": "x"}).Want(http.StatusNoContent)
		if now := c.Get(path).Object(); now["name"] != moh["name"] {
			t.Errorf("its name became %v", now["name"])
		}
	})
}

// A name of music on hold is that of one that the tenant has, and goes when it is deleted.
func TestMusicOnHold(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		moh, other := c.Create("/moh", object{"label": "M", "mode": "files"}), c.Create("/moh", object{"label": "O", "mode": "files"})
		user := c.Create("/users", object{"firstname": "Al", "music_on_hold": moh["name"]})
		group := c.Create("/groups", object{"label": "G", "music_on_hold": moh["name"]})
		kept := c.Create("/users", object{"firstname": "Bo", "music_on_hold": other["name"]})
		to := object{"type": "user", "user_id": user["id"], "moh_uuid": moh["uuid"]}
		incall := c.Create("/incalls", object{"destination": to})
		at := map[string]string{"/users/" + user.Text("uuid"): user.Text("id"), "/groups/" + group.Text("uuid"): group.Text("uuid")}
		for path := range at {
			for _, good := range []any{"default", "", nil, moh["name"]} {
				c.Do(http.MethodPut, path, object{"music_on_hold": good}).Want(http.StatusNoContent)
			}
			for _, of := range []string{"b", "a1", "master"} {
				foreign := w.as(t, of).Create("/moh", object{"label": "M", "mode": "files"})
				c.Do(http.MethodPut, path, object{"music_on_hold": foreign["name"]}).Want(http.StatusBadRequest).
					Says("Input Error - field 'music_on_hold': MOH was not found ('music_on_hold': '" + foreign.Text("name") + "')")
				c.Do(http.MethodPut, "/incalls/"+incall.Text("id"), object{"destination": object{"type": "user", "user_id": user["id"], "moh_uuid": foreign["uuid"]}}).
					Want(http.StatusBadRequest).Says("Input Error - field 'moh_uuid': MOH was not found")
			}
		}
		destination := func() any {
			return c.Get("/incalls/" + incall.Text("id")).Object()["destination"].(map[string]any)["moh_uuid"]
		}
		if got := destination(); got != moh["uuid"] {
			t.Errorf("the incall plays %v", got)
		}
		c.Do(http.MethodPut, "/incalls/"+incall.Text("id"), object{"description": "x"}).Want(http.StatusNoContent)
		// Nothing that an earlier release has stored is in the way.
		if _, err := db.Exec(t.Context(), "UPDATE confd_user SET mobile_fallback_enabled = true WHERE uuid = $1", user.Text("uuid")); err != nil {
			t.Fatal(err)
		}
		c.Do(http.MethodPut, "/users/"+user.Text("uuid"), object{"music_on_hold": nil}).Want(http.StatusBadRequest)
		c.Do(http.MethodDelete, "/moh/"+moh.Text("uuid"), nil).Want(http.StatusNoContent)
		for path := range at {
			if o := c.Get(path).Object(); o["music_on_hold"] != nil {
				t.Errorf("%s still has %v", path, o["music_on_hold"])
			}
		}
		if got := destination(); got != nil {
			t.Errorf("the incall still plays %v", got)
		}
		if o := c.Get("/users/" + kept.Text("id")).Object(); o["music_on_hold"] != other["name"] {
			t.Errorf("another user lost %v and has %v", other["name"], o["music_on_hold"])
		}
		// Each that loses it is a change of its own.
		for path, key := range at {
			n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM audit WHERE object = $1 AND action = 'delete_moh'`, key)
			if err != nil || n != 1 {
				t.Errorf("%s: %d entries in the audit, %v", path, n, err)
			}
		}
	})
}
