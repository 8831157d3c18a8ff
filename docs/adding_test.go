package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var shownFile = regexp.MustCompile("(?s)\\*\\*`([^`]+)`\\*\\*\n\n```[a-z]+\n(.*?)\n```\n")

// What docs/adding-a-resource.md shows is a whole resource: added to the tree, in an overlay, it passes the suite of all resources, and what
// the definition must say of it is there. Only the golden definition and docs/compatibility.md do not have it.
func TestAddingAResource(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the tests of confdsvc")
	}
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	folder, replaced := t.TempDir(), map[string]string{}
	add := func(path, text string) {
		file := filepath.Join(folder, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[filepath.Join(top, filepath.FromSlash(path))] = file
	}
	for _, shown := range shownFile.FindAllStringSubmatch(read(t, "adding-a-resource.md"), -1) {
		add(shown[1], shown[2]+"\n")
	}
	if len(replaced) != 3 {
		t.Fatal("the guide has another form than this test expects")
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	const tests = "^(TestResources|TestGoldenDefinition|TestDefinitionHasLimits|TestEveryOperationNeedsItsAccess)$/./^desks$"
	test := exec.CommandContext(t.Context(), "go", "test", "-pgo=off", "-vet=off", "-ldflags=-s", "-overlay="+file, "-run="+tests, "-skip=TestGoldenDefinition/golden", "-v", "./confdsvc")
	test.Dir = top
	out, err := test.CombinedOutput()
	if err != nil || strings.Count(string(out), "/desks (") < 1 {
		t.Errorf("%v\n%s", err, out)
	}
}
