package oauth2

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/ringfence/ringfence/authsvc/external"
	"github.com/ringfence/ringfence/internal/webaddress"
)

// Plugin links users to one service. Google's and Microsoft's use it with their addresses.
type Plugin struct{ config Config }

// New returns the plugin of a service. An error is a mistake in the configuration.
func New(c Config) (*Plugin, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Plugin{c}, nil
}

// Type returns the configured type.
func (p *Plugin) Type() string { return p.config.Type }

// Info names the scopes that are requested if a client names none.
func (p *Plugin) Info() external.Info {
	return external.Info{RequiredACL: p.config.Scopes}
}

type credentials struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	// TokenExpiration is in seconds since 1970; nil if the token does not expire.
	TokenExpiration *int64   `json:"token_expiration"`
	Scope           []string `json:"scope"`
}

type scopeRequest struct {
	Scope []string `json:"scope" maxItems:"100" items.minLength:"1" items.maxLength:"512" doc:"What to ask of the service."`
}

type begunAnswer struct {
	AuthorizationURL string `json:"authorization_url" doc:"To be opened in the user's browser."`
	State            string `json:"state"`
}

type credentialsAnswer struct {
	AccessToken     string   `json:"access_token"`
	Scope           []string `json:"scope"`
	TokenExpiration *int64   `json:"token_expiration" doc:"In seconds since 1970; null when the token does not expire."`
}

// Schemas returns the shapes of bodies and replies.
func (p *Plugin) Schemas() external.Schemas {
	return external.Schemas{
		Create: external.SchemaOf[scopeRequest](), Created: external.SchemaOf[begunAnswer](), Fetched: external.SchemaOf[credentialsAnswer](),
	}
}

// clientConfig holds the settings of a tenant's configuration that this plugin uses.
type clientConfig struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
}

// attempt is stored between the POST and the user's return. Both must use the same redirect URL, even if the configuration has
// changed.
type attempt struct {
	ClientID    string   `json:"client_id"`
	RedirectURL string   `json:"redirect_url"`
	Scope       []string `json:"scope"`
	Verifier    string   `json:"verifier"`
}

// Create begins a link: it returns the URL at which the user has to consent.
func (p *Plugin) Create(ctx context.Context, l *external.Link, body json.RawMessage) (any, error) {
	request := scopeRequest{}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	for _, scope := range request.Scope {
		if !scopeToken.MatchString(scope) {
			return nil, external.Refuse(http.StatusBadRequest, nil, "scope: A scope has no spaces, quotes or characters outside ASCII")
		}
	}
	if request.Scope == nil {
		request.Scope = p.config.Scopes
	}
	client, err := p.client(ctx, l)
	if err != nil {
		return nil, err
	}
	redirect, err := l.Host.BuildOAuth2RedirectURL(l.Type)
	if err != nil {
		return nil, err
	}
	state := oauth2.GenerateVerifier() // 256 random bits
	a := attempt{client.ClientID, redirect, request.Scope, oauth2.GenerateVerifier()}
	if err := l.Host.RegisterOAuth2Callback(ctx, l.Type, l.UserUUID, state, nil, a); err != nil {
		return nil, err
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(a.Verifier)}
	for name, value := range p.config.Parameters {
		options = append(options, oauth2.SetAuthURLParam(name, value))
	}
	return begunAnswer{p.oauth(client, redirect, request.Scope).AuthCodeURL(state, options...), state}, nil
}

// Authorized exchanges the code of the message for tokens, and stores them in place of older ones.
func (p *Plugin) Authorized(ctx context.Context, l *external.Link, extra []json.RawMessage, message external.Message) error {
	var a attempt
	if len(extra) != 1 || json.Unmarshal(extra[0], &a) != nil {
		return errors.New("the kept attempt is not of the form that this plugin writes")
	}
	code := message["code"]
	if code == "" {
		return external.Refuse(http.StatusBadRequest, nil, "The external service sent no code")
	}
	client, err := p.client(ctx, l)
	if err != nil {
		return err
	}
	if client.ClientID != a.ClientID {
		return external.Refuse(http.StatusBadRequest, nil, "The tenant's client_id has changed meanwhile")
	}
	token, err := p.oauth(client, a.RedirectURL, a.Scope).Exchange(p.with(ctx), code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return refusal(err, func(cause error) error {
			return external.Refuse(http.StatusBadRequest, cause, "The external service takes the code no longer")
		})
	}
	return l.Save(ctx, credentialsOf(token, a.Scope))
}

