package confdsvc_test

import (
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	simple["applications"] = simpleKind{"application_uuid", object{}}
	samples["applications"] = crudtest.Resource{
		Minimal: func(*crudtest.Client, int) object { return object{} },
		Values: func(int) object {
			return object{"destination": "node", "destination_options": object{"type": "holding", "music_on_hold": "default", "answer": true}}
		},
		Except: []string{"destination", "destination_options"}, // not by themselves
	}
}

// A node has its options, which go with it; a line has one application, and what leads to it goes with it.
func TestApplication(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		music := c.Create("/moh", object{"label": "Jazz", "mode": "files"})
		node := object{"destination": "node", "destination_options": object{"type": "holding", "music_on_hold": music["name"]}}
		app := c.Create("/applications", node)
		path := "/applications/" + app.Text("uuid")
		if at(app, "destination_options.music_on_hold") != music["name"] || at(app, "destination_options.answer") != false {
			t.Errorf("it is %v", app)
		}
		c.Do(http.MethodPut, path, object{"name": "Survey"}).Want(http.StatusNoContent)
		if got := c.Get(path).Object(); got["destination"] != "node" || at(got, "destination_options.type") != "holding" {
			t.Errorf("what was not sent is %v", got)
		}
		c.Do(http.MethodPost, "/applications", object{"destination": "node"}).Want(http.StatusBadRequest).Says("A node needs its type")
		node["destination_options"] = object{"type": "holding", "music_on_hold": "nobody's"}
		c.Do(http.MethodPost, "/applications", node).Want(http.StatusBadRequest).Says("MOH was not found")
		c.Do(http.MethodDelete, "/moh/"+music.Text("uuid"), nil).Want(http.StatusNoContent)
		if got := c.Get(path).Object(); at(got, "destination_options.music_on_hold") != nil {
			t.Errorf("without its music it is %v", got)
		}
		line := "/lines/" + c.Create("/lines", object{"context": "default"}).Text("id")
		other := c.Create("/applications", object{})
		c.Do(http.MethodPut, line+path, nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, line+"/applications/"+other.Text("uuid"), nil).Want(http.StatusBadRequest)
		if got := c.Get(line).Object(); at(got, "application.name") != "Survey" {
			t.Errorf("the line is %v", got)
		}
		incall := c.Create("/incalls", object{"destination": object{"type": "application", "application": "custom", "application_uuid": app["uuid"]}})
		c.Do(http.MethodPut, path, object{"destination": nil}).Want(http.StatusNoContent)
		if got := c.Get(path).Object(); len(at(got, "destination_options").(map[string]any)) != 0 || len(got["lines"].([]any)) != 1 {
			t.Errorf("without a node it is %v", got)
		}
		c.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
		if got := at(c.Get("/incalls/"+incall.Text("id")).Object(), "destination.type"); got != "none" {
			t.Errorf("the incall leads to %v", got)
		}
		if got := c.Get(line).Object(); got["application"] != nil {
			t.Errorf("the line has %v", got["application"])
		}
	})
}
