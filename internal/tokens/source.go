package tokens

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringfence/ringfence/internal/principal"
)

// ErrUnknown says that a token is malformed, unknown, expired or revoked, or that its user may no longer use it: 401. It is
// certain; if the source could not be asked the error is another.
var ErrUnknown = errors.New("unknown or expired token")

// ErrMalformed wraps ErrUnknown for a text that cannot be a token.
var ErrMalformed = fmt.Errorf("%w: not of the form of a token", ErrUnknown)

// Source knows tokens: our own database, or another auth server (package remote). It is safe for concurrent use.
type Source interface {
	// Shape reports whether the text could be a token of this source. It is called before Load, so that random texts cost no
	// query, and looks nothing up. It never accepts more than 200 bytes.
	Shape(token string) bool
	// Load returns the principal of the token, as of a moment after the call began. If the source does not know the token, or no
	// longer, it returns ErrUnknown. If the source is unreachable, it returns store.ErrUnavailable. Load returns when ctx ends.
	Load(ctx context.Context, token string, d Digest) (*principal.Principal, error)
}

// Batched is a Source that asks about many tokens at once (see Batches).
type Batched interface {
	Source
	// LoadLater is Load for a look-up that nobody waits for: it may begin some milliseconds later, together with others.
	LoadLater(ctx context.Context, token string, d Digest) (*principal.Principal, error)
}

// Bounded is a Source that limits how long its results may be trusted, since nobody tells this node of its revocations.
type Bounded interface {
	Source
	Staleness() time.Duration
}

// Tenanted is a Source on a server that has a tree of tenants of its own.
type Tenanted interface {
	Source
	// Within reports whether the tenant, a UUID in lower case, is the token's own or below it, as of a moment after the call
	// began. Errors are as of Load.
	Within(ctx context.Context, token, tenant string) (bool, error)
}
