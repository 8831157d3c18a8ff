package confdsvc_test

import (
	"fmt"
	"net/http"
	"reflect"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	simple["callpermissions"] = simpleKind{"callpermission_id", object{"name": "cp"}}
	samples["callpermissions"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"name": fmt.Sprintf("Permission %d", n)} },
		Values:  func(n int) object { return object{"extensions": []any{fmt.Sprint(100 + n)}} },
	}
}

// The numbers of a call permission are a set. Users and groups show those that they have.
func TestCallPermission(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		p := c.Create("/callpermissions", object{"name": "cp", "extensions": []any{"_0900X.", "118", "118"}})
		if got := p["extensions"]; !reflect.DeepEqual(got, []any{"118", "_0900X."}) {
			t.Errorf("its numbers are %v", got)
		}
		c.Do(http.MethodPost, "/callpermissions", object{"name": "cp"}).Want(http.StatusBadRequest)
		for _, exten := range []string{"12a", "[9-0]X", "_1["} {
			c.Do(http.MethodPost, "/callpermissions", object{"name": "x", "extensions": []any{exten}}).Want(http.StatusBadRequest).Says("extensions")
		}
		for path, body := range map[string]object{"/users": {"firstname": "Al"}, "/groups": {"label": "G"}} {
			one := path + "/" + c.Create(path, body).Text("uuid")
			c.Do(http.MethodPut, one+"/callpermissions/"+p.Text("id"), nil).Want(http.StatusNoContent)
			if got := c.Get(one).Object(); at(got, "call_permissions.0.name") != "cp" {
				t.Errorf("%s shows %v", path, got["call_permissions"])
			}
		}
		got := c.Get("/callpermissions/" + p.Text("id")).Object()
		if at(got, "users.0.firstname") != "Al" || len(at(got, "groups").([]any)) != 1 {
			t.Errorf("it shows %v", got)
		}
	})
}
