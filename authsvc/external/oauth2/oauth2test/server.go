// Package oauth2test is an OAuth 2.0 server for tests: go-oauth2's, on loopback, which behaves like public ones. It accepts PKCE
// only with S256, one exact redirect URL, and a code once. Each renewal returns a new refresh token and invalidates the old one.
package oauth2test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/errors"
	"github.com/go-oauth2/oauth2/v4/manage"
	"github.com/go-oauth2/oauth2/v4/models"
	"github.com/go-oauth2/oauth2/v4/server"
	"github.com/go-oauth2/oauth2/v4/store"
)

// The client that the server knows.
const (
	ClientID     = "ringfence"
	ClientSecret = "the client's secret"
)

// Options say how the server behaves.
type Options struct {
	// RedirectURL is the client's.
	RedirectURL string
	// AccessTokenLife is how long access tokens live. Default: an hour.
	AccessTokenLife time.Duration
	// RenewedTokenLife is how long access tokens from a renewal live. Default: AccessTokenLife.
	RenewedTokenLife time.Duration
	// KeepRefreshToken returns no new refresh token on a renewal.
	KeepRefreshToken bool
}

// Server is a running server. It stops when the test ends.
type Server struct {
	// AuthURL and TokenURL are its endpoints.
	AuthURL, TokenURL string

	tb     testing.TB
	oauth  *server.Server
	tokens *recorder

	mu       sync.Mutex
	deny     bool
	before   func(w http.ResponseWriter, r *http.Request) bool
	requests []url.Values
	basic    int
}

// New starts a server.
func New(tb testing.TB, o Options) *Server {
	tb.Helper()
	memory, err := store.NewMemoryTokenStore()
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{tb: tb, tokens: &recorder{TokenStore: memory}}
	if o.AccessTokenLife == 0 {
		o.AccessTokenLife = time.Hour
	}
	if o.RenewedTokenLife == 0 {
		o.RenewedTokenLife = o.AccessTokenLife
	}
	manager := manage.NewDefaultManager()
	manager.SetAuthorizeCodeTokenCfg(&manage.Config{AccessTokenExp: o.AccessTokenLife, RefreshTokenExp: time.Hour, IsGenerateRefresh: true})
	manager.SetRefreshTokenCfg(&manage.RefreshingConfig{
		AccessTokenExp: o.RenewedTokenLife, RefreshTokenExp: time.Hour,
		IsGenerateRefresh: !o.KeepRefreshToken, IsRemoveAccess: true, IsRemoveRefreshing: true,
	})
	manager.SetValidateURIHandler(func(registered, sent string) error {
		if registered != sent {
			return errors.ErrInvalidRedirectURI
		}
		return nil
	})
	manager.MapTokenStorage(s.tokens)
	clients := store.NewClientStore()
	if err := clients.Set(ClientID, &models.Client{ID: ClientID, Secret: ClientSecret, Domain: o.RedirectURL}); err != nil {
		tb.Fatal(err)
	}
	manager.MapClientStorage(clients)

	config := server.NewConfig()
	config.ForcePKCE = true
	config.AllowedResponseTypes = []oauth2.ResponseType{oauth2.Code}
	config.AllowedCodeChallengeMethods = []oauth2.CodeChallengeMethod{oauth2.CodeChallengeS256}
	s.oauth = server.NewServer(config, manager)
	s.oauth.ClientInfoHandler = s.client
	s.oauth.UserAuthorizationHandler = s.consent

	mux := http.NewServeMux()
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		if err := s.oauth.HandleAuthorizeRequest(w, r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
	mux.HandleFunc("POST /token", s.token)
	listener := httptest.NewServer(mux)
	tb.Cleanup(listener.Close)
	s.AuthURL, s.TokenURL = listener.URL+"/authorize", listener.URL+"/token"
	return s
}

// client reads the client's credentials from either place.
func (s *Server) client(r *http.Request) (string, string, error) {
	if _, _, ok := r.BasicAuth(); ok {
		s.mu.Lock()
		s.basic++
		s.mu.Unlock()
		id, secret, err := server.ClientBasicHandler(r)
		if err != nil {
			return "", "", err
		}
		if id, err = url.QueryUnescape(id); err == nil { // RFC 6749, 2.3.1
			secret, err = url.QueryUnescape(secret)
		}
		return id, secret, err
	}
	return server.ClientFormHandler(r)
}

// consent is the page on which a person agrees.
func (s *Server) consent(http.ResponseWriter, *http.Request) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deny {
		return "", errors.ErrAccessDenied
	}
	return "a person", nil
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "no form", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	before := s.before
	s.requests = append(s.requests, r.PostForm)
	s.mu.Unlock()
	if before != nil && before(w, r) {
		return
	}
	if err := s.oauth.HandleTokenRequest(w, r); err != nil {
		s.tb.Errorf("answering a token request: %v", err)
	}
}

// Deny makes the person refuse from now on, or no longer.
func (s *Server) Deny(deny bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deny = deny
}

// Before passes token requests to f first, from now on; if f returns true, it has answered the request. nil ends that.
func (s *Server) Before(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// Requests returns the forms that the token endpoint was sent with this grant_type.
func (s *Server) Requests(grantType string) []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []url.Values
	for _, form := range s.requests {
		if form.Get("grant_type") == grantType {
			out = append(out, form)
		}
	}
	return out
}

// BasicRequests counts the token requests with the client's credentials in the Authorization header.
func (s *Server) BasicRequests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.basic
}

// Revoke revokes every grant, as a person does on the service's own pages.
func (s *Server) Revoke(ctx context.Context) {
	s.tb.Helper()
	for _, refresh := range s.tokens.refreshTokens() {
		if err := s.tokens.RemoveByRefresh(ctx, refresh); err != nil {
			s.tb.Fatal(err)
		}
	}
}

// Alive reports whether an access token is good.
func (s *Server) Alive(ctx context.Context, accessToken string) bool {
	_, err := s.oauth.Manager.LoadAccessToken(ctx, accessToken)
	return err == nil
}

// Browse opens an authorization URL as a person's browser does, and returns the URL to which the server sends the browser next.
func (s *Server) Browse(ctx context.Context, authorizationURL string) *url.URL {
	s.tb.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, authorizationURL, http.NoBody)
	if err != nil {
		s.tb.Fatal(err)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	location, err := response.Location()
	if err != nil {
		s.tb.Fatalf("the server answered %s to %s", response.Status, authorizationURL)
	}
	return location
}

// recorder remembers which refresh tokens there are.
type recorder struct {
	oauth2.TokenStore

	mu      sync.Mutex
	refresh []string
}

func (r *recorder) Create(ctx context.Context, info oauth2.TokenInfo) error {
	if token := info.GetRefresh(); token != "" {
		r.mu.Lock()
		r.refresh = append(r.refresh, token)
		r.mu.Unlock()
	}
	return r.TokenStore.Create(ctx, info)
}

func (r *recorder) refreshTokens() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.refresh...)
}
