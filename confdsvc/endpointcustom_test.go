package confdsvc_test

import (
	"fmt"
	"net/http"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
)

func init() {
	samples["endpoints/custom"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"interface": fmt.Sprintf("Local/%d@default", n)} },
	}
}

// giveEndpoint links a line with a new endpoint.
func giveEndpoint(c *crudtest.Client, line object) {
	endpoint := c.Create("/endpoints/custom", object{"interface": "Local/" + line.Text("id") + "@line"})
	c.Do(http.MethodPut, "/lines/"+line.Text("id")+"/endpoints/custom/"+endpoint.Text("id"), nil).Want(http.StatusNoContent)
}
