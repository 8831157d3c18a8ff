// Package backendplugin is an authentication backend of somebody else's, whole in one file: it checks logins by an
// Apache password file (htpasswd -B). Build a gateway that has it by importing it beside ringfence's own modules:
//
//	package main
//
//	import (
//		_ "github.com/caddyserver/caddy/v2/modules/standard"
//
//		"github.com/ringfence/ringfence/caddymodule"
//		_ "github.com/ringfence/ringfence/examples/backend-plugin"
//	)
//
//	func main() { caddymodule.Main() }
//
// and name it in the Caddyfile:
//
//	ringfence {
//	    backends database
//	    backend  htpasswd /etc/ringfence/users
//	}
package backendplugin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"golang.org/x/crypto/bcrypt"

	"github.com/ringfence/ringfence/authsvc"
)

func init() {
	caddy.RegisterModule(new(Htpasswd))
}

// Htpasswd vouches for the users of a password file. Each is the ringfence user of that username, whose
// authentication_method is native.
type Htpasswd struct {
	// File is read when the configuration is loaded. Its lines are name:hash, by bcrypt.
	File string `json:"file,omitempty"`

	hashes  map[string][]byte
	unknown []byte // what an unknown name's password is compared with: that takes as long
}

// CaddyModule returns the Caddy module information.
func (*Htpasswd) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "ringfence.auth.backends.htpasswd", New: func() caddy.Module { return new(Htpasswd) }}
}

// Provision reads the file.
func (h *Htpasswd) Provision(caddy.Context) error {
	f, err := os.Open(caddy.NewReplacer().ReplaceAll(h.File, ""))
	if err != nil {
		return fmt.Errorf("reading the password file: %w", err)
	}
	defer func() { _ = f.Close() }()
	h.hashes = map[string][]byte{}
	most := bcrypt.DefaultCost
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		name, hash, ok := strings.Cut(strings.TrimSpace(lines.Text()), ":")
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		cost, err := bcrypt.Cost([]byte(hash))
		if !ok || err != nil {
			return fmt.Errorf("reading the password file: line %d is not name:hash, the hash by bcrypt (htpasswd -B)", n)
		}
		h.hashes[name], most = []byte(hash), max(most, cost)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading the password file: %w", err)
	}
	h.unknown, err = bcrypt.GenerateFromPassword([]byte("nobody's"), most)
	return err
}

// Name is what GET /backends lists.
func (*Htpasswd) Name() string { return "htpasswd" }

// Authenticate finds the name in the file. The name is what ringfence's user is bound to by the first login.
func (h *Htpasswd) Authenticate(_ context.Context, a authsvc.Attempt) (authsvc.Identity, error) {
	hash, known := h.hashes[a.Login]
	if !known {
		hash = h.unknown
	}
	err := bcrypt.CompareHashAndPassword(hash, []byte(a.Password))
	switch {
	case errors.Is(err, bcrypt.ErrMismatchedHashAndPassword), err == nil && !known:
		return authsvc.Identity{}, authsvc.ErrRefused
	case err != nil:
		return authsvc.Identity{}, fmt.Errorf("checking a password of the file: %w", err)
	}
	return authsvc.Identity{ID: a.Login, Logins: []string{a.Login}}, nil
}

// UnmarshalCaddyfile parses
//
//	backend htpasswd <file>
func (h *Htpasswd) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	if !d.AllArgs(&h.File) {
		return d.ArgErr()
	}
	return nil
}

var _ interface {
	caddy.Provisioner
	authsvc.Backend
} = (*Htpasswd)(nil)
