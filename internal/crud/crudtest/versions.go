package crudtest

import (
	"net/http"
	"sync"

	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// change is a field and a value that a new object does not have there.
func (x *trial) change(o Object) Object {
	for _, p := range x.writable() {
		if x.refers(p.Name) || p.WriteOnly || p.Schema.Type == "" {
			continue
		}
		if value := x.another(p, o[p.Name]); !o.Same(p.Name, value) {
			return Object{p.Name: value}
		}
	}
	x.Fatal("no field of it can be changed")
	return nil
}

func (x *trial) versions() {
	o := x.make(x.a, nil)
	path, change := x.at(o), x.change(o)
	stale := x.a.Get(path).Header.Get("ETag")
	x.put(x.a, path, change, resttest.IfMatch(stale))
	fresh := x.a.Get(path)
	for _, tag := range []string{stale, `"x"`, "W/" + fresh.Header.Get("ETag"), `"a", "b"`} {
		for name := range change {
			x.a.Do(http.MethodPut, path, Object{name: o[name]}, resttest.IfMatch(tag)).Want(http.StatusPreconditionFailed)
		}
		if x.can("delete") {
			x.a.Do(http.MethodDelete, path, nil, resttest.IfMatch(tag)).Want(http.StatusPreconditionFailed)
		}
	}
	x.a.Do(http.MethodPut, path, Object{}, resttest.IfMatch("garbage")).Want(http.StatusBadRequest)
	if after := x.a.Get(path); after.Body != fresh.Body {
		x.Errorf("refused updates changed it from %s to %s", fresh.Body, after.Body)
	}
	x.a.Get(path, resttest.Header("If-None-Match", fresh.Header.Get("ETag"))).Want(http.StatusNotModified).Empty()
	x.a.Get(path, resttest.Header("If-None-Match", stale)).Want(http.StatusOK)
	x.put(x.a, path, Object{}, resttest.IfMatch("*"))
	x.put(x.a, path, Object{}, resttest.IfMatch(`"x", `+fresh.Header.Get("ETag")))
	if x.can("delete") {
		x.a.Do(http.MethodDelete, path, nil, resttest.IfMatch(fresh.Header.Get("ETag"))).Want(http.StatusNoContent)
		x.a.Do(http.MethodDelete, path, nil, resttest.IfMatch("*")).Want(http.StatusNotFound)
	}
}

// atOnce: of clients that read the same state and change it at once, one wins; unconditional changes of different fields are all
// kept.
func (x *trial) atOnce() {
	o := x.make(x.a, nil)
	path, change := x.at(o), x.change(o)
	statuses := make([]int, 4)
	tag := x.a.Get(path).Header.Get("ETag")
	var all sync.WaitGroup
	for n := range statuses {
		all.Go(func() { statuses[n] = x.a.Do(http.MethodPut, path, change, resttest.IfMatch(tag)).Status })
	}
	all.Wait()
	won := 0
	for _, status := range statuses {
		if status < http.StatusMultipleChoices {
			won++
		} else if status != http.StatusPreconditionFailed {
			x.Fatalf("statuses %v", statuses)
		}
	}
	if won != 1 {
		x.Errorf("statuses %v", statuses)
	}
	changes := Object{}
	before := x.a.Get(path).Object()
	for _, p := range x.writable() {
		if p.Schema.Type == "boolean" && !p.WriteOnly && len(changes) < 4 && len(x.r.Follow[p.Name]) == 0 {
			changes[p.Name] = before[p.Name] != true
		}
	}
	for name, value := range changes {
		all.Go(func() {
			if got := x.a.Do(http.MethodPut, path, Object{name: value}); got.Status >= http.StatusMultipleChoices {
				x.Errorf("%s: %d %s", name, got.Status, got.Body)
			}
		})
	}
	all.Wait()
	after := x.a.Get(path).Object()
	for name, value := range changes {
		if after[name] != value {
			x.Errorf("%s is %v, want %v", name, after[name], value)
		}
	}
}
