package crudtest

import (
	"net/http"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/target"
)

// coverage is a service that remembers which of its operations have succeeded, and which have refused something.
type coverage struct {
	*rest.Service

	mu                 sync.Mutex
	succeeded, refused map[string]bool // by method and path template
}

func cover(s *rest.Service) *coverage {
	return &coverage{Service: s, succeeded: map[string]bool{}, refused: map[string]bool{}}
}

func (c *coverage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
	c.Service.ServeHTTP(answer, r)
	asked, err := target.Parse(r.RequestURI)
	if err != nil {
		return
	}
	m, _ := c.Match(r.Method, &asked)
	if m.Op == nil || r.Method != m.Op.Method { // HEAD is no operation
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch name := operationName(m.Op); {
	case answer.status < http.StatusMultipleChoices:
		c.succeeded[name] = true
	case answer.status >= http.StatusBadRequest && answer.status < http.StatusInternalServerError:
		c.refused[name] = true
	}
}

// missing returns what no check has done with an operation: "GET /users has not succeeded".
func (c *coverage) missing(d crud.Described) []string {
	var out []string
	for i := range d.Operations {
		name := operationName(&d.Operations[i])
		if !c.succeeded[name] {
			out = append(out, name+" has not succeeded")
		}
		if !c.refused[name] {
			out = append(out, name+" has not refused anything")
		}
	}
	return out
}

func operationName(op *rest.Operation) string { return op.Method + " " + op.Path }

// everyOperation fails the test if an operation that a declaration gives was not tested: a collection, a link, a list, a part, a
// document or children that no check reaches.
func (w *world) everyOperation(t *testing.T) {
	for _, missing := range w.coverage.missing(w.Described) {
		t.Error(missing)
	}
}

// statusRecorder remembers the status of a response.
type statusRecorder struct {
	http.ResponseWriter

	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}
