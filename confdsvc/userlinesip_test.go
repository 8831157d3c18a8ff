package confdsvc_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestSIPEndpointOfAUsersLine(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		u, other := c.Create("/users", object{"firstname": "Al"}), c.Create("/users", object{"firstname": "Bo"})
		user := "/users/" + u.Text("uuid")
		c.Get(user + "/lines/main/associated/endpoints/sip").Want(http.StatusNotFound).Says("Resource Not Found - Line was not found ('user_uuid': '" + u.Text("uuid") + "')")
		template := c.Create("/endpoints/sip/templates", object{"aor_section_options": pairs("max_contacts=3")})
		var endpoints, lines []object
		for _, name := range []string{"first", "second"} {
			e := c.Create("/endpoints/sip", object{"name": name, "templates": uses(template), "auth_section_options": pairs("username=" + name + " password=p")})
			l := c.Create("/lines", object{"context": "default"})
			c.Do(http.MethodPut, "/lines/"+l.Text("id")+"/endpoints/sip/"+e.Text("uuid"), nil).Want(http.StatusNoContent)
			c.Do(http.MethodPut, user+"/lines/"+l.Text("id"), nil).Want(http.StatusNoContent)
			endpoints, lines = append(endpoints, e), append(lines, l)
		}
		for line, want := range map[string]object{"main": endpoints[0], lines[0].Text("id"): endpoints[0], lines[1].Text("id"): endpoints[1]} {
			for _, view := range []string{"", "?view=merged"} {
				got := c.Get(user + "/lines/" + line + "/associated/endpoints/sip" + view).Want(http.StatusOK)
				if like := c.Get("/endpoints/sip/" + want.Text("uuid") + view); got.Body != like.Body || got.Header.Get("Etag") != like.Header.Get("Etag") {
					t.Errorf("%s%s: %s, want %s", line, view, got.Body, like.Body)
				}
			}
			path := "/lines/" + line + "/associated/endpoints/sip"
			c.Get(user + path + "?view=x").Want(http.StatusBadRequest).Says("view")
			w.as(t, "b").Get(user + path).Want(http.StatusNotFound)
			w.as(t, "a1").Get(user + path).Want(http.StatusNotFound)
			c.Get("/users/" + uuid.NewString() + path).Want(http.StatusNotFound)
			c.Get("/users/" + u.Text("id") + path).Want(http.StatusNotFound) // a token names the user by the UUID
			if got := c.Get("/users/" + other.Text("uuid") + path); line == "main" {
				got.Want(http.StatusNotFound).Says("Line was not found")
			} else {
				got.Want(http.StatusBadRequest).Says("User must be associated with a Line")
			}
		}
		d := newDoorkeeper(t, w.svc)
		for denied, refused := range map[string]string{"main": "main " + lines[0].Text("id"), lines[0].Text("id"): "main " + lines[0].Text("id"), lines[1].Text("id"): lines[1].Text("id")} {
			caller := d.holding(t, w.tenants["a"], u.Text("uuid"), "confd.#", "!confd.users.me.lines."+denied+".associated.endpoints.sip.read")
			for _, line := range []string{"main", lines[0].Text("id"), lines[1].Text("id")} {
				want := http.StatusOK
				if slices.Contains(strings.Fields(refused), line) {
					want = http.StatusForbidden
				}
				caller.Get(user + "/lines/" + line + "/associated/endpoints/sip").Want(want)
			}
		}
		for _, line := range []string{"0", "999999", "x", "0" + lines[0].Text("id")} {
			c.Get(user + "/lines/" + line + "/associated/endpoints/sip").Want(http.StatusNotFound)
		}
		custom, l := c.Create("/endpoints/custom", object{"interface": "Local/1@x"}), c.Create("/lines", object{"context": "default"})
		c.Do(http.MethodPut, "/lines/"+l.Text("id")+"/endpoints/custom/"+custom.Text("id"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, user+"/lines", object{"lines": []any{object{"id": l["id"]}}}).Want(http.StatusNoContent)
		c.Get(user + "/lines/main/associated/endpoints/sip").Want(http.StatusBadRequest).Says("Line must be associated with a SIPEndpoint")
	})
}
