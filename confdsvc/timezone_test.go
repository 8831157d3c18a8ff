package confdsvc_test

import (
	"net/http"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestTimezones(t *testing.T) {
	c := newWorld(t, storetest.SQLite(t)).as(t, "a")
	l := c.Get("/timezones").Want(http.StatusOK).List()
	if l.Total != len(l.Items) || len(l.Items) < 400 {
		t.Errorf("%d of %d", len(l.Items), l.Total)
	}
	before := ""
	for _, zone := range l.Items {
		name := zone.Text("zone_name")
		if _, err := time.LoadLocation(name); err != nil || name <= before {
			t.Errorf("%s after %s: %v", name, before, err)
		}
		before = name
	}
}
