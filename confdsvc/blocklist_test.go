package confdsvc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["users/blocklist/numbers"] = crudtest.Resource{Make: func(c *crudtest.Client, n int) object {
		user := c.Create("/users", object{"firstname": fmt.Sprintf("Al %d", n)})
		made := as(c.Client, user.Text("uuid")).Create("/users/me/blocklist/numbers", object{"number": fmt.Sprintf("+1555%06d", n), "label": fmt.Sprintf("Them %d", n)})
		return c.Get("/users/blocklist/numbers/" + made.Text("uuid")).Want(http.StatusOK).Object()
	}, Minimal: func(_ *crudtest.Client, n int) object { return object{"number": fmt.Sprintf("+1556%06d", n)} }, Values: func(n int) object { return object{"label": fmt.Sprintf("They %d", n)} }}
}

// as returns a client who is this user.
func as(c *resttest.Client, user string) *resttest.Client {
	me := *c.Principal
	me.UserUUID = user
	own := *c
	own.Principal = &me
	return &own
}

// Users write the numbers that they block, and nobody else's. Administrators read them, as far as they may read of the users.
func TestBlocklist(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		al, bo := c.Create("/users", object{"firstname": "Al"}), c.Create("/users", object{"firstname": "Bo"})
		d := newDoorkeeper(t, w.svc)
		own := func(user object) *resttest.Client {
			return d.holding(t, w.tenants["a"], user.Text("uuid"), "confd.users.me.#")
		}
		const path = "/users/me/blocklist/numbers"
		for _, bad := range []any{"5551234", "+0123456", "", "anonymus", "+1 555", 5, nil} {
			own(al).Do(http.MethodPost, path, object{"number": bad}).Want(http.StatusBadRequest).Says("umber")
		}
		made := own(al).Do(http.MethodPost, path, object{"number": "+15551234", "label": "Windows"}).Want(http.StatusCreated)
		at := path + "/" + made.Object().Text("uuid")
		if !strings.HasSuffix(made.Header.Get("Location"), at) {
			t.Errorf("it is at %s", made.Header.Get("Location"))
		}
		own(al).Do(http.MethodPost, path, object{"number": "+15551234"}).Want(http.StatusBadRequest).Says("BlocklistNumber already exists")
		own(bo).Do(http.MethodPost, path, object{"number": "+15551234"}).Want(http.StatusCreated)
		own(al).Do(http.MethodPost, path, object{"number": "anonymous"}).Want(http.StatusCreated)
		if l := own(al).Get(path + "?order=number&search=555").List(); l.Total != 1 || l.Items[0]["label"] != "Windows" {
			t.Errorf("one's own are %v", l)
		}
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} { // another user's
			own(bo).Do(method, at, map[string]any{"label": "Mine"}).Want(http.StatusNotFound)
		}
		own(al).Do(http.MethodPut, at, object{"label": nil}).Want(http.StatusNoContent)
		own(al).Do(http.MethodPut, at, object{"number": "anonymous"}).Want(http.StatusBadRequest).Says("already exists")
		if o := own(al).Get(at).Want(http.StatusOK).Object(); o["label"] != nil || o["number"] != "+15551234" {
			t.Errorf("changed it is %v", o)
		}

		// Administrators.
		if l := c.Get("/users/blocklist/numbers?user_uuid=" + al.Text("uuid")).List(); l.Total != 2 || l.Items[0]["user_firstname"] != "Al" {
			t.Errorf("those of a user are %v", l)
		}
		look := "/users/" + al.Text("uuid") + "/blocklist/numbers"
		found := c.Do(http.MethodHead, look+"?number_exact=%2B15551234", nil).Want(http.StatusNoContent)
		if found.Header.Get("Wazo-Blocklist-Number-UUID") != made.Object().Text("uuid") {
			t.Errorf("it is found as %v", found.Header)
		}
		c.Do(http.MethodHead, look+"?number_exact=15551234", nil).Want(http.StatusNoContent)
		c.Do(http.MethodHead, look+"?number_exact=15551235", nil).Want(http.StatusNotFound)
		less := d.holding(t, w.tenants["a"], uuid.NewString(), "confd.#", "!confd.users."+al.Text("uuid")+".blocklist.read")
		if l := less.Get("/users/blocklist/numbers").List(); l.Total != 1 || l.Items[0]["user_firstname"] != "Bo" {
			t.Errorf("without one user's they are %v", l)
		}
		w.as(t, "b").Get("/users/blocklist/numbers/" + made.Object().Text("uuid")).Want(http.StatusNotFound)
		own(al).Do(http.MethodDelete, at, nil).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, "/users/"+bo.Text("uuid"), nil).Want(http.StatusNoContent) // theirs go along
		if l := c.Get("/users/blocklist/numbers").List(); l.Total != 1 || l.Items[0]["number"] != "anonymous" {
			t.Errorf("left are %v", l)
		}
	})
}
