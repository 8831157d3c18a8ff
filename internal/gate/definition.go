package gate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ringfence/ringfence/internal/pathtemplate"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/target"
)

// Definition is the router of an upstream daemon that has an OpenAPI 3 or Swagger 2 definition. An operation needs the access
// that it documents, as `x-required-acl` or after the phrase **Required ACL:** in its description. An undocumented path or method
// needs "{service}.#", and so does an operation whose documented access cannot be checked exactly: see [Definition.Warnings].
//
// The security sections of a definition make nothing public: only the configuration does.
type Definition struct {
	service  *rest.Service
	warnings []string
	document document
}

// NewDefinition reads a definition, in YAML or JSON. Its paths are below the prefix; if that is empty, they are below the
// definition's own basePath, or the path of its first server. The public routes are below the prefix too, documented or not; a
// route for GET is also for HEAD.
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
		r.ops[key(op)] = op
	}
	ops := slices.SortedFunc(maps.Values(r.ops), func(a, b rest.Operation) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})
	s, err := rest.Accesses(service, prefix, ops)
	if err != nil {
		return nil, err
	}
	return &Definition{service: s, warnings: r.warnings, document: doc}, nil
}

// Warnings returns, for the operator, a sentence for each operation whose definition could not be used, so that it needs
// "{service}.#".
func (d *Definition) Warnings() []string { return slices.Clone(d.warnings) }

// Shown returns the definition as JSON, for a console: its paths are where this gateway serves them.
func (d *Definition) Shown() ([]byte, error) {
	shown := named(map[string]any(d.document)).(map[string]any)
	for _, name := range []string{"servers", "host", "basePath", "schemes"} {
		delete(shown, name)
	}
	if _, old := shown["swagger"]; old {
		shown["basePath"] = d.Prefix()
	} else {
		shown["servers"] = []any{map[string]any{"url": d.Prefix()}}
	}
	paths, _ := shown["paths"].(map[string]any)
	for _, item := range paths { // a path and an operation may name servers of their own, which pages of this gateway cannot reach
		item, _ := item.(map[string]any)
		delete(item, "servers")
		for _, operation := range item {
			operation, _ := operation.(map[string]any)
			delete(operation, "servers")
			delete(operation, "schemes")
		}
	}
	return rest.Marshal(shown)
}

// named returns a value of YAML as JSON can have it: with names for keys, also where YAML has numbers, such as statuses.
func named(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			out[key] = named(inner)
		}
		return out
	case map[any]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			out[fmt.Sprint(key)] = named(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = named(inner)
		}
		return out
	default:
		return value
	}
}

// Name returns the name of the daemon's service.
func (d *Definition) Name() string { return d.service.Name }

// Prefix returns the common prefix of the daemon's paths.
func (d *Definition) Prefix() string { return d.service.Prefix }

// Route implements [Router].
func (d *Definition) Route(method string, t *target.Target) (Need, bool) {
	m, ok := d.service.Match(method, t)
	if !ok {
		return Need{}, false
	}
	return needOf(&m), true
}

// definitionReader turns a document into operations, keyed by method and shape.
type definitionReader struct {
	service  string
	ops      map[string]rest.Operation
	warnings []string
}

func (r *definitionReader) read(doc document) {
	for _, path := range slices.Sorted(maps.Keys(doc.paths())) {
		item := doc.paths()[path]
		template, err := parseTemplate(path)
		if err != nil {
			r.warn("path %s: %v; it needs %s.#", path, err, r.service)
			continue
		}
		repeated := template.Repeated()
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
					r.put(rest.Operation{Method: method, Path: template.Numbered()})
					continue
				}
				op := rest.Operation{Method: method, Path: path, Pattern: doc.patternParameter(item, operation)}
				if op.Pattern != "" && !slices.Contains(template.Parameters(), op.Pattern) {
					r.warn("%s %s: %q is not a parameter of the path", method, path, op.Pattern)
					op.Pattern = ""
				}
				r.add(op, operation)
			}
		}
	}
}

// add adds an operation with the access that it documents.
func (r *definitionReader) add(op rest.Operation, documented map[string]any) {
	var err error
	if op.Access, err = documentedAccess(documented); err == nil && op.Access == "" {
		err = fmt.Errorf("it documents no access")
	}
	if err == nil {
		err = rest.CheckAccess(r.service, &op)
	}
	if err != nil {
		op.Access = ""
		r.warn("%s %s: %v; it needs %s.#", op.Method, op.Path, err, r.service)
	}
	r.put(op)
}

// put adds an operation, unless one of the same shape exists.
func (r *definitionReader) put(op rest.Operation) {
	k := key(op)
	if twin, ok := r.ops[k]; ok {
		r.warn("%s %s: %s has the same shape; it needs %s.#", op.Method, op.Path, twin.Path, r.service)
		op.Access, op.Pattern = "", ""
	}
	r.ops[k] = op
}

