package examples_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

var (
	// shownCommand is a command in a span or in a line of a block: its words, and then its flags and arguments.
	shownCommand = regexp.MustCompile("(?m)(?:`|^ {4,}|^\\$ |\\(|^)(?:sudo )?(?:bin/)?ringfence((?: [a-z][a-z-]*)+)([^`\n]*)")
	shownFlag    = regexp.MustCompile(`(?:^|\s)(--[a-z][a-z-]*)`)
	fencedText   = regexp.MustCompile("(?ms)^ *```[^\n]*\n.*?^ *```[ \t]*$")
	codeSpan     = regexp.MustCompile("`[^`\n]+`")
)

// commandsIn returns the commands that a document shows, as "user add", and the flags that it gives them.
func commandsIn(text string) map[string][]string {
	commands := map[string][]string{}
	code := fencedText.FindAllString(text, -1)
	prose := fencedText.ReplaceAllString(text, "")
	code = append(code, codeSpan.FindAllString(prose, -1)...)
	for line := range strings.Lines(prose) {
		if strings.HasPrefix(line, "    ") {
			code = append(code, line)
		}
	}
	for _, c := range code {
		if strings.Contains(c, "```caddyfile") || strings.Contains(c, "```go") {
			continue
		}
		for _, m := range shownCommand.FindAllStringSubmatch(c, -1) {
			command := strings.TrimSpace(m[1])
			commands[command] = append(commands[command], "")
			for _, f := range shownFlag.FindAllStringSubmatch(m[2], -1) {
				commands[command] = append(commands[command], f[1])
			}
		}
	}
	return commands
}

// Every command that a document shows exists, and has the flags that it is shown with. CHANGELOG.md may name what was.
func TestCommandsInDocuments(t *testing.T) {
	shown := map[string]map[string]string{} // by command and flag, where
	err := filepath.WalkDir(gatewaytest.Repository(), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules") || entry.Name() == "CHANGELOG.md":
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".md"):
			return nil
		}
		text, err := os.ReadFile(path)
		for command, flags := range commandsIn(string(text)) {
			if shown[command] == nil {
				shown[command] = map[string]string{}
			}
			for _, f := range flags {
				shown[command][f] = path
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(shown) < 10 {
		t.Fatalf("the documents show only %q", slices.Sorted(maps.Keys(shown)))
	}
	helps := map[string]string{}
	for command, flags := range shown {
		words := strings.Fields(command)
		if words[0] == "help" {
			continue
		}
		first := words[0]
		if helps[first] == "" {
			out, err := gatewaytest.Command(t, t.TempDir(), nil, first, "--help").CombinedOutput()
			if err != nil || !regexp.MustCompile(`ringfence `+first+`\b`).Match(out) {
				t.Errorf("%v: there is no command %s: %v\n%s", flags, first, err, out)
				continue
			}
			helps[first] = string(out)
		}
		help := helps[first]
		if len(words) > 1 && strings.Contains(help, "Available Commands:") {
			out, err := gatewaytest.Command(t, t.TempDir(), nil, first, words[1], "--help").CombinedOutput()
			if help = string(out); err != nil || !regexp.MustCompile(`ringfence `+first+` `+words[1]+`\b`).MatchString(help) {
				t.Errorf("%v: there is no command %s: %v\n%s", flags, command, err, out)
				continue
			}
		}
		for flag, where := range flags {
			if flag != "" && !regexp.MustCompile(`(?m)\s`+flag+`\b`).MatchString(help) {
				t.Errorf("%s: %s has no flag %s", where, command, flag)
			}
		}
	}
}
