package caddymodule

import (
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/ringfence/ringfence/caddymodule/commands"
	"github.com/ringfence/ringfence/internal/operator"
	"github.com/ringfence/ringfence/internal/store/open"
)

func init() { caddy.RegisterModule(new(operatorSocket)) }

// operatorSocket is an admin module by which `ringfence user`, `admin` and `demo` change the embedded database of a gateway that runs: no
// other process can open it. Who may open the admin socket may load any configuration, so they get no right that they lack.
type operatorSocket struct{}

// CaddyModule returns the Caddy module information.
func (*operatorSocket) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "admin.api.ringfence_operator", New: func() caddy.Module { return new(operatorSocket) }}
}

// Routes implements caddy.AdminRouter.
func (*operatorSocket) Routes() []caddy.AdminRoute {
	return []caddy.AdminRoute{{Pattern: operator.SocketPath + "/", Handler: caddy.AdminHandlerFunc(serveOperator)}}
}

var (
	errOpenSocket    = errors.New("operators of this machine are served on an admin socket that only its owner can open")
	errOtherDatabase = errors.New("this gateway has another database")
)

// serveOperator serves the services to the operator of this machine.
func serveOperator(w http.ResponseWriter, r *http.Request) error {
	if !onPrivateSocket(r) {
		return caddy.APIError{HTTPStatus: http.StatusForbidden, Err: errOpenSocket}
	}
	e, err := engineWith(r.Header.Get(operator.DatabaseHeader))
	if err != nil {
		return caddy.APIError{HTTPStatus: http.StatusNotFound, Err: err}
	}
	defer func() { _ = e.release() }()
	inner := r.Clone(r.Context())
	inner.URL.Path, inner.URL.RawPath = strings.TrimPrefix(r.URL.Path, operator.SocketPath), ""
	inner.RequestURI = inner.URL.RequestURI()
	commands.Services{DB: e.db, Auth: e.auth, Confd: e.confd}.ServeHTTP(w, inner)
	return nil
}

// onPrivateSocket reports whether the request came through a socket that its owner alone may open: never a TCP port, which every
// user of the machine can open.
func onPrivateSocket(r *http.Request) bool {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || at.Network() != "unix" {
		return false
	}
	info, err := os.Stat(at.String()) //nolint:gosec // the listener's own address
	return err == nil && info.Mode().Type() == fs.ModeSocket && info.Mode().Perm()&0o077 == 0
}

// engineWith takes a share of the engine whose database is in the file that the header names; release releases it.
func engineWith(header string) (*engine, error) {
	path, err := url.QueryUnescape(header)
	if err != nil {
		return nil, errOtherDatabase
	}
	asked, err := os.Stat(path) //nolint:gosec // compared alone, for one who may read every file of the gateway
	if err != nil {
		return nil, errOtherDatabase
	}
	var key any
	engines.Range(func(k, _ any) bool {
		file, embedded := strings.CutPrefix(k.(string), open.SQLiteScheme)
		if has, err := os.Stat(file); embedded && err == nil && os.SameFile(has, asked) {
			key = k
		}
		return key == nil
	})
	if key == nil {
		return nil, errOtherDatabase
	}
	value, _, err := engines.LoadOrNew(key, func() (caddy.Destructor, error) { return nil, errOtherDatabase }) // if it has ended meanwhile
	if err != nil {
		return nil, err
	}
	return value.(*engine), nil
}

var _ caddy.AdminRouter = (*operatorSocket)(nil)
