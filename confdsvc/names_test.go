package confdsvc_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A name is found in its own tenant alone, and whole.
func TestNames(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		names := confdsvc.Names{DB: db}
		w.as(t, "a").Create("/contexts", `{"label":"out","type":"outcall"}`)
		music := w.as(t, "a").Create("/moh", `{"label":"music","mode":"files"}`).Text("name")
		for tenant, want := range map[string][]string{"a": {"default", "other"}, "b": {"of-b"}, "master": nil, "": {"default", "of-a1", "of-b", "other"}} {
			got, err := names.InternalContexts(t.Context(), w.tenants[tenant])
			if slices.Sort(got); err != nil || !slices.Equal(got, want) {
				t.Errorf("internal contexts of %q: %v, %v", tenant, got, err)
			}
		}
		for _, c := range []struct {
			tenant, name string
			has          bool
		}{{"a", "default", true}, {"b", "default", false}, {"a1", "default", false}, {"a", "defaul", false}, {"a", "%", false}, {"a", "DEFAULT", false}} {
			if has, err := names.HasContext(t.Context(), w.tenants[c.tenant], c.name); err != nil || has != c.has {
				t.Errorf("context %s of %s: %t, %v", c.name, c.tenant, has, err)
			}
		}
		w.as(t, "a").Create("/endpoints/sip", `{"name":"telephone"}`)
		for tenant, want := range map[string]bool{"a": true, "b": false, "a1": false, "master": false} {
			if got, err := names.Endpoints(t.Context(), w.tenants[tenant]); err != nil || slices.Contains(got, "telephone") != want {
				t.Errorf("endpoints of %s: %v, %v", tenant, got, err)
			}
		}
		queue := w.as(t, "a").Create("/queues", `{"name":"support","label":"Support"}`).Text("id")
		plain := w.as(t, "b").Create("/queues", `{"name":"sales"}`).Text("id")
		desk := w.as(t, "a").Create("/switchboards", `{"name":"Reception"}`).Text("uuid")
		for tenant, want := range map[string]map[string]string{
			"a": {queue: "Support", desk: "Reception"}, "b": {plain: "sales"}, "a1": {}, "": {queue: "Support", desk: "Reception", plain: "sales"},
		} {
			if got, err := names.Waiting(t.Context(), w.tenants[tenant]); err != nil || !maps.Equal(got, want) {
				t.Errorf("queues and switchboards of %q: %v, %v", tenant, got, err)
			}
		}
		for tenant, want := range map[string]bool{"a": true, "b": false} {
			if has, err := names.HasMOH(t.Context(), w.tenants[tenant], music); err != nil || has != want {
				t.Errorf("music on hold of %s: %t, %v", tenant, has, err)
			}
		}
	})
}
