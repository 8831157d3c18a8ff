package migrations_test

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store/migrations"
)

func names(t *testing.T, engine string) []string {
	t.Helper()
	found, err := fs.Glob(migrations.Files(engine), "*")
	if err != nil || len(found) == 0 {
		t.Fatalf("the migrations of %s: %v, %v", engine, found, err)
	}
	return found
}

func TestBothEnginesHaveTheSameMigrations(t *testing.T) {
	postgres, sqlite := names(t, "postgres"), names(t, "sqlite")
	if !slices.Equal(postgres, sqlite) {
		t.Errorf("postgres has %v, sqlite has %v", postgres, sqlite)
	}
	form := regexp.MustCompile(`^(\d{5})_[a-z0-9_]+\.sql$`)
	seen := make(map[string]bool)
	for _, name := range postgres {
		m := form.FindStringSubmatch(name)
		if m == nil || seen[m[1]] {
			t.Errorf("%s: a name is five digits of its own, _, and a word", name)
			continue
		}
		seen[m[1]] = true
		for _, engine := range []string{"postgres", "sqlite"} {
			text, err := fs.ReadFile(migrations.Files(engine), name)
			if err != nil || !strings.HasPrefix(string(text), "-- +goose Up\n") {
				t.Errorf("%s/%s does not begin with -- +goose Up: %v", engine, name, err)
			}
		}
	}
}
