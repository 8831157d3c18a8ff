package confdsvc_test

import (
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func voicemail(number string, more ...any) object {
	o := object{"name": "V" + number, "number": number, "context": "default"}
	for i := 0; i < len(more); i += 2 {
		o[more[i].(string)] = more[i+1]
	}
	return o
}

func TestNewVoicemail(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		got := c.create("/voicemails", object{"name": "V", "number": "1000", "context": "default"})
		for _, generated := range []string{"id", "tenant_uuid", "links"} {
			if got[generated] == nil {
				t.Errorf("no %s", generated)
			}
			delete(got, generated)
		}
		var want object
		decode(t, `{"name": "V", "number": "1000", "context": "default", "password": null, "email": null, "language": null, "timezone": null,
			"pager": null, "max_messages": null, "attach_audio": null, "delete_messages": false, "ask_password": true, "enabled": true,
			"options": [], "accesstype": "personal", "users": []}`, &want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	})
}

func TestVoicemailRules(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		path := "/voicemails/" + c.create("/voicemails", voicemail("1000")).text("id")

		t.Run("number and context are unique in a tenant", func(t *testing.T) {
			c.do(http.MethodPost, "/voicemails", voicemail("1000")).want(http.StatusBadRequest).
				says("Resource Error - Voicemail already exists ('number': '1000', 'context': 'default')")
			c.create("/voicemails", voicemail("1000", "context", "other"))
			other := c.create("/voicemails", voicemail("1001"))
			c.do(http.MethodPut, "/voicemails/"+other.text("id"), object{"number": "1000"}).want(http.StatusBadRequest).says("already exists")
			w.as(t, "b").create("/voicemails", voicemail("1000")) // another tenant's is not there to be told of
		})
		t.Run("one of each context is global", func(*testing.T) {
			global := c.create("/voicemails", voicemail("2000", "accesstype", "global"))
			c.do(http.MethodPost, "/voicemails", voicemail("2001", "accesstype", "global")).want(http.StatusBadRequest).
				says("Resource Error - Voicemail already exists ('accesstype': 'global', 'context': 'default')")
			c.create("/voicemails", voicemail("2001", "accesstype", "global", "context", "other"))
			c.do(http.MethodPut, path, object{"accesstype": "global"}).want(http.StatusBadRequest)
			c.do(http.MethodPut, "/voicemails/"+global.text("id"), object{"accesstype": "personal"}).want(http.StatusNoContent)
			c.do(http.MethodPut, path, object{"accesstype": "global"}).want(http.StatusNoContent)
			c.do(http.MethodPut, path, object{"accesstype": "personal"}).want(http.StatusNoContent)
		})
		t.Run("messages are not deleted unsent", func(*testing.T) {
			for _, body := range []object{
				{"delete_messages": true},
				{"delete_messages": true, "email": "a@b.c"},
				{"delete_messages": true, "attach_audio": true},
				{"delete_messages": true, "attach_audio": true, "email": ""},
				{"delete_messages": true, "attach_audio": false, "email": "a@b.c"},
			} {
				c.do(http.MethodPut, path, body).want(http.StatusBadRequest).says("delete_messages")
			}
			c.do(http.MethodPut, path, object{"delete_messages": true, "attach_audio": true, "email": "a@b.c"}).want(http.StatusNoContent)
			c.do(http.MethodPut, path, object{"email": nil}).want(http.StatusBadRequest).says("delete_messages")
		})
		t.Run("options are replaced", func(t *testing.T) {
			for _, options := range []any{[]any{[]any{"a", "b"}, []any{"c", "d"}}, []any{[]any{"e", "several\n\tlines"}}, []any{}} {
				c.do(http.MethodPut, path, object{"options": options}).want(http.StatusNoContent)
				if o := c.get(path).object(); !reflect.DeepEqual(o["options"], options) {
					t.Errorf("%v became %v", options, o["options"])
				}
			}
			for _, options := range []any{nil, "x", object{}, []any{"a"}, []any{[]any{"a"}}, []any{[]any{"a", "b", "c"}}, []any{[]any{"a", 1}}, []any{[]any{"a", "b,c"}}, []any{[]any{"a\nb", "c"}}, []any{[]any{"a", "b\x00"}}, []any{[]any{"a", "b\x1b"}}} {
				c.do(http.MethodPut, path, object{"options": options}).want(http.StatusBadRequest).says("options")
			}
		})
		t.Run("nothing breaks its configuration line", func(*testing.T) {
			for _, body := range []object{
				{"name": "Bob,x"},
				{"name": "Bob|x"},
				{"name": "a => b"},
				{"name": "a ==> b"},
				{"name": "=>"},
				{"email": "a@b.c,d@e.f"},
				{"pager": "a|b"},
				{"timezone": "eu,fr"},
				{"name": "a\nb"},
				{"number": "1000\n"},
				{"number": "_1"},
				{"number": ""},
				{"context": "a b"},
				{"context": "a]"},
				{"context": "../x"},
				{"context": ""},
				{"password": "12a"},
			} {
				c.do(http.MethodPut, path, body).want(http.StatusBadRequest).says("Input Error - ")
			}
			c.do(http.MethodPut, path, object{"name": "a = b > c; =", "pager": ""}).want(http.StatusNoContent)
		})
	})
}

