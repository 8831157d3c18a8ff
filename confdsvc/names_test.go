package confdsvc_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A name is found in its own tenant alone, and whole.
func TestNames(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		names := confdsvc.NewSnapshots(db).Names()
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
		user := w.as(t, "a").Create("/users", `{"firstname":"Ada","lines":[{"context":"default","endpoint_sip":{"name":"hers"}}],"agent":{"number":"9001"}}`)
		trunk := w.as(t, "a").Create("/trunks", `{}`)
		carrier := w.as(t, "a").Create("/endpoints/sip", `{"name":"carrier"}`).Text("uuid")
		w.as(t, "a").Do("PUT", "/trunks/"+trunk.Text("id")+"/endpoints/sip/"+carrier, nil).Want(204)
		line := user["lines"].([]any)[0].(map[string]any)["id"]
		for denial, want := range map[string]string{
			"": "[] [] []", "confd.moh.#": "[] [] []", "auth.#": "[] [] []",
			"confd.users." + user.Text("uuid") + ".#": "[hers] [] [9001]", "confd.users." + user.Text("id") + ".read": "[hers] [] [9001]",
			fmt.Sprintf("confd.lines.%v.read", line): "[hers] [] []", "confd.trunks." + trunk.Text("id") + ".#": "[carrier] [] []",
			"confd.endpoints.sip.*.read": "[carrier hers telephone] [] []", "confd.queues." + queue + ".read": "[] [" + queue + "] []",
			"confd.switchboards.#": "[] [" + desk + "] []", "confd.agents.*.read": "[] [] [9001]",
		} {
			held := []string{"#"}
			if denial != "" {
				held = append(held, "!"+denial)
			}
			set, err := acl.Compile(held)
			if err != nil {
				t.Fatal(err)
			}
			ctx := principal.NewContext(t.Context(), &principal.Principal{ACL: set})
			endpoints, waiting, agents, err := names.Denied(ctx, w.tenants["a"])
			slices.Sort(endpoints)
			if got := fmt.Sprint(endpoints, waiting, agents); err != nil || got != want {
				t.Errorf("without %s: %s, %v, want %s", denial, got, err, want)
			}
			if endpoints, waiting, agents, err := names.Denied(ctx, w.tenants["a1"]); err != nil || len(endpoints)+len(waiting)+len(agents) > 0 {
				t.Errorf("without %s, in another tenant: %v %v %v, %v", denial, endpoints, waiting, agents, err)
			}
		}
		box := w.as(t, "a").Create("/voicemails", `{"name":"Ada","number":"1001","context":"default"}`).Text("id")
		w.as(t, "a").Create("/voicemails", `{"name":"Bob","number":"1002","context":"default"}`)
		for denial, want := range map[string]string{
			"confd.lines.#": "", "confd.voicemails." + box + ".update": "", "confd.voicemails." + box + ".read": "default 1001, default", "confd.moh.*.read": music,
			"confd.contexts.*.read": "default 1001, default 1002, default, other", "confd.voicemails.#": "default 1001, default 1002, default",
		} {
			set, err := acl.Compile([]string{"#", "!" + denial})
			if err != nil {
				t.Fatal(err)
			}
			ctx := principal.NewContext(t.Context(), &principal.Principal{ACL: set})
			var hidden []string
			for _, at := range [][3]string{{"default", "1001"}, {"default", "1002"}, {"default", "1003x"}, {"default"}, {"other"}, {"", "", music}} {
				hides, err := names.Hides(ctx, at[0], at[1], at[2])
				if err != nil {
					t.Error(err)
				}
				if hides && at[1] != "1003x" {
					hidden = append(hidden, strings.TrimSpace(strings.Join(at[:], " ")))
				}
			}
			if got := strings.Join(hidden, ", "); got != want {
				t.Errorf("without %s, hidden: %s, want %s", denial, got, want)
			}
		}
		for tenant, want := range map[string]bool{"a": true, "b": false} {
			if has, err := names.HasMOH(t.Context(), w.tenants[tenant], music); err != nil || has != want {
				t.Errorf("music on hold of %s: %t, %v", tenant, has, err)
			}
		}
	})
}
