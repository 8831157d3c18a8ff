package confdsvc_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

const prefix = "/api/confd/1.1"

// world is the service on a database with these tenants: master, a and b below it, a1 below a. Tenant a owns the contexts
// default and other; each of the others owns one: of-b, of-a1.
type world struct {
	svc     *rest.Service
	db      store.DB
	tenants map[string]string

	installation string
}

func newWorld(tb testing.TB, db store.DB) *world {
	tb.Helper()
	w := &world{db: db, tenants: map[string]string{}}
	svc, err := confdsvc.New(confdsvc.Options{DB: db, Installation: func() string { return w.installation }})
	if err != nil {
		tb.Fatal(err)
	}
	w.svc = svc
	for _, tenant := range [][2]string{{"master", "master"}, {"a", "master"}, {"b", "master"}, {"a1", "a"}} {
		w.tenants[tenant[0]] = uuid.NewString()
		if _, err := db.Exec(tb.Context(), `INSERT INTO auth_tenant (uuid, parent_uuid, name, slug) VALUES ($1, $2, $3, $3)`,
			w.tenants[tenant[0]], w.tenants[tenant[1]], tenant[0]); err != nil {
			tb.Fatal(err)
		}
	}
	for name, tenant := range map[string]string{"default": "a", "other": "a", "of-b": "b", "of-a1": "a1"} {
		if _, err := db.Exec(tb.Context(), `
			INSERT INTO confd_context (uuid, tenant_uuid, name, label, type, user_ranges, group_ranges, queue_ranges, conference_room_ranges, incall_ranges, enabled)
			VALUES ($1, $2, $3, $3, 'internal', '[]', '[]', '[]', '[]', '[]', true)`, uuid.NewString(), w.tenants[tenant], name); err != nil {
			tb.Fatal(err)
		}
	}
	return w
}

type (
	answer = resttest.Answer
	object = resttest.Object
)

// as returns a client for a caller in a tenant who may do everything in confd.
func (w *world) as(tb testing.TB, tenant string) *resttest.Client {
	tb.Helper()
	set, err := acl.Compile([]string{"confd.#"})
	if err != nil {
		tb.Fatal(err)
	}
	return resttest.To(tb, w.svc, prefix, &principal.Principal{
		UserUUID: uuid.NewString(), ACL: set,
		Affiliation: &principal.Affiliation{TenantUUID: w.tenants[tenant], Purpose: "external_api"},
	})
}
