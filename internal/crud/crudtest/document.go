package crudtest

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// Document is what the suite must know of a document beyond its declaration: as for a resource, without links and parts, and
// more.
type Document struct {
	Resource

	// Parameters are the values of the path's parameters, in order.
	Parameters []string
	// Secrets are fields whose values must be found neither in the table nor in the audit.
	Secrets []string
	// Switch says that the document is only on or off: of several clients that change it at once some change nothing, and all
	// succeed.
	Switch bool
}

// documentTrial is one check of a document, of which nothing is stored yet. own is its owner: a, or the master tenant.
type documentTrial struct {
	*trial

	d    crud.DescribedDocument
	doc  Document
	path string
	own  *Client
}

// tryDocuments tests every document.
func (w *world) tryDocuments(t *testing.T) {
	for _, d := range w.Described.Documents {
		doc, ok := w.Documents[d.Path]
		if !ok {
			t.Errorf("the suite does not try %s", d.Path)
			continue
		}
		checks := map[string]func(x *documentTrial){
			"nothing stored": (*documentTrial).nothing, "write and read": (*documentTrial).writeAndRead, "fields": (*documentTrial).fields,
			"bodies": (*documentTrial).badBodies, "values": (*documentTrial).badValues, "versions": (*documentTrial).versions,
			"at once": (*documentTrial).atOnce, "tenants": (*documentTrial).tenants, "tenant header": (*documentTrial).tenantHeader,
			"audit": (*documentTrial).audit, "secrets": (*documentTrial).secrets, "accesses": (*documentTrial).accesses,
			"negotiation": (*documentTrial).negotiation,
		}
		t.Run(strings.ReplaceAll(d.Path, "/", "_"), func(t *testing.T) {
			if doc.Switch {
				delete(checks, "at once")
			}
			for _, name := range slices.Sorted(maps.Keys(checks)) {
				t.Run(name, func(t *testing.T) { checks[name](w.documentTrial(t, d, doc)) })
			}
		})
	}
}

func (w *world) documentTrial(t *testing.T, d crud.DescribedDocument, doc Document) *documentTrial {
	t.Helper()
	if _, err := w.db.Exec(t.Context(), "DELETE FROM "+d.Table); err != nil {
		t.Fatal(err)
	}
	x := &documentTrial{
		trial: w.trial(t, &declaration.Entity{Path: d.Path, Schema: d.Operations["update"].Body}, doc.Resource),
		d:     d, doc: doc, path: doc.path(d),
	}
	if x.own = x.a; d.Scope != crud.PerTenant {
		x.own = w.client(t, w.master)
	}
	return x
}

func (doc Document) path(d crud.DescribedDocument) string {
	path := "/" + d.Path
	for i, name := range d.Keys[1:] {
		path = strings.Replace(path, "{"+name+"}", doc.Parameters[i], 1)
	}
	return path
}

// can reports whether clients can do this with the document.
func (x *documentTrial) can(action string) bool { _, ok := x.d.Operations[action]; return ok }

// set creates the document in c's tenant, which has none, and returns what was sent.
func (x *documentTrial) set(c *Client, more Object) Object {
	x.Helper()
	body := x.minimal(c, more)
	action, method := "create", http.MethodPost
	if x.d.Blank {
		action, method = "update", http.MethodPut
	}
	op := x.d.Operations[action]
	x.repliesAsRead(c, op, c.Do(method, x.path, body).Want(op.Success))
	return body
}

// put changes the document, and must succeed.
func (x *documentTrial) put(c *Client, body any, edits ...resttest.Edit) {
	x.Helper()
	op := x.d.Operations["update"]
	x.repliesAsRead(c, op, c.Do(http.MethodPut, x.path, body, edits...).Want(op.Success))
}

// repliesAsRead fails the test if a write returns the document differently than a read does.
func (x *documentTrial) repliesAsRead(c *Client, op rest.Operation, got resttest.Answer) {
	x.Helper()
	switch {
	case op.Reply == nil:
		got.Empty()
	case op.Reply.Type == "object":
		read := c.Get(x.path)
		if got.Body != read.Body || got.Header.Get("ETag") != read.Header.Get("ETag") {
			x.Errorf("written %s %s\nread    %s %s", got.Header.Get("ETag"), got.Body, read.Header.Get("ETag"), read.Body)
		}
	}
}

// shows fails the test if the document differs from what was sent, or shows a write-only field.
func (x *documentTrial) shows(c *Client, sent Object) resttest.Answer {
	x.Helper()
	read := c.Get(x.path).Want(http.StatusOK)
	for name, value := range sent {
		p, o := x.k.Schema.Property(name), read.Object()
		switch _, there := o[name]; {
		case p == nil:
		case p.WriteOnly && there:
			x.Errorf("%s is shown", name)
		case !p.WriteOnly && !o.Same(name, value):
			x.Errorf("%s is %v, want %v", name, o[name], value)
		}
	}
	return read
}

// writes are the requests that could change the document, with a body if they take one.
func (x *documentTrial) writes(body any) map[string]any {
	out := map[string]any{}
	for action, method := range map[string]string{"create": http.MethodPost, "update": http.MethodPut, "delete": http.MethodDelete} {
		if x.can(action) {
			if out[method] = body; action == "delete" {
				out[method] = nil
			}
		}
	}
	return out
}

