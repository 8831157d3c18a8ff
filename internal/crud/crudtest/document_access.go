package crudtest

import (
	"net/http"
	"strings"

	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// accesses: each operation needs its own, which names what the path does, and acts in a tenant.
func (x *documentTrial) accesses() {
	for action, op := range x.d.Operations {
		service, _, _ := strings.Cut(x.Access, ".")
		if !strings.HasPrefix(op.Access, service+".") || !strings.HasSuffix(op.Access, "."+action) || op.Public || !op.Tenanted {
			x.Errorf("%s needs %q", action, op.Access)
		}
		for _, name := range x.d.Keys[1:] {
			if !strings.Contains(op.Access, "{"+name+"}") {
				x.Errorf("%s of any %s needs %s", action, name, op.Access)
			}
		}
	}
}

// negotiation: 406 and 415 have an empty body, and change nothing.
func (x *documentTrial) negotiation() {
	for method, body := range x.writes(x.minimal(x.own, nil)) {
		x.own.Do(method, x.path, body, resttest.Header("Accept", ""), resttest.Header("Accept", "text/html")).Want(http.StatusNotAcceptable).Empty()
		if body != nil {
			x.own.Do(method, x.path, body, resttest.Header("Content-Type", ""), resttest.Header("Content-Type", "text/plain")).
				Want(http.StatusUnsupportedMediaType).Empty()
		}
	}
	if x.stored() != 0 {
		x.Errorf("%d are stored", x.stored())
	}
	x.own.Do(http.MethodPatch, x.path, Object{}).Want(http.StatusMethodNotAllowed)
}

// documentsWithoutDatabase: a document is neither blank nor missing while the database is unreachable.
func (w *world) documentsWithoutDatabase(c *Client) {
	for _, d := range w.Described.Documents {
		got := c.Get(w.Documents[d.Path].path(d)).Want(http.StatusServiceUnavailable).Says("database cannot answer")
		if got.Header.Get("Retry-After") == "" {
			c.T.Errorf("%s: no Retry-After", d.Path)
		}
	}
}
