package migrations_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store/migrations"
)

func TestNamesOfMigrations(t *testing.T) {
	form := regexp.MustCompile(`^(\d{5})_[a-z0-9_]+(\.postgres|\.sqlite)?\.sql$`)
	for _, engine := range []string{"postgres", "sqlite"} {
		files := migrations.Files(engine)
		names, err := fs.Glob(files, "*")
		if err != nil || len(names) == 0 {
			t.Fatalf("the migrations of %s: %v, %v", engine, names, err)
		}
		seen := make(map[string]bool)
		for _, name := range names {
			m := form.FindStringSubmatch(name)
			if m == nil || seen[m[1]] {
				t.Errorf("%s: a name is five digits of its own, _, and a word, and perhaps a database", name)
				continue
			}
			seen[m[1]] = true
			text, err := fs.ReadFile(files, name)
			if err != nil || !strings.HasPrefix(string(text), "-- +goose Up\n") {
				t.Errorf("%s of %s does not begin with -- +goose Up: %v", name, engine, err)
			}
		}
	}
}
