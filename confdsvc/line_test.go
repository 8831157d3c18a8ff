package confdsvc_test

import (
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A user with a line, an endpoint, a number and a voicemail, by the calls that clients make.
func TestTelephone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		in := c.create("/contexts", object{"label": "inside", "user_ranges": []any{object{"start": "1000", "end": "1999"}}})
		other := c.create("/contexts", object{"name": "old name"})
		c.do(http.MethodPut, "/contexts/"+in.text("id")+"/contexts", object{"contexts": []any{object{"id": other["id"]}}}).want(http.StatusNoContent)
		u := c.create("/users", object{"firstname": "Al"})
		l := c.create("/lines", object{"context": in["name"]})
		x := c.create("/extensions", object{"exten": "1001", "context": in["name"]})
		e := c.create("/endpoints/custom", object{"interface": "Local/1@x"})
		line, user := "/lines/"+l.text("id"), "/users/"+u.text("id")
		c.do(http.MethodPut, line+"/extensions/"+x.text("id"), nil).want(http.StatusBadRequest).says("Line must be associated with a Endpoint")
		c.do(http.MethodPut, line+"/endpoints/custom/"+e.text("id"), nil).want(http.StatusNoContent)
		c.do(http.MethodPut, line+"/endpoints/custom/"+e.text("id"), nil).want(http.StatusNoContent)
		c.do(http.MethodPut, line+"/extensions/"+x.text("id"), nil).want(http.StatusNoContent)
		c.do(http.MethodPut, user+"/lines/"+l.text("id"), nil).want(http.StatusNoContent)
		t.Log(c.get(user).body)
		t.Log(c.get(line).body)
		t.Log(c.get("/extensions/" + x.text("id")).body)
		t.Log(c.get("/contexts/" + in.text("id")).body)
		t.Log(c.get("/endpoints/custom/" + e.text("id")).body)
		t.Log(c.get("/contexts/" + in.text("id") + "/ranges/user").body)
		t.Log(c.get("/lines?search=1001&order=exten").body)
		t.Log(c.get("/extensions?type=internal&order=type").body)
		c.do(http.MethodDelete, "/extensions/"+x.text("id"), nil).want(http.StatusBadRequest).says("Extension is associated with a line")
		c.do(http.MethodDelete, line+"/endpoints/custom/"+e.text("id"), nil).want(http.StatusBadRequest).says("Line is associated with a User")
		c.do(http.MethodPut, user+"/lines", object{"lines": []any{object{"id": l["id"]}, object{"id": l["id"]}}}).want(http.StatusBadRequest).says("same line")
		c.do(http.MethodPut, user+"/lines", object{"lines": []any{object{"id": 99}}}).want(http.StatusBadRequest).says("Input Error - field 'lines': Line was not found ('id': 99)")
		c.do(http.MethodPut, user+"/lines", object{"lines": []any{}}).want(http.StatusNoContent)
		c.do(http.MethodDelete, line, nil).want(http.StatusNoContent)
		c.get("/endpoints/custom/" + e.text("id")).want(http.StatusNotFound)
		c.do(http.MethodDelete, "/extensions/"+x.text("id"), nil).want(http.StatusNoContent)
		c.do(http.MethodDelete, "/contexts/"+in.text("id"), nil).want(http.StatusNoContent)
	})
}
