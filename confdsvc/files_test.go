package confdsvc_test

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// What has files tells where they are now, in the order of the changes, and only of what was committed.
func TestFilesAreToldOfChanges(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		var told []confdsvc.FilesChange
		svc, err := confdsvc.New(confdsvc.Options{DB: db, Files: func(change confdsvc.FilesChange) { told = append(told, change) }})
		if err != nil {
			t.Fatal(err)
		}
		w.svc = svc
		c := w.as(t, "a")
		box := c.Create("/voicemails", object{"name": "V", "number": "1001", "context": "default"})
		one := "/voicemails/" + box.Text("id")
		c.Do(http.MethodPut, one, object{"name": "W", "number": "1001"}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, one, object{"number": "1002", "email": 5}).Want(http.StatusBadRequest)
		c.Do(http.MethodPost, "/bulk", bulk(object{"method": "PUT", "path": one, "body": object{"number": "1003"}}, object{"method": "DELETE", "path": "/groups/99"})).Want(http.StatusNotFound)
		c.Do(http.MethodPut, one, object{"number": "1002"}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, one, object{"context": "other"}).Want(http.StatusNoContent)
		user := c.Create("/users", object{"firstname": "Al", "voicemail": object{"name": "A", "number": "1005", "context": "default"}})
		c.Do(http.MethodDelete, "/users/"+user.Text("id")+"?recursive=true", nil).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, one, nil).Want(http.StatusNoContent)
		in := c.Create("/contexts", object{"label": "gone"})
		c.Do(http.MethodPut, "/contexts/"+in.Text("id"), object{"label": "renamed"}).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, "/contexts/"+in.Text("id"), nil).Want(http.StatusNoContent)
		music := c.Create("/moh", object{"label": "M", "mode": "files"})
		c.Do(http.MethodDelete, "/moh/"+music.Text("uuid"), nil).Want(http.StatusNoContent)
		sound := c.Create("/sounds", object{"name": "menus"})
		c.Do(http.MethodDelete, "/sounds/menus", nil).Want(http.StatusNoContent)
		want := []confdsvc.FilesChange{
			{Context: "default", Number: "1001", ToContext: "default", ToNumber: "1002"},
			{Context: "default", Number: "1002", ToContext: "other", ToNumber: "1002"},
			{Context: "default", Number: "1005"},
			{Context: "other", Number: "1002"},
			{Context: in.Text("name")},
			{MOH: music.Text("name")},
			{Sound: sound.Text("uuid")},
		}
		if !reflect.DeepEqual(told, want) {
			t.Errorf("told %v\nwant %v", told, want)
		}
	})
}