func TestUserVoicemails(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		user := c.create("/users", object{"firstname": "Al", "lastname": "B"})
		second := c.create("/users", object{"firstname": "Second"})
		v, v2 := c.create("/voicemails", voicemail("1")), c.create("/voicemails", voicemail("2"))
		global := c.create("/voicemails", voicemail("3", "accesstype", "global"))
		at := func(u, v object) string { return fmt.Sprintf("/users/%s/voicemails/%s", u.text("id"), v.text("id")) }
		put := func(u, v object) answer { t.Helper(); return c.do(http.MethodPut, at(u, v), nil) }
		byUUID := "/users/" + user.text("uuid")

		if l := c.get(byUUID + "/voicemails").list(); *l.Total != 0 {
			t.Errorf("voicemails of a user without: %v", l)
		}
		c.get(byUUID + "/voicemail").want(http.StatusNotFound).says("was not found")

		before := c.get(byUUID).header.Get("ETag")
		put(user, v).want(http.StatusNoContent).empty()
		put(user, v).want(http.StatusNoContent)
		c.do(http.MethodPut, byUUID+"/voicemails/"+v.text("id"), nil).want(http.StatusNoContent)
		put(user, v2).want(http.StatusBadRequest).says("Resource Error - User is associated with a Voicemail")
		put(second, v).want(http.StatusNoContent)
		put(second, global).want(http.StatusBadRequest).says("Resource Error - ")
		put(user, object{"id": 9999}).want(http.StatusNotFound).says("Voicemail was not found")
		put(object{"id": 9999}, v).want(http.StatusNotFound).says("User was not found")

		got := c.get(byUUID).object()
		link := []any{map[string]any{"rel": "voicemails", "href": prefix + "/voicemails/" + v.text("id")}}
		if want := map[string]any{"id": v["id"], "name": "V1", "links": link}; !reflect.DeepEqual(got["voicemail"], want) {
			t.Errorf("user.voicemail is %v, want %v", got["voicemail"], want)
		}
		if c.get(byUUID).header.Get("ETag") == before {
			t.Error("the ETag did not change with the association")
		}
		full := c.get("/voicemails/" + v.text("id")).object()
		link = []any{map[string]any{"rel": "users", "href": prefix + "/users/" + user.text("id")}}
		users, _ := full["users"].([]any)
		if want := map[string]any{"uuid": user["uuid"], "firstname": "Al", "lastname": "B", "links": link}; len(users) != 2 || !reflect.DeepEqual(users[0], want) {
			t.Errorf("voicemail.users is %v, want %v first", users, want)
		}
		if l := c.get(byUUID + "/voicemails").list(); *l.Total != 1 || !reflect.DeepEqual(l.Items[0], full) {
			t.Errorf("%v", l)
		}
		if one := c.get(byUUID + "/voicemail").want(http.StatusOK).object(); !reflect.DeepEqual(one, full) {
			t.Errorf("%v", one)
		}
		if l := c.get("/users?voicemail_number=1&order=firstname").list(); !reflect.DeepEqual(l.column("firstname"), []string{"Al", "Second"}) {
			t.Errorf("users with voicemail 1: %v", l.column("firstname"))
		}
		for _, sorted := range c.get("/users").list().Items {
			if sorted["voicemail"] == nil {
				t.Errorf("in a list user.voicemail is %v", sorted["voicemail"])
			}
		}
		c.do(http.MethodPut, byUUID, c.get(byUUID).object()).want(http.StatusNoContent) // what was read can be sent back

		c.do(http.MethodDelete, "/voicemails/"+v.text("id"), nil).want(http.StatusBadRequest).says("Resource Error - Voicemail is associated with a User")
		c.do(http.MethodDelete, byUUID, nil).want(http.StatusBadRequest).says("Resource Error - User is associated with a Voicemail")
		c.do(http.MethodPut, "/voicemails/"+v.text("id"), object{"accesstype": "global"}).want(http.StatusBadRequest)

		for range 2 {
			c.do(http.MethodDelete, byUUID+"/voicemails", nil).want(http.StatusNoContent).empty()
		}
		c.do(http.MethodDelete, byUUID, nil).want(http.StatusNoContent)
		c.do(http.MethodDelete, byUUID+"/voicemails", nil).want(http.StatusNotFound)
		c.do(http.MethodDelete, "/users/"+second.text("id")+"/voicemails", nil).want(http.StatusNoContent)
		c.do(http.MethodDelete, "/voicemails/"+v.text("id"), nil).want(http.StatusNoContent)
	})
}

