package caddymodule_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/ringfence/ringfence/caddymodule"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// gateway is a whole gateway in this process.
type gateway struct {
	*gatewaytest.Gateway
	dir, https, helpers string
	log                 string // the file that all logs go to
	handover            string // the app's handover_delay
	// app holds more options of the ringfence app, routes more directives of the site.
	app, routes string
	config      []byte // that loadDefault has loaded
	// change, if set, makes the last changes to the adapted configuration.
	change func(config map[string]any)
}

const adminPassword = gatewaytest.Password

// newGateway returns a gateway on an embedded database in a temporary folder, not loaded yet.
func newGateway(t *testing.T) *gateway {
	t.Helper()
	dir := t.TempDir()
	g := &gateway{dir: dir, https: gatewaytest.FreePort(t), helpers: gatewaytest.FreePort(t), log: filepath.Join(dir, "log"), handover: "50ms"}
	g.Gateway = gatewaytest.New(t, g.https, g.helpers)
	return g
}

// migrated puts a migrated database where the gateway makes its own: to migrate an empty one takes longer than all else of a start.
func (g *gateway) migrated(t *testing.T) {
	t.Helper()
	file := filepath.Join(g.dir, "data", "ringfence.db")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		storetest.SQLiteFile(t, file)
	}
}

// caddyfile is the test's own Caddyfile: small, with routes that the test chooses.
func (g *gateway) caddyfile() string {
	return fmt.Sprintf(`{
	admin unix/%[1]s/admin.sock|0600
	persist_config off
	storage file_system %[1]s/caddy
	grace_period 1m
	auto_https disable_redirects
	on_demand_tls {
		permission ringfence_self_signed
	}
	log default {
		format ringfence
		output file %[2]s
		exclude admin
	}
	servers {
		protocols h1 h2
	}
	ringfence {
		data %[1]s/data
		admin admin "%[3]s"
		handover_delay %[7]s
		%[4]s
	}
}
https://:%[5]s {
	bind ringfence_tcp/
	tls {
		get_certificate ringfence_self_signed {
			data %[1]s/data
		}
	}
	ringfence_health
	handle /metrics {
		metrics
	}
	handle /api/auth/* {
		ringfence_gate
		ringfence_auth
	}
	handle /api/confd/* {
		ringfence_gate
		ringfence_confd
	}
	handle {
		%[6]s
	}
}
`, g.dir, g.log, adminPassword, g.app, g.https, g.routes, g.handover)
}

// adapt adapts a Caddyfile, and makes the test's changes.
func (g *gateway) adapt(t *testing.T, caddyfile string) []byte {
	t.Helper()
	config, err := adaptOnly(caddyfile)
	if err != nil {
		t.Fatalf("adapting: %v\n%s", err, caddyfile)
	}
	if g.change == nil {
		return config
	}
	var parsed map[string]any
	if err := json.Unmarshal(config, &parsed); err != nil {
		t.Fatal(err)
	}
	g.change(parsed)
	if config, err = json.Marshal(parsed); err != nil {
		t.Fatal(err)
	}
	return config
}

func adaptOnly(caddyfile string) ([]byte, error) {
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(caddyfile), nil)
	return config, err
}

// load starts the gateway, or reloads it. The gateway stops with the test, and must then have released everything.
func (g *gateway) load(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		stop(t)
		if t.Failed() {
			t.Logf("the log:\n%s", g.logged(t))
		}
	})
	g.migrated(t)
	if err := g.reload(t); err != nil {
		t.Fatalf("loading: %v", err)
	}
}

// reload returns when only the new configuration serves.
func (g *gateway) reload(t *testing.T) error {
	t.Helper()
	return g.use(t, g.caddyfile())
}

// use loads a configuration, and returns when only that one serves, or, if it is refused, the one before.
func (g *gateway) use(t *testing.T, caddyfile string) error {
	t.Helper()
	err := caddy.Load(g.adapt(t, caddyfile), true)
	gatewaytest.Eventually(t, time.Minute, func() error {
		if n := caddymodule.Listening(); n > 1 {
			return fmt.Errorf("%d configurations listen", n)
		}
		return nil
	})
	g.CloseIdleConnections() // the one before serves what comes on a connection that it has not closed yet
	return err
}

func (g *gateway) logged(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(g.log)
	if err != nil {
		return err.Error()
	}
	return string(content)
}

func (g *gateway) admin(t *testing.T) string {
	t.Helper()
	return g.Login(t, "admin", adminPassword)
}

// loadDefault starts the repository's own Caddyfile, with its logs in a file.
func loadDefault(t *testing.T, database string) *gateway {
	t.Helper()
	return loadEdited(t, database, func(caddyfile string) string { return caddyfile })
}

// loadEdited is loadDefault with a change of the Caddyfile.
func loadEdited(t *testing.T, database string, edit func(caddyfile string) string) *gateway {
	t.Helper()
	g := newGateway(t)
	for name, value := range map[string]string{
		"RINGFENCE_HTTPS_PORT": g.https, "RINGFENCE_HELPERS_PORT": g.helpers, "RINGFENCE_DATA": filepath.Join(g.dir, "data"),
		"RINGFENCE_DATABASE": database, "RINGFENCE_ADMIN_USERNAME": "", "RINGFENCE_ADMIN_PASSWORD": adminPassword,
		"RINGFENCE_ADMIN_SOCKET": filepath.Join(g.dir, "admin.sock"), "RINGFENCE_PUBLIC_URL": "", "RINGFENCE_SEALING_KEYS": "",
	} {
		t.Setenv(name, value)
	}
	text := strings.NewReplacer("log default {", "log default {\noutput file "+g.log, "log admin {", "log admin {\noutput file "+g.log).Replace(edit(defaultCaddyfile(t)))
	t.Cleanup(func() {
		stop(t)
		if t.Failed() {
			t.Logf("the log:\n%s", g.logged(t))
		}
	})
	if database == "" {
		g.migrated(t)
	}
	g.config = g.adapt(t, text)
	if err := caddy.Load(g.config, true); err != nil {
		t.Fatalf("loading: %v", err)
	}
	return g
}

func defaultCaddyfile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(gatewaytest.Repository(), "Caddyfile"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// testHandler is a Caddy handler that a test can look into: `test_handler` calls behind.
type testHandler struct{}

var behind atomic.Pointer[http.HandlerFunc]

func init() {
	caddy.RegisterModule(testHandler{})
	httpcaddyfile.RegisterHandlerDirective("test_handler", func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		h.Next()
		return testHandler{}, nil
	})
	httpcaddyfile.RegisterDirectiveOrder("test_handler", httpcaddyfile.Before, "respond")
}

func (testHandler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.test_handler", New: func() caddy.Module { return new(testHandler) }}
}

func (testHandler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	(*behind.Load())(w, r)
	return nil
}

// handle makes the test_handler of all configurations call h.
func handle(h http.HandlerFunc) { behind.Store(&h) }