// nothing: while nothing is stored, a blank document can be read, and deleting it changes nothing; other documents are not
// found.
func (x *documentTrial) nothing() {
	body := x.minimal(x.own, nil)
	if !x.d.Blank {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete} {
			var sent any
			if method == http.MethodPut {
				sent = body
			}
			x.audits(0, method, func() {
				x.own.Do(method, x.path, sent).Want(http.StatusNotFound)
				x.own.Do(method, x.path, sent, resttest.IfMatch("*")).Want(http.StatusNotFound)
			})
		}
		return
	}
	blank := x.own.Get(x.path).Want(http.StatusOK)
	tag := blank.Header.Get("ETag")
	x.own.Get(x.path, resttest.Header("If-None-Match", tag)).Want(http.StatusNotModified).Empty()
	x.own.Do(http.MethodHead, x.path, nil).Want(http.StatusOK).Empty()
	x.own.Do(http.MethodPut, x.path, body, resttest.IfMatch(`"x"`)).Want(http.StatusPreconditionFailed)
	if x.can("delete") {
		x.audits(0, "deleting nothing", func() {
			x.own.Do(http.MethodDelete, x.path, nil).Want(http.StatusNoContent).Empty()
			x.own.Do(http.MethodDelete, x.path, nil, resttest.IfMatch(tag)).Want(http.StatusNoContent)
			x.own.Do(http.MethodDelete, x.path, nil, resttest.IfMatch(`"x"`)).Want(http.StatusPreconditionFailed)
		})
	}
	if again := x.own.Get(x.path); again.Body != blank.Body || x.stored() != 0 {
		x.Errorf("%s became %s, and %d are stored", blank.Body, again.Body, x.stored())
	}
	x.put(x.own, body, resttest.IfMatch(tag))
	x.shows(x.own, body)
}

func (x *documentTrial) stored() int {
	x.Helper()
	n, err := store.Get[int](x.Context(), x.db, "SELECT count(*) FROM "+x.d.Table)
	if err != nil {
		x.Fatal(err)
	}
	return n
}

// writeAndRead: what was sent can be read, a deleted document cannot, and required fields must be sent.
func (x *documentTrial) writeAndRead() {
	before := x.own.Get(x.path)
	sent := x.set(x.own, nil)
	first := x.shows(x.own, sent)
	x.audits(0, "the same again", func() { x.put(x.own, sent) })
	if x.can("create") {
		x.own.Do(http.MethodPost, x.path, x.minimal(x.own, nil)).Want(int(x.Described.Style.Duplicate))
	}
	for i := range x.k.Schema.Properties {
		if p := &x.k.Schema.Properties[i]; p.Required {
			body := maps.Clone(sent)
			delete(body, p.Name)
			for method, body := range x.writes(body) {
				if body != nil {
					x.own.Do(method, x.path, body).Want(http.StatusBadRequest).Says(p.Name)
				}
			}
		}
	}
	if again := x.own.Get(x.path); again.Body != first.Body || again.Header.Get("ETag") != first.Header.Get("ETag") {
		x.Errorf("%s became %s", first.Body, again.Body)
	}
	sent = x.minimal(x.own, nil)
	x.put(x.own, sent)
	if second := x.shows(x.own, sent); second.Body != first.Body && second.Header.Get("ETag") == first.Header.Get("ETag") {
		x.Error("the ETag of another document is the same")
	}
	if x.stored() != 1 {
		x.Errorf("%d are stored", x.stored())
	}
	if !x.can("delete") {
		return
	}
	x.own.Do(http.MethodDelete, x.path, nil).Want(http.StatusNoContent).Empty()
	if after := x.own.Get(x.path); after.Status != before.Status || !alike(after.Body, "", before.Body, "") || x.stored() != 0 {
		x.Errorf("before %s\nafter  %s", before.Body, after.Body)
	}
}

// fields sets each field beside the required ones, to another value and to null. Everything else stays.
func (x *documentTrial) fields() {
	base := x.set(x.own, nil)
	with := func(name string, value any) Object {
		body := maps.Clone(base)
		body[name] = value
		return body
	}
	for _, p := range x.writable() {
		if p.Schema.Type == "" {
			continue
		}
		before := x.own.Get(x.path).Object()
		value := x.another(p, before[p.Name])
		x.put(x.own, with(p.Name, value))
		if !p.WriteOnly {
			x.audits(0, "setting "+p.Name+" again", func() { x.put(x.own, with(p.Name, value)) })
		}
		after := x.shows(x.own, Object{p.Name: value}).Object()
		x.same("setting "+p.Name, after, before, p.Name)
		if !p.Schema.Nullable {
			x.own.Do(http.MethodPut, x.path, with(p.Name, nil)).Want(http.StatusBadRequest).Says(p.Name)
			x.same("null for "+p.Name, x.own.Get(x.path).Object(), after)
		} else {
			x.put(x.own, with(p.Name, nil))
			x.shows(x.own, Object{p.Name: nil})
		}
		x.put(x.own, base)
	}
}
