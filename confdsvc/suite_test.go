package confdsvc_test

import (
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// samples say how to create an object of each collection, by the collection's path. The test file of a resource adds its own.
var samples = map[string]crudtest.Resource{}

// documentSamples do the same for documents.
var documentSamples = map[string]crudtest.Document{}

// simple are bodies that make an object of a collection, by its path, for tests that need one of each kind: those that need nothing else.
var simple = map[string]simpleKind{}

type simpleKind struct {
	param string
	body  object
}

// makeSimple makes one object of each simple kind, and returns their keys by the parameters of paths.
func makeSimple(c *resttest.Client) map[string]string {
	keys := map[string]string{}
	for path, of := range simple {
		keys[of.param] = c.Create("/"+path, of.body).Text(of.param[strings.LastIndexByte(of.param, '_')+1:])
	}
	return keys
}

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
