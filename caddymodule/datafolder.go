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

// dataFolders holds the locks of this process's data folders, by path. Only one process may use a folder; the configurations that
// name it share its lock. Many nodes can share PostgreSQL, but not a data folder, with its certificate and its admin socket.
var dataFolders = caddy.NewUsagePool()

type folderLock struct{ io.Closer }

// Destruct releases the folder.
func (l folderLock) Destruct() error { return l.Close() }

// lockData creates the data folder and locks it, unless this configuration holds it already. It runs before anything in the folder is
// touched: see startGuard.
func (a *App) lockData() error {
	if a.locked != "" {
		return nil
	}
	if err := private.MakeFolder(a.Data); err != nil {
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
		if err != nil {
			return nil, err
		}
		if err := a.checkFolder(path); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
		return folderLock{lock}, nil
	})
	if held, ok := errors.AsType[*private.InUseError](err); ok {
		return fmt.Errorf("the data folder %s is in use by process %s: stop that one first, or give this one another folder (RINGFENCE_DATA)", path, held.Holder)
	}
	if err != nil {
		return fmt.Errorf("locking the data folder (RINGFENCE_DATA): %w", err)
	}
	a.locked = path
	return nil
}

// checkFolder refuses a folder in which nothing can be made, before something less plain does, and warns of one in which others can.
func (a *App) checkFolder(path string) error {
	tried, err := private.Temp(path, ".writable-*", nil)
	if err != nil {
		return fmt.Errorf("%w: let the user that the gateway runs as write there", err)
	}
	if err := os.Remove(tried); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 {
		a.log.Warn("others can replace the files of the data folder: take the right from them, with chmod go-w", "folder", path)
	}
	return nil
}

func (a *App) unlockData() error {
	if a.locked == "" {
		return nil
	}
	_, err := dataFolders.Delete(a.locked)
	a.locked = ""
	return err
}

func init() { caddy.RegisterModule(new(startGuard)) }

// startGuard is an admin module without routes. It exists for its place in the order: Caddy provisions admin modules just before
// it opens the admin endpoint, and only of a configuration that will run, not of one that is only validated.
type startGuard struct{}

// CaddyModule returns the Caddy module information.
func (*startGuard) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "admin.api.ringfence_start_guard", New: func() caddy.Module { return new(startGuard) }}
}

func (*startGuard) Routes() []caddy.AdminRoute { return nil }

// Provision locks the data folder, and refuses an admin socket that another process listens on: Caddy would replace the socket of
// a running gateway, which could then no longer be reloaded or stopped.
func (*startGuard) Provision(ctx caddy.Context) error {
	app, err := ctx.AppIfConfigured("ringfence")
	switch {
	case errors.Is(err, caddy.ErrNotConfigured):
	case err != nil:
		return err
	default:
		if err := app.(*App).lockData(); err != nil {
			return err
		}
	}
	return checkSocket(adminAddress(ctx))
}

// ownSockets are the admin sockets that this process has opened, by path.
var ownSockets sync.Map

// checkSocket refuses an admin socket that another process listens on. A socket without a listener was left by a killed process.
func checkSocket(address string) error {
	parsed, err := caddy.ParseNetworkAddress(address)
	if err != nil || !parsed.IsUnixNetwork() {
		return nil //nolint:nilerr // Caddy reports the error
	}
	path, _, _ := strings.Cut(parsed.Host, "|") // cut off the mode
	if _, own := ownSockets.Load(path); own {
		return nil
	}
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil { //nolint:noctx // one second at most
		_ = conn.Close()
		return fmt.Errorf("another process listens on the admin socket %s: stop that process first, or use another socket (%s)", path, socketVariable)
	}
	ownSockets.Store(path, true)
	return nil
}

// adminAddress returns the address of the admin endpoint of the configuration that ctx provisions. A Context has no method for
// it; if a later Caddy keeps it elsewhere, adminAddress returns "".
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
