package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
