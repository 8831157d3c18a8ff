package authsvc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/singleflight"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
)

// ExternalHost is what the external authentication plugins of one configuration stand on: storage, and the
// OAuth 2.0 helpers (SPEC, "OAuth 2.0 helpers for external-authentication plugins"). It is safe for concurrent use.
type ExternalHost struct {
	*externalState
	plugins   []ExternalAuth // by type
	publicURL string
	base      rest.Service // the service without them
}

// externalState is what outlives a configuration.
type externalState struct {
	db       store.DB
	sealer   Sealer
	closures *closures
	renewals *singleflight.Group
}

// addExternal adds the operations of external authentication to those that the service has: it comes last.
func (s *Service) addExternal(o Options) error {
	s.external = &ExternalHost{
		externalState: &externalState{db: o.DB, sealer: o.Sealer, closures: newClosures(), renewals: new(singleflight.Group)},
		base:          *s.rest,
	}
	var err error
	if s.external, err = s.external.with(o.External, o.PublicURL); err != nil {
		return err
	}
	s.rest.Operations = slices.Concat(s.rest.Operations, s.external.operations())
	return nil
}

// External answers the host of the plugins that New was given.
func (s *Service) External() *ExternalHost { return s.external }

// WithExternal describes the service with other plugins and another public URL, for a configuration that takes the place of
// the one that New was given: both serve at once, on the same data. The requests of either go to its own.
func (s *Service) WithExternal(plugins []ExternalAuth, publicURL string) (*rest.Service, error) {
	h, err := s.external.with(plugins, publicURL)
	if err != nil {
		return nil, err
	}
	described := h.base
	described.Operations = slices.Concat(h.base.Operations, h.operations())
	if err := described.Mount(); err != nil {
		return nil, err
	}
	return &described, nil
}

// externalType is how a type is written: one word of an access.
var externalType = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

func (h *ExternalHost) with(plugins []ExternalAuth, publicURL string) (*ExternalHost, error) {
	plugins = slices.SortedFunc(slices.Values(plugins), func(a, b ExternalAuth) int { return cmp.Compare(a.Type(), b.Type()) })
	for i, p := range plugins {
		switch {
		case !externalType.MatchString(p.Type()):
			return nil, fmt.Errorf("the external authentication type %q is not one word of lower-case letters, digits, - and _", p.Type())
		case i > 0 && plugins[i-1].Type() == p.Type():
			return nil, fmt.Errorf("two plugins have the external authentication type %s", p.Type())
		}
	}
	if publicURL != "" {
		if err := CheckPublicURL(publicURL); err != nil {
			return nil, err
		}
	}
	return &ExternalHost{externalState: h.externalState, plugins: plugins, publicURL: strings.TrimSuffix(publicURL, "/"), base: h.base}, nil
}

// plugin answers the plugin of a type, or nil.
func (h *ExternalHost) plugin(authType string) ExternalAuth {
	for _, p := range h.plugins {
		if p.Type() == authType {
			return p
		}
	}
	return nil
}

// CheckPublicURL refuses what cannot be the address at which browsers reach this gateway: https, or http on this
// machine alone, a host, and perhaps a path before /api, for a proxy in front.
func CheckPublicURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fmt.Errorf("the public URL: %w", errors.Unwrap(err)) // which has not the address in it
	case u.Host == "" || u.Opaque != "" || u.User != nil:
		return errors.New("the public URL is not of the form https://host[:port][/path]")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(address, "#"):
		return errors.New("the public URL has a query or a fragment")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return errors.New("the public URL must begin with https://")
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// BuildOAuth2RedirectURL answers the URL to which an external service sends users back, and which triggers the callback. It
// comes from the configuration alone, never from a request.
func (h *ExternalHost) BuildOAuth2RedirectURL(authType string) (string, error) {
	if h.publicURL == "" {
		return "", Refuse(int(apierr.Unavailable), nil, "This gateway does not know the address at which browsers reach it: set public_url")
	}
	if !externalType.MatchString(authType) {
		return "", fmt.Errorf("%q is no type of external authentication", authType)
	}
	return h.publicURL + h.base.Prefix + "/external/" + authType + "/authorize", nil
}

// errNoKey refuses what needs the key, in place of storing credentials in the clear.
func errNoKey() error {
	return apierr.New(apierr.NotImplemented, "This gateway has no key to keep credentials with")
}

// keyMissing turns the sealer's complaint, which the log needs, into what a client may read.
func keyMissing(err error) error {
	if errors.Is(err, sealed.ErrKey) {
		return Refuse(int(apierr.Unavailable), err, "This node cannot read the stored credentials; its log says why")
	}
	return err
}

// seal encrypts a value for a row.
func (h *externalState) seal(value []byte, row string) ([]byte, error) {
	if h.sealer == nil {
		return nil, errNoKey()
	}
	blob, err := h.sealer.Seal(value, []byte(row))
	if err != nil {
		return nil, keyMissing(fmt.Errorf("sealing external credentials: %w", err))
	}
	return blob, nil
}

// unseal decrypts a row's value.
func (h *externalState) unseal(blob []byte, row string) ([]byte, error) {
	if h.sealer == nil {
		return nil, errNoKey()
	}
	value, err := h.sealer.Open(blob, []byte(row))
	if err != nil {
		return nil, keyMissing(fmt.Errorf("opening external credentials: %w", err))
	}
	return value, nil
}

// What is sealed belongs to its row. No part of these has a dot in it, so no two rows have one name.
func linkRow(user, authType string) string { return "auth_external." + user + "." + authType }

func configRow(tenant, authType string) string {
	return "auth_external_config." + tenant + "." + authType
}

func pendingRow(digest, user, authType string) string {
	return "auth_external_pending." + digest + "." + user + "." + authType
}

// RegisterOAuth2Callback is [ExternalHost.RegisterOAuth2Callback] of the plugins that New was given.
func (s *Service) RegisterOAuth2Callback(ctx context.Context, authType, userUUID, state string, callback ExternalCallback, extra ...any) error {
	return s.external.RegisterOAuth2Callback(ctx, authType, userUUID, state, callback, extra...)
}

// BuildOAuth2RedirectURL is [ExternalHost.BuildOAuth2RedirectURL] of the plugins that New was given.
func (s *Service) BuildOAuth2RedirectURL(authType string) (string, error) {
	return s.external.BuildOAuth2RedirectURL(authType)
}
