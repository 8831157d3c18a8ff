package authsvc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/tokens"
)

// maxAuthBody is the largest body of a login, in bytes.
const maxAuthBody = 4 << 10

// tokenRequest is the body of POST /token.
type tokenRequest struct {
	Expiration    int    `json:"expiration" minimum:"1" maximum:"315360000" doc:"Lifetime of the token, in seconds. When it is not sent, and at most: as the gateway is configured, by default 7200 and 315360000."`
	AccessType    string `json:"access_type" enum:"online,offline" default:"online"`
	ClientID      string `json:"client_id" minLength:"1" maxLength:"1024"`
	RefreshToken  string `json:"refresh_token"`
	SAMLSessionID string `json:"saml_session_id" minLength:"1" maxLength:"1024"`
	TenantID      string `json:"tenant_id"`
	DomainName    string `json:"domain_name"`
	Backend       string `json:"backend" doc:"Accepted and ignored: backends are tried in their configured order."`
}

func (s *Service) tokenOperations() []rest.Operation {
	check := []rest.Parameter{
		{Name: "scope", Description: "An access that the token must hold.", Schema: &rest.Schema{Type: "string"}},
		{Name: "tenant", Description: "A tenant that the token's user must be in or above.", Schema: &rest.Schema{Type: "string"}},
	}
	return []rest.Operation{
		{
			Method: http.MethodPost, Path: "/token", Public: true, Basic: true, ID: "create_token", Tag: "token",
			Summary:     "Create a token",
			Description: "Send the username (or a confirmed address) and the password by HTTP Basic authentication.",
			Body:        rest.SchemaOf[tokenRequest]().Exemplified(`{"expiration":3600}`), MaxBody: maxAuthBody,
			Success: http.StatusOK, Reply: rest.SchemaOf[tokenAnswer](), Statuses: []int{400, 401, 429, 501},
			Handle: s.countingLogins(s.createToken),
		},
		{
			Method: http.MethodGet, Path: "/token/{token}", Public: true, ID: "get_token", Tag: "token",
			Summary: "Read a token", Query: check,
			Success: http.StatusOK, Reply: rest.SchemaOf[tokenAnswer](), Statuses: []int{403, 404}, Handle: s.getToken,
		},
		{
			Method: http.MethodHead, Path: "/token/{token}", Public: true, ID: "check_token", Tag: "token",
			Summary: "Check a token", Query: check,
			Success: http.StatusNoContent, Statuses: []int{403, 404}, Handle: s.headToken,
		},
		{
			Method: http.MethodDelete, Path: "/token/{token}", Public: true, ID: "revoke_token", Tag: "token",
			Summary: "Revoke a token", Description: "Answers the same for a token that does not exist.",
			Success: http.StatusOK, Reply: rest.SchemaOf[messageAnswer](), Statuses: []int{429}, Handle: s.revokeToken,
		},
		{
			Method: http.MethodPost, Path: "/token/{token}/scopes/check", Public: true, ID: "check_scopes", Tag: "token",
			Summary: "Check several accesses of a token", Body: rest.SchemaOf[scopesRequest]().Exemplified(`{"scopes":["confd.users.read"]}`),
			Success: http.StatusOK, Reply: rest.SchemaOf[scopesAnswer](), Statuses: []int{403, 404}, Handle: s.checkScopes,
		},
	}
}

// errNoLogin is the one response to every failed login: nothing distinguishes a wrong password from an unknown user.
func errNoLogin() error { return apierr.New(apierr.Unauthorized, "Authentication Failed") }

func (s *Service) createToken(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	req, err := rest.Decode[tokenRequest](r)
	if err != nil {
		return rest.Reply{}, err
	}
	if err := req.check(); err != nil {
		return rest.Reply{}, err
	}
	lifetime, err := s.settings.Load().Sessions.lifetime(req.Expiration)
	if err != nil {
		return rest.Reply{}, err
	}
	token := tokens.New()
	l := login{
		tokenRow: tokenRow{
			Digest: tokens.DigestOf(token), SessionUUID: uuid.NewString(),
			UserAgent: clip(r.HTTP.UserAgent()), RemoteAddr: s.clientAddress(r.HTTP),
			Mobile: strings.EqualFold(r.HTTP.Header.Get("Wazo-Session-Type"), "mobile"),
		},
		lifetime: lifetime,
	}
	reply, err := s.enter(ctx, r.HTTP, &req, &l, token)
	logLogin(r.HTTP, &req, &l, err)
	return reply, err
}

