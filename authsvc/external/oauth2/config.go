package oauth2

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/ringfence/ringfence/authsvc/external"
)

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
	case !external.PrivateAddress(u):
		return errors.New("it must begin with https://")
	}
	return nil
}

func (c *Config) style() oauth2.AuthStyle {
	if c.BasicAuth {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}
