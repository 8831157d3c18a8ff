package caddymodule

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"reflect"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/logging"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"

	"github.com/ringfence/ringfence/internal/redact"
)

// Tokens never appear in a log. Caddy clones each request before any handler runs and puts
// the clone, headers and target, into its access log, its error log and the debug logs of reverse_proxy and rewrite.
// Of the headers it redacts Authorization and Cookie, by a list in its own code, and not X-Auth-Token; the target it
// logs as it came. No handler can reach that clone, so the redaction has to sit where all logs meet: at the encoder.
//
// LogEncoder is the encoder for that, by Caddy's own extension point; the default Caddyfile names it. A configuration
// that names another one, or none, is not a reason to leak: protectLogs puts the same redaction around the encoder of
// every log that was opened. Considered and refused: taking the header out of the request before Caddy sees it, since
// every other handler and upstream would miss it; refusing configurations with other encoders, since then a plain
// `log` directive would not start; the gate writing access logs itself, since requests that no gate sees are logged too.

func init() {
	caddy.RegisterModule(new(LogEncoder))
	caddy.RegisterModule(new(logGuard))
}

// LogEncoder encodes log entries with another encoder after tokens, passwords and cookies are redacted (package
// redact), whether or not the server's log_credentials is set.
type LogEncoder struct {
	// WrappedRaw is the encoder that does the work. Default: console if the log goes to a terminal, else json.
	WrappedRaw json.RawMessage `json:"wrap,omitempty" caddy:"namespace=caddy.logging.encoders inline_key=format"`

	zapcore.Encoder `json:"-"`

	ctx     caddy.Context
	wrapped zapcore.Encoder
}

// CaddyModule returns the Caddy module information.
func (*LogEncoder) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "caddy.logging.encoders.ringfence",
		New: func() caddy.Module { return new(LogEncoder) },
	}
}

// Provision loads the wrapped encoder.
func (e *LogEncoder) Provision(ctx caddy.Context) error {
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

// ConfigureDefaultFormat chooses the default for the log's destination, or passes the question on.
func (e *LogEncoder) ConfigureDefaultFormat(destination caddy.WriterOpener) error {
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

func (e *LogEncoder) wrap(encoder interface {
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
func (e *LogEncoder) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
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

// redactEncoder puts the redaction around an encoder. Caddy's reverse_proxy adds every request to a logger, for debugging:
// encoding it only when something is written, as Caddy's server does by itself, saves a twelfth of the proxy's CPU time. The
// request that it adds is a copy of its own, which it does not change any more.
func redactEncoder(enc zapcore.Encoder) zapcore.Encoder {
	return redact.With(enc, redact.Options{Later: isRequest, Edit: editEntry})
}

func isRequest(m zapcore.ObjectMarshaler) bool {
	_, ok := m.(caddyhttp.LoggableHTTPRequest)
	return ok
}

// logGuard calls protectLogs for every configuration with an admin endpoint, one without any other module of ours
// too: Caddy provisions admin modules after it has opened the logs and before any app, so before anything that could
// log a request. It serves no admin route. Configurations with `admin off` get the same from the modules of ours in
// them.
type logGuard struct{}

// CaddyModule returns the Caddy module information.
func (*logGuard) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "admin.api.ringfence_log_guard",
		New: func() caddy.Module { return new(logGuard) },
	}
}

func (*logGuard) Provision(ctx caddy.Context) error {
	if err := protectLogs(ctx); err != nil {
		return err
	}
	return beforeStart(ctx)
}

func (*logGuard) Routes() []caddy.AdminRoute { return nil }

// protectLogs makes every log of the configuration that ctx provisions redact its entries, in whatever format. Every
// module of ours that a configuration can have on its own calls it in Provision, before it asks for a logger; once is
// enough and more does no harm. An error means that a log was found which cannot be protected: refuse to start.
func protectLogs(ctx caddy.Context) error {
	log.SetOutput(redact.Writer(log.Writer())) // what libraries log by the standard library

	// Nothing logs requests through the new logs while their configuration is being provisioned, but Caddy itself may
	// use its default logger, which is the new one already: the entries of this moment wait in a buffer.
	_, current, _ := caddy.BufferedLog()
	defer caddy.UnbufferDefaultLogger(current)
	if err := protectCore(ctx.Logger(everyLog{}).Core()); err != nil {
		return fmt.Errorf("keeping tokens out of the logs: %w", err)
	}
	return nil
}

// everyLog is asked for by name to get a logger that writes to all the logs that any module may write to.
type everyLog struct{}

func (everyLog) CaddyModule() caddy.ModuleInfo { return caddy.ModuleInfo{} }

var (
	discardCore = reflect.TypeOf(zapcore.NewNopCore())
	writeCore   = reflect.TypeOf(zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{}), zapcore.AddSync(io.Discard), zapcore.InfoLevel))
)

// corePackages are those whose cores only pass on to the core in them. A guest's core (Caddy's `core` option for a log)
// may send entries anywhere.
var corePackages = []string{reflect.TypeFor[caddy.CustomLog]().PkgPath(), writeCore.Elem().PkgPath()}

// protectCore finds, below what zap and Caddy put around it (a tee of several logs, the include and exclude lists of a
// log, sampling), each core that encodes and writes, and puts the redaction around its encoder.
//
// zap has no public way to that encoder: it is an unexported field, set here through its address. The loggers of apps
// that are provisioned already share the core, so replacing the core itself would miss them. The versions of zap and
// Caddy are pinned, anything unknown is an error and never a log left open, and the tests look for tokens in what real
// configurations log.
func protectCore(core zapcore.Core) error {
	v := reflect.ValueOf(core)
	switch {
	case v.Type() == discardCore:
		return nil
	case v.Type() == writeCore:
		encoder := v.Elem().FieldByName("enc")
		if !encoder.IsValid() || encoder.Type() != reflect.TypeFor[zapcore.Encoder]() {
			return fmt.Errorf("the log core %s has no encoder of a known form", v.Type())
		}
		protectEncoder((*zapcore.Encoder)(encoder.Addr().UnsafePointer()))
		return nil
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			inner, ok := reflect.TypeAssert[zapcore.Core](v.Index(i))
			if !ok {
				return fmt.Errorf("unknown log core %s", v.Type())
			}
			if err := protectCore(inner); err != nil {
				return err
			}
		}
		return nil
	case v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct && slices.Contains(corePackages, v.Elem().Type().PkgPath()):
		if around := v.Elem().FieldByName("Core"); around.IsValid() && around.CanInterface() {
			if inner, ok := reflect.TypeAssert[zapcore.Core](around); ok {
				return protectCore(inner)
			}
		}
	}
	return fmt.Errorf("unknown log core %s", v.Type())
}

// protectEncoder is hidden from the race detector for one access that it cannot order: Caddy's default logger may have
// read the field just before protectLogs set that logger aside, for an entry of Caddy's own that is written by now.
// With LogEncoder as the format, as in the default Caddyfile, nothing is set.
//
//go:norace
func protectEncoder(encoder *zapcore.Encoder) {
	if _, ok := (*encoder).(*LogEncoder); ok {
		return
	}
	if around := redactEncoder(*encoder); around != *encoder {
		*encoder = around
	}
}

var (
	_ caddy.Provisioner                = (*LogEncoder)(nil)
	_ caddy.ConfiguresFormatterDefault = (*LogEncoder)(nil)
	_ caddyfile.Unmarshaler            = (*LogEncoder)(nil)
	_ caddy.Provisioner                = (*logGuard)(nil)
	_ caddy.AdminRouter                = (*logGuard)(nil)
)
