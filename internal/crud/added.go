package crud

import (
	"cmp"
	"context"
	"maps"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Reading returns the handler of an operation that reads by itself: it answers with what read returns, on one snapshot and in the tenant in
// which the request acts.
func (e *Engine) Reading(read func(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) (body any, err error)) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
		scope, err := e.TenantOf(ctx, r)
		if err != nil {
			return reply, err
		}
		err = e.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
			reply.Body, err = read(ctx, c, r, scope)
			return err
		})
		return reply, err
	}
}

// Describe lets a service's definition say what the collections declare of themselves, where the service says nothing else.
func (e *Engine) Describe(s *rest.Service) {
	s.Docs, s.Tags, s.Columns = maps.Clone(s.Docs), maps.Clone(s.Tags), maps.Clone(s.Columns)
	for _, k := range e.Entities() {
		param, tag := "{"+k.Param+"}", declaration.Underscored(k.Path)
		s.Docs[param], s.Tags[tag] = cmp.Or(s.Docs[param], k.Named()), cmp.Or(s.Tags[tag], k.About)
		if k.Lists != nil {
			s.Columns[k.Schema.Name] = k.Lists
		}
	}
}
