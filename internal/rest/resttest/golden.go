package resttest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// CheckDefinition checks the definition of a service: it is OpenAPI, has examples and descriptions, and is the golden one.
func CheckDefinition(t *testing.T, definition []byte, update bool) {
	t.Helper()
	t.Run("described", func(t *testing.T) {
		doc, err := openapi3.NewLoader().LoadFromData(definition)
		if err != nil {
			t.Fatal(err)
		}
		if err := doc.Validate(t.Context()); err != nil {
			t.Error(err)
		}
		checkExamples(t, doc, definition)
		checkDescriptions(t, doc)
	})
	t.Run("golden", func(t *testing.T) { checkGolden(t, definition, update) })
}

// checkGolden checks that a definition is the one in testdata/openapi.json, or writes it there: it is the contract, and a change of it
// must show in a review. A definition that takes something away from its clients is never written: see [Breaks].
func checkGolden(t *testing.T, definition []byte, update bool) {
	t.Helper()
	var got bytes.Buffer
	if err := json.Indent(&got, definition, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	golden := filepath.Join("testdata", "openapi.json")
	if before, err := os.ReadFile(golden); err == nil { //nolint:gosec // a constant
		taken, err := Breaks(before, definition)
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range taken {
			t.Errorf("existing clients rely on what the definition takes away: %s", what)
		}
		update = update && len(taken) == 0
	}
	if update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden) //nolint:gosec // a constant
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the definition is not %s; look at what changed, and rewrite it with -update", golden)
	}
}
