package caddymodule

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/ringfence/ringfence/internal/private"
)

// dataFolders holds the locks of the data folders that this process works in, by path: one process has a folder, and the
// configurations that name it share its lock. PostgreSQL can be shared by many nodes; a data folder, with its certificate and its
// admin socket, cannot.
var dataFolders = caddy.NewUsagePool()

type folderLock struct{ io.Closer }

// Destruct gives the folder to others.
func (l folderLock) Destruct() error { return l.Close() }

// hold makes the data folder and locks it, unless this configuration has it already. It comes before anything in the folder is
// touched: see startGuard.
func (a *App) hold() error {
	if a.held != "" {
		return nil
	}
	if err := os.MkdirAll(a.Data, 0o700); err != nil {
		return fmt.Errorf("making the data folder (RINGFENCE_DATA): %w", err)
	}
	path, err := filepath.Abs(a.Data)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return fmt.Errorf("finding the data folder (RINGFENCE_DATA): %w", err)
	}
	_, _, err = dataFolders.LoadOrNew(path, func() (caddy.Destructor, error) {
		lock, err := private.TryLock(filepath.Join(path, "lock"))
		return folderLock{lock}, err
	})
	if held, ok := errors.AsType[*private.InUseError](err); ok {
		return fmt.Errorf("the data folder %s is in use by process %s: stop that one first, or give this one another folder (RINGFENCE_DATA)", path, held.Holder)
	}
	if err != nil {
		return fmt.Errorf("locking the data folder (RINGFENCE_DATA): %w", err)
	}
	a.held = path
	return nil
}

// letGo gives the data folder back.
func (a *App) letGo() error {
	if a.held == "" {
		return nil
	}
	_, err := dataFolders.Delete(a.held)
	a.held = ""
	return err
}

func init() { caddy.RegisterModule(new(startGuard)) }

// startGuard is an admin module without routes, for its place in the order: Caddy provisions admin modules of a configuration that is
// going to run, and not of one that is only validated, before it opens the admin endpoint.
type startGuard struct{}

// CaddyModule returns the Caddy module information.
func (*startGuard) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "admin.api.ringfence_start_guard", New: func() caddy.Module { return new(startGuard) }}
}

func (*startGuard) Routes() []caddy.AdminRoute { return nil }

// Provision locks the data folder, and refuses the admin socket of another process: Caddy would replace the socket of a gateway that
// runs, which nobody could reload or stop any more.
func (*startGuard) Provision(ctx caddy.Context) error {
	app, err := ctx.AppIfConfigured("ringfence")
	switch {
	case errors.Is(err, caddy.ErrNotConfigured):
	case err != nil:
		return err
	default:
		if err := app.(*App).hold(); err != nil {
			return err
		}
	}
	return checkSocket(adminAddress(ctx))
}

// ownSockets are the admin sockets that this process has had, by path.
var ownSockets sync.Map

// checkSocket refuses an admin socket at which another process answers. A socket that nobody listens on is what a killed one has left.
func checkSocket(address string) error {
	parsed, err := caddy.ParseNetworkAddress(address)
	if err != nil || !parsed.IsUnixNetwork() {
		return nil //nolint:nilerr // Caddy says what is wrong with it
	}
	path, _, _ := strings.Cut(parsed.Host, "|") // the mode
	if _, own := ownSockets.Load(path); own {
		return nil
	}
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil { //nolint:noctx // one second at most
		_ = conn.Close()
		return fmt.Errorf("another process answers at the admin socket %s: stop that one first, or give this one another socket (%s)", path, socketVariable)
	}
	ownSockets.Store(path, true)
	return nil
}

// adminAddress is where the configuration that ctx provisions has its admin endpoint. A Context has no method that tells; where a later
// Caddy keeps it elsewhere, the answer is empty.
func adminAddress(ctx caddy.Context) string {
	at := reflect.ValueOf(ctx)
	for _, name := range []string{"cfg", "Admin", "Listen"} {
		if at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		if at.Kind() != reflect.Struct {
			return ""
		}
		at = at.FieldByName(name)
	}
	switch {
	case at.Kind() != reflect.String:
		return ""
	case at.String() == "":
		return caddy.DefaultAdminListen
	default:
		return caddy.NewReplacer().ReplaceAll(at.String(), "")
	}
}

var (
	_ caddy.Provisioner = (*startGuard)(nil)
	_ caddy.AdminRouter = (*startGuard)(nil)
)
