package resttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/target"
)

// conform fails the test if a response of the service is not one that the service's definition declares: its status, its media
// type, and its body, which may have no field that is not declared either.
func conform(tb testing.TB, service *rest.Service, r *http.Request, answer *Answer) {
	tb.Helper()
	t, err := target.Parse(r.RequestURI)
	if err != nil {
		return
	}
	m, ok := service.Match(r.Method, &t)
	if !ok || m.Op == nil {
		return
	}
	op := definitionOf(tb, service).Paths.Value(m.Op.Path).GetOperation(m.Op.Method)
	if err := declared(op, r, answer); err != nil {
		tb.Errorf("%s: the definition of %s does not have the response %d: %v\n%.2000s", answer.Asked, op.OperationID, answer.Status, err, answer.Body)
	}
}

// statusClientGone is the status of a response that nobody is there to read.
const statusClientGone = 499

// declared returns why an operation has not declared a response.
func declared(op *openapi3.Operation, r *http.Request, answer *Answer) error {
	response := op.Responses.Value(strconv.Itoa(answer.Status))
	switch {
	case answer.Status == statusClientGone:
		return nil
	case response == nil:
		return errors.New("it has no such status")
	case answer.Body == "" && (r.Method == http.MethodHead || answer.Status/100 == 3 || len(response.Value.Content) == 0):
		return nil
	case len(response.Value.Content) == 0:
		return errors.New("it has no body")
	}
	kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	content := response.Value.Content[answer.Header.Get("Content-Type")]
	if content == nil {
		content = response.Value.Content[kind]
	}
	if content == nil {
		return fmt.Errorf("it is no %s", kind)
	}
	if kind != "application/json" || content.Schema == nil {
		return nil
	}
	var body any
	if err := json.Unmarshal([]byte(answer.Body), &body); err != nil {
		return err
	}
	if query, err := url.ParseQuery(r.URL.RawQuery); err == nil && (query.Has("fields") || query.Has("view")) {
		return nil // a part of what is declared, by the client's own choice
	}
	return content.Schema.Value.VisitJSON(body, openapi3.VisitAsResponse())
}

// definitions are the definitions of the services, read once for each set of operations: to write and to read one takes longer than
// most tests.
var definitions sync.Map // from the operations' IDs to func() (*openapi3.T, error)

func definitionOf(tb testing.TB, service *rest.Service) *openapi3.T {
	tb.Helper()
	key := make([]string, 0, 2*len(service.Operations)+1)
	key = append(key, service.Prefix)
	for i := range service.Operations {
		op := &service.Operations[i]
		key = append(key, op.ID)
		if op.Reply != nil {
			key = append(key, strconv.Itoa(len(op.Reply.Properties)))
		}
	}
	read := sync.OnceValues(func() (*openapi3.T, error) { return strictly(service.Definition()) })
	if len(service.Operations) > 15 { // a service of ours; those that tests make for themselves differ otherwise
		shared, _ := definitions.LoadOrStore(strings.Join(key, " "), read)
		read = shared.(func() (*openapi3.T, error))
	}
	doc, err := read()
	if err != nil {
		tb.Fatalf("the definition of %s: %v", service.Name, err)
	}
	return doc
}

// strictly reads a definition, and closes its objects to fields that it does not declare.
func strictly(definition []byte) (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(definition)
	if err != nil {
		return nil, err
	}
	seen := map[*openapi3.Schema]bool{}
	for _, s := range doc.Components.Schemas {
		closeObjects(s.Value, seen)
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, response := range op.Responses.Map() {
				for _, content := range response.Value.Content {
					if content.Schema != nil {
						closeObjects(content.Schema.Value, seen)
					}
				}
			}
		}
	}
	return doc, nil
}

func closeObjects(s *openapi3.Schema, seen map[*openapi3.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	if len(s.Properties) > 0 && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
		closed := false
		s.AdditionalProperties.Has = &closed
	}
	for _, p := range s.Properties {
		closeObjects(p.Value, seen)
	}
	for _, of := range slices.Concat(s.AllOf, s.OneOf, s.AnyOf, openapi3.SchemaRefs{s.Items, s.AdditionalProperties.Schema}) {
		if of != nil {
			closeObjects(of.Value, seen)
		}
	}
}