func (r *definitionReader) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// key returns the same for operations whose templates differ only in the names of their parameters.
func key(op rest.Operation) string {
	template, _ := pathtemplate.Parse(op.Path) // it has been read before
	return op.Method + template.Numbered()
}

// parseTemplate reads a path of a definition. It refuses more parameters than a match can hold.
func parseTemplate(path string) (pathtemplate.Template, error) {
	if path == "" {
		return nil, fmt.Errorf("the path does not start with a slash")
	}
	template, err := pathtemplate.Parse(path)
	if err == nil && len(template.Parameters()) > pathtemplate.MaxParameters {
		err = fmt.Errorf("it has more than %d parameters", pathtemplate.MaxParameters)
	}
	return template, err
}

// document is an OpenAPI 3 or Swagger 2 definition, as far as the gate needs one.
type document map[string]any

func parseDocument(text []byte) (document, error) {
	var doc map[string]any // yaml makes the inner maps of the outer one's type
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		err = json.Unmarshal(text, &doc) // YAML forbids some of JSON's white space
	} else {
		err = yaml.Unmarshal(text, &doc)
	}
	if err != nil {
		return nil, err
	}
	swagger, _ := doc["swagger"].(string)
	openapi, _ := doc["openapi"].(string)
	if !strings.HasPrefix(swagger, "2.") && !strings.HasPrefix(openapi, "3.") {
		return nil, fmt.Errorf("it is neither OpenAPI 3 nor Swagger 2")
	}
	if _, ok := doc["paths"].(map[string]any); !ok {
		return nil, fmt.Errorf("it has no paths")
	}
	return doc, nil
}

// basePath returns the base of the definition's paths, or "".
func (d document) basePath() string {
	address, _ := d["basePath"].(string)
	if servers, ok := d["servers"].([]any); ok && len(servers) > 0 {
		first, _ := servers[0].(map[string]any)
		address, _ = first["url"].(string)
	}
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Path, "/") {
		return ""
	}
	if path := strings.TrimSuffix(u.Path, "/"); path != "" {
		return path
	}
	return "/"
}

// paths returns the path items. It omits extensions and malformed items, which makes them undocumented.
func (d document) paths() map[string]map[string]any {
	out := map[string]map[string]any{}
	all, _ := d["paths"].(map[string]any)
	for path, v := range all {
		if item, ok := v.(map[string]any); ok && !strings.HasPrefix(path, "x-") {
			out[path] = item
		}
	}
	return out
}

// patternParameter returns the name of the path parameter with x-acl-pattern, or "".
func (d document) patternParameter(item, operation map[string]any) string {
	for _, holder := range []map[string]any{operation, item} {
		list, _ := holder["parameters"].([]any)
		for _, v := range list {
			p, _ := v.(map[string]any)
			if ref, ok := p["$ref"].(string); ok {
				p = d.resolve(ref)
			}
			name, _ := p["name"].(string)
			if marked, _ := p["x-acl-pattern"].(bool); marked && p["in"] == "path" {
				return name
			}
		}
	}
	return ""
}

// resolve follows a reference inside the document; it returns nil if the reference is broken.
func (d document) resolve(ref string) map[string]any {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := map[string]any(d)
	for step := range strings.SplitSeq(path, "/") {
		at, _ = at[step].(map[string]any)
	}
	return at
}

var (
	// requiredACL is the phrase, with the access behind it in back quotes.
	requiredACL = regexp.MustCompile("(?i)\\*\\*required acl:?\\*\\*:?\\s*(?:`([^`]*)`)?")
	// alternative follows an access that is not the only one.
	alternative = regexp.MustCompile("^\\s*(?i:,|;|/|\\||&|\\+|or\\b|and\\b)+\\s*(?i:or\\b|and\\b)?\\s*`")
)

// documentedAccess returns the one access that the operation says it requires, or "". It returns an error if the documentation
// allows alternatives.
func documentedAccess(operation map[string]any) (string, error) {
	description, _ := operation["description"].(string)
	access := ""
	if v, ok := operation["x-required-acl"]; ok {
		if access, ok = v.(string); !ok || access == "" {
			return "", fmt.Errorf("its x-required-acl is not one access")
		}
	}
	for _, at := range requiredACL.FindAllStringSubmatchIndex(description, -1) {
		if at[2] < 0 {
			return "", fmt.Errorf("no access in back quotes follows Required ACL")
		}
		phrase := description[at[2]:at[3]]
		if alternative.MatchString(description[at[1]:]) || (access != "" && access != phrase) {
			return "", fmt.Errorf("it documents more than one access")
		}
		access = phrase
	}
	return access, nil
}
