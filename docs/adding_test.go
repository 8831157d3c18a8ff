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

// suiteTests are tests of the suite, with this resource alone.
const suiteTests = "^Test(CreateAndRead|PartialUpdate|Delete|Pages|Order|Search|Filters|KeysHaveOneSpelling)$/./^desks$"

// What docs/adding-a-resource.md shows is a whole resource: added to the tree, in an overlay, the suite of all resources tries it.
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
	guide := read(t, "adding-a-resource.md")
	for _, shown := range shownFile.FindAllStringSubmatch(guide, -1) {
		add(shown[1], shown[2]+"\n")
	}
	const suite, list = "confdsvc/suite_test.go", "var collections = []collection{\n"
	text := read(t, filepath.Join(root, suite))
	_, entry, _ := strings.Cut(guide, "`"+suite+"`:\n\n```go\n")
	entry, _, found := strings.Cut(entry, "```\n")
	if len(replaced) != 2 || !found || strings.Count(text, list) != 1 {
		t.Fatal("the guide or the suite has another form than this test expects")
	}
	add(suite, strings.Replace(text, list, list+entry, 1))
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	test := exec.CommandContext(t.Context(), "go", "test", "-pgo=off", "-overlay="+file, "-run="+suiteTests, "-v", "./confdsvc")
	test.Dir = top
	out, err := test.CombinedOutput()
	if err != nil || strings.Count(string(out), "/desks (") < 8 { // one for each test, on each database
		t.Errorf("%v\n%s", err, out)
	}
}
