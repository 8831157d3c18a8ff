package resttest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// CheckGolden checks that a definition is the one in testdata/openapi.json, or writes it there: it is the contract, and a change of it
// must show in a review. A definition that takes something away from its clients is never written: see [Breaks].
func CheckGolden(t testing.TB, definition []byte, update bool) {
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
