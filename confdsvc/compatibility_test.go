package confdsvc_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store/storetest"
)

// operationRow is a row of docs/compatibility.md about an operation: its name, its id, its access, and what differs.
var operationRow = regexp.MustCompile("(?m)^\\| `([A-Z]+ /[^`]*)` \\| `([^`]*)` \\| `([^`]*)` \\| (.+) \\|$")

// Each operation of the definition has a row in docs/compatibility.md that says what existing clients find different, and each
// row has its operation.
func TestCompatibility(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	type operation struct {
		ID     string `json:"operationId"`
		Access string `json:"x-required-acl"`
	}
	var definition struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	if err := json.Unmarshal(newWorld(t, storetest.SQLite(t)).svc.Definition(), &definition); err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, row := range operationRow.FindAllStringSubmatch(string(text), -1) {
		name, id, access := row[1], row[2], row[3]
		if rows[name] {
			t.Errorf("%s has two rows", name)
		}
		rows[name] = true
		method, path, _ := strings.Cut(name, " ")
		if method == "HEAD" { // as GET, and no operation of its own
			continue
		}
		if op := definition.Paths[path][strings.ToLower(method)]; op.ID != id || op.Access != access {
			t.Errorf("docs/compatibility.md has %s with the id %s and the access %s, and the definition has it with %q and %q", name, id, access, op.ID, op.Access)
		}
	}
	for path, item := range definition.Paths {
		for method, op := range item {
			if name := strings.ToUpper(method) + " " + path; op.Access != "" && !rows[name] {
				t.Errorf("docs/compatibility.md has no row for %s (%s, %s): add one that says what existing clients will find different", name, op.ID, op.Access)
			}
		}
	}
}