// enter issues the token of a login, if it is good.
func (s *Service) enter(ctx context.Context, r *http.Request, req *tokenRequest, l *login, token string) (rest.Reply, error) {
	if err := s.identify(ctx, r, req, l); err != nil {
		return rest.Reply{}, err
	}
	done, err := s.issue(ctx, *l)
	if err != nil {
		return rest.Reply{}, err
	}
	record, err := s.record(ctx, token)
	if errors.Is(err, tokens.ErrUnknown) { // the user was deleted or disabled in the meantime
		err = errNoLogin()
	}
	if err != nil {
		return rest.Reply{}, err
	}
	record.RefreshToken = done.refresh
	return rest.Reply{Body: tokenAnswer{record}, Header: http.Header{"Wazo-Sessions-Revoked": {strconv.Itoa(done.revoked)}}}, nil
}

// LoginFailed is what the log says of a refused login; the attribute remote_addr comes next. deploy/fail2ban reads it.
const LoginFailed = "a login failed"

// logLogin logs who has logged in, or has failed to. What somebody typed is an attribute, so no text of theirs can look like another line.
// What was not decided, or came too soon, is not logged: others may have caused it.
func logLogin(r *http.Request, req *tokenRequest, l *login, err error) {
	c, _ := basicCredentials(r)
	who := []any{"remote_addr", l.RemoteAddr, "login", clip(c.login), "refresh", req.RefreshToken != "", "request_id", r.Header.Get(rest.RequestIDHeader)}
	// Not the request's context: Caddy's handler would add its own fields of the request ahead of these, and so the ID twice.
	ctx := context.Background()
	if refusal := apierr.As(err); err == nil {
		slog.InfoContext(ctx, "a login succeeded", append(who, "user_uuid", l.UserUUID)...)
	} else if refusal != nil && refusal.Kind == apierr.Unauthorized {
		slog.InfoContext(ctx, LoginFailed, who...)
	}
}

// lifetime returns the lifetime of a token that was requested with an expiration, in seconds, or zero for none.
func (l Sessions) lifetime(expiration int) (time.Duration, error) {
	if expiration == 0 {
		return l.Lifetime, nil
	}
	asked := time.Duration(expiration) * time.Second
	if asked > l.MaxLifetime {
		return 0, apierr.InvalidField("expiration", "range", "Must be at most %d, as this gateway is configured", int(l.MaxLifetime.Seconds()))
	}
	return asked, nil
}

// identify finds the user of the token: by a refresh token if there is one, otherwise by name and password.
func (s *Service) identify(ctx context.Context, r *http.Request, req *tokenRequest, l *login) (err error) {
	if req.RefreshToken != "" {
		if !tokens.WellFormed(req.RefreshToken) {
			return errNoLogin()
		}
		if err := s.lookUp(ctx, r, req.RefreshToken, func() error {
			return s.refreshLogin(ctx, req.RefreshToken, req.ClientID, l)
		}); err != nil {
			return err
		}
		return s.mayRefresh(ctx, l.UserUUID)
	}
	c, ok := basicCredentials(r)
	if !ok || req.SAMLSessionID != "" {
		return errNoLogin()
	}
	tenantUUID, err := s.namedTenant(ctx, req)
	if err != nil {
		return err
	}
	a := Attempt{Login: c.login, Password: c.password, TenantUUID: tenantUUID}
	err = s.guardedLogin(ctx, a, s.clientNetwork(r), func() error {
		id, backend, err := s.logIn(ctx, a)
		l.UserUUID, l.Backend, l.hash, l.rehashed, l.by = id.UserUUID, backend, id.hash, id.rehashed, id.by
		return err
	})
	if err != nil || req.AccessType != "offline" {
		return err
	}
	if err := s.mayGoOffline(ctx, l.UserUUID); err != nil {
		return err
	}
	l.offline, err = s.prepareOffline(req.ClientID)
	return err
}

func (req *tokenRequest) check() error {
	offline := req.AccessType == "offline"
	switch {
	case offline && req.ClientID == "":
		return apierr.InvalidField("client_id", "required", "Is required when access_type is offline")
	case offline && req.RefreshToken != "":
		return apierr.InvalidField("access_type", "conflict", "May not be offline together with refresh_token")
	case req.RefreshToken != "" && req.ClientID == "":
		return apierr.InvalidField("client_id", "required", "Is required when refresh_token is sent")
	case req.TenantID != "" && req.DomainName != "":
		return apierr.InvalidField("tenant_id", "conflict", "May not be sent together with domain_name")
	case req.SAMLSessionID != "" && req.RefreshToken != "":
		return apierr.InvalidField("saml_session_id", "conflict", "May not be sent together with refresh_token")
	}
	return nil
}
