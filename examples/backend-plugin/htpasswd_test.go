package backendplugin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	_ "github.com/ringfence/ringfence/examples/backend-plugin"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// The gateway that the test runs is this test's own program, which has the plugin.
func TestMain(m *testing.M) { gatewaytest.Main(m) }

// configure writes the repository's own Caddyfile with these lines about backends.
func configure(t *testing.T, file, backends string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(gatewaytest.Repository(), "Caddyfile"))
	if err != nil {
		t.Fatal(err)
	}
	const own = "\t\ttokens local\n"
	changed := strings.Replace(string(text), own, own+backends, 1)
	if changed == string(text) {
		t.Fatal("the Caddyfile has no place for backends")
	}
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoginByPlugin(t *testing.T) {
	folder := t.TempDir()
	users, config := filepath.Join(folder, "users"), filepath.Join(folder, "Caddyfile")
	hash, err := bcrypt.GenerateFromPassword([]byte("Alice's own"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(users, []byte("# staff\nalice:"+string(hash)+"\nstranger:"+string(hash)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	withPlugin := "\t\tbackends database\n\t\tbackend htpasswd " + users + "\n"
	configure(t, config, withPlugin)
	p := gatewaytest.Start(t, gatewaytest.Settings{Config: config, Folder: folder}).Ready(t)

	const login = "/api/auth/0.1/token"
	fails := func(name, password string) {
		t.Helper()
		p.Do(t, "POST", login, "", "{}", resttest.Basic(name, password)).Want(401)
	}
	if a := p.Do(t, "GET", "/api/auth/0.1/backends", "", "").Want(200); a.Body != `{"data":["database","htpasswd"]}` {
		t.Errorf("backends: %s", a.Body)
	}
	admin := p.Login(t, "admin", gatewaytest.Password)
	alice := p.Do(t, "POST", "/api/auth/0.1/users", admin, `{"username": "alice"}`).Want(200).Text("uuid")

	a := p.Do(t, "POST", login, "", "{}", resttest.Basic("alice", "Alice's own")).Want(200)
	if got := a.Text("data.auth_id"); got != alice {
		t.Errorf("the token is %s's, want %s", got, alice)
	}
	fails("alice", "wrong")
	fails("stranger", "Alice's own") // known there, and nobody here
	fails("nobody", "Alice's own")

	// A reload that fails changes nothing; one without the plugin ends its logins.
	configure(t, config, "\t\tbackend htpasswd "+filepath.Join(folder, "missing")+"\n")
	if out, err := p.Reload(t); err == nil || !strings.Contains(out, "reading the password file") {
		t.Errorf("a missing file: %v: %s", err, out)
	}
	p.Login(t, "alice", "Alice's own")
	configure(t, config, "\t\tbackends database ldap\n")
	if out, err := p.Reload(t); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if a := p.Do(t, "GET", "/api/auth/0.1/backends", "", "").Want(200); a.Body != `{"data":["database","ldap"]}` {
		t.Errorf("backends: %s", a.Body)
	}
	fails("alice", "Alice's own")
	p.Login(t, "admin", gatewaytest.Password)
}

// The Caddyfile of the example, as it is.
func TestCaddyfile(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users")
	hash, err := bcrypt.GenerateFromPassword([]byte("Bob's own"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(users, []byte("bob:"+string(hash)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(gatewaytest.Repository(), "examples", "backend-plugin", "Caddyfile")
	p := gatewaytest.Start(t, gatewaytest.Settings{Config: config, Env: []string{"PASSWORD_FILE=" + users}}).Ready(t)
	p.Do(t, "POST", "/api/auth/0.1/users", p.Login(t, "admin", gatewaytest.Password), `{"username": "bob"}`).Want(200)
	p.Login(t, "bob", "Bob's own")
	p.Do(t, "POST", "/api/auth/0.1/token", "", "{}", resttest.Basic("bob", "another")).Want(401)
}
