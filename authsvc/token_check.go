package authsvc

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
	"github.com/ringfence/ringfence/internal/tokens"
)

type scopesRequest struct {
	Scopes     []string `json:"scopes" required:"true" maxItems:"1000" items.maxLength:"256"`
	TenantUUID *string  `json:"tenant_uuid"`
}

type scopesAnswer struct {
	Scopes map[string]bool `json:"scopes"`
}

type messageAnswer struct {
	Data struct {
		Message string `json:"message"`
	} `json:"data"`
}

func errNoToken() error {
	e := apierr.New(apierr.NotFound, "No such token")
	e.ID, e.Resource = "unknown-token", "tokens"
	e.Details = map[string]any{"token": nil} // the token is a secret
	return e
}

func (s *Service) getToken(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	if err := s.checkToken(ctx, r); err != nil {
		return rest.Reply{}, err
	}
	record, err := s.record(ctx, r.Param("token"))
	if errors.Is(err, tokens.ErrUnknown) {
		err = errNoToken()
	}
	return rest.Reply{Body: tokenAnswer{record}}, err
}

func (s *Service) headToken(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	return rest.Reply{}, s.checkToken(ctx, r)
}

// checkToken refuses a token that is unknown (404), or that lacks the scope or the tenant in the query (403). An empty scope
// requires nothing.
func (s *Service) checkToken(ctx context.Context, r *rest.Request) error {
	p, err := s.principal(ctx, r.Param("token"))
	if err != nil {
		return err
	}
	if scope, _ := r.Query("scope"); scope != "" {
		if err := acl.ParseAccess(scope); err != nil {
			return apierr.InvalidField("scope", "access", "%s", err)
		}
		if !p.Allows(acl.FoldUUIDs(scope)) {
			return unauthorizedFor(scope)
		}
	}
	if asked, ok := r.Query("tenant"); ok {
		return s.checkTenant(ctx, p, asked)
	}
	return nil
}

func (s *Service) principal(ctx context.Context, token string) (*principal.Principal, error) {
	if !s.Shape(token) {
		return nil, errNoToken()
	}
	var p *principal.Principal
	var err error
	if c := s.cache.Load(); c != nil {
		p, err = c.Principal(ctx, token)
	} else {
		p, err = s.Load(ctx, token, tokens.DigestOf(token))
	}
	if errors.Is(err, tokens.ErrUnknown) {
		err = errNoToken()
	}
	return p, err
}

// bearer returns the user of a token, if that user holds the access. It is for operations that the gate lets through without a
// token, because they also accept the token of a mail. From here on the request is that user's, and the audit names them.
func (s *Service) bearer(ctx context.Context, r *rest.Request, token, access string) (*principal.Principal, error) {
	p, err := s.principal(ctx, token)
	if e := apierr.As(err); errors.Is(err, tokens.ErrUnknown) || (e != nil && e.Kind == apierr.NotFound) {
		return nil, errBadLink()
	}
	if err != nil {
		return nil, err
	}
	if !p.Allows(access) {
		return nil, unauthorizedFor(access)
	}
	r.HTTP = r.HTTP.WithContext(principal.NewContext(r.HTTP.Context(), p))
	return p, nil
}

func unauthorizedFor(access string) error {
	e := apierr.New(apierr.Forbidden, "Unauthorized for %s", access)
	e.Details = map[string]any{"required_access": access}
	return e
}

func (s *Service) checkTenant(ctx context.Context, p *principal.Principal, asked string) error {
	visible := false
	if id, err := uuid.Parse(asked); err == nil && len(asked) == 36 {
		if visible, err = tenant.Within(ctx, s.db, id.String(), p.TenantUUID); err != nil {
			return err
		}
	}
	if !visible {
		e := apierr.New(apierr.Forbidden, "Unauthorized for this tenant")
		e.ID = "unauthorized-tenant"
		return e
	}
	return nil
}

func (s *Service) checkScopes(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	p, err := s.principal(ctx, r.Param("token"))
	if err != nil {
		return rest.Reply{}, err
	}
	req, err := rest.Decode[scopesRequest](r)
	if err != nil {
		return rest.Reply{}, err
	}
	if req.TenantUUID != nil {
		if err := s.checkTenant(ctx, p, *req.TenantUUID); err != nil {
			return rest.Reply{}, err
		}
	}
	answer := scopesAnswer{Scopes: make(map[string]bool, len(req.Scopes))}
	for i, scope := range req.Scopes {
		if err := acl.ParseAccess(scope); err != nil {
			return rest.Reply{}, apierr.InvalidField(fmt.Sprintf("scopes[%d]", i), "access", "%s", err)
		}
		answer.Scopes[scope] = p.Allows(acl.FoldUUIDs(scope))
	}
	return rest.Reply{Body: answer}, nil
}

func (s *Service) revokeToken(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	var answer messageAnswer
	answer.Data.Message = "success"
	if !s.Shape(r.Param("token")) {
		return rest.Reply{Body: answer}, nil
	}
	d := tokens.DigestOf(r.Param("token"))
	gone := forgetToken(d)
	// Anybody may call this: unknown tokens are limited in rate, and cost no write.
	if err := s.lookUp(ctx, r.HTTP, r.Param("token"), func() error {
		n, err := store.Get[int](ctx, s.db, `SELECT count(*) FROM auth_token WHERE digest = $1`, d[:])
		if err == nil && n == 0 {
			err = errBadLink()
		}
		return err
	}); err != nil {
		if e := apierr.As(err); e != nil && e.Kind == apierr.Unauthorized {
			return rest.Reply{Body: answer}, nil
		}
		return rest.Reply{}, err
	}
	err := s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		n, err := tx.Exec(ctx, `DELETE FROM auth_token WHERE digest = $1`, d[:])
		if err != nil || n == 0 {
			return err
		}
		return s.announce(ctx, tx, gone)
	})
	if err != nil {
		return rest.Reply{}, err
	}
	s.forgetHere(gone)
	return rest.Reply{Body: answer}, nil
}
