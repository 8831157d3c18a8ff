// Package principal describes the caller of a request. The gate puts a [Principal] into the request's context; services take it
// from there and never from a header.
package principal

import (
	"context"
	"encoding/hex"
	"math"
	"strings"
	"time"

	"github.com/ringfence/ringfence/acl"
)

// Principal is the user, and session, of a token. It is immutable, and shared by all requests with the token. Caches hold many of
// them, so it is small.
type Principal struct {
	UserUUID    string
	SessionUUID string
	// Affiliation is not nil in the principal of a token.
	*Affiliation
	// ACL holds the token's accesses, shared by all tokens with the same ones.
	ACL *acl.Set
	// ExpiresAt is in this machine's time, already corrected for the token source's clock.
	ExpiresAt Instant
	TokenID   TokenID
}

// Affiliation is what many principals share.
type Affiliation struct {
	// TenantUUID is the tenant that the user is in now.
	TenantUUID string
	// Purpose is "user", "internal" or "external_api".
	Purpose string
	// Remote is set if another auth server issued the token. This database then need not know the user or the tenant.
	Remote bool
	// Master is set if that server's tenant is the one that the operator of this gateway has named as its master tenant.
	Master bool
}

// TokenID is the first 4 bytes of the token's SHA-256: it names the token in logs.
type TokenID [4]byte

// String returns the ID as 8 hexadecimal digits.
func (id TokenID) String() string { return hex.EncodeToString(id[:]) }

// Instant is a moment in nanoseconds since 1970, a third of a time.Time.
type Instant int64

// At returns the Instant of a time, or the nearest possible one: between 1970 and 2262.
func At(t time.Time) Instant {
	switch {
	case t.Before(time.Unix(0, 0)):
		return 0
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	default:
		return Instant(t.UnixNano())
	}
}

// Time returns the Instant as a time, in UTC.
func (i Instant) Time() time.Time { return time.Unix(0, int64(i)).UTC() }

// Binding returns what `me` and `my_session` stand for in this principal's accesses.
func (p *Principal) Binding() acl.Binding {
	return acl.Binding{User: p.UserUUID, Session: p.SessionUUID}
}

// Allows reports whether the principal holds the access.
func (p *Principal) Allows(access string) bool { return p.ACL.Allows(access, p.Binding()) }

// Holds reports whether the principal may do what needs the access. An access with a wildcard stands for many, all of which are
// needed. Nobody holds the empty access.
func (p *Principal) Holds(access string) bool {
	if strings.ContainsAny(access, "#*") {
		return p.Covers(access)
	}
	return p.Allows(access)
}

// Covers reports whether the principal holds everything that the pattern stands for.
func (p *Principal) Covers(pattern string) bool { return p.ACL.Covers(pattern, p.Binding()) }

// HasDenials reports whether some pattern denies the principal anything.
func (p *Principal) HasDenials() bool { return p.ACL.HasDenials() }

// Denies reports whether a pattern denies the principal the access, whatever grants it.
func (p *Principal) Denies(access string) bool { return p.ACL.Denies(access, p.Binding()) }

// Denial returns the pattern, without its !, that denies the principal the access, or "". A refusal names it, and not the access: which object
// that is about may be just what the caller is denied to know.
func (p *Principal) Denial(access string) string {
	pattern, _ := p.ACL.Deciding(access, p.Binding())
	denial, denied := strings.CutPrefix(pattern, "!")
	if !denied {
		return ""
	}
	return denial
}

// DeniedWords returns the words that make an access denied in the place between before and after, as in "confd.users." and ".read"; all
// is true if every word does.
func (p *Principal) DeniedWords(before, after string) (words []string, all bool) {
	return p.ACL.DeniedWords(before, after, p.Binding())
}

type contextKey struct{}

// NewContext returns a context that holds p.
func NewContext(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext returns the principal that the gate found, or nil on a public operation.
func FromContext(ctx context.Context) *Principal {
	p, _ := ctx.Value(contextKey{}).(*Principal)
	return p
}

type tenantKey struct{}

// WithTenant returns a context that names the tenant in which the principal of another auth server acts, if that server lets it
// act in a tenant below its own. Only the gate, which asked, calls it.
func WithTenant(ctx context.Context, tenantUUID string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenantUUID)
}

// Tenant returns the tenant of WithTenant, or "".
func Tenant(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return tenant
}
