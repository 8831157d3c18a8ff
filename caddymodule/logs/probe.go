package logs

import (
	"bytes"
	"errors"
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/ringfence/ringfence/internal/tokens"
)

// errLeaks is a log that would write a token.
var errLeaks = errors.New("a log would write tokens as they are")

// probe asks each log of a core, by zap's public interface alone, to encode an entry with a token that is made for it, as a name's value and
// within a text, and returns errLeaks if one would write it. Nothing is written.
func probe(core zapcore.Core) error {
	p := &probing{token: tokens.New()}
	// With gives the fields to the encoder of each log, whatever is around it: each calls p with a copy of its own.
	core.With([]zapcore.Field{zap.Inline(p)})
	return p.err
}

type probing struct {
	token string
	err   error
}

// MarshalLogObject is given a log's encoder.
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
