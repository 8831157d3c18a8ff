package crudtest

import "net/http"

// children tests the lists of the objects of the collection that belong to another object.
func (x *trial) children() {
	for _, d := range x.Described.Children {
		if d.Child != x.k.Path {
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
	me := *x.a.Principal
	me.UserUUID = user
	caller := *x.a.Client
	caller.Principal = &me
	if l := caller.Get(path).List(); l.Total != 1 || len(l.Items) != 1 || x.name(l.Items[0]) != x.name(own) {
		x.Errorf("%s: %v, want %v", path, l.Items, own)
	}
	x.a.Get(path).Want(http.StatusNotFound) // the caller is no user of the service
}
