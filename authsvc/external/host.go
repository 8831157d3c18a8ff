package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/webaddress"
)

// Host gives the external authentication plugins of one configuration their storage and the OAuth 2.0 helpers. It is safe for
// concurrent use.
type Host struct {
	*shared
	plugins   []Plugin // by type
	publicURL string
}

// shared outlives a configuration.
type shared struct {
	engine   *crud.Engine
	db       store.DB
	sealer   Sealer
	rights   Rights
	prefix   string
	configs  *crud.Documents[externalConfig]
	closures sync.Map // *closure by the digest of its state
	renewals *singleflight.Group
}

// Sealer encrypts values that must be readable again; *sealed.Box implements it. A sealed value opens only with the same
// context: the place where it is stored.
type Sealer interface {
	Seal(plain, context []byte) ([]byte, error)
	Open(blob, context []byte) ([]byte, error)
}

// Rights say who may do what to whom. The host checks them before it calls any plugin: a caller with a user's external
// credentials acts as that user elsewhere, so the access alone is not enough. A refusal is 403.
type Rights interface {
	// MayActOn refuses a caller who does not hold everything that the user holds.
	MayActOn(ctx context.Context, c store.Conn, caller *principal.Principal, userUUID string) error
	// MayConfigure refuses a caller who may not act on each of the tenant's users.
	MayConfigure(ctx context.Context, c store.Conn, caller *principal.Principal, tenantUUID string) error
	// Vouchers returns the users, other than that one, who answer for what a caller begins for a user.
	Vouchers(ctx context.Context, c store.Conn, caller *principal.Principal, userUUID string) ([]string, error)
	// StillMayActOn reports whether a voucher, who could once act on the user, still may.
	StillMayActOn(ctx context.Context, c store.Conn, voucherUUID, userUUID string) (bool, error)
}

// NewHost returns a host without plugins, on the database of an engine and below its prefix. It declares on the engine how
// tenants configure external services.
func NewHost(e *crud.Engine, sealer Sealer, rights Rights) *Host {
	h := &Host{shared: &shared{engine: e, db: e.DB, sealer: sealer, rights: rights, prefix: e.Prefix, renewals: new(singleflight.Group)}}
	h.declareConfigs(e)
	return h
}

// typeForm is the form of a type: one word of an access.
var typeForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// With returns a host of other plugins with another public URL (see CheckPublicURL), on the same data: both serve at once.
// Without a public URL nobody can be sent to an external service.
func (h *Host) With(plugins []Plugin, publicURL string) (*Host, error) {
	plugins = slices.SortedFunc(slices.Values(plugins), func(a, b Plugin) int { return cmp.Compare(a.Type(), b.Type()) })
	for i, p := range plugins {
		switch {
		case !typeForm.MatchString(p.Type()):
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
	return &Host{shared: h.shared, plugins: plugins, publicURL: strings.TrimSuffix(publicURL, "/")}, nil
}

func (h *Host) plugin(authType string) Plugin {
	for _, p := range h.plugins {
		if p.Type() == authType {
			return p
		}
	}
	return nil
}

// CheckPublicURL refuses an address at which browsers cannot reach this gateway. It must be https, or http on this machine, with
// a host, and may have a path before /api, for a proxy in front.
func CheckPublicURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fmt.Errorf("the public URL: %w", errors.Unwrap(err)) // the inner error does not contain the address
	case u.Host == "" || u.Opaque != "" || u.User != nil:
		return errors.New("the public URL is not of the form https://host[:port][/path]")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(address, "#"):
		return errors.New("the public URL has a query or a fragment")
	case !webaddress.Private(u):
		return errors.New("the public URL must begin with https://")
	}
	return nil
}

// BuildOAuth2RedirectURL returns the URL to which an external service sends users back, and which triggers the callback. It
// depends only on the configuration, never on a request.
func (h *Host) BuildOAuth2RedirectURL(authType string) (string, error) {
	return h.address(authType, "authorize")
}

// address returns the address of a page of ours, for a browser.
func (h *Host) address(authType, name string) (string, error) {
	if h.publicURL == "" {
		return "", Refuse(int(apierr.Unavailable), nil, "This gateway does not know the address at which browsers reach it: set public_url")
	}
	if !typeForm.MatchString(authType) {
		return "", fmt.Errorf("%q is no type of external authentication", authType)
	}
	return h.publicURL + h.prefix + "/external/" + authType + "/" + name, nil
}

// keyMissing turns the sealer's error, which the log needs, into one that a client may read.
func keyMissing(err error) error {
	if errors.Is(err, sealed.ErrKey) {
		return Refuse(int(apierr.Unavailable), err, "This node cannot read the stored credentials; its log says why")
	}
	return err
}

func (h *shared) seal(value []byte, row string) ([]byte, error) {
	blob, err := h.sealer.Seal(value, []byte(row))
	if err != nil {
		return nil, keyMissing(fmt.Errorf("sealing external credentials: %w", err))
	}
	return blob, nil
}

func (h *shared) unseal(blob []byte, row string) ([]byte, error) {
	value, err := h.sealer.Open(blob, []byte(row))
	if err != nil {
		return nil, keyMissing(fmt.Errorf("opening external credentials: %w", err))
	}
	return value, nil
}

// A sealed value belongs to its row. None of these parts contains a dot, so no two rows have the same name.
func linkRow(user, authType string) string { return "auth_external." + user + "." + authType }

func configRow(tenant, authType string) string {
	return "auth_external_config." + tenant + "." + authType
}

func pendingRow(digest, user, authType string) string {
	return "auth_external_pending." + digest + "." + user + "." + authType
}

func destinationRow(digest, user, authType string) string {
	return pendingRow(digest, user, authType) + ".destination"
}
