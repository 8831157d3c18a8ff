package crudtest

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// parts tries the parts of the collection's objects.
func (x *trial) parts() {
	for _, part := range x.Described.Parts {
		switch {
		case part.Of != x.k.Path:
		case len(part.Only) == 0 || slices.Contains(part.Only, "read"):
			x.part(part)
		default:
			x.unreadPart(part)
		}
	}
}

// unreadPart tests a part that clients read with the object alone.
func (x *trial) unreadPart(d crud.DescribedPart) {
	o := x.make(x.a, nil)
	path, change := x.at(o)+"/"+d.Path, x.r.Parts[d.Path]
	if len(change) == 0 {
		x.Fatalf("the suite has no change of %s", path)
	}
	refused := func() {
		for what, body := range badTexts {
			if got := x.a.Do(http.MethodPut, path, body); got.Status != http.StatusBadRequest {
				x.Errorf("%s %s: %d %s", path, what, got.Status, got.Body)
			}
		}
		for i := range d.Schema.Properties {
			if p := &d.Schema.Properties[i]; !p.ReadOnly {
				x.badPart(path, p)
			}
		}
		x.b.Do(http.MethodPut, path, change).Want(http.StatusNotFound)
		x.a.Do(http.MethodPut, x.all()+"/"+x.unknownKey(x.k.Keys[0], o.Text(x.k.Keys[0]))+"/"+d.Path, change).Want(http.StatusNotFound)
		x.a.Do(http.MethodPut, path, change, resttest.IfMatch(`"x"`)).Want(http.StatusPreconditionFailed)
	}
	x.audits(0, "refused changes of "+d.Path, refused)
	x.same("refused changes of "+d.Path, x.a.Get(x.at(o)).Object(), o)
	put := func() { x.a.Do(http.MethodPut, path, change).Want(http.StatusNoContent).Empty() }
	x.audits(1, "a change of "+d.Path, put)
	changed := x.a.Get(x.at(o)).Want(http.StatusOK)
	if reflect.DeepEqual(changed.Object(), o) {
		x.Errorf("the object does not show a change of %s: %s", d.Path, changed.Body)
	}
	x.audits(0, "the same change of "+d.Path, put)
	x.audits(0, "refused changes of "+d.Path, refused)
	if after := x.a.Get(x.at(o)); after.Body != changed.Body {
		x.Errorf("refused changes of %s: %s became %s", d.Path, changed.Body, after.Body)
	}
}

