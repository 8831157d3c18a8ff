package callrecords

import (
	"context"

	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/internal/store"
)

// Keep stores records at once.
func (s *Service) Keep(ctx context.Context, asterisk string, records []cdr.Record) error {
	return s.db.InTx(ctx, func(ctx context.Context, c store.Conn) error { return s.keep(ctx, c, asterisk, records) })
}

// ReadFile reads Asterisk's file at once.
func (s *Service) ReadFile(ctx context.Context, from Settings) error { return s.readFile(ctx, from) }
