package crudtest

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// tenants: each has its own document, which those above and below do not have; or only the master tenant changes the one, and
// tenants that may read it do.
func (x *documentTrial) tenants() {
	if x.d.Scope != crud.PerTenant {
		x.notATenants()
		return
	}
	blank := x.a.Get(x.path)
	sent := x.set(x.b, nil)
	theirs := x.shows(x.b, sent)
	x.set(x.a1, nil)
	x.set(x.top, nil)
	if got := x.a.Get(x.path); got.Status != blank.Status || !alike(got.Body, "", blank.Body, "") {
		x.Errorf("of its own it was %s, and is %s", blank.Body, got.Body)
	}
	own := x.set(x.a, Object{"tenant_uuid": x.b.Tenant})
	delete(own, "tenant_uuid")
	read := x.shows(x.a, own)
	if above := x.top.In(x.a.Tenant).Get(x.path); above.Body != read.Body {
		x.Errorf("from above it is %s, and %s in its tenant", above.Body, read.Body)
	}
	changed := x.minimal(x.a, nil)
	x.put(x.top.In(x.a.Tenant), changed)
	x.shows(x.a, changed)
	if x.can("delete") {
		x.a.Do(http.MethodDelete, x.path, nil).Want(http.StatusNoContent)
		x.top.Do(http.MethodDelete, x.path, nil).Want(http.StatusNoContent)
	}
	if after := x.b.Get(x.path); after.Body != theirs.Body {
		x.Errorf("another tenant changed it from %s to %s", theirs.Body, after.Body)
	}
}

func (x *documentTrial) notATenants() {
	shown := http.StatusOK
	if x.d.Scope == crud.Master {
		shown = http.StatusForbidden
	}
	x.a.Get(x.path).Want(shown)
	sent := x.set(x.own, nil)
	read := x.shows(x.own, sent)
	for _, c := range []*Client{x.top, x.a, x.own.In(x.a.Tenant)} {
		if got := c.Get(x.path).Want(shown); shown == http.StatusOK && got.Body != read.Body {
			x.Errorf("another tenant reads %s, and the master tenant %s", got.Body, read.Body)
		}
		for method, body := range x.writes(x.minimal(c, nil)) {
			x.audits(0, method, func() { c.Do(method, x.path, body).Want(http.StatusForbidden).Says("master tenant") })
		}
	}
	if after := x.own.Get(x.path); after.Body != read.Body {
		x.Errorf("it was %s, and is %s", read.Body, after.Body)
	}
}

// tenantHeader: a header that names a forbidden tenant is refused in one way, before anything else.
func (x *documentTrial) tenantHeader() {
	refused := x.a.Get(x.path, resttest.Header("Wazo-Tenant", uuid.NewString())).Want(http.StatusUnauthorized)
	requests := x.writes(x.minimal(x.a, nil))
	requests[http.MethodGet] = nil
	for name, value := range map[string]string{"sibling": x.b.Tenant, "parent": x.top.Tenant, "malformed": "a", "blank": " "} {
		for method, body := range requests {
			if got := x.a.Do(method, x.path, body, resttest.Header("Wazo-Tenant", value)).Want(http.StatusUnauthorized); !alike(got.Body, "", refused.Body, "") {
				x.Errorf("%s %s: %s", method, name, got.Body)
			}
		}
	}
	if x.stored() != 0 {
		x.Errorf("%d are stored", x.stored())
	}
}
