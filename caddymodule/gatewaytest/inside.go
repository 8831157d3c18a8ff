package gatewaytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"

	"github.com/ringfence/ringfence/caddymodule/mended/listener"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Inside is a whole gateway in this process, which has one at a time.
type Inside struct {
	*Gateway
	// Dir is its folder, which has the folder data; LogFile is the file that all logs go to.
	Dir, LogFile           string
	HTTPSPort, HelpersPort string
	// Handover is the app's handover_delay.
	Handover string
	// App holds more options of the ringfence app, Routes more directives of the site.
	App, Routes string
	// Change, if set, makes the last changes to the adapted configuration.
	Change func(config map[string]any)
	// Config is the configuration that [LoadDefault] has loaded.
	Config []byte
}

// NewInside returns a gateway on an embedded database in a temporary folder, not loaded yet.
func NewInside(tb testing.TB) *Inside {
	tb.Helper()
	dir := tb.TempDir()
	g := &Inside{Dir: dir, HTTPSPort: FreePort(tb), HelpersPort: FreePort(tb), LogFile: filepath.Join(dir, "log"), Handover: "50ms"}
	g.Gateway = New(tb, g.HTTPSPort, g.HelpersPort)
	return g
}

// migrated puts a migrated database where the gateway makes its own: to migrate an empty one takes longer than all else of a start.
func (g *Inside) migrated(tb testing.TB) {
	tb.Helper()
	file := filepath.Join(g.Dir, "data", "ringfence.db")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		storetest.SQLiteFile(tb, file)
	}
}

// Caddyfile is the test's own Caddyfile: small, with routes that the test chooses.
func (g *Inside) Caddyfile() string {
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
`, g.Dir, g.LogFile, Password, g.App, g.HTTPSPort, g.Routes, g.Handover)
}

// Adapt adapts a Caddyfile, and makes the test's changes.
func (g *Inside) Adapt(tb testing.TB, caddyfile string) []byte {
	tb.Helper()
	config, err := Adapt(caddyfile)
	if err != nil {
		tb.Fatalf("adapting: %v\n%s", err, caddyfile)
	}
	if g.Change == nil {
		return config
	}
	var parsed map[string]any
	if err := json.Unmarshal(config, &parsed); err != nil {
		tb.Fatal(err)
	}
	g.Change(parsed)
	if config, err = json.Marshal(parsed); err != nil {
		tb.Fatal(err)
	}
	return config
}

// Adapt turns a Caddyfile into a configuration.
func Adapt(caddyfile string) ([]byte, error) {
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(caddyfile), nil)
	return config, err
}

// Stop stops what runs in this process.
func Stop(tb testing.TB) {
	tb.Helper()
	if err := caddy.Stop(); err != nil {
		tb.Errorf("stopping: %v", err)
	}
}

// Load starts the gateway, or reloads it. The gateway stops with the test, and must then have released everything.
func (g *Inside) Load(tb testing.TB) {
	tb.Helper()
	tb.Cleanup(func() {
		Stop(tb)
		if tb.Failed() {
			tb.Logf("the log:\n%s", g.Logged(tb))
		}
	})
	g.migrated(tb)
	if err := g.Reload(tb); err != nil {
		tb.Fatalf("loading: %v", err)
	}
}

// Reload returns when only the new configuration serves.
func (g *Inside) Reload(tb testing.TB) error {
	tb.Helper()
	return g.Use(tb, g.Caddyfile())
}

// Use loads a configuration, and returns when only that one serves, or, if it is refused, the one before.
func (g *Inside) Use(tb testing.TB, caddyfile string) error {
	tb.Helper()
	err := caddy.Load(g.Adapt(tb, caddyfile), true)
	Eventually(tb, time.Minute, func() error {
		if n := Listening(); n > 1 {
			return fmt.Errorf("%d configurations listen", n)
		}
		return nil
	})
	g.CloseIdleConnections() // the one before serves what comes on a connection that it has not closed yet
	return err
}

// References returns how often each key of a pool is held. It asks for the keys first: Range holds the pool's lock for reading, and
// References wants it too. Where somebody waits between the two to change the pool, a reader that asks a second time waits for him, and
// he for the reader.
func References(pool *caddy.UsagePool) map[any]int {
	var keys []any
	pool.Range(func(key, _ any) bool {
		keys = append(keys, key)
		return true
	})
	held := map[any]int{}
	for _, key := range keys {
		if n, ok := pool.References(key); ok {
			held[key] = n
		}
	}
	return held
}

// Listening returns how many configurations have a socket open: more than one while the old configuration of a reload ends, which
// Caddy does not wait for.
func Listening() int {
	most := 0
	for _, n := range References(listener.Sockets) {
		most = max(most, n)
	}
	return most
}

// Logged returns what was logged so far.
func (g *Inside) Logged(tb testing.TB) string {
	tb.Helper()
	content, err := os.ReadFile(g.LogFile)
	if err != nil {
		return err.Error()
	}
	return string(content)
}

// Admin returns a new token of the first administrator.
func (g *Inside) Admin(tb testing.TB) string {
	tb.Helper()
	return g.Login(tb, "admin", Password)
}

// LoadDefault starts the repository's own Caddyfile, with its logs in a file.
func LoadDefault(tb testing.TB, database string) *Inside {
	tb.Helper()
	return LoadEdited(tb, database, func(caddyfile string) string { return caddyfile })
}

// LoadEdited is LoadDefault with a change of the Caddyfile.
func LoadEdited(tb testing.TB, database string, edit func(caddyfile string) string) *Inside {
	tb.Helper()
	g := NewInside(tb)
	for name, value := range map[string]string{
		"RINGFENCE_HTTPS_PORT": g.HTTPSPort, "RINGFENCE_HELPERS_PORT": g.HelpersPort, "RINGFENCE_DATA": filepath.Join(g.Dir, "data"),
		"RINGFENCE_DATABASE": database, "RINGFENCE_ADMIN_USERNAME": "", "RINGFENCE_ADMIN_PASSWORD": Password,
		"RINGFENCE_ADMIN_SOCKET": filepath.Join(g.Dir, "admin.sock"), "RINGFENCE_PUBLIC_URL": "", "RINGFENCE_SEALING_KEYS": "",
	} {
		tb.Setenv(name, value)
	}
	output := " {\noutput file " + g.LogFile
	text := strings.NewReplacer("log default {", "log default"+output, "log admin {", "log admin"+output).Replace(edit(DefaultCaddyfile(tb)))
	tb.Cleanup(func() {
		Stop(tb)
		if tb.Failed() {
			tb.Logf("the log:\n%s", g.Logged(tb))
		}
	})
	if database == "" {
		g.migrated(tb)
	}
	g.Config = g.Adapt(tb, text)
	g.start(tb)
	return g
}

// start starts the gateway with its configuration.
func (g *Inside) start(tb testing.TB) {
	tb.Helper()
	if err := caddy.Load(g.Config, true); err != nil {
		tb.Fatalf("loading: %v", err)
	}
}

// Restart stops the gateway that [LoadDefault] has started, and starts it again.
func (g *Inside) Restart(tb testing.TB) {
	tb.Helper()
	Stop(tb)
	g.start(tb)
}

// DefaultCaddyfile returns the repository's own.
func DefaultCaddyfile(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(Repository(), "Caddyfile"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}