// refreshAhead is how long before it expires a token is renewed.
const refreshAhead = 30 * time.Second

// Fetch returns the credentials without the refresh token, renewed first if they are about to expire. If they cannot be renewed
// now, it returns the old ones for as long as they are good.
func (p *Plugin) Fetch(ctx context.Context, l *external.Link) (any, error) {
	stored, err := l.Renew(ctx, expiring, func(ctx context.Context, data json.RawMessage) (any, error) { return p.renew(ctx, l, data) })
	if err != nil && !errors.Is(err, external.ErrNotLinked) && !errors.Is(err, external.ErrGrantRevoked) {
		if c := (credentials{}); l.Load(ctx, &c) == nil && c.left() > 0 {
			return c.answer(), nil
		}
	}
	if err != nil {
		return nil, err
	}
	c, err := decode(stored)
	return c.answer(), err
}

func (c credentials) answer() credentialsAnswer {
	return credentialsAnswer{c.AccessToken, c.Scope, c.TokenExpiration}
}

// left returns how long the access token is still good.
func (c credentials) left() time.Duration {
	if c.TokenExpiration == nil {
		return math.MaxInt64
	}
	return time.Until(time.Unix(*c.TokenExpiration, 0))
}

func decode(data json.RawMessage) (credentials, error) {
	c := credentials{}
	if json.Unmarshal(data, &c) != nil {
		return c, errors.New("the stored credentials are not of the form that this plugin writes") // the cause may repeat them
	}
	return c, nil
}

func expiring(data json.RawMessage) bool {
	c, err := decode(data)
	return err == nil && c.left() < refreshAhead
}

func (p *Plugin) renew(ctx context.Context, l *external.Link, data json.RawMessage) (any, error) {
	c, err := decode(data)
	if err != nil {
		return nil, err
	}
	if c.RefreshToken == "" {
		return nil, external.ErrGrantRevoked // without a refresh token there is no new token
	}
	client, err := p.client(ctx, l)
	if err != nil {
		return nil, err
	}
	// Without an access token the source cannot return an old one. It keeps the refresh token if the service sends no other.
	old := &oauth2.Token{RefreshToken: c.RefreshToken}
	token, err := p.oauth(client, "", nil).TokenSource(p.with(ctx), old).Token()
	if err != nil {
		return nil, refusal(err, func(cause error) error { return fmt.Errorf("%w: %w", external.ErrGrantRevoked, cause) })
	}
	return credentialsOf(token, c.Scope), nil
}

// credentialsOf returns what is stored of a token. asked is used if the service does not say which scope it granted: then it
// granted the requested one (RFC 6749, 5.1).
func credentialsOf(token *oauth2.Token, asked []string) credentials {
	c := credentials{AccessToken: token.AccessToken, RefreshToken: token.RefreshToken, Scope: asked}
	if !token.Expiry.IsZero() {
		expires := token.Expiry.Unix()
		c.TokenExpiration = &expires
	}
	if given, ok := token.Extra("scope").(string); ok && given != "" {
		c.Scope = strings.Fields(given)
	}
	if c.Scope == nil {
		c.Scope = []string{}
	}
	return c
}

// client returns the tenant's client_id and client_secret. A public client has no secret.
func (p *Plugin) client(ctx context.Context, l *external.Link) (clientConfig, error) {
	c := clientConfig{}
	if err := l.Config(ctx, &c); err != nil {
		return c, err
	}
	if c.ClientID == "" {
		return c, external.ErrNoConfig
	}
	return c, nil
}

func (p *Plugin) oauth(c clientConfig, redirect string, scope []string) *oauth2.Config {
	style := oauth2.AuthStyleInParams
	if p.config.BasicAuth {
		style = oauth2.AuthStyleInHeader
	}
	return &oauth2.Config{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, RedirectURL: redirect, Scopes: scope,
		Endpoint: oauth2.Endpoint{AuthURL: p.config.AuthURL, TokenURL: p.config.TokenURL, AuthStyle: style},
	}
}

// with makes the library use the plugin's client.
func (p *Plugin) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, p.config.Client)
}

