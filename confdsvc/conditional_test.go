package confdsvc_test

import (
	"net/http"
	"sync"
	"testing"
)

func TestIfMatch(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		c := w.as(t, "a")
		o := c.create(k.path, k.minimal(1))
		path := k.one(o, "id")
		stale := c.get(path).header.Get("ETag")
		c.do(http.MethodPut, path, object{k.text: "second"}, header("If-Match", stale)).want(http.StatusNoContent)
		for _, tag := range []string{stale, `"x"`, "W/" + c.get(path).header.Get("ETag"), `"a", "b"`} {
			c.do(http.MethodPut, path, object{k.text: "third"}, header("If-Match", tag)).want(http.StatusPreconditionFailed)
			c.do(http.MethodDelete, path, nil, header("If-Match", tag)).want(http.StatusPreconditionFailed)
		}
		c.do(http.MethodPut, path, object{}, header("If-Match", "garbage")).want(http.StatusBadRequest)
		fresh := c.get(path)
		if fresh.object()[k.text] != "second" {
			t.Errorf("a refused update changed it: %s", fresh.body)
		}
		c.get(path, header("If-None-Match", fresh.header.Get("ETag"))).want(http.StatusNotModified).empty()
		c.get(path, header("If-None-Match", stale)).want(http.StatusOK)
		c.do(http.MethodPut, path, object{k.text: "third"}, header("If-Match", "*")).want(http.StatusNoContent)
		c.do(http.MethodPut, path, object{}, header("If-Match", `"x", `+c.get(path).header.Get("ETag"))).want(http.StatusNoContent)
		c.do(http.MethodDelete, path, nil, header("If-Match", c.get(path).header.Get("ETag"))).want(http.StatusNoContent)
		c.do(http.MethodDelete, path, nil, header("If-Match", "*")).want(http.StatusNotFound)
	})
}

// Of those who read the same state and change it at once, one wins.
func TestConcurrentUpdates(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		c := w.as(t, "a")
		path := k.one(c.create(k.path, k.minimal(1)), "id")
		for round := range 5 {
			tag := c.get(path).header.Get("ETag")
			texts := []string{"one", "two", "three", "four"}
			statuses := make([]int, len(texts))
			var all sync.WaitGroup
			for n, text := range texts {
				all.Go(func() {
					statuses[n] = c.do(http.MethodPut, path, object{k.text: text + string(rune('a'+round))}, header("If-Match", tag)).status
				})
			}
			all.Wait()
			won := -1
			for n, status := range statuses {
				switch {
				case status == http.StatusNoContent && won < 0:
					won = n
				case status != http.StatusPreconditionFailed:
					t.Fatalf("round %d: %v", round, statuses)
				}
			}
			if won < 0 || c.get(path).object()[k.text] != texts[won]+string(rune('a'+round)) {
				t.Fatalf("round %d: %v, and it is %s", round, statuses, c.get(path).body)
			}
		}
	})
}

// Unconditional updates of different attributes at the same time are all kept.
func TestConcurrentPartialUpdates(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		c := w.as(t, "a")
		path := k.one(c.create(k.path, k.minimal(1)), "id")
		changes := []object{{k.text: "text"}, {k.nullable: "null@example.org"}, {"language": "fr_FR"}, {"timezone": "Europe/Paris"}, {"enabled": false}}
		var all sync.WaitGroup
		for _, change := range changes {
			all.Go(func() {
				if got := c.do(http.MethodPut, path, change); got.status != http.StatusNoContent {
					t.Errorf("%v: %d %s", change, got.status, got.body)
				}
			})
		}
		all.Wait()
		o := c.get(path).object()
		for _, change := range changes {
			for name, value := range change {
				if o[name] != value {
					t.Errorf("%s is %v, want %v", name, o[name], value)
				}
			}
		}
	})
}
