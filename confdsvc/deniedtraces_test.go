package confdsvc_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Whoever is denied to read an object, by any of its names, finds neither its UUID nor its path in what any other operation reads. The context
// of a number, which it cannot be without, is told.
func TestDeniedObjectsLeaveNoTrace(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := newCompany(w.as(t, "master"))
		d := newDoorkeeper(t, w.svc)
		c.Create("/users", c.user("1001"))
		kinds := everyKind(c.Client)
		c.Do(http.MethodPut, "/endpoints/sip/"+kinds["sip_uuid"], object{
			"templates": []any{object{"uuid": kinds["template_uuid"]}}, "transport": object{"uuid": kinds["transport_uuid"]},
		}).Want(http.StatusNoContent)
		for _, op := range w.svc.Operations { // whatever can be linked
			if op.Method == http.MethodPut && strings.Count(op.Path, "{") == 2 && strings.HasSuffix(op.Path, "}") && op.Body == nil {
				c.Do(http.MethodPut, parameters.ReplaceAllStringFunc(op.Path, func(in string) string { return kinds[in[1:len(in)-1]] }), nil)
			}
		}
		pages, objects := map[string]string{}, map[string]object{}
		for _, op := range w.svc.Operations {
			if op.Method != http.MethodGet || op.Reply == nil || strings.Contains(op.Path, "{") || op.Path == "/tenants" {
				continue
			}
			list := c.Get(op.Path)
			pages[op.Path] = list.Body
			if !strings.Contains(list.Body, `"total":`) {
				continue
			}
			for _, o := range list.List().Items {
				for _, key := range []string{"uuid", "id"} {
					path := op.Path + "/" + o.Text(key)
					if one := c.Get(path); o[key] != nil && one.Status == http.StatusOK {
						pages[path], objects[path] = one.Body, o
					}
				}
			}
		}
		found := 0
		for path, o := range objects {
			markers := []string{`"` + o.Text("uuid") + `"`}
			if links, ok := o["links"].([]any); ok && len(links) > 0 {
				markers = append(markers, `"`+links[0].(map[string]any)["href"].(string)+`"`)
			}
			caller := d.holding(t, w.tenants["master"], uuid.NewString(), "confd.#", "!confd"+strings.ReplaceAll(path, "/", ".")+".read")
			shows := func(body string) bool {
				return slices.ContainsFunc(markers, func(marker string) bool { return len(marker) > 6 && strings.Contains(body, marker) })
			}
			for other, body := range pages {
				if !shows(body) {
					continue
				}
				found++
				if got := caller.Get(other); got.Status == http.StatusOK && shows(got.Body) {
					t.Errorf("%s shows %s, which is denied: %s", other, path, fmt.Sprint(markers))
				}
			}
		}
		if len(objects) < 20 || found < 2*len(objects) {
			t.Errorf("%d objects in %d answers", len(objects), found)
		}
	})
}
