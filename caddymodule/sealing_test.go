package caddymodule_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The keys come from the configuration, also through a placeholder, and stay the same for the life of the process: a
// configuration with others is refused, and releases what it took.
func TestSealingKeysAreOfTheConfiguration(t *testing.T) {
	keys := func(b string) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(b, 32))) }
	g := newGateway(t)
	t.Setenv("PLANTED_KEYS", keys("a"))
	g.App = "sealing_keys {env.PLANTED_KEYS}\n"
	g.Load(t)
	if _, err := os.Stat(filepath.Join(g.Dir, "data", "sealing-key")); !os.IsNotExist(err) {
		t.Errorf("a key was made beside the configured one: %v", err)
	}
	shared := shares()
	for name, app := range map[string]string{"others": "sealing_keys " + keys("b") + "\n", "none": ""} {
		g.App = app
		err := g.Reload(t)
		if err == nil || !strings.Contains(err.Error(), "sealing_keys") {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), keys("b")) {
			t.Errorf("%s: the refusal has the keys", name)
		}
		sharesBecome(t, shared)
	}
	g.App = "sealing_keys " + keys("a") + "\n"
	if err := g.Reload(t); err != nil {
		t.Errorf("the same keys, spelt out: %v", err)
	}
	if logged := g.Logged(t); strings.Contains(logged, keys("a")) || strings.Contains(logged, keys("b")) {
		t.Error("keys are logged")
	}
}
