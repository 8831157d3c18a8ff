package crudtest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/crud"
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
		trial: w.trial(t, crud.DescribedCollection{Path: d.Path, Schema: d.Operations["update"].Body}, doc.Resource),
		d:     d, doc: doc, path: doc.path(d),
	}
	if x.own = x.a; d.Scope != crud.PerTenant {
		x.own = w.client(t, w.master)
	}
	return x
}

func (doc Document) path(d crud.DescribedDocument) string {
	path := "/" + d.Path
	for i, name := range d.Parameters {
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
	x.answersAsRead(c, op, c.Do(method, x.path, body).Want(op.Success))
	return body
}

// put changes the document, and must succeed.
func (x *documentTrial) put(c *Client, body any, edits ...resttest.Edit) {
	x.Helper()
	op := x.d.Operations["update"]
	x.answersAsRead(c, op, c.Do(http.MethodPut, x.path, body, edits...).Want(op.Success))
}

// answersAsRead fails the test if a write returns the document differently than a read does.
func (x *documentTrial) answersAsRead(c *Client, op rest.Operation, got resttest.Answer) {
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
				x.own.Do(method, x.path, sent, ifMatch("*")).Want(http.StatusNotFound)
			})
		}
		return
	}
	blank := x.own.Get(x.path).Want(http.StatusOK)
	tag := blank.Header.Get("ETag")
	x.own.Get(x.path, resttest.Header("If-None-Match", tag)).Want(http.StatusNotModified).Empty()
	x.own.Do(http.MethodHead, x.path, nil).Want(http.StatusOK).Empty()
	x.own.Do(http.MethodPut, x.path, body, ifMatch(`"x"`)).Want(http.StatusPreconditionFailed)
	if x.can("delete") {
		x.audits(0, "deleting nothing", func() {
			x.own.Do(http.MethodDelete, x.path, nil).Want(http.StatusNoContent).Empty()
			x.own.Do(http.MethodDelete, x.path, nil, ifMatch(tag)).Want(http.StatusNoContent)
			x.own.Do(http.MethodDelete, x.path, nil, ifMatch(`"x"`)).Want(http.StatusPreconditionFailed)
		})
	}
	if again := x.own.Get(x.path); again.Body != blank.Body || x.stored() != 0 {
		x.Errorf("%s became %s, and %d are stored", blank.Body, again.Body, x.stored())
	}
	x.put(x.own, body, ifMatch(tag))
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

func (x *documentTrial) badBodies() {
	before := x.own.Get(x.path)
	texts, name := maps.Clone(badTexts), x.writable()[0].Name
	texts["duplicate"] = fmt.Sprintf(`{"%s":"a","%s":"b"}`, name, name)
	texts["two spellings"] = fmt.Sprintf(`{"%s":"a","%s":"b"}`, name, strings.ToUpper(name))
	texts["another spelling"] = fmt.Sprintf(`{"%s":"b"}`, strings.ToUpper(name))
	refused := func() {
		for what, text := range texts {
			for method, sent := range x.writes(text) {
				if sent == nil {
					continue
				}
				if got := x.own.Do(method, x.path, sent); got.Status != http.StatusBadRequest {
					x.Errorf("%s %s: %d %s", method, what, got.Status, got.Body)
				}
			}
		}
		x.own.Do(http.MethodPut, x.path, nil).Want(http.StatusBadRequest)
	}
	x.audits(0, "refusals", refused)
	if after := x.own.Get(x.path); !alike(after.Body, "", before.Body, "") {
		x.Errorf("%.500s became %.500s", before.Body, after.Body)
	}
	x.set(x.own, nil)
	before = x.own.Get(x.path)
	x.audits(0, "refusals", refused)
	if after := x.own.Get(x.path); after.Body != before.Body {
		x.Errorf("%.500s became %.500s", before.Body, after.Body)
	}
}

func (x *documentTrial) badValues() {
	base := x.set(x.own, nil)
	before := x.own.Get(x.path)
	for i := range x.k.Schema.Properties {
		p := &x.k.Schema.Properties[i]
		if p.ReadOnly || p.Schema.Type == "" {
			continue
		}
		x.audits(0, "wrong values of "+p.Name, func() { x.wrongValues(p, base) })
	}
	if after := x.own.Get(x.path); after.Body != before.Body {
		x.Errorf("%.500s became %.500s", before.Body, after.Body)
	}
}

