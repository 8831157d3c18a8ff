package examples_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// notRun are the commands of documents that no shell here can follow, with the reason. The others are typed by TestDocumentedCommands.
var notRun = map[string]string{
	"make run":                "it builds the program and does not end: TestReadmeQuickstart runs what follows it",
	"make test":               "it runs this test",
	"make check":              "it runs this test",
	"sudo make asterisk-root": "it fetches packages, and needs root",
	"make test-asterisk":      "it needs an Asterisk: the tests say so if there is none",
	"go test ./confdsvc ./internal/store/migrations":                           "it needs the resource that the guide adds: TestAddingAResource adds it, and runs the tests that are about it",
	"go test ./confdsvc -run 'TestGoldenDefinition|TestCompatibility' -update": "it rewrites files of this tree, which these tests compare",
	"install -d -o ringfence -g asterisk":                                      "the users ringfence and asterisk are an installation's",
	"usermod -aG asterisk ringfence":                                           "the users ringfence and asterisk are an installation's",
	"install -d -o asterisk -g asterisk":                                       "the users ringfence and asterisk are an installation's",
	"setfacl -R -m u:ringfence:rwX":                                            "the users ringfence and asterisk are an installation's",
	"setfacl -m u:ringfence:x":                                                 "the users ringfence and asterisk are an installation's",
	"mkdir unpacked && tar -xzf data.tgz -C unpacked":                          "it needs the data of a platform: the tests of moving/wazo copy some",
	"ringfence import wazo":                                                    "it needs the backup of a platform: the tests of moving/wazo import one",
	"ringfence import freepbx":                                                 "it needs files of a FreePBX: TestImportFreePBX of cmd/ringfence imports some",
	"sudo -u ringfence":                                                        "the user ringfence and its environment are an installation's: the next command there is the same one, for the gateway of the test",
}

var (
	shellBlock = regexp.MustCompile("(?ms)^( *)```(sh|bash|shell|console)\n(.*?)^ *```$")
	// looseCommand is a command outside of a block, in which nothing would find it.
	looseCommand = regexp.MustCompile(`(?m)^ {4,}(?:\$ )?((?:sudo|install|ringfence|bin/ringfence|make|go|curl|psql|docker|systemctl|cp|cat|export|openssl|git|npm|apt-get) .*)`)
)

// shellBlocks returns what a document has its reader type, in order.
func shellBlocks(text string) []string {
	var blocks []string
	for _, m := range shellBlock.FindAllStringSubmatch(text, -1) {
		if m[2] != "console" { // shows what was answered
			blocks = append(blocks, strings.ReplaceAll("\n"+m[3], "\n"+m[1], "\n"))
		}
	}
	return blocks
}

// Every command that a document has its reader type is typed here, into one shell for each document, beside a gateway that just began.
// The README's are typed by TestReadmeQuickstart, those of the examples by the examples' own tests.
func TestDocumentedCommands(t *testing.T) {
	shell := bash(t)
	paths, err := filepath.Glob(filepath.Join(gatewaytest.Repository(), "docs", "*.md"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%q, %v", paths, err)
	}
	unused := maps.Clone(notRun)
	for _, name := range append(paths, filepath.Join(gatewaytest.Repository(), "CONTRIBUTING.md"), filepath.Join(gatewaytest.Repository(), "SECURITY.md"), filepath.Join(gatewaytest.Repository(), "README.md")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		readme := filepath.Base(name) == "README.md"
		for _, m := range looseCommand.FindAllStringSubmatch(shellBlock.ReplaceAllString(string(text), ""), -1) {
			t.Errorf("%s: put this command into a block of sh, so that it is tried: %s", name, m[1])
		}
		var blocks []string
		for _, block := range shellBlocks(string(text)) {
			lines := strings.Split(block, "\n")
			lines = slices.DeleteFunc(lines, func(line string) bool {
				known := ""
				for command := range notRun {
					if strings.HasPrefix(line, command) && len(command) > len(known) {
						known = command
					}
				}
				if known != "" {
					t.Logf("%s: not run: %s: %s", filepath.Base(name), line, notRun[known])
					unspoilt(t, shell, line)
					delete(unused, known)
				}
				return known != ""
			})
			if block = strings.Join(lines, "\n"); strings.TrimSpace(block) != "" {
				blocks = append(blocks, block)
			}
		}
		if len(blocks) > 0 && !readme {
			t.Run(filepath.Base(name), func(t *testing.T) { typeBlocks(t, shell, blocks) })
		}
	}
	for command := range unused {
		t.Errorf("no document has the command %q any more", command)
	}
}

// unspoilt checks of a command that is not run what can be told without: that a shell understands it, and that make knows its target.
func unspoilt(t *testing.T, shell, line string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), shell, "-n", "-c", line).CombinedOutput(); err != nil {
		t.Errorf("no shell understands %q: %v: %s", line, err, out)
	}
	if m := regexp.MustCompile(`^(?:sudo )?make ([a-z-]+)`).FindStringSubmatch(line); m != nil && !strings.Contains(read(t, "Makefile"), "\n"+m[1]+":") {
		t.Errorf("%q: the Makefile has no target %s", line, m[1])
	}
}

// typeBlocks types blocks into one shell beside a gateway of its own. Each must succeed.
func typeBlocks(t *testing.T, shell string, blocks []string) {
	t.Helper()
	folder := program(t)
	for _, name := range []string{"Caddyfile", "Makefile"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(read(t, name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	curl, err := exec.LookPath("curl")
	if err == nil { // a refusal is a failure
		err = os.WriteFile(filepath.Join(folder, "bin", "curl"), []byte("#!/bin/sh\nexec '"+curl+"' --fail-with-body \"$@\"\n"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := gatewaytest.Start(t, gatewaytest.Settings{Config: "Caddyfile", Folder: folder, Env: []string{"RINGFENCE_ADMIN_PASSWORD="}}).Ready(t)
	credentials, err := os.ReadFile(filepath.Join(p.Data, "admin-credentials"))
	if err != nil {
		t.Fatal(err)
	}
	_, password, _ := strings.Cut(strings.TrimSpace(string(credentials)), "password: ")
	cmd := exec.CommandContext(t.Context(), shell, "-euo", "pipefail", "-s")
	cmd.Dir = folder
	cmd.Env = append(append(gatewaytest.Command(t, folder, nil).Env, p.Env...),
		"PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"), "PASSWORD="+password, "TOKEN="+p.Login(t, "admin", password))
	in, out, err := pipes(cmd)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	const done = "-- the block was run --"
	enter := func(block string) {
		t.Helper()
		if _, err := fmt.Fprintf(in, "{ %s\n} </dev/null\nprintf '\\n%%s\\n' '%s'\n", block, done); err != nil {
			t.Fatal(err)
		}
		var said []string
		for lines.Scan() {
			if lines.Text() == done {
				return
			}
			said = append(said, lines.Text())
		}
		t.Fatalf("%s\nfailed: %v\n%s", block, cmd.Wait(), strings.Join(said, "\n"))
	}
	enter("ringfence certificate --pem > ringfence.pem")
	for _, block := range blocks {
		restore := strings.Contains(block, "ringfence restore")
		if restore { // as the document says
			p.Stop(t)
		}
		enter(strings.NewReplacer("https://localhost:8443", "https://localhost:"+p.HTTPSPort).Replace(block))
		if restore {
			p.Run(t)
			p.Ready(t)
		}
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// pipes returns a command's input and its output, with its errors in it.
func pipes(cmd *exec.Cmd) (io.WriteCloser, io.Reader, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	cmd.Stderr = cmd.Stdout
	return in, out, err
}
