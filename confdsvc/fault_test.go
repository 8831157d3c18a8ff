package confdsvc_test

import (
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestNoMasterTenantYet(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		for _, table := range []string{"confd_context", "auth_tenant"} {
			if _, err := db.Exec(t.Context(), `DELETE FROM `+table); err != nil {
				t.Fatal(err)
			}
		}
		remote := w.as(t, "a")
		remote.Principal.Remote = true
		got := remote.Get("/users").Want(http.StatusServiceUnavailable)
		if got.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	})
}

// The gate checks the key in the path. A caller who is denied an object under its other key must not reach it by this one.
func TestDeniedUnderAnotherKey(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		u := c.Create("/users", object{"firstname": "Al"})
		v := c.Create("/voicemails", voicemail("1"))
		for typed, denied := range map[string]string{"id": "uuid", "uuid": "id"} {
			set, err := acl.Compile([]string{"confd.#", "!confd.users." + u.Text(denied) + ".#"})
			if err != nil {
				t.Fatal(err)
			}
			narrow := w.as(t, "a")
			narrow.Principal.ACL = set
			path := "/users/" + u.Text(typed)
			narrow.Get(path).Want(http.StatusForbidden)
			narrow.Do(http.MethodPut, path, object{"lastname": "X"}).Want(http.StatusForbidden)
			narrow.Do(http.MethodDelete, path, nil).Want(http.StatusForbidden)
			narrow.Do(http.MethodPut, path+"/voicemails/"+v.Text("id"), nil).Want(http.StatusForbidden)
			narrow.Do(http.MethodPost, path+"/voicemails", voicemail("2")).Want(http.StatusForbidden)
			narrow.Get(path + "/voicemails").Want(http.StatusForbidden)
			narrow.Get(path + "/voicemail").Want(http.StatusForbidden)
		}
		if got := c.Get("/users/" + u.Text("id")).Object(); got["lastname"] != nil || got["voicemail"] != nil {
			t.Errorf("a refused request changed it: %v", got)
		}
	})
}
