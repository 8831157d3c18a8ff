package gate

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/target"
	"github.com/ringfence/ringfence/internal/tokens"
)

// denial is a refusal, and its word for the metrics.
type denial struct {
	outcome string
	err     error
}

func deny(outcome string, kind apierr.Kind, message string) *denial {
	return &denial{outcome, &apierr.Error{Kind: kind, Message: message}}
}

func malformed(err error) *denial {
	refused, ok := errors.AsType[*target.Refusal](err)
	if !ok {
		return deny("malformed", apierr.Invalid, "The request target is malformed")
	}
	return deny(refused.Reason, apierr.Kind(refused.Status), refused.Error())
}

func (g *Gate) badMethod() *denial {
	allow := allowedMethods
	if g.cors.enabled() {
		allow += ", " + http.MethodOptions
	}
	return &denial{"method", &apierr.Error{
		Kind: apierr.MethodNotAllowed, Allow: strings.Split(allow, ", "),
		Message: "This method is not served; the methods are " + allow,
	}}
}

// authenticate takes the one token of a request and finds its principal (docs/design.md, The gate).
func (g *Gate) authenticate(r *http.Request, need *Need) (*principal.Principal, *denial) {
	token := ""
	if sent := r.Header["X-Auth-Token"]; len(sent) == 1 {
		token = sent[0]
	}
	if token == "" {
		return nil, unauthorized("token_missing", need.Access,
			"Send a token in the X-Auth-Token header; the authentication service issues one on POST /token")
	}
	return g.principal(r.Context(), token, need.Access)
}

// principal finds the principal of a token that is asked about for an access.
func (g *Gate) principal(ctx context.Context, token, access string) (*principal.Principal, *denial) {
	who, err := g.tokens.Principal(ctx, token)
	switch {
	case err == nil && who != nil:
		return who, nil
	case err == nil:
		return nil, unavailable(errors.New("the source of tokens answered nobody"))
	case errors.Is(err, tokens.ErrMalformed):
		return nil, unauthorized("token_malformed", access, "What the X-Auth-Token header holds is not a token; send exactly one")
	case errors.Is(err, tokens.ErrUnknown):
		return nil, unauthorized("token_unknown", access, "The token is unknown, expired or revoked; get a new one")
	case apierr.As(err) != nil && apierr.As(err).Kind == apierr.TooMany:
		return nil, &denial{"too_many", err}
	default:
		return nil, unavailable(err)
	}
}

// unauthorized has the details that existing clients read, without the token.
func unauthorized(outcome, access, message string) *denial {
	return &denial{outcome, &apierr.Error{
		Kind: apierr.Unauthorized, Message: message,
		Details: map[string]any{"reason": "not_found_or_expired", "required_access": access},
	}}
}

func lacks(access string) *denial {
	return &denial{"access_denied", rest.Lacks(access)}
}

// unavailable is for errors that say nothing about the token: never 401, or clients would log out.
func unavailable(err error) *denial {
	return &denial{"unavailable", &apierr.Error{
		Kind: apierr.Unavailable, RetryAfter: 2 * time.Second, Err: err,
		Message: "The token cannot be checked now; try again shortly",
	}}
}