// wrongValues sends the document with each wrong value of a field.
func (x *documentTrial) wrongValues(p *rest.Property, base Object) {
	x.Helper()
	others := maps.Clone(base)
	delete(others, p.Name)
	text, err := json.Marshal(others)
	if err != nil {
		x.Fatal(err)
	}
	start := strings.TrimSuffix(string(text), "}")
	if len(others) > 0 {
		start += ","
	}
	for _, value := range wrong(p.Schema) {
		if value == `""` && slices.Contains(p.Schema.Enum, "") {
			continue
		}
		got := x.own.Do(http.MethodPut, x.path, fmt.Sprintf(`%s"%s":%s}`, start, p.Name, value))
		largest := x.d.Operations["update"].MaxBody
		tooLarge := got.Status == http.StatusRequestEntityTooLarge && largest > 0 && int64(len(value)) > largest
		if got.Status != http.StatusBadRequest && !tooLarge {
			x.Errorf("%s = %.80s: %d %s", p.Name, value, got.Status, got.Body)
		}
	}
}

func (x *documentTrial) versions() {
	x.set(x.own, nil)
	stale := x.own.Get(x.path).Header.Get("ETag")
	x.put(x.own, x.minimal(x.own, nil), ifMatch(stale))
	fresh := x.own.Get(x.path)
	body := x.minimal(x.own, nil)
	for _, tag := range []string{stale, `"x"`, "W/" + fresh.Header.Get("ETag"), `"a", "b"`} {
		x.own.Do(http.MethodPut, x.path, body, ifMatch(tag)).Want(http.StatusPreconditionFailed)
		if x.can("delete") {
			x.own.Do(http.MethodDelete, x.path, nil, ifMatch(tag)).Want(http.StatusPreconditionFailed)
		}
	}
	x.own.Do(http.MethodPut, x.path, body, ifMatch("garbage")).Want(http.StatusBadRequest)
	if after := x.own.Get(x.path); after.Body != fresh.Body {
		x.Errorf("refused changes changed it from %s to %s", fresh.Body, after.Body)
	}
	x.own.Get(x.path, resttest.Header("If-None-Match", fresh.Header.Get("ETag"))).Want(http.StatusNotModified).Empty()
	x.own.Get(x.path, resttest.Header("If-None-Match", stale)).Want(http.StatusOK)
	x.put(x.own, body, ifMatch("*"))
	if x.can("delete") {
		x.own.Do(http.MethodDelete, x.path, nil, ifMatch(x.own.Get(x.path).Header.Get("ETag"))).Want(http.StatusNoContent)
	}
}

// atOnce: of clients that create the document at once all succeed if a PUT creates it, otherwise one; of those that change what
// they have read, one.
func (x *documentTrial) atOnce() {
	method, making := http.MethodPost, x.d.Operations["create"].Success
	refused := int(x.Described.Style.Duplicate)
	if x.d.Blank {
		method, making = http.MethodPut, x.d.Operations["update"].Success
		refused = making
	}
	first := x.together(method)
	if refused != making && first[making] != 1 || first[making]+first[refused] != 4 && refused != making || refused == making && first[making] != 4 {
		x.Errorf("made at once: %v", first)
	}
	if x.stored() != 1 {
		x.Errorf("%d are stored", x.stored())
	}
	tag, changed := x.own.Get(x.path).Header.Get("ETag"), x.d.Operations["update"].Success
	if then := x.together(http.MethodPut, ifMatch(tag)); then[changed] != 1 || then[http.StatusPreconditionFailed] != 3 {
		x.Errorf("changed at once: %v", then)
	}
}

// together sends four documents at once, and counts the statuses.
func (x *documentTrial) together(method string, edits ...resttest.Edit) map[int]int {
	statuses := make([]int, 4)
	var all sync.WaitGroup
	for n := range statuses {
		body := x.minimal(x.own, nil)
		all.Go(func() { statuses[n] = x.own.Do(method, x.path, body, edits...).Status })
	}
	all.Wait()
	counts := map[int]int{}
	for _, status := range statuses {
		counts[status]++
	}
	return counts
}

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

