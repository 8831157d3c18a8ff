package caddymodule

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

func init() {
	caddy.RegisterModule(new(Health))
	httpcaddyfile.RegisterHandlerDirective("ringfence_health", parseBare(func() caddyhttp.MiddlewareHandler { return new(Health) }))
	httpcaddyfile.RegisterDirectiveOrder("ringfence_health", httpcaddyfile.Before, "redir") // and so before every gate
}

// Health serves GET /healthz, 200 while the process lives, and GET /readyz, 200 while the database is reachable and the folders of the data and of
// the database can be written, and 503 with the reason otherwise, as of a second ago at most. Both are for load balancers: they need no token, and reveal only the
// state. It passes other paths on.
type Health struct {
	app     *App
	unready atomic.Bool
}

// CaddyModule returns the Caddy module information.
func (*Health) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.ringfence_health", New: func() caddy.Module { return new(Health) }}
}

// Provision takes the app.
func (h *Health) Provision(ctx caddy.Context) (err error) {
	h.app, err = loadApp(ctx)
	return err
}

func (h *Health) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	switch r.URL.Path {
	case "/healthz":
		return state(w, r, http.StatusOK, "alive")
	case "/readyz":
		err := h.app.ready(r.Context())
		if r.Context().Err() != nil { // the client has left, which says nothing of the database
			return nil
		}
		h.log(err)
		if err != nil {
			w.Header().Set("Retry-After", "2")
			return state(w, r, http.StatusServiceUnavailable, unreadiness(err))
		}
		return state(w, r, http.StatusOK, "ready")
	default:
		return next.ServeHTTP(w, r)
	}
}

// log reports a change of state once, not at every probe. The start has its own messages.
func (h *Health) log(err error) {
	if errors.Is(err, errNotStarted) || h.unready.Swap(err != nil) == (err != nil) {
		return
	}
	if err != nil {
		h.app.log.Warn("not ready: "+unreadiness(err), "error", err)
		return
	}
	h.app.log.Info("ready again")
}

// errUnwritable is that the data folder, or that of an SQLite database, cannot be written, and errNoRoom that its disk is full.
var (
	errUnwritable = errors.New("disk not writable")
	errNoRoom     = errors.New("disk full")
)

// unreadiness says in a few words why no requests can be served now.
func unreadiness(err error) string {
	for _, reason := range []error{errNoRoom, errUnwritable} {
		if errors.Is(err, reason) {
			return reason.Error()
		}
	}
	return "database unavailable"
}

// roomTried is how much is written to see whether there is room: more than an ordinary transaction adds to a database.
const roomTried = 64 << 10

// tryRoom returns an error if one of the folders cannot take another file. It tries, because quotas and broken disks do not show in numbers.
func tryRoom(folders []string) error {
	for _, folder := range folders {
		name := filepath.Join(folder, ".room")
		err := os.WriteFile(name, make([]byte, roomTried), 0o600)
		if removed := os.Remove(name); err == nil { // what was written of it too
			err = removed
		}
		switch {
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
			return fmt.Errorf("%w: %w", errNoRoom, err)
		case err != nil:
			return fmt.Errorf("%w: %w", errUnwritable, err)
		}
	}
	return nil
}

func state(w http.ResponseWriter, r *http.Request, status int, text string) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, err := w.Write([]byte(`{"status":"` + text + `"}`))
	return err
}

var (
	_ caddyhttp.MiddlewareHandler = (*Health)(nil)
	_ caddy.Provisioner           = (*Health)(nil)
)
