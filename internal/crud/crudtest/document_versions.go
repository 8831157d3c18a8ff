package crudtest

import (
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
	if then := x.together(http.MethodPut, resttest.IfMatch(tag)); then[changed] != 1 || then[http.StatusPreconditionFailed] != 3 {
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
