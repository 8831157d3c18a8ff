package redact

import (
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap/zapcore"
)

// encoder is the Encoder. As an ObjectEncoder it receives the fields that zap adds in advance, with Logger.With.
//
// zap clones an encoder for each With and then adds the fields. With zap's own encoders both cost a buffer and the encoding,
// mostly for entries that are never written: Caddy's reverse_proxy does it for every request. So a clone shares its original's
// encoder until a field is added that cannot be deferred, and the others are kept as they are.
type encoder struct {
	enc zapcore.Encoder
	// shared is true when another encoder may use enc too, which then must not be added to.
	shared  atomic.Bool
	options Options
	// deferred are added after all that is in enc.
	deferred []zapcore.Field
}

func (e *encoder) Clone() zapcore.Encoder {
	e.shared.Store(true)
	clone := &encoder{enc: e.enc, options: e.options, deferred: slices.Clip(e.deferred)}
	clone.shared.Store(true)
	return clone
}

// wait keeps a field until an entry is written.
func (e *encoder) wait(f zapcore.Field) { e.deferred = append(e.deferred, f) }

// now returns the encoder for a field that cannot be deferred.
func (e *encoder) now() object {
	if e.shared.Load() {
		e.enc = e.enc.Clone()
		e.shared.Store(false)
	}
	for _, f := range e.deferred {
		f.AddTo(object{e.enc})
	}
	e.deferred = nil
	return object{e.enc}
}

func (e *encoder) AddString(key, value string) {
	e.wait(zapcore.Field{Key: key, Type: zapcore.StringType, String: value})
}

func (e *encoder) AddDuration(key string, value time.Duration) {
	e.wait(zapcore.Field{Key: key, Type: zapcore.DurationType, Integer: int64(value)})
}

func (e *encoder) AddObject(key string, value zapcore.ObjectMarshaler) error {
	if e.options.Later != nil && e.options.Later(value) {
		e.wait(zapcore.Field{Key: key, Type: zapcore.ObjectMarshalerType, Interface: value})
		return nil
	}
	return e.now().AddObject(key, value)
}

func (e *encoder) AddArray(key string, value zapcore.ArrayMarshaler) error {
	return e.now().AddArray(key, value)
}

func (e *encoder) AddReflected(key string, value any) error   { return e.now().AddReflected(key, value) }
func (e *encoder) AddBinary(key string, value []byte)         { e.now().AddBinary(key, value) }
func (e *encoder) AddByteString(key string, value []byte)     { e.now().AddByteString(key, value) }
func (e *encoder) OpenNamespace(key string)                   { e.now().OpenNamespace(key) }
func (e *encoder) AddBool(key string, value bool)             { e.now().AddBool(key, value) }
func (e *encoder) AddComplex128(key string, value complex128) { e.now().AddComplex128(key, value) }
func (e *encoder) AddComplex64(key string, value complex64)   { e.now().AddComplex64(key, value) }
func (e *encoder) AddFloat64(key string, value float64)       { e.now().AddFloat64(key, value) }
func (e *encoder) AddFloat32(key string, value float32)       { e.now().AddFloat32(key, value) }
func (e *encoder) AddInt(key string, value int)               { e.now().AddInt(key, value) }
func (e *encoder) AddInt64(key string, value int64)           { e.now().AddInt64(key, value) }
func (e *encoder) AddInt32(key string, value int32)           { e.now().AddInt32(key, value) }
func (e *encoder) AddInt16(key string, value int16)           { e.now().AddInt16(key, value) }
func (e *encoder) AddInt8(key string, value int8)             { e.now().AddInt8(key, value) }
func (e *encoder) AddTime(key string, value time.Time)        { e.now().AddTime(key, value) }
func (e *encoder) AddUint(key string, value uint)             { e.now().AddUint(key, value) }
func (e *encoder) AddUint64(key string, value uint64)         { e.now().AddUint64(key, value) }
func (e *encoder) AddUint32(key string, value uint32)         { e.now().AddUint32(key, value) }
func (e *encoder) AddUint16(key string, value uint16)         { e.now().AddUint16(key, value) }
func (e *encoder) AddUint8(key string, value uint8)           { e.now().AddUint8(key, value) }
func (e *encoder) AddUintptr(key string, value uintptr)       { e.now().AddUintptr(key, value) }