// auditEntry is the part of an entry that names the document.
type auditEntry struct {
	Tenant   string  `db:"tenant_uuid"`
	Action   string  `db:"action"`
	Resource string  `db:"resource"`
	Object   string  `db:"object"`
	Before   *string `db:"before"`
	After    *string `db:"after"`
}

func (x *documentTrial) entries() []auditEntry {
	x.Helper()
	entries, err := store.Select[auditEntry](x.Context(), x.db, `
		SELECT tenant_uuid, action, resource, object, before, after FROM audit WHERE tenant_uuid = $1 AND resource = $2 ORDER BY id`, x.own.Tenant, x.d.Resource)
	if err != nil {
		x.Fatal(err)
	}
	return entries
}

// audit has one entry for each change, under the document's name.
func (x *documentTrial) audit() {
	before := len(x.entries())
	x.set(x.own, nil)
	x.own.Get(x.path)
	x.put(x.own, x.minimal(x.own, nil))
	want := []string{"create", "update"}
	if x.d.Blank {
		want[0] = "update"
	}
	if x.can("delete") {
		x.own.Do(http.MethodDelete, x.path, nil).Want(http.StatusNoContent)
		x.own.Do(http.MethodDelete, x.path, nil)
		want = append(want, "delete")
	}
	entries := x.entries()[before:]
	object := x.d.Object
	if object == "" {
		object = strings.Join(x.doc.Parameters, "/")
	}
	if len(entries) != len(want) {
		x.Fatalf("%d entries, want %q", len(entries), want)
	}
	for i, e := range entries {
		if e.Action != x.d.Operations[want[i]].ID || e.Object != object || (e.Before == nil) != (i == 0) || (e.After == nil) != (want[i] == "delete") {
			x.Errorf("entry %d: %+v, want %s of %s", i, e, want[i], object)
		}
	}
}

// secrets: no reply shows them unless it should, nor does the audit, and the table does not hold them in plain text; changing
// one is a change.
func (x *documentTrial) secrets() {
	first := Object{}
	for _, name := range x.doc.Secrets {
		first[name] = "hush"
	}
	base := x.set(x.own, first)
	for _, name := range x.doc.Secrets {
		p, secret := x.k.Schema.Property(name), fmt.Sprintf("hush%dhush", x.next())
		body := maps.Clone(base)
		for _, value := range []any{secret, secret + "2", nil, secret} {
			body[name] = value
			x.audits(1, "setting "+name, func() { x.put(x.own, body) }) // the reply shows no more than a read
		}
		if read := x.own.Get(x.path).Want(http.StatusOK); strings.Contains(read.Body, secret) == p.WriteOnly {
			x.Errorf("%s is shown %t: %s", name, !p.WriteOnly, read.Body)
		}
		if kept := fmt.Sprint(x.kept()); strings.Contains(kept, secret) || strings.Contains(kept, hex.EncodeToString([]byte(secret))) {
			x.Errorf("%s is kept as it is: %s", name, kept)
		}
	}
}

// kept returns everything that the table and the audit hold, as text.
func (x *documentTrial) kept() (all []string) {
	x.Helper()
	for _, e := range x.entries() {
		for _, picture := range []*string{e.Before, e.After} {
			if picture != nil {
				all = append(all, *picture)
			}
		}
	}
	for _, column := range x.d.Columns {
		values, err := store.Select[string](x.Context(), x.db, "SELECT coalesce(CAST("+column+" AS text), '') FROM "+x.d.Table)
		if err != nil {
			x.Fatal(err)
		}
		all = append(all, values...)
	}
	return all
}

// accesses: each operation needs its own, which names what the path does, and acts in a tenant.
func (x *documentTrial) accesses() {
	for action, op := range x.d.Operations {
		service, _, _ := strings.Cut(x.Access, ".")
		if !strings.HasPrefix(op.Access, service+".") || !strings.HasSuffix(op.Access, "."+action) || op.Public || !op.Tenanted {
			x.Errorf("%s needs %q", action, op.Access)
		}
		for _, name := range x.d.Parameters {
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
