package rest

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// sharing finds what operations have in common, to write it once. What several have under one name is a component of that name; if it
// differs, only the most frequent form is.
type sharing struct {
	kind  string // of component: "responses"
	forms map[string][]*form
}

// form is one form of what operations have under a name, and where.
type form struct {
	text   string
	value  object
	places []func(ref object)
}

// share replaces the parameters and responses that several operations have by references, and returns the components that these name.
func (d *definer) share(ops []object) (parameters, responses object) {
	named := sharing{"parameters", map[string][]*form{}}
	answers := sharing{"responses", map[string][]*form{}}
	for _, op := range ops {
		own := op["parameters"].([]object)
		for i, p := range own {
			d.meet(named, p["in"].(string)+"."+p["name"].(string), p, func(ref object) { own[i] = ref })
		}
		all := op["responses"].(object)
		for _, code := range slices.Sorted(maps.Keys(all)) {
			status, _ := strconv.Atoi(code)
			name := strings.ReplaceAll(http.StatusText(status), " ", "")
			d.meet(answers, name, all[code].(object), func(ref object) { all[code] = ref })
		}
	}
	return named.components(), answers.components()
}

// meet notes what an operation has under a name.
func (d *definer) meet(s sharing, name string, value object, place func(ref object)) {
	text, err := Marshal(value)
	if err != nil {
		d.fail(err)
	}
	i := slices.IndexFunc(s.forms[name], func(f *form) bool { return f.text == string(text) })
	if i < 0 {
		i, s.forms[name] = len(s.forms[name]), append(s.forms[name], &form{text: string(text), value: value})
	}
	f := s.forms[name][i]
	f.places = append(f.places, place)
}

// components returns the most frequent form of each name, if several operations have it, and refers to it where they do.
func (s sharing) components() object {
	out := object{}
	for name, forms := range s.forms {
		most := slices.MaxFunc(forms, func(a, b *form) int { return len(a.places) - len(b.places) })
		if len(most.places) < 2 {
			continue
		}
		out[name] = most.value
		for _, refer := range most.places {
			refer(object{"$ref": "#/components/" + s.kind + "/" + name})
		}
	}
	return out
}