var _ interface {
	external.Creator
	external.Fetcher
	external.Informer
	external.Authorizer
	external.Documenter
} = (*Plugin)(nil)

// Generic is a Plugin that shows the scope of its credentials in the list of a user's external authentications.
type Generic struct{ *Plugin }

// NewGeneric returns the plugin of a service. An error is a mistake in the configuration.
func NewGeneric(c Config) (Generic, error) {
	p, err := New(c)
	return Generic{p}, err
}

// SafeView returns only the scope.
func (Generic) SafeView(data json.RawMessage) (any, error) {
	c, err := decode(data)
	return map[string]any{"scope": c.Scope}, err
}

// Config describes one service.
type Config struct {
	// Type is the plugin's name. Default: oauth2.
	Type string
	// AuthURL is where users consent, TokenURL where codes and refresh tokens are exchanged: https, or http on this machine.
	AuthURL, TokenURL string
	// Scopes are requested if a client names none.
	Scopes []string
	// Parameters are added to the authorization URL: access_type=offline.
	Parameters map[string]string
	// BasicAuth sends client_id and client_secret by HTTP Basic authentication, as RFC 6749 prefers. By default they are in the
	// body, which more services accept.
	BasicAuth bool
	// Client sends the requests to the TokenURL. Default: one that waits 10 seconds and follows no redirect.
	Client *http.Client
}

// DefaultType is the type of a plugin whose Config names none.
const DefaultType = "oauth2"

const exchangeTimeout = 10 * time.Second

// reserved are the parameters of the authorization URL that the plugin sets.
var reserved = []string{"response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method"}

var typeName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

func (c *Config) check() error {
	if c.Type == "" {
		c.Type = DefaultType
	}
	if !typeName.MatchString(c.Type) {
		return fmt.Errorf("the type %q is not one word of lower-case letters, digits, - and _", c.Type)
	}
	for name, address := range map[string]string{"auth_url": c.AuthURL, "token_url": c.TokenURL} {
		if err := checkURL(address); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, scope := range c.Scopes {
		if !scopeToken.MatchString(scope) {
			return fmt.Errorf("%q is not a scope", scope)
		}
	}
	for name := range maps.Keys(c.Parameters) {
		if slices.Contains(reserved, name) || name == "" {
			return fmt.Errorf("the parameter %q is not for the configuration to set", name)
		}
	}
	if c.Client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		c.Client = &http.Client{Transport: transport, Timeout: exchangeTimeout}
	}
	client := *c.Client
	// Following a redirect of the token endpoint would send the secrets elsewhere.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Client = &client
	return nil
}

// scopeToken is RFC 6749, 3.3.
var scopeToken = regexp.MustCompile(`^[\x21\x23-\x5b\x5d-\x7e]{1,512}$`)

func checkURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("it is no URL")
	case u.Host == "" || u.User != nil || strings.Contains(address, "#"):
		return errors.New("it is not of the form https://host/path")
	case !webaddress.Private(u):
		return errors.New("it must begin with https://")
	}
	return nil
}

// refusal says why a code, or a refresh token, gave no tokens: gone says it where the grant is. Only the service's own error that it is counts
// as that (RFC 6749, 5.2): any other error may pass.
func refusal(err error, gone func(cause error) error) error {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case ok && answer.ErrorCode == "invalid_grant":
		return gone(safe(err))
	case ok && (answer.ErrorCode == "invalid_client" || answer.ErrorCode == "unauthorized_client"):
		return external.Refuse(http.StatusServiceUnavailable, safe(err),
			"The external service refuses this tenant's client_id and client_secret")
	}
	return external.Refuse(http.StatusServiceUnavailable, safe(err), "The external service does not answer as it should; try again later")
}

// codes matches error codes, which cannot hold anything else.
var codes = regexp.MustCompile(`^[a-z_]{1,64}$`)

// safe returns an error for the log. The library's own repeats the service's response, which may hold anything.
func safe(err error) error {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return fmt.Errorf("asking the token endpoint: %w", err)
	}
	code := answer.ErrorCode
	if !codes.MatchString(code) {
		code = "no known error code"
	}
	status := 0
	if answer.Response != nil {
		status = answer.Response.StatusCode
	}
	return fmt.Errorf("the token endpoint answered %d, %s", status, code)
}

var _ external.SafeViewer = Generic{}
