package confdsvc_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store/storetest"
)

// operationRow is a row of docs/compatibility.md about an operation: its name, its id, its access, and what differs.
var operationRow = regexp.MustCompile("(?m)^\\| `([A-Z]+ /[^`]*)` \\| `([^`]*)` \\| `([^`]*)` \\| (.+) \\|$")

// Each operation of the definition has a row in docs/compatibility.md that says what existing clients find different, and each
// row has its operation. -update adds the rows that are missing, below the last one, as if nothing was different.
func TestCompatibility(t *testing.T) {
	file := filepath.Join("..", "docs", "compatibility.md")
	text, err := os.ReadFile(file)
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
	var missing []string
	for path, item := range definition.Paths {
		for method, op := range item {
			name := strings.ToUpper(method) + " " + path
			if op.Access == "" || rows[name] {
				continue
			}
			differs := "same"
			if ours[parameters.ReplaceAllString(name, "{}")] != "" {
				differs = "only here"
			}
			missing = append(missing, fmt.Sprintf("| `%s` | `%s` | `%s` | %s |\n", name, op.ID, op.Access, differs))
		}
	}
	if len(missing) == 0 {
		return
	}
	slices.Sort(missing)
	if !*update {
		t.Errorf("docs/compatibility.md lacks these rows; -update adds them, and you say what existing clients will find different:\n%s", strings.Join(missing, ""))
		return
	}
	all := operationRow.FindAllStringIndex(string(text), -1)
	end := all[len(all)-1][1] + 1
	if err := os.WriteFile(file, slices.Concat(text[:end], []byte(strings.Join(missing, "")), text[end:]), 0o600); err != nil {
		t.Error(err)
	}
}
