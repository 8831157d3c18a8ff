// Package principal says who a request's token speaks for. The gate puts a
// [Principal] into the request's context; services take it from there and never
// from a header.
package principal

import (
	"context"
	"encoding/hex"
	"math"
	"strings"
	"time"

	"github.com/ringfence/ringfence/acl"
)

// Principal is who a token speaks for. It is immutable once made, and shared by
// all requests that carry the token. Caches hold many of them, so that it is small.
type Principal struct {
	UserUUID    string
	SessionUUID string
	// Affiliation is not nil in the principal of a token.
	*Affiliation
	// ACL is what the token may do, shared by all tokens with the same accesses.
	ACL *acl.Set
	// ExpiresAt is by this machine's clock, already corrected for the token source's.
	ExpiresAt Instant
	TokenID   TokenID
}

// Affiliation is what many principals have in common, and share.
type Affiliation struct {
	// TenantUUID is the tenant that the user is in now.
	TenantUUID string
	// Purpose is "user", "internal" or "external_api".
	Purpose string
	// Remote is true when an auth server elsewhere vouches for the token, so that
	// this database need not know the user or the tenant.
	Remote bool
}

// TokenID is the first 4 bytes of the token's SHA-256: it names the token in logs.
type TokenID [4]byte

// String is the id as 8 hexadecimal digits.
func (id TokenID) String() string { return hex.EncodeToString(id[:]) }

// Instant is a moment in nanoseconds since 1970, a third of a time.Time.
type Instant int64

// At is the Instant of a time, or the nearest that there is: between 1970 and 2262.
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

// Time is the Instant as a time, in UTC.
func (i Instant) Time() time.Time { return time.Unix(0, int64(i)).UTC() }

// Binding is what `me` and `my_session` stand for in this principal's accesses.
func (p *Principal) Binding() acl.Binding {
	return acl.Binding{User: p.UserUUID, Session: p.SessionUUID}
}

// Allows reports whether the principal holds the access.
func (p *Principal) Allows(access string) bool { return p.ACL.Allows(access, p.Binding()) }

// Covers reports whether the principal holds everything that the pattern stands for.
func (p *Principal) Covers(pattern string) bool { return p.ACL.Covers(pattern, p.Binding()) }

// Denies reports whether the principal is denied the access, whatever grants it. It asks the patterns one by one.
func (p *Principal) Denies(access string) bool {
	pattern, _ := p.ACL.Deciding(access, p.Binding())
	return strings.HasPrefix(pattern, "!")
}

type contextKey struct{}

// NewContext returns a context that carries p.
func NewContext(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext returns the principal that the gate found, or nil on a public operation.
func FromContext(ctx context.Context) *Principal {
	p, _ := ctx.Value(contextKey{}).(*Principal)
	return p
}
