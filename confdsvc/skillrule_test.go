package confdsvc_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	simple["queues/skillrules"] = simpleKind{"skillrule_id", object{"name": "r"}}
	samples["queues/skillrules"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"name": fmt.Sprintf("Rule %d", n)} },
		Values:  func(n int) object { return object{"rules": []any{object{"definition": fmt.Sprintf("WT < %d", n)}}} },
	}
}

// The rules are one list, in order, and each is one line.
func TestSkillRule(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		rule := c.Create("/queues/skillrules", object{"name": "r", "rules": []any{object{"definition": "b > 1"}, object{"definition": "a > 1"}}})
		path := "/queues/skillrules/" + rule.Text("id")
		c.Do(http.MethodPut, path, object{"name": "s"}).Want(http.StatusNoContent)
		if got := c.Get(path).Object(); at(got, "rules.0.definition") != "b > 1" || at(got, "rules.1.definition") != "a > 1" {
			t.Errorf("it is %v", got)
		}
		c.Do(http.MethodPut, path, object{"rules": []any{object{"definition": "a\nb"}}}).Want(http.StatusBadRequest)
	})
}
