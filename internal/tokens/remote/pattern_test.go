package remote_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/tokens/remote"
)

// TestForeignPatterns checks accesses that only that server's language has.
func TestForeignPatterns(t *testing.T) {
	tests := []struct {
		name  string
		acl   []string
		users bool // whether confd.users.read is allowed
		logs  int
	}{
		{"all understood", []string{"confd.#"}, true, 0},
		{"one that grants is not", []string{"confd.users.*", "confd.us*.read", "a..b"}, true, 2},
		{"the only one is not", []string{"confd.us*.read"}, false, 1},
		{"one that denies is not", []string{"#", "!confd.gr*.read"}, false, 1},
		{"an empty one", []string{"confd.#", ""}, true, 1},
		{"too many", append(manyPatterns(), "confd.#"), false, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var text strings.Builder
			s := platform(t, answer(http.StatusOK, record(map[string]any{"acl": tt.acl})), func(c *remote.Config) {
				c.Logger = slog.New(slog.NewTextHandler(&text, nil))
			})
			for range 3 {
				p, err := load(t, s, token)
				if err != nil {
					t.Fatal(err)
				}
				if got := p.Allows("confd.users.read"); got != tt.users {
					t.Errorf("allowed: %t", got)
				}
			}
			if got := strings.Count(text.String(), "\n"); got != tt.logs {
				t.Errorf("%d lines are logged:\n%s", got, text.String())
			}
			if strings.Contains(text.String(), token) {
				t.Error("the token is logged")
			}
		})
	}
}

// manyPatterns are as many as a set may hold.
func manyPatterns() []string {
	all := make([]string, acl.MaxPatterns)
	for i := range all {
		all[i] = fmt.Sprintf("a.%d", i)
	}
	return all
}

// TestLoggedPatternsAreBounded checks that a server cannot fill the log.
func TestLoggedPatternsAreBounded(t *testing.T) {
	var text strings.Builder
	var n atomic.Int64
	s := platform(t, func(w http.ResponseWriter, r *http.Request) {
		answer(200, record(map[string]any{"acl": []string{fmt.Sprintf("a%d*", n.Add(1))}}))(w, r)
	}, func(c *remote.Config) { c.Logger = slog.New(slog.NewTextHandler(&text, nil)) })
	for range 150 {
		if _, err := load(t, s, token); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Count(text.String(), "\n"); got != 100 {
		t.Errorf("%d lines", got)
	}
}
