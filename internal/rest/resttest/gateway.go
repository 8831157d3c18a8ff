package resttest

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Definitions are the definitions of services that a gateway serves.
type Definitions []served

type served struct {
	definition *declaration
	paths      []servedPath // those without parameters first
}

type servedPath struct {
	path string
	of   *regexp.Regexp
}

// ReadDefinitions reads definitions.
func ReadDefinitions(texts ...string) (Definitions, error) {
	var all Definitions
	for _, text := range texts {
		d, err := readDefinition([]byte(text))
		if err != nil {
			return nil, err
		}
		s := served{definition: d}
		for path := range d.Paths.Map() {
			pattern := regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(d.Servers[0].URL+path), `[^/]+`)
			s.paths = append(s.paths, servedPath{path, regexp.MustCompile("^" + pattern + "$")})
		}
		slices.SortFunc(s.paths, func(a, b servedPath) int { return strings.Count(a.path, "{") - strings.Count(b.path, "{") })
		all = append(all, s)
	}
	return all, nil
}

// Conform fails the test if the response to a request, for this path, is not one that the definitions declare. Where they have no such
// operation, it does nothing.
func (d Definitions) Conform(tb testing.TB, path string, r *http.Request, answer *Answer) {
	tb.Helper()
	for _, s := range d {
		for _, p := range s.paths {
			if p.of.MatchString(path) {
				s.definition.check(tb, p.path, r, answer)
				return
			}
		}
	}
}
