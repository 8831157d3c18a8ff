// Package docs_test holds the documents to what they say: links lead somewhere, what is named exists, and every option is described.
package docs_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

const root = ".."

// document is a Markdown file: its text without fenced code, and its headings.
type document struct {
	text     string
	headings []string
	anchors  map[string]bool
}

var (
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```[ \t]*$")
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	span    = regexp.MustCompile("`([^`]+)`")
)

// documents are the Markdown files of the repository's folder, of this one, and of the examples, by their path from the root.
func documents(t *testing.T) map[string]document {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{".", filepath.Join(root, "examples")} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".md") {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]document{}
	for _, path := range paths {
		d := document{text: fence.ReplaceAllString(read(t, path), ""), anchors: map[string]bool{}}
		for _, h := range heading.FindAllStringSubmatch(d.text, -1) {
			d.headings = append(d.headings, strings.ReplaceAll(h[1], "`", ""))
			d.anchors[anchor(h[1])] = true
		}
		all[filepath.ToSlash(filepath.Join("docs", path))] = d
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// anchor is what GitHub makes of a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, heading)
}

// goFiles calls visit with each Go file of the repository.
func goFiles(t *testing.T, visit func(path string, files *token.FileSet, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "data"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err == nil {
			visit(path, files, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	all := documents(t)
	for path, d := range all {
		for _, l := range link.FindAllStringSubmatch(d.text, -1) {
			target, fragment, _ := strings.Cut(l[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := path
			if target != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(path), target))
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s: the link %s leads nowhere", path, l[1])
			} else if fragment != "" && !all[to].anchors[fragment] {
				t.Errorf("%s: the link %s leads to no heading", path, l[1])
			}
		}
	}
}

// A newcomer finds every document from the README.
func TestReadmeLinksEveryDocument(t *testing.T) {
	all := documents(t)
	linked := map[string]bool{"README.md": true}
	for _, l := range link.FindAllStringSubmatch(all["README.md"].text, -1) {
		linked[strings.TrimSuffix(l[1], "/")] = true
	}
	for path := range all {
		if folder, _, _ := strings.Cut(path, "/"); !linked[path] && !linked[folder] && !linked[filepath.ToSlash(filepath.Dir(path))] {
			t.Errorf("the README has no link to %s", path)
		}
	}
}

// A file that a document names is there: `authsvc/source.go`, or, below internal, `gate/headers.go`.
func TestFilesAreThere(t *testing.T) {
	file := regexp.MustCompile(`^[a-z][a-z0-9_-]*(/[A-Za-z0-9._-]+)+\.(go|md|json|sh|sql|yml)$`)
	for path, d := range documents(t) {
		for _, s := range span.FindAllStringSubmatch(d.text, -1) {
			if !file.MatchString(s[1]) || path == "docs/adding-a-resource.md" && strings.Contains(s[1], "desk") {
				continue
			}
			_, err := os.Stat(filepath.Join(root, s[1]))
			if _, below := os.Stat(filepath.Join(root, "internal", s[1])); err != nil && below != nil {
				t.Errorf("%s: there is no file %s", path, s[1])
			}
		}
	}
}

var (
	citation = regexp.MustCompile(`\b(docs/[a-z0-9/-]+\.md|README\.md|README)\b(?:, "?([A-Z][A-Za-z ]*[A-Za-z])"?)?`)
	unknown  = regexp.MustCompile(`\b(` + strings.ToUpper("design|threats|spec|pitfalls|style|anchors|engine") + `)\b( section|,|\.md|'s| \d|\))|\(reference[,/)]|\breference[/]`)
)

// A comment cites a heading that is there ("docs/api.md, Accesses"), or nothing.
func TestCommentsCiteWhatIsThere(t *testing.T) {
	all := documents(t)
	goFiles(t, func(path string, files *token.FileSet, file *ast.File) {
		if filepath.Base(path) == "docs_test.go" {
			return
		}
		for _, group := range file.Comments {
			text := strings.Join(strings.Fields(group.Text()), " ")
			place := files.Position(group.Pos()).Line
			if found := unknown.FindString(text); found != "" {
				t.Errorf("%s:%d: the comment cites %q, which is not in the repository", path, place, found)
			}
			for _, c := range citation.FindAllStringSubmatch(text, -1) {
				name, cited := strings.TrimSuffix(c[1], ".md")+".md", c[2]
				d, ok := all[name]
				if !ok {
					t.Errorf("%s:%d: the comment cites %s, which does not exist", path, place, name)
				} else if cited != "" && !slices.Contains(d.headings, cited) {
					t.Errorf("%s:%d: the comment cites %q, which is no heading of %s", path, place, cited, name)
				}
			}
		}
	})
}

// Each line of docs/security.md names tests, and each of them exists.
func TestSecurityNamesTests(t *testing.T) {
	known := map[string]bool{}
	goFiles(t, func(path string, _ *token.FileSet, file *ast.File) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		name := strings.TrimSuffix(file.Name.Name, "_test")
		if name == "main" {
			name = filepath.Base(filepath.Dir(path)) // a program is known by its folder
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				known[name+"."+f.Name.Name] = true
			}
		}
	})
	named := regexp.MustCompile(`^[a-z0-9]+\.(Test|Fuzz)\w+$`)
	threats := 0
	for _, row := range rows(documents(t)["docs/security.md"].text) {
		if row.cells[0] == "threat" {
			continue
		}
		threats++
		tests := span.FindAllStringSubmatch(row.cells[len(row.cells)-1], -1)
		if len(row.cells) != 3 || len(tests) == 0 {
			t.Errorf("%q: a row is a threat, what defends, and the tests", row.cells[0])
		}
		for _, s := range tests {
			if !named.MatchString(s[1]) || !known[s[1]] {
				t.Errorf("%q: there is no test %s", row.cells[0], s[1])
			}
		}
	}
	if threats == 0 {
		t.Error("docs/security.md has no rows")
	}
}

// row is a row of a table, and the heading above it.
type row struct {
	heading string
	cells   []string
}

func rows(text string) (all []row) {
	above := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if h := heading.FindStringSubmatch(line); h != nil {
			above = h[1]
		}
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|--") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		all = append(all, row{above, cells})
	}
	return all
}

// Every option that the Caddyfile may have and every environment variable is in docs/configuration.md, and nothing else is: below a
// heading such as `passwords`, each row of a table begins with the options that it describes.
func TestConfigurationIsWhole(t *testing.T) {
	parsed := options(t)
	parsed["Environment"] = variables(t)
	described := map[string]map[string]bool{}
	for _, row := range rows(documents(t)["docs/configuration.md"].text) {
		for _, block := range blocks(row.heading) {
			if described[block] == nil {
				described[block] = map[string]bool{}
			}
			for _, s := range span.FindAllStringSubmatch(row.cells[0], -1) {
				described[block][strings.Fields(s[1])[0]] = true
			}
		}
	}
	for block, names := range parsed {
		for name := range names {
			if !described[block][name] {
				t.Errorf("docs/configuration.md does not describe %q below a heading %q", name, block)
			}
		}
	}
	for block, names := range described {
		of := parsed[block]
		if of == nil {
			if block == "ringfence_auth" || block == "ringfence_call_records" { // parsed like ringfence_confd
				continue
			}
			t.Errorf("docs/configuration.md has a heading %q, and nothing of this name is parsed", block)
		}
		for name := range names {
			if of != nil && !of[name] {
				t.Errorf("docs/configuration.md describes %q below %q, and the code does not know it", name, block)
			}
		}
	}
}

// blocks are the names of blocks that a heading has.
func blocks(heading string) (names []string) {
	if heading == "Environment" {
		return []string{heading}
	}
	for _, s := range span.FindAllStringSubmatch(heading, -1) {
		names = append(names, s[1])
	}
	return names
}

// options are those that the functions of package caddymodule parse, by the block that they are in: the names that a function compares
// with, and those of the syntax in its comment, whose first line names the block.
func options(t *testing.T) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	goFiles(t, func(path string, _ *token.FileSet, file *ast.File) {
		if !strings.HasPrefix(path, filepath.Join(root, "caddymodule")) || strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil || !strings.HasPrefix(f.Name.Name, "parse") && f.Name.Name != "UnmarshalCaddyfile" {
				continue
			}
			first, names := syntax(f.Doc.Text())
			if names[first] == nil {
				names[first] = map[string]bool{}
			}
			maps.Copy(names[first], compared(f.Body))
			for block, of := range names {
				if len(of) == 0 {
					continue
				}
				if all[block] == nil {
					all[block] = map[string]bool{}
				}
				maps.Copy(all[block], of)
			}
		}
	})
	return all
}

