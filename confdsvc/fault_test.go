package confdsvc_test

import (
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A database that cannot answer is 503 with Retry-After: not a refusal, and nothing that its error says.
func TestDatabaseGone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		for _, k := range collections {
			for _, request := range []struct {
				method, path string
				body         any
			}{
				{http.MethodGet, k.path, nil},
				{http.MethodGet, k.path + "/1", nil},
				{http.MethodPost, k.path, k.minimal(1)},
				{http.MethodPut, k.path + "/1", object{}},
				{http.MethodDelete, k.path + "/1", nil},
			} {
				got := c.do(request.method, request.path, request.body).want(http.StatusServiceUnavailable).says("database cannot answer")
				if got.header.Get("Retry-After") == "" {
					t.Errorf("%s %s: no Retry-After", request.method, request.path)
				}
			}
		}
	})
}

// The gate checks the key that was typed. Who is denied an object under its other key must not come by this one.
func TestDeniedUnderAnotherKey(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		u := c.create("/users", object{"firstname": "Al"})
		v := c.create("/voicemails", voicemail("1"))
		for typed, denied := range map[string]string{"id": "uuid", "uuid": "id"} {
			set, err := acl.Compile([]string{"confd.#", "!confd.users." + u.text(denied) + ".#"})
			if err != nil {
				t.Fatal(err)
			}
			narrow := w.as(t, "a")
			narrow.p.ACL = set
			path := "/users/" + u.text(typed)
			narrow.get(path).want(http.StatusForbidden)
			narrow.do(http.MethodPut, path, object{"lastname": "X"}).want(http.StatusForbidden)
			narrow.do(http.MethodDelete, path, nil).want(http.StatusForbidden)
			narrow.do(http.MethodPut, path+"/voicemails/"+v.text("id"), nil).want(http.StatusForbidden)
			narrow.do(http.MethodPost, path+"/voicemails", voicemail("2")).want(http.StatusForbidden)
			narrow.get(path + "/voicemails").want(http.StatusForbidden)
			narrow.get(path + "/voicemail").want(http.StatusForbidden)
		}
		if got := c.get("/users/" + u.text("id")).object(); got["lastname"] != nil || got["voicemail"] != nil {
			t.Errorf("a refused request changed it: %v", got)
		}
	})
}
