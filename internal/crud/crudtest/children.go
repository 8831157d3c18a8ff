package crudtest

import (
	"fmt"
	"net/http"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// children tests the lists of the objects of the collection that belong to another object.
func (x *trial) children() {
	for _, d := range x.Described.Children {
		if d.Child != x.k.Path {
			continue
		}
		if len(d.Only) > 0 {
			x.below(d)
		}
		if !x.can("list") {
			continue
		}
		own, other := x.make(x.a, nil), x.make(x.a, nil)
		parents := "/" + d.Parent + "/"
		path := parents + own.Text(d.Column) + "/" + d.Path
		if parents+other.Text(d.Column)+"/"+d.Path == path {
			x.Errorf("two %s have one of %s", d.Child, d.Parent)
		}
		if l := x.a.Get(path).List(); l.Total != 1 || len(l.Items) != 1 || x.name(l.Items[0]) != x.name(own) {
			x.Errorf("%s: %v, want %v", path, l.Items, own)
		}
		x.a.Get(path + "?limit=0").Want(http.StatusBadRequest)
		x.b.Get(path).Want(http.StatusNotFound)
		x.a1.Get(path).Want(http.StatusNotFound)
		unknown := x.of(d.Parent)
		x.a.Get(parents + unknown.unknownKey(unknown.k.Keys[0], own.Text(d.Column)) + "/" + d.Path).Want(http.StatusNotFound)
		if d.Me {
			x.mine(parents+"me/"+d.Path, own, own.Text(d.Column))
		}
	}
}

// mine tests the list of the caller's own objects.
func (x *trial) mine(path string, own Object, user string) {
	x.Helper()
	caller := x.as(user)
	if l := caller.Get(path).List(); l.Total != 1 || len(l.Items) != 1 || x.name(l.Items[0]) != x.name(own) {
		x.Errorf("%s: %v, want %v", path, l.Items, own)
	}
	x.a.Get(path).Want(http.StatusNotFound) // the caller is no user of the service
}

// as returns a client who is a user of the tenant.
func (x *trial) as(user string) *resttest.Client {
	me := *x.a.Principal
	me.UserUUID = user
	caller := *x.a.Client
	caller.Principal = &me
	return &caller
}

// below tests that clients make, read, change and delete objects below the one to which they belong, and there alone.
func (x *trial) below(d crud.DescribedChildren) {
	x.Helper()
	of := x.of(d.Parent)
	place := func() (c *resttest.Client, path string) {
		o := of.make(x.a, nil)
		if d.Me {
			return x.as(o.Text("uuid")), "/" + d.Parent + "/me/" + d.Path
		}
		return x.a.Client, of.at(o) + "/" + d.Path
	}
	own, path := place()
	other, elsewhere := place()
	to := path
	if x.named() {
		to += fmt.Sprint("/new-", x.next())
	}
	body := x.minimal(x.a, x.values())
	own.Do(http.MethodPost, to, "[]").Want(http.StatusBadRequest)
	made := own.Do(http.MethodPost, to, body).Want(x.Described.Style.CreateStatus)
	own.Do(http.MethodPost, to, body).Want(int(x.Described.Style.Duplicate)).Says("already exists")
	o := made.Object()
	at := path + "/" + o.Text(x.k.Keys[0])
	if got := made.Header.Get("Location"); got != x.Described.Prefix+at {
		x.Errorf("it is at %s, want %s", got, at)
	}
	x.same("what was made", own.Get(at).Want(http.StatusOK).Object(), o)
	if l := own.Get(path).List(); l.Total != 1 || len(l.Items) != 1 || x.name(l.Items[0]) != x.name(o) {
		x.Errorf("%s: %v, want %v", path, l.Items, o)
	}
	if l := other.Get(elsewhere).List(); l.Total != 0 || len(l.Items) != 0 {
		x.Errorf("another's are %v", l.Items)
	}
	own.Get(path + "?limit=0").Want(http.StatusBadRequest)
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		for _, body := range []any{Object{}, "["} { // the path is refused first
			other.Do(method, elsewhere+"/"+o.Text(x.k.Keys[0]), body).Want(http.StatusNotFound)
		}
		if !d.Me {
			x.b.Do(method, at, Object{}).Want(http.StatusNotFound)
		}
	}
	x.same("refused changes", own.Get(at).Object(), o)
	own.Do(http.MethodPut, at, "[").Want(http.StatusBadRequest)
	own.Do(http.MethodPut, at, Object{}, resttest.IfMatch(`"x"`)).Want(http.StatusPreconditionFailed)
	own.Do(http.MethodPut, at, x.values(), resttest.IfMatch(made.Header.Get("ETag"))).Want(http.StatusNoContent)
	own.Do(http.MethodDelete, at, nil, resttest.IfMatch(made.Header.Get("ETag"))).Want(http.StatusPreconditionFailed)
	own.Do(http.MethodDelete, at, nil).Want(http.StatusNoContent)
	own.Do(http.MethodDelete, at, nil).Want(http.StatusNotFound)
}
