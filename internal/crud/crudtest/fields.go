package crudtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// writable returns the fields of known type that a client may set.
func (x *trial) writable() []*rest.Property {
	var out []*rest.Property
	for i := range x.k.Schema.Properties {
		p := &x.k.Schema.Properties[i]
		if !p.ReadOnly && !slices.Contains(x.r.Except, p.Name) && !slices.Contains(x.k.Keys, p.Name) {
			out = append(out, p)
		}
	}
	return out
}

// readOnly returns values for all fields that a body may have and that change nothing.
func (x *trial) readOnly() Object {
	out := Object{"tenant_uuid": x.b.Tenant, "no_such_attribute": 1}
	for i := range x.k.Schema.Properties {
		if p := &x.k.Schema.Properties[i]; p.ReadOnly && !slices.Contains(x.r.Except, p.Name) && !slices.Contains(x.k.Nested, p.Name) {
			out[p.Name] = map[string]any{"string": "0e0e0e0e-0000-4000-8000-000000000000", "integer": 987654, "boolean": true, "array": []any{1}}[p.Schema.Type]
		}
	}
	return out
}

func (x *trial) createAndRead() {
	body := x.minimal(x.a, nil)
	sent := x.readOnly()
	maps.Copy(sent, body)
	made := x.a.Do(http.MethodPost, x.fresh(), sent).Want(x.Described.Style.CreateStatus)
	o := made.Object()
	if x.k.Schema.Property("tenant_uuid") != nil && o["tenant_uuid"] != x.a.Tenant {
		x.Errorf("made in %v, want %v", o["tenant_uuid"], x.a.Tenant)
	}
	if x.Described.Style.Location {
		if got, want := made.Header.Get("Location"), x.Described.Prefix+x.at(o); got != want {
			x.Errorf("Location %q, want %q", got, want)
		}
		links := fmt.Sprintf("[map[href:%s rel:%s]]", made.Header.Get("Location"), x.k.Rel)
		if got := fmt.Sprint(o["links"]); got != links && x.k.Schema.Property("links") != nil {
			x.Errorf("links %s, want %s", got, links)
		}
	}
	for i := range x.k.Schema.Properties {
		p := &x.k.Schema.Properties[i]
		if _, there := o[p.Name]; there == p.WriteOnly {
			x.Errorf("attribute %s: in the object %t", p.Name, there)
		}
		want, set := x.r.Defaults[p.Name]
		if !set && p.Schema.Default != nil {
			want, set = p.Schema.Default, true
		}
		if value, there := body[p.Name]; there {
			want, set = value, true
		}
		if set && !p.WriteOnly && !o.Same(p.Name, want) {
			x.Errorf("%s is %v, want %v", p.Name, o[p.Name], want)
		}
	}
	x.readsAs(o, made)
	x.holds(x.a, x.a.Get(x.all()).List(), o)
	again := x.a.Create(x.fresh(), x.create(x.minimal(x.a, nil), o)) // clients can create from what they read
	x.a.Get(x.at(again)).Want(http.StatusOK)
}

// listAndRead: a list shows an object as it reads, by each of its keys.
func (x *trial) listAndRead() {
	o := x.make(x.a, nil)
	l := x.a.Get(x.all()).List()
	x.holds(x.a, l, o)
	if x.can("read") {
		for _, item := range l.Items {
			x.readsAs(item, x.a.Get(x.at(item)).Want(http.StatusOK))
		}
	}
}

// readsAs: an object reads as in the reply that created it, by each of its keys.
func (x *trial) readsAs(o Object, made resttest.Answer) {
	x.Helper()
	for _, key := range slices.Concat(x.k.Keys, x.k.Names) {
		read := x.a.Get(x.one(o, key)).Want(http.StatusOK)
		if read.Body != made.Body {
			x.Errorf("first %s\nread  %s", made.Body, read.Body)
		}
		if tag := read.Header.Get("ETag"); tag == "" || tag != made.Header.Get("ETag") {
			x.Errorf("first the ETag was %q, and when read %q", made.Header.Get("ETag"), tag)
		}
		if head := x.a.Do(http.MethodHead, x.one(o, key), nil).Want(http.StatusOK).Empty(); head.Header.Get("ETag") != read.Header.Get("ETag") {
			x.Error("HEAD has another ETag than GET")
		}
	}
}

