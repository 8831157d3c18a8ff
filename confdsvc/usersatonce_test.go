package confdsvc_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Telephone users of two tenants that are made at once, some of them wrong: each request gets the answer that it gets alone, and leaves in
// its tenant, in the totals and in the audit what it leaves alone, under its own caller.
func TestTelephoneUsersAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		type tenant struct {
			company
			made []string
		}
		tenants := []*tenant{{company: newCompany(w.as(t, "a"))}, {company: newCompany(w.as(t, "b"))}}
		const each = 12
		var wg sync.WaitGroup
		var mu sync.Mutex
		for _, of := range tenants {
			of.Create("/users", of.user("1000"))
			for i := range each {
				wg.Go(func() {
					number := fmt.Sprint(1001 + i)
					body := of.user(number)
					wrong := i%4 == 3
					if wrong { // the number is outside of the ranges, which is found last
						body = of.user(fmt.Sprint(99001 + i))
					}
					got := of.Do(http.MethodPost, "/users", body)
					switch {
					case wrong && got.Status != http.StatusBadRequest, !wrong && got.Status != http.StatusCreated:
						t.Errorf("%d: %d %s", i, got.Status, got.Body)
					case !wrong:
						made := got.Object()
						if at(made, "lines.0.extensions.0.exten") != number || at(made, "firstname") != body["firstname"] {
							t.Errorf("%s: the reply is another's: %s", number, got.Body)
						}
						mu.Lock()
						of.made = append(of.made, made.Text("uuid"))
						mu.Unlock()
					}
				})
			}
		}
		wg.Wait()
		for _, of := range tenants {
			if list := of.Get("/users?limit=1").List(); list.Total != 1+each*3/4 {
				t.Errorf("%d users", list.Total)
			}
			if list := of.Get("/lines?limit=1").List(); list.Total != 1+each*3/4 {
				t.Errorf("%d lines", list.Total)
			}
			for _, key := range of.made {
				if u := of.Get("/users/" + key).Object(); at(u, "lines.0.extensions.0.exten") == nil {
					t.Errorf("%v", u)
				}
			}
		}
		written, err := store.Select[struct {
			Tenant, Actor string
			N             int
		}](t.Context(), db, `SELECT CAST(tenant_uuid AS text) AS tenant, CAST(actor_uuid AS text) AS actor, count(*) AS n FROM audit
			WHERE action = 'create_user' GROUP BY tenant_uuid, actor_uuid`)
		if err != nil || len(written) != 2 || written[0].Actor == written[1].Actor || written[0].Tenant == written[1].Tenant ||
			written[0].N != written[1].N || written[0].N%(1+each*3/4) != 0 {
			t.Errorf("%v: %v", err, written)
		}
	})
}
