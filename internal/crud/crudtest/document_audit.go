package crudtest

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

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
		if e.Action != x.idOf(x.d.Operations[want[i]]) || e.Object != object || (e.Before == nil) != (i == 0) || (e.After == nil) != (want[i] == "delete") {
			x.Errorf("entry %d: %+v, want %s of %s", i, e, x.idOf(x.d.Operations[want[i]]), object)
		}
	}
}

// idOf returns the id of an operation, to which the service may give another than the engine does.
func (w *world) idOf(op rest.Operation) string {
	for i := range w.coverage.Operations {
		if of := &w.coverage.Operations[i]; operationName(of) == operationName(&op) {
			return of.ID
		}
	}
	return ""
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
		values, err := store.Select[string](x.Context(), x.db, "SELECT coalesce(CAST("+column.Name+" AS text), '') FROM "+x.d.Table)
		if err != nil {
			x.Fatal(err)
		}
		all = append(all, values...)
	}
	return all
}
