package confdsvc_test

import (
	"fmt"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
)

func init() {
	samples["extensions"] = crudtest.Resource{
		Minimal: func(c *crudtest.Client, n int) object {
			return object{"exten": fmt.Sprintf("%05d", n), "context": contextOf(c)}
		},
		Values: func(n int) object { return object{"exten": fmt.Sprint(90000 + n)} },
		Except: []string{"commented"}, // the opposite of enabled
		Follow: map[string][]string{"enabled": {"commented"}},
	}
}
