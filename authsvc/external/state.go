package external

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ringfence/ringfence/internal/store"
)

// What a pending authorization may be. The state is the external service's proof that the user whom it sends
// back is the one who was sent to it: random, of one use, ten minutes old at most.
const (
	pendingTime = 10 * time.Minute
	// maxPending is how many a user may have open with one service; the oldest go.
	maxPending = 10
	// minState and maxState bound a state, in bytes: 128 bits in base64 have 22.
	minState = 22
	maxState = 512
)

// RegisterOAuth2Callback has a callback called when the user has authorized the service on the external side: when the external
// service sends somebody to [Host.BuildOAuth2RedirectURL] with this state, within ten minutes. A state counts once. It
// must be random, 128 bits or more, since who knows it can finish the link; state is the one in the authorization URL.
//
// The callback is called off the request's goroutine, with the extra arguments and, last, the message. It
// lives in this process: after a restart, or when the message comes to another node, the plugin's own
// [Authorizer] takes the message, if it is one, else the user is told to begin again.
//
// With a nil callback it is always the plugin's Authorizer, on any node and after any restart. The extra arguments are
// then kept in the database, encrypted, as JSON.
//
// The state is bound to the user and the type, and not to a browser: whoever calls the API is a program as often as not, and
// has none of the browser's cookies.
func (h *Host) RegisterOAuth2Callback(ctx context.Context, authType, userUUID, state string, callback Callback, extra ...any) error {
	if len(state) < minState || len(state) > maxState {
		return fmt.Errorf("a state must have between %d and %d bytes", minState, maxState)
	}
	if _, ok := h.plugin(authType).(Authorizer); callback == nil && !ok {
		return fmt.Errorf("the plugin %q takes no messages of its own, and no callback was given", authType)
	}
	kept := []any{}
	if callback == nil {
		kept = append(kept, extra...)
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("keeping a callback's arguments: %w", err)
	}
	digest := sha256.Sum256([]byte(state))
	blob, err := h.seal(text, pendingRow(hex.EncodeToString(digest[:]), userUUID, authType))
	if err != nil {
		return err
	}
	var expires time.Time
	if err := h.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		now, err := store.Get[time.Time](ctx, tx, `SELECT now_utc()`)
		if err != nil {
			return err
		}
		expires = now.Add(pendingTime)
		if _, err := tx.Exec(ctx, `DELETE FROM auth_external_pending WHERE expires_at <= $1`, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			DELETE FROM auth_external_pending WHERE digest IN (
				SELECT digest FROM auth_external_pending WHERE user_uuid = $1 AND auth_type = $2
				ORDER BY expires_at DESC, digest LIMIT 1000000 OFFSET $3)`, userUUID, authType, maxPending-1); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO auth_external_pending (digest, user_uuid, auth_type, sealed, expires_at) VALUES ($1, $2, $3, $4, $5)`,
			digest[:], userUUID, authType, blob, expires)
		return err
	}); err != nil {
		switch {
		case store.IsConstraint(err, store.ForeignKey):
			return errUnknownUser(err)
		case store.IsConstraint(err, store.Unique):
			return errors.New("the state was registered before; draw another")
		}
		return fmt.Errorf("keeping the state of an authorization: %w", err)
	}
	if callback != nil {
		h.closures.put(digest, closure{callback, extra, time.Now().Add(pendingTime)})
	}
	return nil
}

// pending is an authorization that the external service was asked for.
type pending struct {
	UserUUID   string `db:"user_uuid"`
	TenantUUID string `db:"tenant_uuid"`
	Username   string `db:"username"`
	Enabled    bool   `db:"enabled"`
	Sealed     []byte `db:"sealed"`

	digest [sha256.Size]byte
	extra  []json.RawMessage
}

// errUnknownState is all that is said of a state that is unknown, used, expired, or another type's.
var errUnknownState = Refuse(http.StatusBadRequest, nil, "This authorization is not known: it was used already, or begun more than ten minutes ago")

// errLostCallback says that nobody here can take the message. The state is not used up.
var errLostCallback = Refuse(http.StatusBadRequest, nil, "This authorization was begun on another node, or before a restart")

// take uses a state up, on whichever node the message comes to. Somebody without a token calls it, so it looks before it writes.
func (h *Host) take(ctx context.Context, authType, state string) (p pending, run *closure, err error) {
	if len(state) < minState || len(state) > maxState {
		return p, nil, errUnknownState
	}
	digest := sha256.Sum256([]byte(state))
	known, err := store.Get[int](ctx, h.db, `
		SELECT count(*) FROM auth_external_pending WHERE digest = $1 AND auth_type = $2 AND expires_at > now_utc()`, digest[:], authType)
	if err != nil {
		return p, nil, err
	}
	if known == 0 {
		return p, nil, errUnknownState
	}
	_, authorizer := h.plugin(authType).(Authorizer)
	if !authorizer && !h.closures.has(digest) {
		return p, nil, errLostCallback
	}
	if err := h.db.InTx(ctx, func(ctx context.Context, tx store.Conn) (err error) {
		p, err = store.Get[pending](ctx, tx, `
			SELECT p.user_uuid, u.tenant_uuid, coalesce(u.username, '') AS username, u.enabled, p.sealed
			FROM auth_external_pending p JOIN auth_user u ON u.uuid = p.user_uuid
			WHERE p.digest = $1 AND p.auth_type = $2 AND p.expires_at > now_utc()`, digest[:], authType)
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `DELETE FROM auth_external_pending WHERE digest = $1`, digest[:])
		if err == nil && n == 0 {
			return store.ErrNotFound
		}
		return err
	}); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return p, nil, errUnknownState
		}
		return p, nil, err
	}
	p.digest = digest
	run = h.closures.take(digest)
	if !p.Enabled {
		return p, nil, errUnknownState
	}
	text, err := h.unseal(p.Sealed, pendingRow(hex.EncodeToString(digest[:]), p.UserUUID, authType))
	if err != nil {
		return p, nil, err
	}
	return p, run, decodeStored(text, &p.extra)
}

// closure is a callback that was registered in this process.
type closure struct {
	callback Callback
	extra    []any
	expires  time.Time
}

// closures keeps them by the digest of their state. What ended is dropped when the next one comes.
type closures struct {
	mu sync.Mutex
	of map[[sha256.Size]byte]closure
}

func newClosures() *closures { return &closures{of: map[[sha256.Size]byte]closure{}} }

func (c *closures) put(digest [sha256.Size]byte, added closure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for d, old := range c.of {
		if now.After(old.expires) {
			delete(c.of, d)
		}
	}
	c.of[digest] = added
}

func (c *closures) has(digest [sha256.Size]byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.of[digest]
	return ok
}

// take answers nil when there is none.
func (c *closures) take(digest [sha256.Size]byte) *closure {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.of[digest]
	if !ok {
		return nil
	}
	delete(c.of, digest)
	return &found
}
