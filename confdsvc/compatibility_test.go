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
	checkNotYet(t, string(text), rows)
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

// pathForm is a path between backticks.
var pathForm = regexp.MustCompile("`(/[^`]*)`")

// checkNotYet checks that the page names the paths of the existing platform that no row has, and no other.
func checkNotYet(t *testing.T, page string, rows map[string]bool) {
	t.Helper()
	_, section, _ := strings.Cut(page, "\n## What is not there yet\n")
	section, _, _ = strings.Cut(section, "\n## ")
	bare := func(path string) string { return parameters.ReplaceAllString(path, "{}") }
	there := map[string]bool{} // paths, and operations
	for operation := range rows {
		_, path, _ := strings.Cut(operation, " ")
		there[bare(path)], there[bare(operation)] = true, true
	}
	var named []string
	for _, m := range pathForm.FindAllStringSubmatch(section, -1) {
		if named = append(named, bare(m[1])); there[bare(m[1])] {
			t.Errorf("docs/compatibility.md says that %s is not there yet", m[1])
		}
	}
	for operation := range documented() {
		if there[operation] || operation == "PUT /users/import" { // which answers 405 there too
			continue
		}
		_, path, _ := strings.Cut(operation, " ")
		known := slices.ContainsFunc(named, func(one string) bool { return path == one || strings.HasPrefix(path, one+"/") })
		if !known && !slices.Contains(public, operation) {
			t.Errorf("docs/compatibility.md does not say that %s is not there yet", operation)
		}
	}
}
