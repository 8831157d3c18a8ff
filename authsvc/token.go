package authsvc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
	"github.com/ringfence/ringfence/internal/tokens"
)

// Token lifetimes, in seconds (reference, POST /token).
const (
	defaultExpiration = 7200
	maxAuthBody       = 4 << 10
)

// tokenRequest is the body of POST /token.
type tokenRequest struct {
	Expiration    int    `json:"expiration" minimum:"1" maximum:"315360000" default:"7200" doc:"Lifetime of the token, in seconds."`
	AccessType    string `json:"access_type" enum:"online,offline" default:"online"`
	ClientID      string `json:"client_id" minLength:"1" maxLength:"1024"`
	RefreshToken  string `json:"refresh_token"`
	SAMLSessionID string `json:"saml_session_id" minLength:"1" maxLength:"1024"`
	TenantID      string `json:"tenant_id"`
	DomainName    string `json:"domain_name"`
	Backend       string `json:"backend" doc:"Accepted and ignored: backends are tried in their configured order."`
}

// tokenAnswer wraps the record, as existing clients expect.
type tokenAnswer struct {
	Data tokenRecord `json:"data"`
}

// tokenRecord is all that a client may know of a token. The moments without "utc" are in the server's
// local time; none has a zone (reference, auth-api 3).
type tokenRecord struct {
	Token         string        `json:"token"`
	AuthID        string        `json:"auth_id"`
	PBXUserUUID   *string       `json:"xivo_user_uuid"`
	ServerUUID    string        `json:"xivo_uuid"`
	IssuedAt      string        `json:"issued_at"`
	ExpiresAt     string        `json:"expires_at"`
	UTCIssuedAt   string        `json:"utc_issued_at"`
	UTCExpiresAt  string        `json:"utc_expires_at"`
	ACL           []string      `json:"acl"`
	Metadata      tokenMetadata `json:"metadata"`
	SessionUUID   string        `json:"session_uuid"`
	RemoteAddress string        `json:"remote_addr"`
	UserAgent     string        `json:"user_agent"`
	RefreshToken  string        `json:"refresh_token,omitempty" doc:"Only in the answer to a login that asked for access_type offline."`
}

type tokenMetadata struct {
	UUID        string  `json:"uuid"`
	TenantUUID  string  `json:"tenant_uuid"`
	AuthID      string  `json:"auth_id"`
	PBXUserUUID *string `json:"pbx_user_uuid"`
	ServerUUID  string  `json:"xivo_uuid"`
	Purpose     string  `json:"purpose"`
}

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

func (s *Service) tokenOperations() []rest.Operation {
	check := []rest.Parameter{
		{Name: "scope", Description: "An access that the token must hold.", Schema: &rest.Schema{Type: "string"}},
		{Name: "tenant", Description: "A tenant that the token's user must be in or above.", Schema: &rest.Schema{Type: "string"}},
	}
	return []rest.Operation{
		{
			Method: http.MethodPost, Path: "/token", Public: true, ID: "create_token", Tag: "token",
			Summary:     "Create a token",
			Description: "Send the username (or a confirmed address) and the password by HTTP Basic authentication.",
			Body:        rest.SchemaOf[tokenRequest](), BodyOptional: true, MaxBody: maxAuthBody,
			Success: http.StatusOK, Reply: rest.SchemaOf[tokenAnswer](), Statuses: []int{400, 401, 429},
			Handle: s.createToken,
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
			Success: http.StatusOK, Reply: rest.SchemaOf[messageAnswer](), Handle: s.revokeToken,
		},
		{
			Method: http.MethodPost, Path: "/token/{token}/scopes/check", Public: true, ID: "check_scopes", Tag: "token",
			Summary: "Check several accesses of a token", Body: rest.SchemaOf[scopesRequest](),
			Success: http.StatusOK, Reply: rest.SchemaOf[scopesAnswer](), Statuses: []int{403, 404}, Handle: s.checkScopes,
		},
	}
}

// errNoLogin is the one answer to every failed login: nothing tells a wrong password from an unknown user.
func errNoLogin() error { return apierr.New(apierr.Unauthorized, "Authentication Failed") }

