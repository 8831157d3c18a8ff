package logs

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/ringfence/ringfence/internal/redact"
	"github.com/ringfence/ringfence/internal/tokens"
)

func encoders() map[string]zapcore.Encoder {
	config := zapcore.EncoderConfig{MessageKey: "msg"}
	return map[string]zapcore.Encoder{"json": zapcore.NewJSONEncoder(config), "console": zapcore.NewConsoleEncoder(config)}
}

// protectCore relies on zap's unexported fields. If this test fails, zap has changed: see what its cores consist of now.
func TestZapIsAsWeKnowIt(t *testing.T) {
	field, ok := writeCore.Elem().FieldByName("enc")
	if !ok || field.Type != reflect.TypeFor[zapcore.Encoder]() {
		t.Errorf("%s has no field enc of type zapcore.Encoder", writeCore)
	}
	for name, encoder := range encoders() {
		var out bytes.Buffer
		plain := zapcore.NewCore(encoder, zapcore.AddSync(&out), zapcore.DebugLevel)
		leveled, err := zapcore.NewIncreaseLevelCore(plain, zapcore.InfoLevel)
		if err == nil && protectCore(leveled) == nil {
			t.Error("a core that nobody of ours knows is taken for protected")
		}
		// A tee, a sampler, and a core with fields that were added before.
		core := zapcore.NewTee(zapcore.NewSamplerWithOptions(plain, time.Second, 1000, 0), zapcore.NewNopCore())
		logger := zap.New(core)
		if err := probe(core); !errors.Is(err, errLeaks) {
			t.Errorf("%s: before: %v", name, err)
		}
		if err := protectCore(core); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := probe(core); err != nil {
			t.Errorf("%s: after: %v", name, err)
		}
		if out.Len() > 0 {
			t.Errorf("%s: the probe has written %s", name, &out)
		}
		token := tokens.New()
		logger.With(zap.String("uri", "/token/"+token)).Info("saw "+token, zap.String("X-Auth-Token", token))
		if text := out.String(); !strings.Contains(text, "saw") || strings.Contains(text, token[4:]) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// halfway encodes the entries of some logs with an encoder that redacts nothing, however it is wrapped.
type halfway struct{ zapcore.Encoder }

func (h halfway) Clone() zapcore.Encoder { return halfway{h.Encoder.Clone()} }

// One unprotected log among protected ones is found.
func TestProbeFindsTheOneLogThatLeaks(t *testing.T) {
	for name, encoder := range encoders() {
		shut := zapcore.NewCore(redactEncoder(encoder.Clone()), zapcore.AddSync(io.Discard), zapcore.DebugLevel)
		open := zapcore.NewCore(halfway{encoder}, zapcore.AddSync(io.Discard), zapcore.DebugLevel)
		around := zapcore.NewCore(halfway{redact.Encoder(encoder.Clone(), redact.Options{})}, zapcore.AddSync(io.Discard), zapcore.DebugLevel)
		for _, c := range []struct {
			core  zapcore.Core
			leaks bool
		}{{shut, false}, {open, true}, {around, false}, {zapcore.NewTee(shut, open, shut), true}, {zapcore.NewTee(shut, around), false}} {
			if err := probe(c.core); errors.Is(err, errLeaks) != c.leaks || (err != nil) != c.leaks {
				t.Errorf("%s: %v, leaks: %v", name, err, c.leaks)
			}
		}
	}
}
