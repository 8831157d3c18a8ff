package authsvc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// maxAuthBody is the largest body of a login, in bytes.
const maxAuthBody = 4 << 10

type tokenRequest struct {
	Expiration    int    `json:"expiration" minimum:"1" maximum:"315360000" doc:"Lifetime in seconds. Default and maximum are configured: 7200 and 315360000."`
	AccessType    string `json:"access_type" enum:"online,offline" default:"online" doc:"offline asks for a refresh token too."`
	ClientID      string `json:"client_id" minLength:"1" maxLength:"1024"`
	RefreshToken  string `json:"refresh_token"`
	OTP           string `json:"otp" maxLength:"64"`
	SAMLSessionID string `json:"saml_session_id" minLength:"1" maxLength:"1024" doc:"Not implemented." example:"session"`
	TenantID      string `json:"tenant_id" doc:"The UUID or the slug of the user's tenant." example:"acme"`
	DomainName    string `json:"domain_name" doc:"A domain name of the user's tenant." example:"example.org"`
	Backend       string `json:"backend" doc:"Accepted and ignored: backends are tried in their configured order." example:"wazo_user"`
}

func (s *Service) tokenOperations() []rest.Operation {
	check := []rest.Parameter{
		{Name: "scope", Description: "An access that the token must hold.", Schema: &rest.Schema{Type: "string"}},
		{Name: "tenant", Description: "A tenant that the token's user must be in or above.", Schema: &rest.Schema{Type: "string"}},
	}
	return []rest.Operation{
		{
			Method: http.MethodPost, Path: "/token", Public: true, Basic: true, ID: "create_token", Tag: "token",
			Summary: "Create a token",
			Description: "Send the username (or a confirmed address) and the password by HTTP Basic authentication. If the password is right, and the " +
				"user has a second factor, a login without its code as otp is refused with the error_id second-factor-required.",
			Body: rest.SchemaOf[tokenRequest]().Exemplified(`{"expiration":3600}`), MaxBody: maxAuthBody,
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
	reply, err := s.enter(ctx, r, &req, &l, token)
	logLogin(r.HTTP, &req, &l, err)
	return reply, err
}

// enter issues the token of a login, if it is good.
func (s *Service) enter(ctx context.Context, r *rest.Request, req *tokenRequest, l *login, token string) (rest.Reply, error) {
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
// What was not decided, or came too soon, is not logged: others may have caused it. Who has sent no code of a second factor has guessed nothing.
func logLogin(r *http.Request, req *tokenRequest, l *login, err error) {
	c, _ := basicCredentials(r)
	who := []any{"remote_addr", l.RemoteAddr, "login", clip(c.login), "refresh", req.RefreshToken != "", "request_id", r.Header.Get(rest.RequestIDHeader)}
	// Not the request's context: Caddy's handler would add its own fields of the request ahead of these, and so the ID twice.
	ctx := context.Background()
	if refusal := apierr.As(err); err == nil {
		slog.InfoContext(ctx, "a login succeeded", append(who, "user_uuid", l.UserUUID)...)
	} else if errors.Is(err, errNoCode) {
		slog.InfoContext(ctx, "a login waits for the code of a second factor", append(who, "user_uuid", l.UserUUID)...)
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
func (s *Service) identify(ctx context.Context, r *rest.Request, req *tokenRequest, l *login) (err error) {
	if req.RefreshToken != "" {
		if !tokens.WellFormed(req.RefreshToken) && !isUUID(req.RefreshToken) { // one that was moved here is a UUID (moving/wazo)
			return errNoLogin()
		}
		if err := s.lookUp(ctx, r.HTTP, req.RefreshToken, func() error {
			return s.refreshLogin(ctx, req.RefreshToken, req.ClientID, l)
		}); err != nil {
			return err
		}
		return s.mayRefresh(ctx, l.UserUUID)
	}
	c, ok := basicCredentials(r.HTTP)
	if !ok || req.SAMLSessionID != "" {
		return errNoLogin()
	}
	tenantUUID, err := s.namedTenant(ctx, req)
	if err != nil {
		return err
	}
	a := Attempt{Login: c.login, Password: c.password, TenantUUID: tenantUUID}
	err = s.guardedLogin(ctx, a, s.clientNetwork(r.HTTP), func() error {
		id, backend, err := s.logIn(ctx, a)
		if err != nil {
			return err
		}
		l.UserUUID, l.Backend, l.hash, l.rehashed, l.by = id.UserUUID, backend, id.hash, id.rehashed, id.by
		l.factor, err = s.secondFactor(ctx, r, id.UserUUID, req.OTP)
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

type tokenRow struct {
	Digest      tokens.Digest
	SessionUUID string
	UserUUID    string
	UserAgent   string
	RemoteAddr  string
	Mobile      bool
	Backend     string // that checked the password
	RefreshUUID string // empty: issued without one
}

type login struct {
	tokenRow
	lifetime time.Duration
	offline  *offline // nil: no refresh token is requested

	hash, rehashed string    // of the password; see Identity
	by             []voucher // for a way in that is not the password; see Identity
	factor         []byte    // that was proved; see secondFactor
	refreshed      bool      // by a refresh token, which goes on without a code
}

// issued is the result of a login beside the token.
type issued struct {
	refresh string // the refresh token, if one was requested
	revoked int    // sessions that the login ended
}

// issue stores a new token of an enabled user. The times are the database's, so that nodes with different clocks agree on when it
// expires.
func (s *Service) issue(ctx context.Context, l login) (done issued, err error) {
	err = s.engine.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		done = issued{}
		now, err := store.Get[time.Time](ctx, tx, `SELECT now_utc()`)
		if err != nil {
			return err
		}
		if err := s.stillEnters(ctx, tx, l); err != nil {
			return err
		}
		if !l.refreshed {
			if err := stillProved(ctx, tx, l.UserUUID, l.factor); err != nil {
				return err
			}
		}
		if l.offline != nil {
			if done.refresh, l.RefreshUUID, done.revoked, err = s.obtain(ctx, tx, l, now); err != nil {
				return err
			}
		}
		if err := checkSessions(ctx, tx, l.UserUUID, s.settings.Load().Sessions.PerUser); err != nil {
			return err
		}
		return insertToken(ctx, tx, l, now)
	})
	if store.IsConstraint(err, store.ForeignKey) { // the user or the refresh token was deleted in the meantime
		err = errNoLogin()
	}
	if err != nil {
		return issued{}, err
	}
	if c := s.cache.Load(); c != nil {
		c.Issued(l.Digest)
	}
	return done, nil
}

// stillEnters has those vouch again on whom a login by a backend stands, other than the database: the user's entry may have been
// forgotten since the login was checked, and what ended its sessions then could not end this one.
func (s *Service) stillEnters(ctx context.Context, tx store.Conn, l login) error {
	if len(l.by) == 0 {
		return nil
	}
	if _, err := vouchForEntry(ctx, tx, l.UserUUID, l.Backend, l.by); err != nil {
		return err
	}
	ok, err := s.entryStands(ctx, tx, l.UserUUID, l.Backend)
	if err == nil && !ok {
		err = errNoLogin()
	}
	return err
}

// insertToken writes the row, unless the user was deleted or disabled, or got another password, after the password was checked:
// what ended the user's sessions then could not end this one.
func insertToken(ctx context.Context, tx store.Conn, l login, now time.Time) error {
	var refresh *string
	if l.RefreshUUID != "" {
		refresh = &l.RefreshUUID
	}
	n, err := tx.Exec(ctx, `
		INSERT INTO auth_token (digest, session_uuid, user_uuid, issued_at, expires_at, mobile, user_agent, remote_addr, refresh_uuid, backend)
		SELECT $1, $2, uuid, $4, $5, $6, $7, $8, $9, $10 FROM auth_user
		WHERE uuid = $3 AND enabled AND ($11 = '' OR password_hash IN ($11, $12))`,
		l.Digest[:], l.SessionUUID, l.UserUUID, now, now.Add(l.lifetime), l.Mobile, l.UserAgent, l.RemoteAddr, refresh, l.Backend, l.hash, l.rehashed)
	if err == nil && n == 0 {
		return errNoLogin()
	}
	return err
}

// checkSessions refuses a login if a user already has the most live sessions. Internal users are not limited.
func checkSessions(ctx context.Context, tx store.Conn, user string, most int) error {
	n, err := store.Get[int](ctx, tx, `
		SELECT count(*) FROM auth_token t JOIN auth_user u ON u.uuid = t.user_uuid
		WHERE t.user_uuid = $1 AND t.expires_at > now_utc() AND u.purpose <> 'internal'`, user)
	if err != nil || n < most {
		return err
	}
	e := apierr.New(apierr.TooMany, "User %s has exceeded the maximum number of active sessions", user)
	e.RetryAfter = time.Minute
	return e
}

// tokenAnswer wraps the record, as existing clients expect.
type tokenAnswer struct {
	Data tokenRecord `json:"data"`
}

// tokenRecord is everything that a client may know about a token. The times without "utc" are in the server's local time; none
// has a zone.
type tokenRecord struct {
	Token         string        `json:"token"`
	AuthID        string        `json:"auth_id"`
	PBXUserUUID   *string       `json:"xivo_user_uuid" doc:"The UUID of the telephone user; null for a program."`
	ServerUUID    string        `json:"xivo_uuid"`
	IssuedAt      string        `json:"issued_at" doc:"When the token was issued, in the server's local time." example:"2026-01-31T12:00:00.000000"`
	ExpiresAt     string        `json:"expires_at" doc:"When the token expires, in the server's local time."`
	UTCIssuedAt   string        `json:"utc_issued_at" doc:"When the token was issued, in UTC." example:"2026-01-31T12:00:00.000000"`
	UTCExpiresAt  string        `json:"utc_expires_at" doc:"When the token expires, in UTC." example:"2026-01-31T13:00:00.000000"`
	ACL           []string      `json:"acl" doc:"Patterns of accesses: # stands for one or more words, * for one word, and a leading ! denies."`
	Metadata      tokenMetadata `json:"metadata"`
	SessionUUID   string        `json:"session_uuid"`
	RemoteAddress string        `json:"remote_addr" doc:"The address that logged in."`
	UserAgent     string        `json:"user_agent" doc:"What the program that logged in called itself."`
	RefreshToken  string        `json:"refresh_token,omitempty" doc:"Only in the answer to a login that asked for access_type offline."`
}

type tokenMetadata struct {
	UUID        string  `json:"uuid"`
	TenantUUID  string  `json:"tenant_uuid"`
	AuthID      string  `json:"auth_id"`
	PBXUserUUID *string `json:"pbx_user_uuid" doc:"The UUID of the telephone user; null for a program."`
	ServerUUID  string  `json:"xivo_uuid"`
	Purpose     string  `json:"purpose"`
}

// liveRecord is a live token with the fields that only its record shows.
type liveRecord struct {
	liveToken
	IssuedAt   time.Time `db:"issued_at"`
	UserAgent  string    `db:"user_agent"`
	RemoteAddr string    `db:"remote_addr"`
}

var selectLiveRecord = liveTokenBy(", t.issued_at, t.user_agent, t.remote_addr")

func (s *Service) record(ctx context.Context, token string) (tokenRecord, error) {
	d := tokens.DigestOf(token)
	t, err := store.Get[liveRecord](ctx, s.db, selectLiveRecord, d[:])
	if err != nil {
		return tokenRecord{}, missing(err, tokens.ErrUnknown)
	}
	if ok, err := s.tokenStands(ctx, &t.liveToken); err != nil || !ok {
		return tokenRecord{}, firstError(err, tokens.ErrUnknown)
	}
	held, err := s.acls.Compile(t.accesses())
	if err != nil {
		return tokenRecord{}, err
	}
	server := s.Installation()
	var pbxUser *string
	if t.Purpose == "user" {
		pbxUser = &t.UserUUID
	}
	local := func(t time.Time) string { return t.Local().Format("2006-01-02T15:04:05.000000") }
	return tokenRecord{
		Token: token, AuthID: t.UserUUID, PBXUserUUID: pbxUser, ServerUUID: server,
		IssuedAt: local(t.IssuedAt), ExpiresAt: local(t.ExpiresAt),
		UTCIssuedAt: rest.Timestamp(t.IssuedAt), UTCExpiresAt: rest.Timestamp(t.ExpiresAt),
		ACL: append([]string{}, held.Patterns()...), SessionUUID: t.SessionUUID, RemoteAddress: t.RemoteAddr, UserAgent: t.UserAgent,
		Metadata: tokenMetadata{
			UUID: t.UserUUID, TenantUUID: t.TenantUUID, AuthID: t.UserUUID, PBXUserUUID: pbxUser, ServerUUID: server, Purpose: t.Purpose,
		},
	}, nil
}

// clip keeps what a client says about itself short and printable.
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

type scopesRequest struct {
	Scopes     []string `json:"scopes" required:"true" maxItems:"1000" items.maxLength:"256" doc:"The accesses to check."`
	TenantUUID *string  `json:"tenant_uuid"`
}

type scopesAnswer struct {
	Scopes map[string]bool `json:"scopes" doc:"For each access whether the token holds it."`
}

type messageAnswer struct {
	Data struct {
		Message string `json:"message"`
	} `json:"data"`
}

func errNoToken() error {
	return apierr.New(apierr.NotFound, "No such token").Named("unknown-token").Of("tokens").With("token", nil) // the token is a secret
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
	return apierr.New(apierr.Forbidden, "Unauthorized for %s", access).With("required_access", access)
}

func (s *Service) checkTenant(ctx context.Context, p *principal.Principal, asked string) error {
	visible := false
	if id, err := uuid.Parse(asked); err == nil && len(asked) == 36 {
		if visible, err = tenant.Within(ctx, s.db, id.String(), p.TenantUUID); err != nil {
			return err
		}
	}
	if !visible {
		return apierr.New(apierr.Forbidden, "Unauthorized for this tenant").Named("unauthorized-tenant")
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
	return rest.Reply{Body: answer}, s.engine.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		_, err := s.endTokens(ctx, tx, "digest = $1", d[:])
		return err
	})
}
