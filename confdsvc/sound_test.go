package confdsvc_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["sounds"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"name": fmt.Sprintf("menus%d", n)} },
		Values:  func(n int) object { return object{"name": fmt.Sprintf("other%d", n)} },
		Preset:  true, Stays: true,
	}
}

// A sound has files in languages and formats; what plays it keeps it. Nobody reaches those of another tenant.
func TestSounds(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, folder := newAudioWorld(t, db)
		c := w.as(t, "a")
		made := c.Create("/sounds", object{"name": "menus"})
		for _, other := range []string{"b", "a1", "master"} {
			o := w.as(t, other)
			o.Get("/sounds/menus").Want(http.StatusNotFound)
			o.Do(http.MethodPut, "/sounds/menus/files/welcome", tone(8000, 80, 1), octets).Want(http.StatusNotFound)
		}
		for _, bad := range []string{"", "a", "menus", "system", "monitor", "languages", "../x", ".x", "a/b", "ä1", strings.Repeat("a", 129)} {
			c.Do(http.MethodPost, "/sounds", object{"name": bad}).Want(http.StatusBadRequest)
		}
		const file = "/sounds/menus/files/welcome"
		plain, french, wide := tone(8000, 80, 1), tone(8000, 80, 2), tone(16000, 160, 3)
		c.Do(http.MethodPut, file+"?format=slin", plain, octets).Want(http.StatusNoContent)
		c.Do(http.MethodPut, file+"?language=fr_FR", french, octets).Want(http.StatusNoContent)
		c.Do(http.MethodPut, file+"?format=ulaw", "\x7f\xff", octets).Want(http.StatusNoContent)
		for query, want := range map[string]string{"": plain, "?language=fr_FR": french, "?format=ulaw": "\x7f\xff", "?format=slin&language=": ""} {
			if got := c.Get(file+query, octets); want != "" && got.Body != want {
				t.Errorf("%s: %d, %d bytes", query, got.Status, len(got.Body))
			}
		}
		for _, query := range []string{"?format=gsm", "?language=de_DE"} {
			c.Get(file+query, octets).Want(http.StatusNotFound).Says("Sound file was not found")
		}
		for _, query := range []string{"?format=exe", "?format=../x", "?language=../x", "?language=.x", "?format=gsm", "?format=mp3"} {
			c.Do(http.MethodPut, file+query, plain, octets).Want(http.StatusBadRequest)
		}
		c.Do(http.MethodPut, file, wide, octets).Want(http.StatusNoContent) // it replaces that of 8000 Hz
		own := folder + "/sounds/" + made.Text("uuid")
		if got := inFolder(t, own); !slices.Equal(got, []string{"fr_FR/welcome.wav", "welcome.ulaw", "welcome.wav16"}) {
			t.Errorf("%q", got)
		}
		sound := c.Get("/sounds/menus").Object()["files"].([]any)[0].(map[string]any)
		first := sound["formats"].([]any)[0].(map[string]any)
		if sound["name"] != "welcome" || first["format"] != "slin" || first["extension"] != "wav16" || first["path"] != "menus/welcome" || first["language"] != nil {
			t.Errorf("%v", sound)
		}
		incall := c.Create("/incalls", object{"destination": object{"type": "sound", "filename": "menus/welcome"}})
		at := "/incalls/" + incall.Text("id")
		refused := func() {
			t.Helper()
			c.Do(http.MethodDelete, "/sounds/menus", nil).Want(http.StatusBadRequest).Says("Sound is associated with a Incall")
			c.Do(http.MethodDelete, file, nil).Want(http.StatusBadRequest).Says("Sound is associated with a Incall")
		}
		refused()
		c.Do(http.MethodPut, at, object{"destination": object{"type": "none"}, "greeting_sound": "menus/welcome"}).Want(http.StatusNoContent)
		refused()
		c.Do(http.MethodDelete, file+"?language=fr_FR", nil).Want(http.StatusNoContent) // it is still there in other formats
		c.Do(http.MethodPut, at, object{"greeting_sound": "menus/welcome2"}).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, file, nil).Want(http.StatusNoContent)
		if entries, err := os.ReadDir(folder + "/sounds"); err != nil || len(entries) > 0 {
			t.Errorf("%v, %v", entries, err)
		}
		c.Do(http.MethodPut, at, object{"greeting_sound": nil}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/sounds/menus", object{"name": "x1"}).Want(http.StatusMethodNotAllowed)
		c.Do(http.MethodDelete, "/sounds/menus", nil).Want(http.StatusNoContent)
	})
}

// The category system has what Asterisk brings, for every tenant, and nobody changes it.
func TestSystemSounds(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, folder := newAudioWorld(t, db)
		system, content := folder+"/system", tone(8000, 80, 1)
		err := errors.Join(os.MkdirAll(system+"/en_US_f_Allison/digits", 0o700), os.Symlink("en_US_f_Allison", system+"/en"), os.Symlink(folder, system+"/fr"), os.Mkdir(system+"/custom", 0o700))
		for _, path := range []string{"/en/hello.wav", "/en/digits/1.wav", "/en/core.txt", "/custom/x.wav"} {
			err = errors.Join(err, os.WriteFile(system+path, []byte(content), 0o600))
		}
		if err = errors.Join(err, os.Symlink(folder+"/moh", system+"/en/out.wav")); err != nil {
			t.Fatal(err)
		}
		c := w.as(t, "a")
		list := c.Get("/sounds").List()
		if list.Total != 1 || list.Items[0]["name"] != "system" {
			t.Fatalf("%v", list)
		}
		var names []string
		for _, f := range list.Items[0]["files"].([]any) {
			one := f.(map[string]any)
			names = append(names, fmt.Sprint(one["name"], " ", one["formats"].([]any)[0].(map[string]any)["language"]))
		}
		if !slices.Equal(names, []string{"digits/1 en", "hello en"}) {
			t.Errorf("%q", names)
		}
		if got := c.Get("/sounds/languages").Object(); got.Text("total") != "1" || !strings.Contains(fmt.Sprint(got["items"]), "tag:en") {
			t.Errorf("%v", got)
		}
		const file = "/sounds/system/files/hello"
		if got := c.Get(file, octets).Want(http.StatusOK); got.Body != content {
			t.Errorf("%d bytes", len(got.Body))
		}
		c.Do(http.MethodPut, file, content, octets).Want(http.StatusBadRequest).Says("Cannot change the sounds of the system")
		c.Do(http.MethodDelete, file, nil).Want(http.StatusBadRequest).Says("Cannot change the sounds of the system")
		c.Do(http.MethodDelete, "/sounds/system", nil).Want(http.StatusBadRequest).Says("Cannot delete default sound category")
		if got := inFolder(t, folder+"/sounds"); len(got) > 0 {
			t.Errorf("%q", got)
		}
	})
}