// syntax reads the indented lines of a comment: "tokens remote <url> {", then an option in each line, then "}". It returns the first
// block's name, "tokens remote", and the options of each block. A function without such a comment reads the app's own.
func syntax(comment string) (first string, names map[string]map[string]bool) {
	names, block := map[string]map[string]bool{}, ""
	for line := range strings.Lines(comment) {
		words := strings.Fields(line)
		switch {
		case !strings.HasPrefix(line, "\t") || len(words) == 0:
		case words[0] == "}":
			block = ""
		case block == "":
			if i := slices.IndexFunc(words, func(w string) bool { return strings.ContainsAny(w[:1], "<[{") }); i > 0 {
				words = words[:i]
			}
			block = strings.Join(words, " ")
			first, names[block] = cmp.Or(first, block), map[string]bool{}
		case option.MatchString(words[0]):
			names[block][words[0]] = true
		}
	}
	return cmp.Or(first, "ringfence"), names
}

var option = regexp.MustCompile(`^[a-z][a-z_]+$`)

// compared are the names of options that a function tells apart: cases of a switch, comparisons, and keys of maps.
func compared(body *ast.BlockStmt) map[string]bool {
	names := map[string]bool{}
	add := func(e ast.Expr) {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if s, err := strconv.Unquote(l.Value); err == nil && option.MatchString(s) {
				names[s] = true
			}
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CaseClause:
			for _, e := range n.List {
				add(e)
			}
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				add(n.Y)
			}
		case *ast.CompositeLit:
			if _, ok := n.Type.(*ast.MapType); !ok {
				return true
			}
			for _, e := range n.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok {
					add(pair.Key)
				}
			}
		}
		return true
	})
	return names
}

var variable = regexp.MustCompile(`\bRINGFENCE_[A-Z_]+\b|^GOGC$|^GOMEMLIMIT$`)

// variables are those that the program and the default Caddyfile read, and those of Go's memory.
func variables(t *testing.T) map[string]bool {
	names := map[string]bool{"GOMEMLIMIT": true}
	for _, name := range variable.FindAllString(read(t, filepath.Join(root, "Caddyfile")), -1) {
		names[name] = true
	}
	goFiles(t, func(path string, _ *token.FileSet, file *ast.File) {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test"+string(filepath.Separator)) || !strings.HasPrefix(path, filepath.Join(root, "caddymodule")) && !strings.HasPrefix(path, filepath.Join(root, "cmd")) {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if s, err := strconv.Unquote(l.Value); err == nil {
					for _, name := range variable.FindAllString(s, -1) {
						names[name] = true
					}
				}
			}
			return true
		})
	})
	return names
}
