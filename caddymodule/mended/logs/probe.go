package logs

import (
	"bytes"
	"errors"
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/ringfence/ringfence/internal/tokens"
)

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
