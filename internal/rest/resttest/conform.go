package resttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
func (c *Client) conform(r *http.Request, answer *Answer) {
	c.T.Helper()
	t, err := target.Parse(r.RequestURI)
	if err != nil {
		return
	}
	m, ok := c.service.Match(r.Method, &t)
	if !ok || m.Op == nil {
		return
	}
	d, err := c.definition()
	if err != nil {
		c.T.Fatalf("the definition of %s: %v", c.service.Name, err)
	}
	d.check(c.T, m.Op.Path, r, answer)
}

// declaration is a service's definition, as a test reads it: its objects have no fields that it does not declare.
type declaration struct{ *openapi3.T }

// check fails the test if the operation at a path of the definition does not have the response.
func (d *declaration) check(tb testing.TB, path string, r *http.Request, answer *Answer) {
	tb.Helper()
	query, _ := url.ParseQuery(r.URL.RawQuery)
	op := d.Paths.Value(path).GetOperation(r.Method)
	if op == nil {
		return
	}
	success := func(s *openapi3.Schema) *openapi3.Schema { return s }
	item, err := itemOf(d.T, op, query.Get("view"))
	switch {
	case item != nil:
		success = func(s *openapi3.Schema) *openapi3.Schema { return listOf(s, item) }
	case query.Has("fields") && op.Parameters.GetByInAndName("query", "fields") != nil:
		fields := strings.Split(strings.Join(query["fields"], ","), ",")
		success = func(s *openapi3.Schema) *openapi3.Schema { return chosen(s, fields) }
	}
	if err == nil {
		err = declared(op, r, answer, success)
	}
	if err != nil {
		tb.Errorf("%s: the definition of %s does not have the response %d: %v\n%.2000s", answer.Asked, op.OperationID, answer.Status, err, answer.Body)
	}
}

// itemOf returns the schema of a list's items in a view of which the definition says what they are, or nil.
func itemOf(doc *openapi3.T, op *openapi3.Operation, view string) (*openapi3.SchemaRef, error) {
	parameter := op.Parameters.GetByInAndName("query", "view")
	if parameter == nil || parameter.Extensions["x-views"] == nil {
		return nil, nil
	}
	views, _ := parameter.Extensions["x-views"].(map[string]any)
	named, ok := views[view].(map[string]any)
	if !ok {
		return nil, nil
	}
	ref, _ := named["$ref"].(string)
	item := doc.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
	if item == nil {
		return nil, fmt.Errorf("the view %s has no schema", view)
	}
	return item, nil
}

// listOf is the schema of a list, with other items.
func listOf(list *openapi3.Schema, item *openapi3.SchemaRef) *openapi3.Schema {
	items, other := *list.Properties["items"].Value, *list
	items.Items, other.Properties = item, maps.Clone(list.Properties)
	other.Properties["items"] = &openapi3.SchemaRef{Value: &items}
	return &other
}

// chosen is the schema of the reply to a client that asks for some fields: an object, or each item of a list, has exactly these.
func chosen(reply *openapi3.Schema, fields []string) *openapi3.Schema {
	if items := reply.Properties["items"]; items != nil && items.Value.Items != nil {
		return listOf(reply, &openapi3.SchemaRef{Value: chosen(items.Value.Items.Value, fields)})
	}
	whole := whole(reply)
	part := *whole
	part.Nullable, part.Required, part.Properties = reply.Nullable, fields, openapi3.Schemas{}
	for _, name := range fields {
		if p := whole.Properties[name]; p != nil {
			part.Properties[name] = p
		}
	}
	return &part
}

// statusClientGone is the status of a response that nobody is there to read.
const statusClientGone = 499

// declared returns why an operation has not declared a response. success returns the schema that the request gives the operation's reply.
func declared(op *openapi3.Operation, r *http.Request, answer *Answer, success func(*openapi3.Schema) *openapi3.Schema) error {
	response := op.Responses.Value(strconv.Itoa(answer.Status))
	switch {
	case answer.Status == statusClientGone:
		return nil
	case response == nil:
		return errors.New("it has no such status")
	}
	for _, name := range []string{"ETag", "Location", "Retry-After"} {
		if answer.Header.Get(name) != "" && response.Value.Headers[name] == nil {
			return fmt.Errorf("it has no %s", name)
		}
	}
	switch {
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
	schema := content.Schema.Value
	if answer.Status == http.StatusOK {
		schema = success(schema)
	}
	return schema.VisitJSON(body, openapi3.VisitAsResponse())
}

// definitions are those of services, each read once: to write and to read one takes longer than most tests.
var definitions sync.Map // from what tells them apart to func() (*declaration, error)

// definitionOf returns a function that reads the definition of a service.
func definitionOf(service *rest.Service) func() (*declaration, error) {
	shared := func(key string) (*declaration, error) {
		read, _ := definitions.LoadOrStore(key, sync.OnceValues(func() (*declaration, error) { return readDefinition(service.Definition()) }))
		return read.(func() (*declaration, error))()
	}
	if len(service.Operations) <= 15 { // a test's own, whose operations may have the names of others
		return func() (*declaration, error) { return shared(string(service.Definition())) }
	}
	key := make([]string, 0, 2*len(service.Operations)+1)
	key = append(key, service.Prefix)
	for i := range service.Operations {
		op := &service.Operations[i]
		key = append(key, op.ID)
		if op.Reply != nil {
			key = append(key, strconv.Itoa(len(op.Reply.Properties)))
		}
	}
	return func() (*declaration, error) { return shared(strings.Join(key, " ")) }
}

// readDefinition reads a definition, and closes its objects to fields that it does not declare.
func readDefinition(text []byte) (*declaration, error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
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
	return &declaration{doc}, nil
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
