package rest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

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
		if known := n[s.Name]; known == nil {
			n[s.Name] = s
		} else if sameObject(known, s) {
			return nil
		} else if !sameDefinition(known, s) {
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

// sameObject reports whether two schemas are copies of one: they share what they hold.
func sameObject(a, b *Schema) bool {
	switch {
	case a == b:
		return true
	case len(a.Properties) > 0 && len(a.Properties) == len(b.Properties):
		return &a.Properties[0] == &b.Properties[0]
	case a.Union != nil || b.Union != nil:
		return a.Union == b.Union
	default:
		return a.made != nil && a.made == b.made && len(a.Properties)+len(b.Properties) == 0
	}
}

// sameDefinition compares the definitions of two schemas of one name.
func sameDefinition(a, b *Schema) bool {
	written := func(s *Schema) object {
		d := definer{Service: &Service{}, schemas: object{}}
		return object{"it": d.inline(s.bare()), "others": d.schemas}
	}
	return reflect.DeepEqual(written(a), written(b))
}
