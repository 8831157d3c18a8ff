package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The Go code in docs/plugins.md is that of the examples, which are compiled and tested.
func TestPluginsShowsTheExamples(t *testing.T) {
	examples := strings.ReplaceAll(read(t, filepath.Join(root, "examples", "backend-plugin", "htpasswd.go")), "\n//\t", "\n") // a main in a comment
	examples = strings.ReplaceAll(examples, "\n//\n", "\n\n") + read(t, filepath.Join(root, "examples", "external-plugin", "keycard.go"))
	shown := regexp.MustCompile("(?s)\n```go\n(.*?)\n```\n").FindAllStringSubmatch(read(t, "plugins.md"), -1)
	if len(shown) < 5 {
		t.Fatalf("docs/plugins.md shows %d pieces of code", len(shown))
	}
	for _, s := range shown {
		if !strings.Contains(examples, s[1]) {
			t.Errorf("no example has the code\n%s", s[1])
		}
	}
}
