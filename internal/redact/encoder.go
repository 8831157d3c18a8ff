package redact

import (
	"bytes"
	"encoding/json"

	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
)

// Options are further features of an Encoder.
type Options struct {
	// Later is for loggers that are made for every request and seldom write. Objects for which it returns true, which must not change once
	// they are added, are not encoded when Logger.With adds them, but when an entry is written. Every Encoder does this with texts and
	// durations.
	Later func(zapcore.ObjectMarshaler) bool
	// Edit may change an entry that is going to be written, before it is redacted, and answers its fields. What was added ahead
	// and has waited is only shown. It must not change the slices.
	Edit func(entry *zapcore.Entry, ahead, fields []zapcore.Field) []zapcore.Field
}

// Encoder returns an encoder that redacts every entry and field before enc encodes it. An Encoder is returned unchanged.
func Encoder(enc zapcore.Encoder, o Options) zapcore.Encoder {
	if e, ok := enc.(*encoder); ok {
		return e
	}
	return &encoder{enc: enc, options: o}
}

func (e *encoder) EncodeEntry(entry zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	if e.options.Edit != nil {
		fields = e.options.Edit(&entry, e.deferred, fields)
	}
	entry.Message = String(entry.Message)
	clean := make([]zapcore.Field, len(fields))
	for i, f := range fields {
		clean[i] = redactField(f)
	}
	enc := e.enc
	if len(e.deferred) > 0 {
		enc = enc.Clone() // other entries may be written at the same time
		for _, f := range e.deferred {
			f.AddTo(object{enc})
		}
	}
	encoded, err := enc.EncodeEntry(entry, clean)
	if err != nil {
		return nil, err
	}
	sweep(encoded.Bytes())
	return encoded, nil
}

// redactField leaves numbers, times and the like alone and wraps everything else in an object that redacts itself.
func redactField(f zapcore.Field) zapcore.Field {
	switch f.Type {
	case zapcore.StringType, zapcore.ByteStringType, zapcore.BinaryType, zapcore.StringerType, zapcore.ErrorType,
		zapcore.ReflectType, zapcore.ArrayMarshalerType, zapcore.ObjectMarshalerType, zapcore.InlineMarshalerType:
		return zapcore.Field{Type: zapcore.InlineMarshalerType, Interface: zapcore.ObjectMarshalerFunc(func(enc zapcore.ObjectEncoder) error {
			f.AddTo(object{enc})
			return nil
		})}
	default:
		return f
	}
}

// object redacts what is added to an ObjectEncoder.
type object struct{ zapcore.ObjectEncoder }

func (o object) AddString(key, value string) {
	if secretName(key) {
		value = mark
	}
	o.ObjectEncoder.AddString(key, String(value))
}

func (o object) AddByteString(key string, value []byte) { o.AddString(key, string(value)) }

func (o object) AddBinary(key string, value []byte) {
	if text := string(value); secretName(key) || String(text) != text {
		o.AddString(key, mark)
		return
	}
	o.ObjectEncoder.AddBinary(key, value)
}

func (o object) AddArray(key string, value zapcore.ArrayMarshaler) error {
	if secretName(key) {
		value = redacted
	}
	return o.ObjectEncoder.AddArray(key, redactArray{value})
}

func (o object) AddObject(key string, value zapcore.ObjectMarshaler) error {
	if secretName(key) {
		o.AddString(key, mark)
		return nil
	}
	return o.ObjectEncoder.AddObject(key, redactObject{value})
}

func (o object) AddReflected(key string, value any) error {
	if secretName(key) {
		o.AddString(key, mark)
		return nil
	}
	clean, err := reflected(value)
	if err != nil {
		return err
	}
	return o.ObjectEncoder.AddReflected(key, clean)
}

type redactObject struct{ from zapcore.ObjectMarshaler }

func (m redactObject) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	return m.from.MarshalLogObject(object{enc})
}

type redactArray struct{ from zapcore.ArrayMarshaler }

func (m redactArray) MarshalLogArray(enc zapcore.ArrayEncoder) error {
	return m.from.MarshalLogArray(array{enc})
}

// redacted replaces a secret array, in the form that Caddy gives its own.
var redacted = zapcore.ArrayMarshalerFunc(func(enc zapcore.ArrayEncoder) error {
	enc.AppendString(mark)
	return nil
})

// array redacts what is appended to an ArrayEncoder.
type array struct{ zapcore.ArrayEncoder }

func (a array) AppendString(value string)     { a.ArrayEncoder.AppendString(String(value)) }
func (a array) AppendByteString(value []byte) { a.AppendString(string(value)) }
func (a array) AppendReflected(value any) error {
	clean, err := reflected(value)
	if err != nil {
		return err
	}
	return a.ArrayEncoder.AppendReflected(clean)
}

func (a array) AppendArray(value zapcore.ArrayMarshaler) error {
	return a.ArrayEncoder.AppendArray(redactArray{value})
}

func (a array) AppendObject(value zapcore.ObjectMarshaler) error {
	return a.ArrayEncoder.AppendObject(redactObject{value})
}

// reflected returns a value that zap would encode by reflection, as plain maps and lists without secrets. Entries with such
// values are rare.
func reflected(value any) (any, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	return redactTree(tree), nil
}

func redactTree(tree any) any {
	switch tree := tree.(type) {
	case string:
		return String(tree)
	case []any:
		for i := range tree {
			tree[i] = redactTree(tree[i])
		}
	case map[string]any:
		for name, value := range tree {
			if secretName(name) && holdsText(value) {
				tree[name] = mark
				continue
			}
			tree[name] = redactTree(value)
		}
	}
	return tree
}

// holdsText reports whether value can hold a secret: "has_token": true cannot.
func holdsText(value any) bool {
	switch value.(type) {
	case string, []any, map[string]any:
		return true
	default:
		return false
	}
}
