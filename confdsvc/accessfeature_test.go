package confdsvc_test

import (
	"fmt"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
)

func init() {
	samples["access_features"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object {
			return object{"host": fmt.Sprintf("192.0.2.%d/32", n), "feature": "phonebook"}
		},
		Values: func(n int) object { return object{"host": fmt.Sprintf("2001:db8::%x", n)} },
	}
}