func (s *Service) createToken(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	req, err := rest.Decode[tokenRequest](r)
	if err != nil {
		return rest.Reply{}, err
	}
	if err := req.check(); err != nil {
		return rest.Reply{}, err
	}
	token := tokens.New()
	l := login{
		tokenRow: tokenRow{
			Digest: tokens.DigestOf(token), SessionUUID: uuid.NewString(),
			UserAgent: clip(r.HTTP.UserAgent()), RemoteAddr: s.clientAddress(r.HTTP),
			Mobile: strings.EqualFold(r.HTTP.Header.Get("Wazo-Session-Type"), "mobile"),
		},
		lifetime: time.Duration(req.Expiration) * time.Second,
	}
	if err := s.identify(ctx, r.HTTP, &req, &l); err != nil {
		return rest.Reply{}, err
	}
	done, err := s.issue(ctx, l)
	if err != nil {
		return rest.Reply{}, err
	}
	record, err := s.record(ctx, token)
	if errors.Is(err, tokens.ErrUnknown) { // the user was deleted or disabled meanwhile
		err = errNoLogin()
	}
	if err != nil {
		return rest.Reply{}, err
	}
	record.RefreshToken = done.refresh
	return rest.Reply{Body: tokenAnswer{record}, Header: http.Header{"Wazo-Sessions-Revoked": {strconv.Itoa(done.revoked)}}}, nil
}

// identify finds whose the token will be: by a refresh token when there is one, else by name and password.
func (s *Service) identify(ctx context.Context, r *http.Request, req *tokenRequest, l *login) (err error) {
	if req.RefreshToken != "" {
		l.UserUUID, l.RefreshUUID, l.Mobile, err = s.refreshLogin(ctx, req.RefreshToken, req.ClientID)
		return err
	}
	c, ok := basicCredentials(r)
	if !ok || req.SAMLSessionID != "" {
		return errNoLogin()
	}
	err = s.guarded(ctx, loginKey(c.login), s.clientNetwork(r), func() error {
		l.UserUUID, err = s.logIn(ctx, req, c)
		return err
	})
	if err != nil || req.AccessType != "offline" {
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

// authenticate answers the user's UUID. It takes as long for an unknown user as for a wrong password.
func (s *Service) authenticate(ctx context.Context, c credentials) (string, error) {
	a, err := findAccount(ctx, s.db, c.login)
	if err != nil {
		return "", err
	}
	hash := ""
	if a.PasswordHash != nil {
		hash = *a.PasswordHash
	}
	ok, err := s.hasher.verify(ctx, a.UserUUID, hash, c.password)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", errNoLogin()
	}
	s.rehash(ctx, a.UserUUID, hash, c.password)
	return a.UserUUID, nil
}

// tokenRow is a row of auth_token.
type tokenRow struct {
	Digest      tokens.Digest
	SessionUUID string
	UserUUID    string
	UserAgent   string
	RemoteAddr  string
	Mobile      bool
	RefreshUUID string // empty: made without one
}

// login is a token that is about to be issued.
type login struct {
	tokenRow
	lifetime time.Duration
	offline  *offline // nil: no refresh token is asked for
}

// issued is what else a login did.
type issued struct {
	refresh string // the refresh token, when one was asked for
	revoked int    // sessions that ended because of it
}

// maxSessions is how many live sessions a user may have; internal users are not limited (reference, POST /token).
const maxSessions = 100

// issue stores a new token of an enabled user. The times are the database's, so that nodes with different
// clocks agree on when it ends.
func (s *Service) issue(ctx context.Context, l login) (done issued, err error) {
	var gone []forget
	err = s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		done, gone = issued{}, nil
		now, err := store.Get[time.Time](ctx, tx, `SELECT now_utc()`)
		if err != nil {
			return err
		}
		if l.offline != nil {
			var ended []tokenOf
			if done.refresh, l.RefreshUUID, ended, err = s.obtain(ctx, tx, l, now); err != nil {
				return err
			}
			for _, t := range ended {
				gone = append(gone, forgetToken(tokens.Digest(t.Digest)))
			}
			done.revoked = len(ended)
		}
		if err := checkSessions(ctx, tx, l.UserUUID); err != nil {
			return err
		}
		if err := insertToken(ctx, tx, l, now); err != nil {
			return err
		}
		return s.announce(ctx, tx, gone...)
	})
	if err != nil {
		return issued{}, err
	}
	s.forgetHere(gone...)
	if c := s.cache.Load(); c != nil {
		c.Issued(l.Digest)
	}
	return done, nil
}

