package tokens

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringfence/ringfence/internal/principal"
)

// ErrUnknown says that a token is malformed, unknown, expired or revoked, or
// that its user may no longer use it: 401. It is certain; when nobody could be asked the error is another.
var ErrUnknown = errors.New("unknown or expired token")

// ErrMalformed is the ErrUnknown of a text that cannot be a token.
var ErrMalformed = fmt.Errorf("%w: not of the form of a token", ErrUnknown)

// Source is where tokens are known: our own database, or an auth server
// elsewhere (package remote). It is safe for concurrent use.
type Source interface {
	// Shape reports whether the text could be a token of this source. It is asked before Load, so that
	// random texts cost no query, and looks nothing up. It never accepts more than 200 bytes.
	Shape(token string) bool
	// Load returns who the token speaks for, as of a moment after the call began.
	// A token that the source does not know, or no longer, is ErrUnknown. When the
	// source cannot answer now, the error is store.ErrUnavailable. Load returns when ctx ends.
	Load(ctx context.Context, token string, d Digest) (*principal.Principal, error)
}

// Bounded is a Source that states for how long its answers may be trusted, since
// nobody tells this node of its revocations.
type Bounded interface {
	Source
	Staleness() time.Duration
}
