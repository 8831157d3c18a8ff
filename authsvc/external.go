package authsvc

import (
	"context"
	"slices"

	"github.com/ringfence/ringfence/authsvc/external"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// addExternal adds the operations of external authentication to those of the service. It is called last.
func (s *Service) addExternal(o Options) error {
	var err error
	if s.external, err = s.external.With(o.External, o.PublicURL); err != nil {
		return err
	}
	s.base = *s.rest
	s.rest.Operations = slices.Concat(s.base.Operations, s.external.Operations())
	return nil
}

// WithExternal returns the service with other plugins and another public URL, for a configuration that replaces the one that New
// was given. Both serve at once, on the same data; the requests of each go to its own plugins.
func (s *Service) WithExternal(plugins []external.Plugin, publicURL, contact string) (*rest.Service, error) {
	if d := s.described.Load(); len(plugins) == 0 && d != nil && d.publicURL == publicURL && d.rest.Contact == contact {
		return d.rest, nil // the configuration is unchanged
	}
	h, err := s.external.With(plugins, publicURL)
	if err != nil {
		return nil, err
	}
	described := s.base
	described.Contact = contact
	described.Operations = slices.Concat(s.base.Operations, h.Operations())
	if err := described.Mount(); err != nil {
		return nil, err
	}
	if len(plugins) == 0 {
		s.described.Store(&withoutPlugins{publicURL, &described})
	}
	return &described, nil
}

// withoutPlugins returns the service for a configuration without plugins.
type withoutPlugins struct {
	publicURL string
	rest      *rest.Service
}

// externalRights applies the service's own rules to external authentication.
type externalRights struct{ s *Service }

// External credentials do not let anybody log in as their user. So what users hold over themselves alone, as every user does by
// the default policy, does not count here: a caller with access to somebody's credentials needs everything that the user holds
// beyond that. And nobody vouches for a configuration or a stored link: it is covered when it is set, and gives nothing here.

func (e externalRights) MayActOn(ctx context.Context, c store.Conn, caller *principal.Principal, userUUID string) error {
	return e.s.exceeds(ctx, c, caller, oneUser(userUUID), beyondThemselves)
}

func (e externalRights) MayConfigure(ctx context.Context, c store.Conn, caller *principal.Principal, tenantUUID string) error {
	return e.s.exceeds(ctx, c, caller, usersOf(tenantUUID), beyondThemselves)
}

var beyondThemselves = comparison{over: true, gains: true, beyond: true}

func (externalRights) Vouchers(ctx context.Context, c store.Conn, caller *principal.Principal, userUUID string) ([]string, error) {
	by, err := vouchersBy(ctx, c, caller, userUUID)
	out := make([]string, len(by))
	for i, v := range by {
		out[i] = v.ByUUID
	}
	return out, err
}

func (e externalRights) StillMayActOn(ctx context.Context, c store.Conn, voucherUUID, userUUID string) (bool, error) {
	return e.s.covers(ctx, c, voucher{ByUUID: voucherUUID, Fresh: true}, userUUID)
}
