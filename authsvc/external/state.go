package external

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ringfence/ringfence/internal/store"
)

// The limits of a pending authorization. The state is the external service's proof that the user whom it sends back is the one
// who was sent to it: it is random, of one use, and at most ten minutes old.
const (
	pendingTime = 10 * time.Minute
	// maxPending is how many a user may have open with one service; the oldest are removed.
	maxPending = 10
	// minState and maxState bound a state, in bytes: 128 bits in base64 have 22.
	minState = 22
	maxState = 512
)

// RegisterOAuth2Callback registers a callback for when the user has authorized the service on the external side: when the
// external service sends a browser to [Host.BuildOAuth2RedirectURL] with this state, within ten minutes. A state can be used
// once. It must be random, with 128 bits or more, since anybody who knows it can finish the link; state is the one in the
// authorization URL.
//
// The callback is called outside the request's goroutine, with the extra arguments and, last, the message. It lives in this
// process: after a restart, or if the message comes to another node, the plugin's own [Authorizer] takes the message. If the
// plugin has none, the user is told to begin again.
//
// With a nil callback the plugin's Authorizer always takes the message, on any node and after any restart. The extra arguments
// are then stored in the database, encrypted, as JSON.
//
// The state is bound to the user and the type, and to the browser in which a person has agreed on our page (see connect.go). The
// plugin's reply to the request that registers has the service's address as authorization_url.
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
			return errUnknownUser(userUUID, err)
		case store.IsConstraint(err, store.Unique):
			return errors.New("the state was registered before; draw another")
		}
		return fmt.Errorf("keeping the state of an authorization: %w", err)
	}
	attemptsOf(ctx).add(authType, userUUID, state)
	if callback != nil {
		h.closures.put(digest, closure{callback, extra, time.Now().Add(pendingTime)})
	}
	return nil
}

// pending is an authorization requested from the external service, of an enabled user.
type pending struct {
	UserUUID    string `db:"user_uuid"`
	TenantUUID  string `db:"tenant_uuid"`
	Username    string `db:"username"`
	Tenant      string `db:"tenant"`
	Sealed      []byte `db:"sealed"`
	Destination []byte `db:"destination"`
	Browser     []byte `db:"browser"`
	Vouchers    string `db:"begun_by"` // separated by spaces

	digest [sha256.Size]byte
	extra  []json.RawMessage
}

// name returns the user's name for a person to read.
func (p *pending) name() string { return cmp.Or(p.Username, p.UserUUID) }

// row returns the context that seals the pending row's values.
func (p *pending) row(name func(digest, user, authType string) string, authType string) string {
	return name(hex.EncodeToString(p.digest[:]), p.UserUUID, authType)
}

// errUnknownState is the one refusal of a state that is unknown, used, expired, another type's, or another browser's.
var errUnknownState = Refuse(http.StatusBadRequest, nil, "This authorization is not known in this browser: it was used already, or begun more than ten minutes ago or elsewhere")

// errLostCallback says that nothing here can take the message. The state is not used up.
var errLostCallback = Refuse(http.StatusBadRequest, nil, "This authorization was begun on another node, or before a restart")

// find returns the authorization of a state that has not been taken.
func (h *Host) find(ctx context.Context, c store.Conn, authType, state string) (pending, error) {
	if len(state) < minState || len(state) > maxState {
		return pending{}, errUnknownState
	}
	return h.findDigest(ctx, c, authType, sha256.Sum256([]byte(state)), false)
}

// findDigest returns the authorization of a state, which has been taken or not: then its row has no destination any longer. All who
// vouch for it must still be allowed to begin it.
func (h *Host) findDigest(ctx context.Context, c store.Conn, authType string, digest [sha256.Size]byte, taken bool) (pending, error) {
	destination := `IS NOT NULL`
	if taken {
		destination = `IS NULL`
	}
	p, err := store.Get[pending](ctx, c, `
		SELECT p.user_uuid, u.tenant_uuid, coalesce(u.username, '') AS username, coalesce(t.name, t.slug) AS tenant,
		       p.sealed, p.destination, p.browser, coalesce(p.begun_by, '') AS begun_by
		FROM auth_external_pending p JOIN auth_user u ON u.uuid = p.user_uuid JOIN auth_tenant t ON t.uuid = u.tenant_uuid
		WHERE p.digest = $1 AND p.auth_type = $2 AND p.expires_at > now_utc() AND u.enabled AND p.destination `+destination, digest[:], authType)
	if errors.Is(err, store.ErrNotFound) {
		return p, errUnknownState
	}
	if err != nil {
		return p, err
	}
	p.digest = digest
	for voucher := range strings.FieldsSeq(p.Vouchers) {
		may, err := h.rights.StillMayActOn(ctx, c, voucher, p.UserUUID)
		if err != nil {
			return p, err
		}
		if !may {
			slog.WarnContext(ctx, "an external link is refused: who began it may not act on the user any longer; begin it again", "type", authType,
				"user_uuid", p.UserUUID, "begun_by", voucher)
			return p, errUnknownState
		}
	}
	return p, nil
}

// take uses a state up, on whichever node the message comes to, for the browser in which the person has agreed. Callers need no
// token, so it reads before it writes. The row stays until the callback has ended (see forget): whoever removes the link meanwhile
// removes the row too, and then the callback stores nothing.
func (h *Host) take(ctx context.Context, authType, state, cookie string) (p pending, run *closure, err error) {
	if p, err = h.find(ctx, h.db, authType, state); err != nil {
		return p, nil, err
	}
	if !p.agreed(cookie) {
		return p, nil, errUnknownState
	}
	_, authorizer := h.plugin(authType).(Authorizer)
	if !authorizer && !h.closures.has(p.digest) {
		return p, nil, errLostCallback
	}
	if err := h.db.InTx(ctx, func(ctx context.Context, tx store.Conn) (err error) {
		if p, err = h.find(ctx, tx, authType, state); err != nil {
			return err
		}
		if !p.agreed(cookie) {
			return errUnknownState
		}
		now, err := store.Get[time.Time](ctx, tx, `SELECT now_utc()`)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE auth_external_pending SET destination = NULL, expires_at = $2 WHERE digest = $1`, p.digest[:], now.Add(pendingTime))
		return err
	}); err != nil {
		return p, nil, err
	}
	run = h.closures.take(p.digest)
	text, err := h.unseal(p.Sealed, p.row(pendingRow, authType))
	if err != nil {
		return p, nil, err
	}
	return p, run, decodeStored(text, &p.extra)
}

// forget removes the row of a state that has been taken. If it fails, the row expires.
func (h *Host) forget(ctx context.Context, p pending) {
	if _, err := h.db.Exec(ctx, `DELETE FROM auth_external_pending WHERE digest = $1`, p.digest[:]); err != nil {
		slog.WarnContext(ctx, "a used authorization was not removed; it expires by itself", "error", err)
	}
}

// closure is a callback registered in this process.
type closure struct {
	callback Callback
	extra    []any
	expires  time.Time
}

// closures holds them by the digest of their state. Adding one drops those that have expired.
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

// take returns nil if there is none.
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
