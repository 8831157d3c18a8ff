package authsvc

import (
	"context"
	"slices"

	"github.com/ringfence/ringfence/authsvc/external"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// addExternal adds the operations of external authentication to those that the service has: it comes last.
func (s *Service) addExternal(o Options) error {
	var err error
	if s.external, err = external.NewHost(s.db, s.sealer, externalRights{s}, s.rest.Prefix, o.External, o.PublicURL); err != nil {
		return err
	}
	s.base = *s.rest
	s.rest.Operations = slices.Concat(s.base.Operations, s.external.Operations())
	return nil
}

// WithExternal describes the service with other plugins and another public URL, for a configuration that takes the place of
// the one that New was given: both serve at once, on the same data. The requests of either go to its own.
func (s *Service) WithExternal(plugins []external.Plugin, publicURL string) (*rest.Service, error) {
	if d := s.described.Load(); len(plugins) == 0 && d != nil && d.publicURL == publicURL {
		return d.rest, nil // nothing is different from the configuration before
	}
	h, err := s.external.With(plugins, publicURL)
	if err != nil {
		return nil, err
	}
	described := s.base
	described.Operations = slices.Concat(s.base.Operations, h.Operations())
	if err := described.Mount(); err != nil {
		return nil, err
	}
	if len(plugins) == 0 {
		s.described.Store(&withoutPlugins{publicURL, &described})
	}
	return &described, nil
}

// withoutPlugins is the service as a configuration without plugins has it.
type withoutPlugins struct {
	publicURL string
	rest      *rest.Service
}

// externalRights are the service's own rules, for external authentication.
type externalRights struct{ s *Service }

func (externalRights) MayActOn(ctx context.Context, c store.Conn, caller *principal.Principal, userUUID string) error {
	return mayActOn(ctx, c, caller, userUUID)
}

func (externalRights) MayConfigure(ctx context.Context, c store.Conn, caller *principal.Principal, tenantUUID string) error {
	return mayActOnAll(ctx, c, caller, tenantUUID, "1 = 1")
}

func (e externalRights) StillMayActOn(ctx context.Context, c store.Conn, callerUUID, userUUID string) (bool, error) {
	return e.s.covers(ctx, c, voucher{ByUUID: callerUUID}, userUUID)
}
