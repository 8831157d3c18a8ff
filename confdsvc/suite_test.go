package confdsvc_test

import (
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// samples say how to create an object of each collection, by the collection's path. The test file of a resource adds its own.
var samples = map[string]crudtest.Resource{}

// documentSamples do the same for documents.
var documentSamples = map[string]crudtest.Document{}

// TestResources tests every resource by its declaration.
func TestResources(t *testing.T) {
	crudtest.Suite{
		Described: confdsvc.Described(), Access: "confd.#",
		Mount: func(tb testing.TB, db store.DB) *rest.Service {
			tb.Helper()
			svc, err := confdsvc.New(confdsvc.Options{DB: db})
			if err != nil {
				tb.Fatal(err)
			}
			return svc
		},
		Resources: samples, Documents: documentSamples,
	}.Run(t)
}
