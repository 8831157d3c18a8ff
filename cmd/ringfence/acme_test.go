package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// acmeCaddyfile returns the repository's Caddyfile, changed as docs/certificates.md says for a public authority.
func acmeCaddyfile(t *testing.T) string {
	t.Helper()
	_, section, _ := strings.Cut(deployed(t, "docs/certificates.md"), "\n## A certificate of a public authority\n")
	blocks := regexp.MustCompile("(?s)```caddyfile\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) != 2 {
		t.Fatalf("the blocks are %q", blocks)
	}
	options, site, found := strings.Cut(blocks[0][1], "\t...\n}\n\n")
	site, _, whole := strings.Cut(site, "\t...\n}")
	text := deployed(t, "Caddyfile")
	if !found || !whole || !strings.HasPrefix(options, "{\n") || !strings.HasPrefix(site, "pbx.example.com {\n") {
		t.Fatalf("the configuration is %q", blocks[0][1])
	}
	text = strings.Replace(text, "{\n", options, 1)
	for _, gone := range []string{
		`(?m)^\tauto_https .*\n`, `(?ms)^\ton_demand_tls \{.*?^\t\}\n`, `(?ms)^\ttls \{\n.*?^\t\}\n`, `(?m)^https://:.* \{\n(?:\t#.*\n)*\tbind .*\n`,
	} {
		pattern := regexp.MustCompile(gone)
		if len(pattern.FindAllString(text, -1)) != 1 {
			t.Fatalf("the Caddyfile has not one %s", gone)
		}
		put := ""
		if strings.HasPrefix(gone, "(?m)^https") {
			put = site
		}
		text = pattern.ReplaceAllLiteralString(text, put)
	}
	return text
}

// written returns the path of a new file with this text.
func written(t *testing.T, folder, name, text string) string {
	t.Helper()
	file := filepath.Join(folder, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A certificate that could never be got is refused when the configuration is, with what to write instead.
func TestACMEOfASiteIsRefused(t *testing.T) {
	folder := t.TempDir()
	for line, bad := range map[string]bool{
		"tls you@example.com": true,
		"tls {\n\t\tissuer acme {\n\t\t\tdir https://ca.example.com/directory\n\t\t}\n\t}": true,
		"tls internal":    false,
		"# as documented": false,
	} {
		text := strings.Replace(acmeCaddyfile(t), "\tbind ringfence_tcp/\n", "\tbind ringfence_tcp/\n\t"+line+"\n", 1)
		out, status := run(t, folder, nil, "validate", "--config", written(t, folder, "Caddyfile", text))
		if bad != (status != 0) || bad && !strings.Contains(out, "pbx.example.com: with `bind ringfence_tcp/`, set email, acme_ca and acme_ca_root in the global options") {
			t.Errorf("%s: status %d:\n%s", line, status, out)
		}
	}
}
