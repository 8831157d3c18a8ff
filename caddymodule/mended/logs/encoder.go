package logs

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/logging"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"

	"github.com/ringfence/ringfence/internal/redact"
)

func init() {
	caddy.RegisterModule(new(Encoder))
}

// Encoder redacts tokens, passwords and cookies (package redact), whether or not the server's log_credentials is set, and has
// another encoder write the entries.
type Encoder struct {
	// WrappedRaw is the encoder that writes. Default: console if the log goes to a terminal, else json.
	WrappedRaw json.RawMessage `json:"wrap,omitempty" caddy:"namespace=caddy.logging.encoders inline_key=format"`

	zapcore.Encoder `json:"-"`

	ctx     caddy.Context
	wrapped zapcore.Encoder
}

// CaddyModule returns the Caddy module information.
func (*Encoder) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "caddy.logging.encoders.ringfence",
		New: func() caddy.Module { return new(Encoder) },
	}
}

// Provision loads the wrapped encoder.
func (e *Encoder) Provision(ctx caddy.Context) error {
	e.ctx = ctx
	if e.WrappedRaw == nil {
		return e.wrap(new(logging.JSONEncoder))
	}
	wrapped, err := ctx.LoadModule(e, "WrappedRaw")
	if err != nil {
		return fmt.Errorf("loading the wrapped log encoder: %w", err)
	}
	e.wrapped = wrapped.(zapcore.Encoder)
	e.Encoder = redactEncoder(e.wrapped)
	return nil
}

// ConfigureDefaultFormat chooses the default for the log's destination, or leaves the choice to the wrapped encoder.
func (e *Encoder) ConfigureDefaultFormat(destination caddy.WriterOpener) error {
	if e.WrappedRaw == nil {
		if caddy.IsWriterStandardStream(destination) && term.IsTerminal(int(os.Stderr.Fd())) {
			return e.wrap(new(logging.ConsoleEncoder))
		}
		return nil
	}
	if inner, ok := e.wrapped.(caddy.ConfiguresFormatterDefault); ok {
		return inner.ConfigureDefaultFormat(destination)
	}
	return nil
}

func (e *Encoder) wrap(encoder interface {
	zapcore.Encoder
	caddy.Provisioner
},
) error {
	if err := encoder.Provision(e.ctx); err != nil {
		return fmt.Errorf("provisioning the default log encoder: %w", err)
	}
	e.wrapped, e.Encoder = encoder, redactEncoder(encoder)
	return nil
}

// UnmarshalCaddyfile sets up the module from Caddyfile tokens. Syntax:
//
//	format ringfence {
//	    wrap <encoder> ...
//	}
func (e *Encoder) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the encoder's name
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(0) {
		if d.Val() != "wrap" {
			return d.Errf("unrecognized option %q", d.Val())
		}
		if e.WrappedRaw != nil {
			return d.Err("wrap is given twice")
		}
		if !d.NextArg() {
			return d.ArgErr()
		}
		name := d.Val()
		module, err := caddyfile.UnmarshalModule(d, "caddy.logging.encoders."+name)
		if err != nil {
			return err
		}
		e.WrappedRaw = caddyconfig.JSONModuleObject(module, "format", name, nil)
	}
	return nil
}

// redactEncoder puts the redaction around an encoder. Caddy's reverse_proxy adds every request to a logger, for debugging.
// Encoding the request only when something is written, as Caddy's server does, saves a twelfth of the proxy's CPU time. The proxy
// adds a copy of the request and does not change it any more.
func redactEncoder(enc zapcore.Encoder) zapcore.Encoder {
	return redact.Encoder(enc, redact.Options{Later: isRequest, Edit: editEntry})
}

func isRequest(m zapcore.ObjectMarshaler) bool {
	_, ok := m.(caddyhttp.LoggableHTTPRequest)
	return ok
}

var (
	_ caddy.Provisioner                = (*Encoder)(nil)
	_ caddy.ConfiguresFormatterDefault = (*Encoder)(nil)
	_ caddyfile.Unmarshaler            = (*Encoder)(nil)
)
