package gate

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/target"
)

// Definition is the router of an upstream daemon that has an OpenAPI 3 or
// Swagger 2 definition. An operation needs
// the access that it documents, as `x-required-acl` or behind the phrase
// **Required ACL:** in its description. A path or a method that is not
// documented needs "{service}.#", and so does an operation whose documented
// access is not of a kind that can be checked exactly: see [Definition.Warnings].
//
// What a definition says of security makes nothing public: only the
// configuration does.
type Definition struct {
	service  *rest.Service
	warnings []string
}

// NewDefinition reads a definition, in YAML or JSON. Its paths are below the
// prefix; when that is empty they are below the definition's own basePath, or
// the path of its first server. The public routes are below the prefix too,
// documented or not; one that is for GET is for HEAD too.
//
// A path parameter with `x-acl-pattern: true` may hold an ACL pattern.
func NewDefinition(service, prefix string, document []byte, public []Route) (*Definition, error) {
	doc, err := parseDocument(document)
	if err != nil {
		return nil, fmt.Errorf("service %s: reading its definition: %w", service, err)
	}
	if prefix == "" {
		if prefix = doc.basePath(); prefix == "" {
			return nil, fmt.Errorf("service %s: the definition names no base path; give the prefix", service)
		}
	}
	if err := checkService(service, prefix); err != nil {
		return nil, err
	}
	open, err := publicOperations(prefix, public)
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", service, err)
	}
	r := definitionReader{service: service, ops: map[string]rest.Operation{}}
	r.read(doc)
	for _, op := range open {
		r.ops[key(op.Method, op.Path)] = op
	}
	ops := slices.SortedFunc(maps.Values(r.ops), func(a, b rest.Operation) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})
	s, err := rest.Accesses(service, prefix, ops)
	if err != nil {
		return nil, err
	}
	return &Definition{service: s, warnings: r.warnings}, nil
}

// Warnings says, one sentence each, for which operations the definition could
// not be followed, so that they need "{service}.#". It is for the operator.
func (d *Definition) Warnings() []string { return slices.Clone(d.warnings) }

// Prefix is the path that all the daemon's paths begin with.
func (d *Definition) Prefix() string { return d.service.Prefix }

// Route implements [Router].
func (d *Definition) Route(method string, t *target.Target) (Need, bool) {
	m, ok := d.service.Match(method, t)
	if !ok {
		return Need{}, false
	}
	return needOf(&m), true
}

// definitionReader turns a document into operations, by their method and shape.
type definitionReader struct {
	service  string
	ops      map[string]rest.Operation
	warnings []string
}

// maxParameters is how many parameters of a path the route table can hold.
const maxParameters = 6

func (r *definitionReader) read(doc document) {
	for _, path := range slices.Sorted(maps.Keys(doc.paths())) {
		item := doc.paths()[path]
		if err := checkPath(path); err != nil {
			r.warn("path %s: %v; it needs %s.#", path, err, r.service)
			continue
		}
		shape, repeated := withoutRepetition(path)
		if repeated != "" {
			r.warn("path %s: it has the parameter {%s} twice; it needs %s.#", path, repeated, r.service)
		}
		if _, ok := item["$ref"]; ok {
			r.warn("path %s: it refers to another place, which is not read; it needs %s.#", path, r.service)
		}
		for _, method := range []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		} {
			if operation, ok := item[strings.ToLower(method)].(map[string]any); ok {
				if repeated != "" { // its shape stays, or its requests would be taken for those of another path
					r.put(rest.Operation{Method: method, Path: shape})
					continue
				}
				r.add(doc, method, path, item, operation)
			}
		}
	}
}

func (r *definitionReader) add(doc document, method, path string, item, operation map[string]any) {
	op := rest.Operation{Method: method, Path: path, Pattern: doc.patternParameter(item, operation)}
	if op.Pattern != "" && !slices.Contains(parameters(path), op.Pattern) {
		r.warn("%s %s: %q is not a parameter of the path", method, path, op.Pattern)
		op.Pattern = ""
	}
	var err error
	if op.Access, err = documentedAccess(operation); err == nil && op.Access != "" {
		err = checkAccess(r.service, op)
	}
	if err == nil && op.Access == "" {
		err = fmt.Errorf("it documents no access")
	}
	if err != nil {
		op.Access = ""
		r.warn("%s %s: %v; it needs %s.#", method, path, err, r.service)
	}
	r.put(op)
}

// put adds an operation to those of other shapes.
func (r *definitionReader) put(op rest.Operation) {
	k := key(op.Method, op.Path)
	if twin, ok := r.ops[k]; ok {
		r.warn("%s %s: %s has the same shape; it needs %s.#", op.Method, op.Path, twin.Path, r.service)
		op.Access, op.Pattern = "", ""
	}
	r.ops[k] = op
}

func (r *definitionReader) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// key is the same for templates that differ in the names of their parameters only.
func key(method, path string) string {
	var b strings.Builder
	b.WriteString(method)
	for _, s := range segments(path) {
		if strings.HasPrefix(s, "{") {
			s = "{}"
		}
		b.WriteString("/" + s)
	}
	return b.String()
}

func checkPath(path string) error {
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("it does not start with a slash")
	}
	if path == "/" {
		return nil
	}
	if len(parameters(path)) > maxParameters {
		return fmt.Errorf("it has more than %d parameters", maxParameters)
	}
	return checkTemplate(path)
}

// withoutRepetition gives each parameter of a path a name of its own, if the definition has given one of them, which is
// answered too, to several.
func withoutRepetition(path string) (shape, repeated string) {
	names := parameters(path)
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			repeated = name
			break
		}
	}
	if repeated == "" {
		return path, ""
	}
	all, n := strings.Split(path, "/"), 0
	for i, s := range all {
		if strings.HasPrefix(s, "{") {
			n++
			all[i] = fmt.Sprintf("{%d}", n)
		}
	}
	return strings.Join(all, "/"), repeated
}

func parameters(path string) []string {
	var names []string
	for _, s := range segments(path) {
		if strings.HasPrefix(s, "{") {
			names = append(names, strings.Trim(s, "{}"))
		}
	}
	return names
}

// checkAccess refuses a documented access that does not say exactly what the operation needs.
func checkAccess(service string, op rest.Operation) error {
	names := parameters(op.Path)
	words := strings.Split(op.Access, ".")
	for i, w := range words {
		if !strings.ContainsAny(w, "{}") {
			continue
		}
		name := strings.TrimSuffix(strings.TrimPrefix(w, "{"), "}")
		switch {
		case "{"+name+"}" != w || strings.ContainsAny(name, "{}"):
			return fmt.Errorf("a parameter must be a whole word of the access")
		case !slices.Contains(names, name):
			return fmt.Errorf("its access names %s, which is not a parameter of the path", w)
		case name == op.Pattern:
			return fmt.Errorf("its access names %s, which is an ACL pattern", w)
		}
		words[i] = "x"
	}
	if err := acl.ParsePattern(strings.Join(words, ".")); err != nil {
		return fmt.Errorf("its access is not valid: %w", err)
	}
	if words[0] != service || len(words) == 1 {
		return fmt.Errorf("its access is not one of the service %s", service)
	}
	return nil
}