func TestCreateUserVoicemail(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "master")
		user := w.as(t, "a").create("/users", object{"firstname": "Al"})
		path := "/users/" + user.text("uuid") + "/voicemails"
		v := c.create(path, voicemail("1"))
		if v["tenant_uuid"] != w.tenants["a"] {
			t.Errorf("it is of %v, and its user of %v", v["tenant_uuid"], w.tenants["a"])
		}
		if got := c.get("/voicemails/" + v.text("id")).object(); !reflect.DeepEqual(got, v) {
			t.Errorf("created %v\nread    %v", v, got)
		}
		c.do(http.MethodPost, path, voicemail("2")).want(http.StatusBadRequest).says("User is associated with a Voicemail")
		c.do(http.MethodPost, "/users/9999/voicemails", voicemail("2")).want(http.StatusNotFound).says("User was not found")
		c.do(http.MethodPost, path, object{}).want(http.StatusBadRequest).says("name: Is required")
		if l := c.get("/voicemails?recurse=true").list(); *l.Total != 1 {
			t.Errorf("a refused create left a voicemail: total %d", *l.Total)
		}
	})
}

func TestAssociationsStayInATenant(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		master, a, b := w.as(t, "master"), w.as(t, "a"), w.as(t, "b")
		user, foreign := a.create("/users", object{"firstname": "Al"}), b.create("/voicemails", voicemail("1"))
		path := "/users/" + user.text("id") + "/voicemails/" + foreign.text("id")
		a.do(http.MethodPut, path, nil).want(http.StatusNotFound).says("Voicemail was not found")
		b.do(http.MethodPut, path, nil).want(http.StatusNotFound).says("User was not found")
		master.do(http.MethodPut, path, nil).want(http.StatusBadRequest).says("Resource Error - ").says("different tenants")
		b.get("/users/" + user.text("id") + "/voicemails").want(http.StatusNotFound)
		b.get("/users/" + user.text("id") + "/voicemail").want(http.StatusNotFound)
		b.do(http.MethodPost, "/users/"+user.text("id")+"/voicemails", voicemail("7")).want(http.StatusNotFound)
		b.do(http.MethodDelete, "/users/"+user.text("id")+"/voicemails", nil).want(http.StatusNotFound)
		below := w.as(t, "a1").create("/voicemails", voicemail("1"))
		a.do(http.MethodPut, "/users/"+user.text("id")+"/voicemails/"+below.text("id"), nil).want(http.StatusBadRequest).says("different tenants")
	})
}

// A user ends with one voicemail however many are given to them at once.
func TestConcurrentAssociations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		user := c.create("/users", object{"firstname": "Al"})
		ids := make([]string, 6)
		for n := range ids {
			ids[n] = c.create("/voicemails", voicemail(fmt.Sprint(n+1))).text("id")
		}
		statuses := make([]int, len(ids))
		var all sync.WaitGroup
		for n, id := range ids {
			all.Go(func() { statuses[n] = c.do(http.MethodPut, "/users/"+user.text("id")+"/voicemails/"+id, nil).status })
		}
		all.Wait()
		won := map[int]int{}
		for _, status := range statuses {
			won[status]++
		}
		if won[http.StatusNoContent] != 1 || won[http.StatusBadRequest] != len(ids)-1 {
			t.Errorf("%v", statuses)
		}
	})
}
