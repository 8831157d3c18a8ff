package confdsvc_test

import (
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["voicemails"] = crudtest.Resource{
		Minimal: func(c *crudtest.Client, n int) object {
			return object{"name": fmt.Sprintf("Name%d", n), "number": fmt.Sprint(1000 + n), "context": contextOf(c)}
		},
		Values: func(n int) object {
			return object{"number": fmt.Sprint(90000 + n), "language": "fr_FR", "timezone": "na-ca", "max_messages": 5, "options": []any{[]any{"a", "b"}}}
		},
		Except: []string{"delete_messages"},
	}
}

// voicemail returns the body of one in a context of tenant a.
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
		got := c.Create("/voicemails", object{"name": "V", "number": "1000", "context": "default"})
		for _, generated := range []string{"id", "tenant_uuid", "links"} {
			if got[generated] == nil {
				t.Errorf("no %s", generated)
			}
			delete(got, generated)
		}
		var want object
		resttest.Decode(t, `{"name": "V", "number": "1000", "context": "default", "password": null, "email": null, "language": null, "timezone": null,
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
		path := "/voicemails/" + c.Create("/voicemails", voicemail("1000")).Text("id")

		t.Run("number and context are unique in a tenant", func(t *testing.T) {
			c.Do(http.MethodPost, "/voicemails", voicemail("1000")).Want(http.StatusBadRequest).
				Says("Resource Error - Voicemail already exists ('number': '1000', 'context': 'default')")
			c.Create("/voicemails", voicemail("1000", "context", "other"))
			other := c.Create("/voicemails", voicemail("1001"))
			c.Do(http.MethodPut, "/voicemails/"+other.Text("id"), object{"number": "1000"}).Want(http.StatusBadRequest).Says("already exists")
			w.as(t, "b").Create("/voicemails", voicemail("1000", "context", "of-b")) // another tenant's is not there to be told of
		})
		t.Run("its context is one that the tenant has", func(t *testing.T) {
			for _, name := range []string{"nowhere", "of-b"} {
				for method, path := range map[string]string{http.MethodPost: "/voicemails", http.MethodPut: path} {
					c.Do(method, path, voicemail("1002", "context", name)).Want(http.StatusBadRequest).Says("Input Error - field 'context': Context was not found ('context': '" + name + "')")
				}
			}
			below := c.Create("/voicemails", voicemail("1002", "context", "of-a1")) // it is the tenant's who has the context
			if below["tenant_uuid"] != w.tenants["a1"] {
				t.Errorf("it is of %v", below["tenant_uuid"])
			}
		})
		t.Run("one of each context is global", func(*testing.T) {
			global := c.Create("/voicemails", voicemail("2000", "accesstype", "global"))
			c.Do(http.MethodPost, "/voicemails", voicemail("2001", "accesstype", "global")).Want(http.StatusBadRequest).
				Says("Resource Error - Operation not permitted. There can be only one global voicemail per context.")
			c.Create("/voicemails", voicemail("2001", "accesstype", "global", "context", "other"))
			c.Do(http.MethodPut, path, object{"accesstype": "global"}).Want(http.StatusBadRequest)
			c.Do(http.MethodPut, "/voicemails/"+global.Text("id"), object{"accesstype": "personal"}).Want(http.StatusNoContent)
			c.Do(http.MethodPut, path, object{"accesstype": "global"}).Want(http.StatusNoContent)
			c.Do(http.MethodPut, path, object{"accesstype": "personal"}).Want(http.StatusNoContent)
		})
		t.Run("messages are not deleted unsent", func(*testing.T) {
			for _, body := range []object{
				{"delete_messages": true},
				{"delete_messages": true, "email": "a@b.c"},
				{"delete_messages": true, "attach_audio": true},
				{"delete_messages": true, "attach_audio": true, "email": ""},
				{"delete_messages": true, "attach_audio": false, "email": "a@b.c"},
			} {
				c.Do(http.MethodPut, path, body).Want(http.StatusBadRequest).Says("delete_messages")
			}
			c.Do(http.MethodPut, path, object{"delete_messages": true, "attach_audio": true, "email": "a@b.c"}).Want(http.StatusNoContent)
			c.Do(http.MethodPut, path, object{"email": nil}).Want(http.StatusBadRequest).Says("delete_messages")
		})
		t.Run("options are replaced", func(t *testing.T) {
			for _, options := range []any{[]any{[]any{"a", "b"}, []any{"c", "d"}}, []any{[]any{"e", "several\n\tlines"}}, []any{[]any{"a,b|c", "d => e, f|g\r\n"}}, []any{}} {
				c.Do(http.MethodPut, path, object{"options": options}).Want(http.StatusNoContent)
				if o := c.Get(path).Object(); !reflect.DeepEqual(o["options"], options) {
					t.Errorf("%v became %v", options, o["options"])
				}
			}
			for _, options := range []any{nil, "x", object{}, []any{"a"}, []any{[]any{"a"}}, []any{[]any{"a", "b", "c"}}, []any{[]any{"a", 1}}, []any{[]any{"a\nb", "c"}}, []any{[]any{"a", "b\x00"}}, []any{[]any{"a", "b\x1b"}}} {
				c.Do(http.MethodPut, path, object{"options": options}).Want(http.StatusBadRequest).Says("options")
			}
		})
		t.Run("no text has several lines, and all other signs are ordinary", func(t *testing.T) {
			for _, body := range []object{
				{"name": "a\nb"},
				{"name": "a\tb"},
				{"email": "a@b.c\r"},
				{"pager": "a\x00"},
				{"number": "1000\n"},
				{"number": "_1"},
				{"number": ""},
				{"context": "a b"},
				{"context": "a]"},
				{"context": "../x"},
				{"context": ""},
				{"password": "12a"},
			} {
				c.Do(http.MethodPut, path, body).Want(http.StatusBadRequest).Says("Input Error - ")
			}
			for _, ordinary := range []string{"Bob,x", "Bob|x", "a => b", "=>", "a = b > c; ="} {
				c.Do(http.MethodPut, path, object{"name": ordinary, "email": ordinary, "pager": ordinary}).Want(http.StatusNoContent)
				if o := c.Get(path).Object(); o["name"] != ordinary || o["email"] != ordinary || o["pager"] != ordinary {
					t.Errorf("%s became %v, %v and %v", ordinary, o["name"], o["email"], o["pager"])
				}
			}
		})
	})
}

func TestUserVoicemails(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		user := c.Create("/users", object{"firstname": "Al", "lastname": "B"})
		second := c.Create("/users", object{"firstname": "Second"})
		v, v2 := c.Create("/voicemails", voicemail("1")), c.Create("/voicemails", voicemail("2"))
		global := c.Create("/voicemails", voicemail("3", "accesstype", "global"))
		at := func(u, v object) string { return fmt.Sprintf("/users/%s/voicemails/%s", u.Text("id"), v.Text("id")) }
		put := func(u, v object) answer { t.Helper(); return c.Do(http.MethodPut, at(u, v), nil) }
		byUUID := "/users/" + user.Text("uuid")

		if l := c.Get(byUUID + "/voicemails").List(); l.Total != 0 {
			t.Errorf("voicemails of a user without: %v", l)
		}
		c.Get(byUUID + "/voicemail").Want(http.StatusNotFound).Says("was not found")

		before := c.Get(byUUID).Header.Get("ETag")
		put(user, v).Want(http.StatusNoContent).Empty()
		put(user, v).Want(http.StatusNoContent)
		c.Do(http.MethodPut, byUUID+"/voicemails/"+v.Text("id"), nil).Want(http.StatusNoContent)
		put(user, v2).Want(http.StatusBadRequest).Says("Resource Error - User is associated with a Voicemail")
		put(second, v).Want(http.StatusNoContent)
		put(second, global).Want(http.StatusBadRequest).Says("Resource Error - ")
		put(user, object{"id": 9999}).Want(http.StatusNotFound).Says("Voicemail was not found")
		put(object{"id": 9999}, v).Want(http.StatusNotFound).Says("User was not found")

		got := c.Get(byUUID).Object()
		link := []any{map[string]any{"rel": "voicemails", "href": prefix + "/voicemails/" + v.Text("id")}}
		if want := map[string]any{"id": v["id"], "name": "V1", "links": link}; !reflect.DeepEqual(got["voicemail"], want) {
			t.Errorf("user.voicemail is %v, want %v", got["voicemail"], want)
		}
		if c.Get(byUUID).Header.Get("ETag") == before {
			t.Error("the ETag did not change with the association")
		}
		full := c.Get("/voicemails/" + v.Text("id")).Object()
		link = []any{map[string]any{"rel": "users", "href": prefix + "/users/" + user.Text("id")}}
		users, _ := full["users"].([]any)
		if want := map[string]any{"uuid": user["uuid"], "firstname": "Al", "lastname": "B", "links": link}; len(users) != 2 || !reflect.DeepEqual(users[0], want) {
			t.Errorf("voicemail.users is %v, want %v first", users, want)
		}
		if l := c.Get(byUUID + "/voicemails").List(); l.Total != 1 || !reflect.DeepEqual(l.Items[0], full) {
			t.Errorf("%v", l)
		}
		if one := c.Get(byUUID + "/voicemail").Want(http.StatusOK).Object(); !reflect.DeepEqual(one, full) {
			t.Errorf("%v", one)
		}
		if l := c.Get("/users?voicemail_number=1&order=firstname").List(); !reflect.DeepEqual(l.Column("firstname"), []string{"Al", "Second"}) {
			t.Errorf("users with voicemail 1: %v", l.Column("firstname"))
		}
		for _, sorted := range c.Get("/users").List().Items {
			if sorted["voicemail"] == nil {
				t.Errorf("in a list user.voicemail is %v", sorted["voicemail"])
			}
		}
		c.Do(http.MethodPut, byUUID, c.Get(byUUID).Object()).Want(http.StatusNoContent) // clients can write what they read

		c.Do(http.MethodDelete, "/voicemails/"+v.Text("id"), nil).Want(http.StatusBadRequest).Says("Resource Error - Voicemail is associated with a User")
		c.Do(http.MethodDelete, byUUID, nil).Want(http.StatusBadRequest).Says("Resource Error - User is associated with a Voicemail")
		c.Do(http.MethodPut, "/voicemails/"+v.Text("id"), object{"accesstype": "global"}).Want(http.StatusBadRequest)

		for range 2 {
			c.Do(http.MethodDelete, byUUID+"/voicemails", nil).Want(http.StatusNoContent).Empty()
		}
		c.Do(http.MethodDelete, byUUID, nil).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, byUUID+"/voicemails", nil).Want(http.StatusNotFound)
		c.Do(http.MethodDelete, "/users/"+second.Text("id")+"/voicemails", nil).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, "/voicemails/"+v.Text("id"), nil).Want(http.StatusNoContent)
	})
}

func TestCreateUserVoicemail(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "master")
		user := w.as(t, "a").Create("/users", object{"firstname": "Al"})
		path := "/users/" + user.Text("uuid") + "/voicemails"
		v := c.Create(path, voicemail("1"))
		if v["tenant_uuid"] != w.tenants["a"] {
			t.Errorf("it is of %v, and its user of %v", v["tenant_uuid"], w.tenants["a"])
		}
		if got := c.Get("/voicemails/" + v.Text("id")).Object(); !reflect.DeepEqual(got, v) {
			t.Errorf("created %v\nread    %v", v, got)
		}
		c.Do(http.MethodPost, path, voicemail("2")).Want(http.StatusBadRequest).Says("User is associated with a Voicemail")
		c.Do(http.MethodPost, "/users/9999/voicemails", voicemail("2")).Want(http.StatusNotFound).Says("User was not found")
		c.Do(http.MethodPost, path, object{}).Want(http.StatusBadRequest).Says("name: ['Missing data for required field.']")
		if l := c.Get("/voicemails?recurse=true").List(); l.Total != 1 {
			t.Errorf("a refused create left a voicemail: total %d", l.Total)
		}
	})
}

func TestAssociationsStayInATenant(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		master, a, b := w.as(t, "master"), w.as(t, "a"), w.as(t, "b")
		user, foreign := a.Create("/users", object{"firstname": "Al"}), b.Create("/voicemails", voicemail("1", "context", "of-b"))
		path := "/users/" + user.Text("id") + "/voicemails/" + foreign.Text("id")
		a.Do(http.MethodPut, path, nil).Want(http.StatusNotFound).Says("Voicemail was not found")
		b.Do(http.MethodPut, path, nil).Want(http.StatusNotFound).Says("User was not found")
		master.Do(http.MethodPut, path, nil).Want(http.StatusBadRequest).Says("Resource Error - ").Says("different tenants")
		b.Get("/users/" + user.Text("id") + "/voicemails").Want(http.StatusNotFound)
		b.Get("/users/" + user.Text("id") + "/voicemail").Want(http.StatusNotFound)
		b.Do(http.MethodPost, "/users/"+user.Text("id")+"/voicemails", voicemail("7")).Want(http.StatusNotFound)
		b.Do(http.MethodDelete, "/users/"+user.Text("id")+"/voicemails", nil).Want(http.StatusNotFound)
		below := w.as(t, "a1").Create("/voicemails", voicemail("1", "context", "of-a1"))
		a.Do(http.MethodPut, "/users/"+user.Text("id")+"/voicemails/"+below.Text("id"), nil).Want(http.StatusBadRequest).Says("different tenants")
	})
}

// A user ends up with one voicemail, however many are given to them at once.
func TestConcurrentAssociations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		user := c.Create("/users", object{"firstname": "Al"})
		ids := make([]string, 6)
		for n := range ids {
			ids[n] = c.Create("/voicemails", voicemail(fmt.Sprint(n+1))).Text("id")
		}
		statuses := make([]int, len(ids))
		var all sync.WaitGroup
		for n, id := range ids {
			all.Go(func() { statuses[n] = c.Do(http.MethodPut, "/users/"+user.Text("id")+"/voicemails/"+id, nil).Status })
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
