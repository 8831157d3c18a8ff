package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"reflect"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/ringfence/ringfence/internal/redact"
	"github.com/ringfence/ringfence/internal/tokens"
)

func init() {
	caddy.RegisterModule(new(guard))
	// For entries before there is a configuration, and about one that cannot be used.
	cobra.OnInitialize(func() { _ = protectCore(caddy.Log().Core()) })
}

// guard calls Protect for every configuration with an admin endpoint, even one without any other module of ours: Caddy provisions
// admin modules after it has opened the logs and before any app, so before anything could log a request. It has no admin route.
// In a configuration with `admin off`, our other modules call Protect.
type guard struct{}

// CaddyModule returns the Caddy module information.
func (*guard) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "admin.api.ringfence_log_guard",
		New: func() caddy.Module { return new(guard) },
	}
}

func (*guard) Provision(ctx caddy.Context) error { return Protect(ctx) }

func (*guard) Routes() []caddy.AdminRoute { return nil }

// Protect makes every log of the configuration that ctx provisions redact its entries, whatever the format. Every module of ours
// that a configuration can have on its own calls it in Provision, before it asks for a logger; further calls do no harm. An error
// means that a log cannot be protected: refuse to start.
func Protect(ctx caddy.Context) error {
	log.SetOutput(redact.Writer(log.Writer())) // for libraries that use the standard library's logger

	// Nothing logs requests through the new logs while their configuration is being provisioned. But Caddy itself may use its
	// default logger, which is already the new one: its entries of this moment wait in a buffer.
	_, current, _ := caddy.BufferedLog()
	defer caddy.UnbufferDefaultLogger(current)
	core := ctx.Logger(everyLog{}).Core()
	err := protectCore(core)
	if err == nil {
		err = probe(core)
	}
	if err != nil {
		return fmt.Errorf("keeping tokens out of the logs: %w", err)
	}
	return nil
}

// everyLog is a module name that gets a logger which writes to all the logs that any module may write to.
type everyLog struct{}

func (everyLog) CaddyModule() caddy.ModuleInfo { return caddy.ModuleInfo{} }

var (
	discardCore = reflect.TypeOf(zapcore.NewNopCore())
	writeCore   = reflect.TypeOf(zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{}), zapcore.AddSync(io.Discard), zapcore.InfoLevel))
)

// corePackages are the packages whose cores only pass entries on to the core inside them. A guest's core (Caddy's `core` option
// for a log) may send entries anywhere.
var corePackages = []string{reflect.TypeFor[caddy.CustomLog]().PkgPath(), writeCore.Elem().PkgPath()}

// protectCore finds each core that encodes and writes, below the cores that zap and Caddy put around it (a tee of several logs,
// the include and exclude lists of a log, sampling), and puts the redaction around its encoder.
//
// zap has no public way to that encoder: it is an unexported field, set here through its address. The loggers of apps that are
// already provisioned share the core, so replacing the core itself would miss them. The versions of zap and Caddy are pinned;
// anything unknown is an error and never an unprotected log; and probe checks afterwards that nothing leaks.
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

// protectEncoder is hidden from the race detector for one access that it cannot order: Caddy's default logger may have read the
// field just before Protect set that logger aside, for an entry of Caddy's own that is written by now. If the format is Encoder,
// as in the default Caddyfile, nothing is set.
//
//go:norace
func protectEncoder(encoder *zapcore.Encoder) {
	if _, ok := (*encoder).(*Encoder); ok {
		return
	}
	if around := redactEncoder(*encoder); around != *encoder {
		*encoder = around
	}
}

// errLeaks says that a log would write a token.
var errLeaks = errors.New("a log would write tokens as they are")

// probe makes each log of a core encode an entry with a freshly made token, as the value of a field and within a text, and
// returns errLeaks if one would write the token. It uses only zap's public interface, and writes nothing.
func probe(core zapcore.Core) error {
	p := &probing{token: tokens.New()}
	// With gives the fields to the encoder of each log, however it is wrapped: each encoder calls p with a copy of itself.
	core.With([]zapcore.Field{zap.Inline(p)})
	return p.err
}

type probing struct {
	token string
	err   error
}

// MarshalLogObject receives a log's encoder.
func (p *probing) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	encoder, ok := enc.(zapcore.Encoder)
	if !ok {
		p.err = fmt.Errorf("unknown log encoder %T", enc)
		return nil
	}
	entry := zapcore.Entry{Level: zapcore.ErrorLevel, LoggerName: "ringfence.probe", Message: "the message has " + p.token}
	encoded, err := encoder.EncodeEntry(entry, []zapcore.Field{
		zap.String("X-Auth-Token", p.token), zap.String("uri", "/token/"+p.token), zap.Strings("values", []string{p.token}),
		zap.Any("tree", map[string]string{"value": p.token}),
	})
	if err != nil {
		p.err = errors.Join(p.err, fmt.Errorf("probing a log: %w", err))
		return nil
	}
	defer encoded.Free()
	if bytes.Contains(encoded.Bytes(), []byte(p.token[len("rft_"):])) {
		p.err = errLeaks
	}
	return nil
}

var (
	_ caddy.Provisioner = (*guard)(nil)
	_ caddy.AdminRouter = (*guard)(nil)
)
