package crudtest

import (
	"maps"
	"net/http"
	"sync"

	"github.com/ringfence/ringfence/internal/rest/resttest"
)

func (x *documentTrial) versions() {
	x.set(x.own, nil)
	stale := x.own.Get(x.path).Header.Get("ETag")
	x.put(x.own, x.minimal(x.own, nil), resttest.IfMatch(stale))
	fresh := x.own.Get(x.path)
	body := x.minimal(x.own, nil)
	for _, tag := range []string{stale, `"x"`, "W/" + fresh.Header.Get("ETag"), `"a", "b"`} {
		x.own.Do(http.MethodPut, x.path, body, resttest.IfMatch(tag)).Want(http.StatusPreconditionFailed)
		if x.can("delete") {
			x.own.Do(http.MethodDelete, x.path, nil, resttest.IfMatch(tag)).Want(http.StatusPreconditionFailed)
		}
	}
	x.own.Do(http.MethodPut, x.path, body, resttest.IfMatch("garbage")).Want(http.StatusBadRequest)
	if after := x.own.Get(x.path); after.Body != fresh.Body {
		x.Errorf("refused changes changed it from %s to %s", fresh.Body, after.Body)
	}
	x.own.Get(x.path, resttest.Header("If-None-Match", fresh.Header.Get("ETag"))).Want(http.StatusNotModified).Empty()
	x.own.Get(x.path, resttest.Header("If-None-Match", stale)).Want(http.StatusOK)
	x.put(x.own, body, resttest.IfMatch("*"))
	if x.can("delete") {
		x.own.Do(http.MethodDelete, x.path, nil, resttest.IfMatch(x.own.Get(x.path).Header.Get("ETag"))).Want(http.StatusNoContent)
	}
}

// atOnce: of clients that create the document at once all succeed if a PUT creates it, otherwise one; of those that change what
// they have read, one.
func (x *documentTrial) atOnce() {
	method, want := http.MethodPost, map[int]int{x.d.Operations["create"].Success: 1, int(x.Described.Style.Duplicate): atOnce - 1}
	if x.d.Blank {
		method, want = http.MethodPut, map[int]int{x.d.Operations["update"].Success: atOnce}
	}
	if got := x.together(method); !maps.Equal(got, want) {
		x.Errorf("made at once: %v, want %v", got, want)
	}
	if x.stored() != 1 {
		x.Errorf("%d are stored", x.stored())
	}
	tag := x.own.Get(x.path).Header.Get("ETag")
	want = map[int]int{x.d.Operations["update"].Success: 1, http.StatusPreconditionFailed: atOnce - 1}
	if got := x.together(http.MethodPut, resttest.IfMatch(tag)); !maps.Equal(got, want) {
		x.Errorf("changed at once: %v, want %v", got, want)
	}
}

// atOnce is how many documents are sent at once.
const atOnce = 4

// together sends documents at once, and counts the statuses.
func (x *documentTrial) together(method string, edits ...resttest.Edit) map[int]int {
	statuses := make([]int, atOnce)
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
