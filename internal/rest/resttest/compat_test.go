package resttest_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// A definition may grow; what a client relies on stays.
func TestBreaks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../helpers/testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	golden := string(text)
	for _, tt := range []struct {
		name     string
		old, new string // what is replaced, and by what
		want     string // "": nothing breaks
	}{
		{"nothing", "Asterisk", "Asterisk", ""},
		{"another description", `"description": "The UUID of the job`, `"description": "This is the UUID of the job`, ""},
		{"a new operation", `"/apply/{job_uuid}": {`, `"/new": {}, "/apply/{job_uuid}": {`, ""},
		{"an operation", `"/apply/{job_uuid}": {`, `"/gone/{job_uuid}": {`, "GET /apply/{job_uuid} is gone"},
		{"a parameter", `"name": "Wazo-Tenant"`, `"name": "Tenant"`, "has no parameter Wazo-Tenant"},
		{"a new field", `"generation": {`, `"new": {"type": "string"}, "generation": {`, ""},
		{"a field", `"generation": {`, `"generated": {`, "generation is gone"},
		{"a type", `"generation": {`, `"generation": {"type": "string"}, "was": {`, "was integer and is string"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(golden, tt.old) {
				t.Fatalf("the definition has no %s", tt.old)
			}
			found, err := resttest.Breaks(text, []byte(strings.ReplaceAll(golden, tt.old, tt.new)))
			if err != nil {
				t.Fatal(err)
			}
			if said := slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, tt.want) }); (len(found) > 0) != (tt.want != "") || tt.want != "" && !said {
				t.Errorf("found %q, want %q", found, tt.want)
			}
		})
	}
}
