package confdsvc_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestUserSubscriptions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		want := func(c *resttest.Client, body string) {
			t.Helper()
			if got := c.Get("/users/subscriptions").Want(http.StatusOK); strings.TrimSpace(got.Body) != body {
				t.Errorf("%s, want %s", got.Body, body)
			}
		}
		want(c, `{"items":[],"total":0}`)
		for _, kind := range []int{2, 0, 2} {
			c.Create("/users", object{"firstname": "Al", "subscription_type": kind})
		}
		w.as(t, "a1").Create("/users", object{"firstname": "Below", "subscription_type": 1})
		want(c, `{"items":[{"id":0,"count":1},{"id":2,"count":2}],"total":2}`)
		want(c.With(resttest.In(w.tenants["a1"])), `{"items":[{"id":1,"count":1}],"total":1}`)
		want(w.as(t, "b"), `{"items":[],"total":0}`)
	})
}
