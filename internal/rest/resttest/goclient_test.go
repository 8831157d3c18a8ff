package resttest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The generator, and what its clients import. They are no part of this module: it would take over what they depend on.
const (
	generator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"
	goClient  = `module client

go 1.25

require (
	github.com/oapi-codegen/runtime v1.8.0
	go.yaml.in/yaml/v3 v3.0.6
)

require (
	github.com/apapsch/go-jsonmerge/v2 v2.0.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
)
`
)

// Of each definition a typed Go client can be generated, and compiled. Without the path of the folder in it, a client that has not changed is
// not compiled again.
func TestGoClients(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles a hundred thousand lines")
	}
	folder := t.TempDir()
	run := func(program string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off", "GOBIN="+folder)
		return cmd.CombinedOutput()
	}
	if out, err := run("go", "install", generator); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("installing the generator: %v\n%s", err, out)
		}
		t.Skipf("the generator is not at hand, and cannot be fetched: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte(goClient), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{"authsvc", "confdsvc", "helpers"} {
		definition, err := filepath.Abs(filepath.Join("..", "..", "..", service, "testdata", "openapi.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(folder, service), 0o700); err != nil {
			t.Fatal(err)
		}
		out, err := run(filepath.Join(folder, "oapi-codegen"), "-generate", "types,client", "-package", service, "-o", filepath.Join(service, "client.go"), definition)
		if err != nil {
			t.Fatalf("generating the client of %s: %v\n%s", service, err, out)
		}
	}
	if out, err := run("go", "build", "./..."); err != nil {
		t.Fatalf("compiling the clients: %v\n%s", err, out)
	}
}