func (x *trial) part(d crud.DescribedPart) {
	o := x.make(x.a, nil)
	path := x.at(o) + "/" + d.Path
	read := x.a.Get(path).Want(http.StatusOK)
	before, tag := read.Object(), read.Header.Get("ETag")
	for _, key := range x.k.Keys {
		if other := x.a.Get(x.one(o, key) + "/" + d.Path).Want(http.StatusOK); other.Body != read.Body {
			x.Errorf("%s by %s is %s", path, key, other.Body)
		}
	}
	if shown := x.a.Get(x.at(o)).Object(); shown[d.Path] != nil && !shown.Same(d.Path, before) {
		x.Errorf("the object shows %v for %v", shown[d.Path], before)
	}
	x.audits(0, "the same "+d.Path, func() {
		for _, body := range []any{Object{}, before, Object{"no_such_attribute": 1}} {
			x.a.Do(http.MethodPut, path, body).Want(http.StatusNoContent).Empty()
		}
	})
	x.a.Do(http.MethodPut, path, Object{}, resttest.IfMatch(tag)).Want(http.StatusNoContent)
	x.a.Do(http.MethodPut, path, Object{}, resttest.IfMatch(`"x"`)).Want(http.StatusPreconditionFailed)
	x.a.Get(path, resttest.Header("If-None-Match", tag)).Want(http.StatusNotModified)
	paths := map[string]any{path: before} // with what was read
	for i := range d.Schema.Properties {
		p := &d.Schema.Properties[i]
		if _, there := before[p.Name]; !there {
			x.Errorf("%s has no %s", path, p.Name)
		}
		x.badPart(path, p)
		if d.Named {
			named := path + "/" + p.Name
			paths[named] = before[p.Name]
			if got := x.a.Get(named).Want(http.StatusOK).Object(); !before.Same(p.Name, got) {
				x.Errorf("%s is %v, and %v of the whole", named, got, before[p.Name])
			}
			tag := x.a.Get(named).Header.Get("ETag")
			x.a.Do(http.MethodPut, named, before[p.Name], resttest.IfMatch(tag)).Want(http.StatusNoContent)
			x.a.Do(http.MethodPut, named, before[p.Name], resttest.IfMatch(read.Header.Get("ETag"))).Want(http.StatusPreconditionFailed) // the whole's
			x.audits(0, "the same "+named, func() { x.a.Do(http.MethodPut, named, before[p.Name]).Want(http.StatusNoContent).Empty() })
		}
	}
	for path, read := range paths {
		for what, body := range badTexts {
			if got := x.a.Do(http.MethodPut, path, body); got.Status != http.StatusBadRequest {
				x.Errorf("%s %s: %d %s", path, what, got.Status, got.Body)
			}
		}
		x.b.Get(path).Want(http.StatusNotFound)
		x.b.Do(http.MethodPut, path, read).Want(http.StatusNotFound)
		nowhere := strings.Replace(path, x.at(o), x.all()+"/999999999", 1)
		x.a.Get(nowhere).Want(http.StatusNotFound)
		x.a.Do(http.MethodPut, nowhere, read).Want(http.StatusNotFound)
	}
	x.same("refused changes of "+d.Path, x.a.Get(path).Object(), before)
	x.changePart(d, path, before)
}

// badPart: a property of a part takes no value that its schema does not let through.
func (x *trial) badPart(path string, p *rest.Property) {
	x.Helper()
	for _, value := range wrong(p.Schema) {
		if got := x.a.Do(http.MethodPut, path, `{"`+p.Name+`":`+value+`}`); got.Status != http.StatusBadRequest {
			x.Errorf("%s.%s = %.80s: %d %s", path, p.Name, value, got.Status, got.Body)
		}
	}
}

// changePart changes a part as a whole and, where that is so, by the names of its properties.
func (x *trial) changePart(d crud.DescribedPart, path string, before Object) {
	change := x.r.Parts[d.Path]
	if len(change) == 0 {
		x.Errorf("the suite has no change of %s", path)
	}
	is := func(what string, want Object) {
		x.Helper()
		after := x.a.Get(path).Want(http.StatusOK).Object()
		for name, value := range want {
			if !after.Same(name, value) {
				x.Errorf("%s: %s of %s is %v, want %v", what, name, path, after[name], value)
			}
		}
	}
	changed := maps.Clone(before)
	maps.Copy(changed, change)
	put := func(path string, body any) { x.a.Do(http.MethodPut, path, body).Want(http.StatusNoContent).Empty() }
	x.audits(1, "a change of "+d.Path, func() { put(path, change) })
	is("a change", changed)
	x.audits(0, "the same change of "+d.Path, func() { put(path, change) })
	put(path, Object{})
	if d.Replaces {
		is("nothing for the whole", before)
		return
	}
	is("nothing", changed)
	if !d.Named {
		return
	}
	x.a.Get(path + "/nothing").Want(http.StatusNotFound)
	x.a.Do(http.MethodPut, path+"/nothing", before[d.Schema.Properties[0].Name]).Want(http.StatusNotFound)
	x.a.Do(http.MethodPut, path+"/nothing", before[d.Schema.Properties[0].Name], resttest.IfMatch(`"x"`)).Want(http.StatusNotFound)
	for name := range change {
		put(path+"/"+name, before[name])
	}
	is("by name", before)
}
