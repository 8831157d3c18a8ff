package logs

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/logging"
	"go.uber.org/zap"
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

// OwnMemoryLimit is true if the program sets the memory limit itself. Caddy's entry about the limit then says so.
var OwnMemoryLimit atomic.Bool

// editEntry makes Caddy's log entries say first what an operator wants to know. The entries are Caddy's own, so there is no other
// place for it.
func editEntry(entry *zapcore.Entry, ahead, fields []zapcore.Field) []zapcore.Field {
	switch {
	case strings.HasPrefix(entry.Message, "GOMEMLIMIT is updated") && OwnMemoryLimit.Load():
		entry.Message = "this machine's memory limit is known; the gateway keeps below it, and collects garbage by a limit of its own: 200 MiB, or twice what is live"
	case entry.LoggerName == "admin" && entry.Level == zapcore.WarnLevel && strings.HasPrefix(text(fields, "address"), "unix/"):
		// Caddy warns that it checks no host names, but a socket has none.
		entry.Level, entry.Message = zapcore.InfoLevel, "admin endpoint is a socket: who can open it can change the configuration"
	case entry.Level >= zapcore.ErrorLevel:
		fields = plainEntry(entry, fields)
	}
	if entry.Level < zapcore.WarnLevel || strings.HasPrefix(entry.LoggerName, "http.log.access") {
		return fields
	}
	return withRequestID(ahead, fields)
}

func text(fields []zapcore.Field, key string) string {
	for _, f := range fields {
		if f.Key == key {
			return f.String
		}
	}
	return ""
}

// refused is the first part of the line about a configuration that was refused while another one runs.
const refused = "the new configuration is refused, and the old one goes on serving: "

// plainEntry puts the cause first in an entry about a configuration that could not be used.
func plainEntry(entry *zapcore.Entry, fields []zapcore.Field) []zapcore.Field {
	if cause, where, ok := plain(entry.Message); ok {
		entry.Message = cause
		return append(slices.Clip(fields), zap.String("where", where))
	}
	for i, f := range fields {
		err, ok := f.Interface.(error)
		if f.Type != zapcore.ErrorType || !ok {
			continue
		}
		if cause, where, ok := plain(err.Error()); ok {
			entry.Message = refused + cause
			edited := append([]zapcore.Field{zap.String("where", where)}, fields[:i]...)
			return append(edited, fields[i+1:]...)
		}
	}
	return fields
}

// chain matches one link of the chain that Caddy puts in front of the cause of an error in a configuration.
var chain = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`loading (?:initial |new )?config`, `adapting config using \S+`, `parsing caddyfile tokens for '[^']*'`, `Error during parsing`,
	`sending configuration to instance`, `starting caddy administration endpoint`, `provisioning admin router module \S+`,
	`loading \S+ app(?: module)?`, `getting \S+ app`, `provision \S+`, `\S+ app module: start`, `\S+: invalid configuration`,
	`server \S+`, `setting up (?:route handlers|subroutes|error handling routes|TLS connection policies|named route '[^']*' handlers)`,
	`route \d+`, `loading (?:handler|matcher|(?:external )?certificate manager|log encoder|log writer) modules?`, `position \d+`, `loading module '[^']*'`,
	`(?:provisioning|setting up) (?:default )?automation policy \d*`, `setting up (?:custom|default) log(?: '[^']*')?`,
}, "|") + `): `)

var (
	answered = regexp.MustCompile(`^caddy responded with error: HTTP \d+: `)
	atLine   = regexp.MustCompile(`(?s)^(.*), at ([^\s,]+:\d+)((?: import chain.*)?)$`)
)

// plain splits a configuration error into the cause, which begins with the line of the Caddyfile if it is known, and the way to
// it through Caddy's modules. ok is false for any other text.
func plain(message string) (cause, where string, ok bool) {
	var way []string
	for cause = message; ; {
		link := chain.FindString(cause)
		if link == "" {
			break
		}
		way = append(way, strings.TrimSuffix(link, ": "))
		cause = cause[len(link):]
	}
	if len(way) == 0 {
		return message, "", false
	}
	if link := answered.FindString(cause); link != "" {
		var answer struct {
			Error string `json:"error"`
		}
		if json.Unmarshal([]byte(cause[len(link):]), &answer) == nil && answer.Error != "" {
			inner, further, _ := plain(answer.Error)
			return inner + " (the gateway goes on with the configuration that it has)", further, true
		}
	}
	if m := atLine.FindStringSubmatch(cause); m != nil {
		cause = m[2] + ": " + m[1] + m[3]
	}
	return cause, strings.Join(way, ": "), true
}

// RequestIDKey is the placeholder that holds a request's ID where Caddy logs the request.
const RequestIDKey = "ringfence.request_id"

// withRequestID adds the ID of the request in an entry, unless the entry has it.
func withRequestID(ahead, fields []zapcore.Field) []zapcore.Field {
	id := ""
	for _, list := range [2][]zapcore.Field{ahead, fields} {
		for _, f := range list {
			if f.Key == "request_id" {
				return fields
			}
			if r, ok := f.Interface.(caddyhttp.LoggableHTTPRequest); ok && r.Request != nil {
				if repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
					id, _ = repl.GetString(RequestIDKey)
				}
			}
		}
	}
	if id == "" {
		return fields
	}
	return append(slices.Clip(fields), zap.String("request_id", id))
}

var (
	_ caddy.Provisioner                = (*Encoder)(nil)
	_ caddy.ConfiguresFormatterDefault = (*Encoder)(nil)
	_ caddyfile.Unmarshaler            = (*Encoder)(nil)
)
