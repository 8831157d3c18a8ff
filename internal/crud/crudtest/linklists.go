package crudtest

import (
	"net/http"
	"slices"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// lists tries the lists that replace all links of an object of the collection.
func (x *trial) lists() {
	for _, l := range x.Described.Links {
		link := &linkTrial{trial: x, l: l, left: x.of(l.Left.Path), right: x.of(l.Right.Path), rules: x.Resources[l.Left.Path].Links[l.Path]}
		if l.Left.Set != nil && len(l.Only) > 0 && l.Left.Entity == x.k {
			link.list(l.Left, x, link.right)
		}
		if l.Right.Set != nil && len(l.Only) > 0 && l.Right.Entity == x.k {
			link.list(l.Right, x, link.left)
		}
	}
}

func (x *linkTrial) list(s *crud.DeclaredSide, near, far *trial) {
	d, ordered := s.Set, s.Position != ""
	one := near.make(x.a, nil)
	path := near.at(one) + "/" + d.Path
	fresh := func(c *Client, near Object) Object {
		o := far.make(c, nil)
		if s == x.l.Right {
			x.ready(c, o, near)
		} else {
			x.ready(c, near, o)
		}
		return o
	}
	objects := []Object{fresh(x.a, one), fresh(x.a, one), fresh(x.a, one)}
	by := d.By[0]
	body := func(objects ...Object) Object {
		items := []any{}
		for _, o := range objects {
			items = append(items, Object{by: o[by]})
		}
		return Object{d.Field: items}
	}
	put := func(objects ...Object) {
		x.Helper()
		x.a.Do(http.MethodPut, path, body(objects...)).Want(http.StatusNoContent).Empty()
	}
	keys := func(objects ...Object) []string { return resttest.List{Items: objects}.Column(by) }
	is := func(what string, want ...Object) {
		x.Helper()
		got, expected := x.listed(x.a.Get(near.at(one)).Object(), by, keys(objects...)), keys(want...)
		if !ordered {
			slices.Sort(got)
			slices.Sort(expected)
		}
		if !slices.Equal(got, expected) {
			x.Errorf("%s: %s shows %v, want %v", what, path, got, expected)
		}
	}
	first, second, third := objects[0], objects[1], objects[2]
	some := asManyAs(s.Has)
	if s.Has == crud.AtMostOne {
		x.audits(0, "two", func() { x.a.Do(http.MethodPut, path, body(second, third)).Want(http.StatusBadRequest) })
		put(third)
		is("one", third)
	} else if ordered {
		x.audits(1, "a list", func() { put(third, first, second) })
		is("a list", third, first, second)
		x.audits(0, "the same list", func() { put(third, first, second) })
		x.audits(1, "another order", func() { put(first, third, second) })
		is("another order", first, third, second)
	}
	put(some(first, second)...)
	is("a shorter list", some(first, second)...)
	foreign := fresh(x.b, near.make(x.b, nil))
	nobody := Object{by: map[bool]any{true: 999999999, false: "00000000-0000-4000-8000-000000000000"}[by == "id"]}
	x.audits(0, "refused lists", func() {
		if d.Repeated != "" || s.Has == crud.AtMostOne {
			x.a.Do(http.MethodPut, path, body(third, third)).Want(http.StatusBadRequest).Says("")
		}
		got := x.a.Do(http.MethodPut, path, body(some(third, foreign)...)).Want(http.StatusBadRequest).Says("was not found")
		like := x.a.Do(http.MethodPut, path, body(some(third, nobody)...)).Want(http.StatusBadRequest)
		if !alike(got.Body, foreign.Text(by), like.Body, nobody.Text(by)) {
			x.Errorf("another tenant's in a list: %s; nobody's: %s", got.Body, like.Body)
		}
		if !x.l.GivesRights {
			x.top.Do(http.MethodPut, path, body(some(third, foreign)...)).Want(http.StatusBadRequest).Says("different tenants")
		}
		x.b.Do(http.MethodPut, path, body(foreign)).Want(http.StatusNotFound)
		x.b.Do(http.MethodPut, path, body()).Want(http.StatusNotFound)
		for _, bad := range []any{
			Object{},
			Object{d.Field: nil},
			Object{d.Field: Object{}},
			Object{d.Field: "x"},
			Object{d.Field: []any{nil}},
			Object{d.Field: []any{1}},
			Object{d.Field: []any{Object{}}},
			Object{d.Field: []any{Object{by: nil}}},
			Object{d.Field: []any{Object{by: []any{}}}},
			Object{d.Field: []any{Object{by: 1.5}}},
			Object{d.Field: []any{Object{by: true}}},
			"null", "[]", "{",
		} {
			x.a.Do(http.MethodPut, path, bad).Want(http.StatusBadRequest)
		}
	})
	is("refused lists", some(first, second)...)
	stale := x.a.Get(near.at(one)).Want(http.StatusOK).Header.Get("ETag")
	x.a.Do(http.MethodPut, path, body(some(second, third)...), resttest.IfMatch(stale)).Want(http.StatusNoContent)
	x.audits(0, "a list for an object that has changed since it was read", func() {
		for _, tag := range []string{stale, `"x"`} {
			x.a.Do(http.MethodPut, path, body(first), resttest.IfMatch(tag)).Want(http.StatusPreconditionFailed)
		}
		x.a.Do(http.MethodPut, path, body(first), resttest.IfMatch("x")).Want(http.StatusBadRequest)
	})
	is("a list for an object that has changed since it was read", some(second, third)...)
	if d.Repeated == "" && s.Has != crud.AtMostOne {
		put(third, third)
		is("one twice", third)
	}
	put()
	is("an empty list")
	x.audits(0, "an empty list again", func() { put() })
}

// asManyAs returns a function that returns as many objects, the last ones, as there may be.
func asManyAs(most crud.Count) func(all ...Object) []Object {
	return func(all ...Object) []Object {
		if most == crud.AtMostOne {
			return all[len(all)-1:]
		}
		return all
	}
}

// listed are, of the lists that an object shows, the keys in that one which has any of these objects.
func (x *trial) listed(o Object, by string, among []string) []string {
	for _, value := range o {
		if inner, ok := value.(map[string]any); ok {
			if keys := x.listed(inner, by, among); len(keys) > 0 {
				return keys
			}
		}
		items, _ := value.([]any)
		var keys []string
		for _, item := range items {
			if item, ok := item.(map[string]any); ok && item["href"] == nil && slices.Contains(among, Object(item).Text(by)) {
				keys = append(keys, Object(item).Text(by))
			}
		}
		if len(keys) > 0 {
			return keys
		}
	}
	return []string{}
}
