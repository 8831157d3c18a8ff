package confdsvc_test

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	documentSamples["asterisk/voicemail/general"] = crudtest.Document{Resource: crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"options": object{"maxmsg": fmt.Sprint(n)}} },
	}}
	documentSamples["asterisk/voicemail/zonemessages"] = crudtest.Document{Resource: crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object {
			return object{"items": []any{object{"name": fmt.Sprintf("zone%d", n), "timezone": "Europe/Paris", "message": nil}}}
		},
		Values: func(int) object {
			return object{"items": []any{object{"name": "other", "timezone": "Asia/Tokyo", "message": "HM"}}}
		},
	}}
}

func TestZoneMessages(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		const path = "/asterisk/voicemail/zonemessages"
		w := newWorld(t, db)
		master, a := w.as(t, "master"), w.as(t, "a")
		first, _ := a.Get(path).Want(http.StatusOK).Object()["items"].([]any)
		if len(first) < 5 || object(first[0].(map[string]any)).Text("name") != "eu-fr" {
			t.Fatalf("an installation begins with %v", first)
		}
		v := a.Create("/voicemails", voicemail("1000", "timezone", "eu-fr"))
		const missing = "Input Error - field 'timezone': Timezone was not found ('timezone': 'eu-xx')"
		a.Do(http.MethodPost, "/voicemails", voicemail("1001", "timezone", "eu-xx")).Want(http.StatusBadRequest).Says(missing)
		a.Do(http.MethodPut, "/voicemails/"+v.Text("id"), object{"timezone": "eu-xx"}).Want(http.StatusBadRequest).Says(missing)

		one := func(more object) object {
			zone := object{"name": "eu-xx", "timezone": "Europe/Berlin", "message": "HM"}
			maps.Copy(zone, more)
			return object{"items": []any{zone}}
		}
		a.Do(http.MethodPut, path, one(nil)).Want(http.StatusForbidden)
		for field, values := range map[string][]any{
			"timezone": {"Europe/Nowhere", "", "Local", "../UTC", nil, 1}, "message": {"a|b", "a\nb", 1}, "name": {"", nil, strings.Repeat("n", 129)},
		} {
			for _, value := range values {
				master.Do(http.MethodPut, path, one(object{field: value})).Want(http.StatusBadRequest).Says(field)
			}
		}
		twice := one(nil)
		twice["items"] = append(twice["items"].([]any), twice["items"].([]any)...)
		master.Do(http.MethodPut, path, twice).Want(http.StatusBadRequest).Says("items: {1: {'name': ['")
		master.Do(http.MethodPut, path, one(nil)).Want(http.StatusNoContent)
		if got := a.Get(path).Object(); !reflect.DeepEqual(got["items"], []any{map[string]any{"name": "eu-xx", "timezone": "Europe/Berlin", "message": "HM"}}) {
			t.Errorf("%v", got)
		}
		// A voicemail keeps a zone that no longer exists, but cannot get another such one.
		a.Do(http.MethodPut, "/voicemails/"+v.Text("id"), a.Get("/voicemails/"+v.Text("id")).Object()).Want(http.StatusNoContent)
		a.Do(http.MethodPut, "/voicemails/"+v.Text("id"), object{"timezone": "eu-uk"}).Want(http.StatusBadRequest)
		a.Do(http.MethodPut, "/voicemails/"+v.Text("id"), object{"timezone": "eu-xx"}).Want(http.StatusNoContent)
	})
}

func TestVoicemailGeneral(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		const path = "/asterisk/voicemail/general"
		w := newWorld(t, db)
		master := w.as(t, "master")
		w.as(t, "a").Get(path).Want(http.StatusForbidden)
		w.as(t, "a").Do(http.MethodPut, path, object{"options": object{}}).Want(http.StatusForbidden)
		want := object{"options": map[string]any{}}
		if got := master.Get(path).Object(); !reflect.DeepEqual(got, want) {
			t.Errorf("nothing is stored, and it reads %v", got)
		}
		master.Do(http.MethodPut, path, object{"options": object{"maxmsg": "100", "emailbody": "Dear ${VM_NAME},\n\t1 => 2|3"}}).Want(http.StatusNoContent)
		master.Do(http.MethodPut, path, object{"options": []any{object{"key": "a", "value": "1"}, object{"key": "b", "value": "2"}, object{"key": "a", "value": "3"}}}).Want(http.StatusNoContent)
		want = object{"options": map[string]any{"a": "3", "b": "2"}}
		if got := master.Get(path).Object(); !reflect.DeepEqual(got, want) {
			t.Errorf("a PUT replaces all, and it reads %v", got)
		}
		for _, options := range []any{
			nil, "x", 1,
			[]any{1},
			[]any{object{"key": "a"}},
			[]any{object{"value": "a"}},
			[]any{object{"key": 1, "value": "a"}},
			[]any{[]any{"a", "b"}},
			object{"a": 23},
			object{"a": nil},
			object{"": "a"},
			object{"a\nb": "c"},
			[]any{object{"key": "a\nb", "value": "c"}},
			object{"a": "\x00"},
			object{"a": "\x1b"},
			object{strings.Repeat("n", 129): "a"},
			object{"a": strings.Repeat("v", 4097)},
		} {
			master.Do(http.MethodPut, path, object{"options": options}).Want(http.StatusBadRequest).Says("options")
		}
		if got := master.Get(path).Object(); !reflect.DeepEqual(got, want) {
			t.Errorf("what was refused changed it: %v", got)
		}
	})
}