// insertToken writes the row, unless the user was deleted or disabled since the password was checked.
func insertToken(ctx context.Context, tx store.Conn, l login, now time.Time) error {
	var refresh *string
	if l.RefreshUUID != "" {
		refresh = &l.RefreshUUID
	}
	n, err := tx.Exec(ctx, `
		INSERT INTO auth_token (digest, session_uuid, user_uuid, issued_at, expires_at, mobile, user_agent, remote_addr, refresh_uuid)
		SELECT $1, $2, uuid, $4, $5, $6, $7, $8, $9 FROM auth_user WHERE uuid = $3 AND enabled`,
		l.Digest[:], l.SessionUUID, l.UserUUID, now, now.Add(l.lifetime), l.Mobile, l.UserAgent, l.RemoteAddr, refresh)
	if err == nil && n == 0 {
		return errNoLogin()
	}
	return err
}

func checkSessions(ctx context.Context, tx store.Conn, user string) error {
	n, err := store.Get[int](ctx, tx, `
		SELECT count(*) FROM auth_token t JOIN auth_user u ON u.uuid = t.user_uuid
		WHERE t.user_uuid = $1 AND t.expires_at > now_utc() AND u.purpose <> 'internal'`, user)
	if err != nil || n < maxSessions {
		return err
	}
	e := apierr.New(apierr.TooMany, "User %s has exceeded the maximum number of active sessions", user)
	e.RetryAfter = time.Minute
	return e
}

// record reads a live token's record.
func (s *Service) record(ctx context.Context, token string) (tokenRecord, error) {
	d := tokens.DigestOf(token)
	p, err := s.Load(ctx, token, d)
	if err != nil {
		return tokenRecord{}, err
	}
	type details struct {
		IssuedAt   time.Time `db:"issued_at"`
		ExpiresAt  time.Time `db:"expires_at"`
		UserAgent  string    `db:"user_agent"`
		RemoteAddr string    `db:"remote_addr"`
	}
	t, err := store.Get[details](ctx, s.db, `SELECT issued_at, expires_at, user_agent, remote_addr FROM auth_token WHERE digest = $1`, d[:])
	if errors.Is(err, store.ErrNotFound) {
		return tokenRecord{}, tokens.ErrUnknown // revoked between the two
	}
	if err != nil {
		return tokenRecord{}, err
	}
	server := ""
	if u := s.server.Load(); u != nil {
		server = *u
	}
	var pbxUser *string
	if p.Purpose == "user" {
		pbxUser = &p.UserUUID
	}
	local := func(t time.Time) string { return t.Local().Format("2006-01-02T15:04:05.000000") }
	return tokenRecord{
		Token: token, AuthID: p.UserUUID, PBXUserUUID: pbxUser, ServerUUID: server,
		IssuedAt: local(t.IssuedAt), ExpiresAt: local(t.ExpiresAt),
		UTCIssuedAt: rest.Timestamp(t.IssuedAt), UTCExpiresAt: rest.Timestamp(t.ExpiresAt),
		ACL: append([]string{}, p.ACL.Patterns()...), SessionUUID: p.SessionUUID, RemoteAddress: t.RemoteAddr, UserAgent: t.UserAgent,
		Metadata: tokenMetadata{
			UUID: p.UserUUID, TenantUUID: p.TenantUUID, AuthID: p.UserUUID, PBXUserUUID: pbxUser, ServerUUID: server, Purpose: p.Purpose,
		},
	}, nil
}

func errNoToken() error {
	e := apierr.New(apierr.NotFound, "No such token")
	e.ID = "unknown-token"
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

// checkToken refuses a token that is unknown (404), or that lacks the scope or the tenant that the query names (403).
// An empty scope asks for nothing.
func (s *Service) checkToken(ctx context.Context, r *rest.Request) error {
	p, err := s.principal(ctx, r.Param("token"))
	if err != nil {
		return err
	}
	if scope, _ := r.Query("scope"); scope != "" {
		if err := acl.ParseAccess(scope); err != nil {
			return apierr.InvalidField("scope", "access", "%s", err)
		}
		if !p.Allows(scope) {
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
	req, err := rest.Decode[scopesRequest](r)
	if err != nil {
		return rest.Reply{}, err
	}
	p, err := s.principal(ctx, r.Param("token"))
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
		answer.Scopes[scope] = p.Allows(scope)
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

// clip keeps what a client says of itself short and printable.
func clip(text string) string {
	text = strings.ToValidUTF8(text, "")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > 512 {
		return string(runes[:512])
	}
	return text
}

func host(remote string) string {
	if h, _, err := net.SplitHostPort(remote); err == nil {
		return h
	}
	return remote
}
