package rest

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/pathtemplate"
)

// Mount checks the operations and builds the router and the definition. It adds the two operations that serve the definition
// itself. An error is a mistake in the declaration.
func (s *Service) Mount() error {
	if err := s.mount(); err != nil {
		return fmt.Errorf("service %s: %w", s.Name, err)
	}
	return nil
}

func (s *Service) mount() error {
	switch {
	case s.routes != nil:
		return fmt.Errorf("mounted twice")
	case s.Errors == nil:
		return fmt.Errorf("no error form")
	case acl.ParseAccess(s.Name) != nil || strings.Contains(s.Name, "."):
		return fmt.Errorf("its name is not one word of an access")
	case s.Prefix != "" && !pathtemplate.Canonical(s.Prefix):
		return fmt.Errorf("no request can be below the prefix %q", s.Prefix)
	}
	ops := slices.Concat(s.Operations, s.definitionOperations())
	seen := map[string]bool{}
	for i := range ops {
		op := &ops[i]
		if err := op.addChoice(); err != nil {
			return fmt.Errorf("%s %s: %w", op.Method, op.Path, err)
		}
		if err := op.check(s.Name); err != nil {
			return fmt.Errorf("%s %s: %w", op.Method, op.Path, err)
		}
		if seen[op.ID] {
			return fmt.Errorf("two operations are called %q", op.ID)
		}
		seen[op.ID] = true
	}
	routes, err := newRoutes(s, ops)
	if err != nil {
		return err
	}
	if err := checkNames(ops); err != nil {
		return err
	}
	s.Operations, s.routes, s.strangers = ops, routes, &strangers{seen: map[string]bool{}}
	s.spec = sync.OnceValue(func() []byte { return must(Marshal(document(s, ops))) })
	return nil
}

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
}

func (op *Operation) check(service string) error {
	reads := op.Method == http.MethodGet || op.Method == http.MethodHead
	switch {
	case !slices.Contains(methods, op.Method):
		return fmt.Errorf("no such method")
	case op.Handle == nil:
		return fmt.Errorf("no handler")
	case op.ID == "":
		return fmt.Errorf("no ID")
	case op.Path == "": // of a definition of another service it is the prefix itself
		return fmt.Errorf("the path does not start with a slash")
	case op.Success < 200 || op.Success > 399:
		return fmt.Errorf("no success status")
	case op.Body != nil && reads:
		return fmt.Errorf("%s takes no body", op.Method)
	case op.BodyOptional && op.Body == nil:
		return fmt.Errorf("an optional body, and none declared")
	case op.MaxBody < 0:
		return fmt.Errorf("a negative size of the body")
	case op.Conditional && op.Method != http.MethodGet:
		return fmt.Errorf("conditional, and does not GET an object")
	case op.Fields && (op.Method != http.MethodGet || op.Produces != ""):
		return fmt.Errorf("attributes to choose, and does not GET JSON")
	case op.Public && op.Access != "":
		return fmt.Errorf("both public and with an access")
	}
	if err := checkQuery(op); err != nil {
		return err
	}
	for _, status := range op.Statuses {
		if status < 400 || http.StatusText(status) == "" {
			return fmt.Errorf("%d is not the status of a refusal", status)
		}
	}
	if err := op.Body.compile(); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	if err := op.checkExample(); err != nil {
		return fmt.Errorf("example: %w", err)
	}
	if op.Access == "" {
		return nil
	}
	return CheckAccess(service, op)
}

func (op *Operation) checkExample() error {
	if op.Body == nil || op.Body.Example == nil {
		return nil
	}
	value, err := ParseJSON(op.Body.Example)
	if err != nil {
		return err
	}
	if wrong := op.Body.Validate("", value); len(wrong) > 0 {
		return fmt.Errorf("%s: %s", wrong[0].Name, wrong[0].Message)
	}
	return nil
}

func checkQuery(op *Operation) error {
	seen := map[string]bool{}
	for _, p := range op.Query {
		switch {
		case p.Name == "":
			return fmt.Errorf("a query parameter has no name")
		case p.Schema == nil:
			return fmt.Errorf("the query parameter %s has no schema", p.Name)
		case seen[p.Name]:
			return fmt.Errorf("two query parameters are called %s", p.Name)
		}
		seen[p.Name] = true
	}
	return nil
}

// CheckAccess refuses a documented access that could not be checked exactly: one of another service, or one with something in
// braces that is not the name of a plain path parameter.
func CheckAccess(service string, op *Operation) error {
	if !strings.HasPrefix(op.Access, service+".") {
		return fmt.Errorf("access %q is not one of this service's", op.Access)
	}
	template, err := pathtemplate.Parse(op.Path)
	if err != nil {
		return err
	}
	words := strings.Split(op.Access, ".")
	for i, word := range words {
		name, ok := pathtemplate.Parameter(word)
		switch {
		case !ok && strings.ContainsAny(word, "{}"):
			return fmt.Errorf("access %q: a parameter must be a whole word of it", op.Access)
		case ok && (name == op.Pattern || !slices.Contains(template.Parameters(), name)):
			return fmt.Errorf("the access names %q, which is not a plain parameter of the path", name)
		case ok:
			words[i] = "x"
		}
	}
	if err := acl.ParsePattern(strings.Join(words, ".")); err != nil {
		return fmt.Errorf("access %q: %w", op.Access, err)
	}
	return nil
}

// names are the named schemas of a service's definition.
type names map[string]*Schema

// checkNames checks that no two schemas of the operations share a name: in the definition, one would stand for both.
func checkNames(ops []Operation) error {
	seen := names{"Error": {Name: "Error"}, "Problem": {Name: "Problem"}} // the names of the refusals' schemas
	for i := range ops {
		op := &ops[i]
		for _, s := range append(slices.Collect(maps.Values(op.Replies)), op.Body, op.Reply) {
			if err := seen.add(s); err != nil {
				return err
			}
		}
		for _, q := range op.Query {
			if err := seen.add(q.Schema); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n names) add(s *Schema) error {
	if s == nil {
		return nil
	}
	if s.Name != "" {
		switch known := n[s.Name]; {
		case known == nil:
			n[s.Name] = s
		case known == s || len(s.Properties) > 0 && len(s.Properties) == len(known.Properties) && &s.Properties[0] == &known.Properties[0]:
			return nil // copies of one share what they hold
		case !sameDefinition(known, s):
			return fmt.Errorf("two schemas are called %q", s.Name)
		}
	}
	if s.Union != nil {
		for _, k := range s.Union.Kinds {
			if err := n.add(k.Schema); err != nil {
				return err
			}
		}
	}
	for i := range s.Properties {
		if err := n.add(s.Properties[i].Schema); err != nil {
			return err
		}
	}
	if err := n.add(s.Items); err != nil {
		return err
	}
	return n.add(s.Values)
}

// sameDefinition compares the definitions of two schemas of one name. Those of the named schemas in them are compared by themselves.
func sameDefinition(a, b *Schema) bool {
	written := func(s *Schema) object {
		d := definer{Service: &Service{}, namesAlone: true}
		return d.inline(s.bare())
	}
	return reflect.DeepEqual(written(a), written(b))
}