// create returns the body that creates a copy of an object, with the fields of body in place of its own.
func (x *trial) create(body, read Object) Object {
	out := Object{}
	for name, value := range read {
		if p := x.k.Schema.Property(name); p != nil && p.ReadOnly && !slices.Contains(x.r.Except, name) {
			out[name] = value
		}
	}
	maps.Copy(out, body)
	return out
}

func (x *trial) keys() {
	o := x.make(x.a, nil)
	typed := []string{"0", "-1", "abc", "9999999999999999999999", "999999999", "%00", "..%2F", "%FF", uuid.NewString(), strings.Repeat("x", 300)}
	for _, key := range x.k.Keys {
		value := o.Text(key)
		if _, number := o[key].(json.Number); number {
			typed = append(typed, "0"+value, "+"+value, value+".0", "-"+value, "%20"+value, value+"%20")
			continue
		}
		typed = append(typed, url.PathEscape("urn:uuid:"+value), "{"+value+"}")
		if other := strings.ReplaceAll(value, "-", ""); other != value {
			typed = append(typed, other)
		}
		x.a.Get(x.all() + "/" + strings.ToLower(value)).Want(http.StatusOK)
	}
	for _, key := range typed {
		if got := x.a.Get(x.all() + "/" + key); got.Status != http.StatusNotFound && got.Status != http.StatusBadRequest {
			x.Errorf("%.80s: %d %s", key, got.Status, got.Body)
		}
	}
}

// another returns a good value of a field that differs from its current one.
func (x *trial) another(p *rest.Property, has any) any {
	for _, good := range []Object{x.values(), x.minimal(x.a, nil)} {
		if value, ok := good[p.Name]; ok {
			return value
		}
	}
	switch {
	case p.Schema.Type == "boolean":
		return has != true
	case len(p.Schema.Enum) > 0:
		for _, choice := range p.Schema.Enum {
			if choice != has {
				return choice
			}
		}
	case p.Schema.Type == "integer":
		for n := range int64(3) {
			if p.Schema.Minimum != nil {
				n += *p.Schema.Minimum
			}
			if fmt.Sprint(n) != fmt.Sprint(has) {
				return n
			}
		}
	}
	return p.Schema.Sample()
}

// fields sets each field by itself, to another value and to null.
func (x *trial) fields() {
	o := x.make(x.a, nil)
	path := x.at(o)
	for _, p := range x.writable() {
		if x.refers(p.Name) || p.Schema.Type == "" {
			continue // the check of references tests it; a field of any type belongs to a hook
		}
		follow := append([]string{p.Name}, x.r.Follow[p.Name]...)
		before := x.a.Get(path).Object()
		value := x.another(p, before[p.Name])
		changes := 1
		if before.Same(p.Name, value) {
			changes = 0
		}
		if p.WriteOnly {
			x.put(x.a, path, Object{p.Name: value})
		} else {
			x.audits(changes, "setting "+p.Name, func() { x.put(x.a, path, Object{p.Name: value}) })
			x.audits(0, "setting "+p.Name+" again", func() { x.put(x.a, path, Object{p.Name: value}) })
		}
		after := x.a.Get(path).Object()
		if !p.WriteOnly && !after.Same(p.Name, value) {
			x.Errorf("%s was set to %v, and is %v", p.Name, value, after[p.Name])
		}
		x.same("setting "+p.Name, after, before, follow...)
		x.null(path, p, follow)
	}
}

func (x *trial) null(path string, p *rest.Property, follow []string) {
	x.Helper()
	before := x.a.Get(path).Object()
	if !p.Schema.Nullable || p.Schema.NullIsDefault {
		x.a.Do(http.MethodPut, path, Object{p.Name: nil}).Want(http.StatusBadRequest).Says(p.Name)
		x.same("null for "+p.Name, x.a.Get(path).Object(), before)
		return
	}
	x.put(x.a, path, Object{p.Name: nil})
	after := x.a.Get(path).Object()
	if after[p.Name] != nil && !slices.Contains(follow[1:], p.Name) {
		x.Errorf("%s was set to null, and is %v", p.Name, after[p.Name])
	}
	x.same("null for "+p.Name, after, before, follow...)
}

