package conf_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk/conf"
)

// What a file includes stands in its place, with its templates; generated files are left out, and what cannot be read is told with its place.
func TestReadTree(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("pjsip.conf", "[phone](!)\ntype = endpoint\n#include pjsip.d/*.conf\n#tryinclude \"gone.conf\"\n#tryinclude "+dir+"/live/pjsip.conf\n[last]\ntype = aor\n[alice](+)\ncontext = x\n")
	write("pjsip.d/1.conf", "[trunk](phone)\ncontext = x\n#include deeper.conf\n")
	write("pjsip.d/2.conf", "[other]\ntype = identify\n")
	write("deeper.conf", "[deep]\n")
	write("live/pjsip.conf", "; "+conf.Mark+"\n\n[alice]\n")
	f, err := conf.ReadTree(dir, "pjsip.conf")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range f.Sections {
		kind, _ := s.Get("type")
		path, _ := filepath.Rel(dir, s.Path)
		got = append(got, fmt.Sprintf("%s %s %s:%d", s.Name, kind, path, s.Line))
	}
	const want = "phone endpoint pjsip.conf:1, trunk endpoint pjsip.d/1.conf:1, deep  deeper.conf:1, other identify pjsip.d/2.conf:1, last aor pjsip.conf:6"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	for text, want := range map[string]string{
		"#include gone.conf\n[a]\n":        "line 1: " + dir + "/gone.conf: file does not exist",
		"[a]\n\n#include pjsip.conf\n":     "files include each other",
		"[a]\nx\n":                         "pjsip.conf, line 2: has no =",
		"[a]\n#include " + dir + "/live\n": "/live is not a file",
	} {
		write("pjsip.conf", text)
		f, err := conf.ReadTree(dir, "pjsip.conf")
		if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), want) || f.Section("a") == nil {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if f.Refused != strings.Contains(want, "does not exist") { // of the others Asterisk only warns
			t.Errorf("%q: refused: %t", text, f.Refused)
		}
	}
	if _, err := conf.ReadTree(dir, "none.conf"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