func (x *trial) update() {
	before := x.make(x.a, nil)
	path := x.at(before)
	for what, body := range map[string]Object{
		"nothing": {}, "what cannot be written": x.readOnly(), "another tenant": {"tenant_uuid": x.b.Tenant}, "what was read": before,
	} {
		x.audits(0, what, func() { x.put(x.a, path, body) })
		x.same(what, x.a.Get(path).Object(), before)
	}
	for i := range x.k.Schema.Properties {
		if p := &x.k.Schema.Properties[i]; p.Required {
			body := x.minimal(x.a, nil)
			delete(body, p.Name)
			if x.can("create") {
				x.a.Do(http.MethodPost, x.fresh(), body).Want(http.StatusBadRequest).Says(p.Name)
			}
			x.a.Do(http.MethodPut, path, Object{p.Name: nil}).Want(http.StatusBadRequest).Says(p.Name)
		}
	}
	x.same("refused updates", x.a.Get(path).Object(), before)
	x.a.Do(http.MethodPut, x.all()+"/999999999", Object{}).Want(http.StatusNotFound)
}

func (x *trial) remove() {
	o, other := x.make(x.a, nil), x.make(x.a, nil)
	x.a.Do(http.MethodDelete, x.at(o), nil).Want(http.StatusNoContent).Empty()
	for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodHead} {
		x.a.Do(method, x.at(o), nil).Want(http.StatusNotFound)
	}
	if x.can("update") {
		x.a.Do(http.MethodPut, x.at(o), Object{}).Want(http.StatusNotFound)
	}
	x.holds(x.a, x.a.Get(x.all()).List(), other)
	x.a.Do(http.MethodDelete, x.at(other), nil).Want(http.StatusNoContent)
	if again := x.make(x.a, nil); x.at(again) == x.at(other) {
		x.Errorf("the key %s was given a second time", x.at(again))
	}
}

// toOthers is the status for a tenant that may not change an object.
func (x *trial) toOthers() int {
	if x.k.Scope == crud.PerTenant {
		return http.StatusNotFound
	}
	return http.StatusForbidden
}

// audit counts one entry for each change, and none for a refused one.
func (x *trial) audit() {
	var o Object
	body := x.minimal(x.a, nil)
	x.audits(1, "create", func() { o = x.a.Create(x.fresh(), body) })
	x.audits(0, "reads", func() { x.a.Get(x.at(o)).Want(http.StatusOK) })
	x.audits(0, "refusals", func() {
		x.a.Do(http.MethodPost, x.fresh(), "[]").Want(http.StatusBadRequest)
		x.a.Do(http.MethodPut, x.at(o), Object{}, resttest.IfMatch(`"x"`)).Want(http.StatusPreconditionFailed)
		x.b.Do(http.MethodDelete, x.at(o), nil).Want(x.toOthers())
	})
	own := x.audited("resource = '" + x.k.Path + "'") // what goes with it has entries of its own
	x.a.Do(http.MethodDelete, x.at(o), nil).Want(http.StatusNoContent)
	if got := x.audited("resource = '"+x.k.Path+"'") - own; got != 1 {
		x.Errorf("delete: %d entries in the audit, want 1", got)
	}
	x.audits(0, "delete again", func() { x.a.Do(http.MethodDelete, x.at(o), nil).Want(http.StatusNotFound) })
}

// refers reports whether a field names another object.
func (x *trial) refers(name string) bool { return x.k.Column(name).Ref != "" }

// references to a missing object and to another tenant's object are refused in the same way.
func (x *trial) references() {
	refs := slices.Concat(x.k.Refs, x.k.OwnerRefs)
	if len(refs) == 0 {
		return
	}
	foreign, own := x.make(x.b, nil), x.make(x.a, nil)
	for _, column := range refs {
		name := column.Name
		value, _ := foreign[name].(string)
		if value == "" {
			continue
		}
		for method, path := range map[string]string{http.MethodPost: x.fresh(), http.MethodPut: x.at(own)} {
			got := x.a.Do(method, path, x.minimal(x.a, Object{name: value})).Want(http.StatusBadRequest).Says("was not found")
			like := x.a.Do(method, path, x.minimal(x.a, Object{name: "nobody-has-this"})).Want(http.StatusBadRequest)
			if !alike(got.Body, value, like.Body, "nobody-has-this") {
				x.Errorf("of another tenant's: %s; of nobody's: %s", got.Body, like.Body)
			}
		}
	}
	x.same("refused references", x.a.Get(x.at(own)).Object(), own)
	if len(x.k.OwnerRefs) > 0 { // created from above with a tenant's owner, it is the tenant's
		if o := x.top.Create(x.fresh(), x.minimal(x.a, nil)); o["tenant_uuid"] != x.a.Tenant {
			x.Errorf("it is of %v, and what it refers to of %v", o["tenant_uuid"], x.a.Tenant)
		}
	}
}
