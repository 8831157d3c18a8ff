package external

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Link is one user's link to one external service, on which a plugin works, for one request. A callback that a plugin has registered may
// use the link of the request that registered it, with the context that it is given: with another one nothing is stored. Its stored data
// is encrypted at rest, one JSON value for each user and type.
type Link struct {
	// Type is the plugin's; UserUUID and TenantUUID are the user's.
	Type, UserUUID, TenantUUID string
	// Host has the OAuth 2.0 helpers.
	Host *Host

	request *rest.Request // for the audit
	changed bool          // by this request
	// taken is the digest of the state of the callback that works on the link, or nil. over is set when the request has ended that the link
	// was made for: what a callback stores later needs its state, and not the rights of who has begun.
	taken *[sha256.Size]byte
	over  atomic.Bool
}

// Load reads the stored data; ErrNotLinked if there is none.
func (l *Link) Load(ctx context.Context, into any) error {
	found, err := l.load(ctx)
	if err != nil {
		return err
	}
	return decodeStored(found.data, into)
}

// Create stores data if nothing is stored; otherwise it returns ErrLinked.
func (l *Link) Create(ctx context.Context, data any) error {
	stored, err := l.insert(ctx, data, `ON CONFLICT (user_uuid, auth_type) DO NOTHING`)
	if err == nil && !stored {
		return ErrLinked
	}
	return err
}

// Save stores data, and replaces older data.
func (l *Link) Save(ctx context.Context, data any) error {
	_, err := l.insert(ctx, data, `ON CONFLICT (user_uuid, auth_type) DO UPDATE SET sealed = excluded.sealed, renewing_until = NULL`)
	return err
}

// Edit replaces the stored data with the result of change. Its argument is nil if nothing is stored. If others change the data
// at the same time, change may be called again.
func (l *Link) Edit(ctx context.Context, change func(data json.RawMessage) (any, error)) error {
	for ctx.Err() == nil {
		found, err := l.load(ctx)
		if err != nil && !errors.Is(err, ErrNotLinked) {
			return err
		}
		data, err := change(found.data)
		if err != nil {
			return err
		}
		if found.sealed == nil {
			if err := l.Create(ctx, data); !errors.Is(err, ErrLinked) {
				return err
			}
			continue
		}
		if stored, err := l.replace(ctx, found.sealed, data); err != nil || stored {
			return err
		}
	}
	return ctx.Err()
}

// Config reads the tenant's configuration of this type; ErrNoConfig if there is none.
func (l *Link) Config(ctx context.Context, into any) error {
	text, err := l.Host.config(ctx, l.TenantUUID, l.Type)
	if err != nil {
		return err
	}
	return decodeStored(text, into)
}

func decodeStored(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return errors.New("what is stored is not of the form that the plugin expects") // the cause may repeat a secret
	}
	return nil
}

type storedLink struct {
	sealed []byte
	data   json.RawMessage
}

func (l *Link) load(ctx context.Context) (storedLink, error) {
	blob, err := store.Get[[]byte](ctx, l.Host.db, `SELECT sealed FROM auth_external WHERE user_uuid = $1 AND auth_type = $2`, l.UserUUID, l.Type)
	if errors.Is(err, store.ErrNotFound) {
		return storedLink{}, ErrNotLinked
	}
	if err != nil {
		return storedLink{}, err
	}
	data, err := l.Host.unseal(blob, linkRow(l.UserUUID, l.Type))
	return storedLink{blob, data}, err
}

func (l *Link) insert(ctx context.Context, data any, onConflict string) (stored bool, err error) {
	blob, err := l.sealData(data)
	if err != nil {
		return false, err
	}
	stored, err = l.change(ctx, nil, l.state(true), `INSERT INTO auth_external (user_uuid, auth_type, sealed) VALUES ($1, $2, $3) `+onConflict, blob)
	if store.IsConstraint(err, store.ForeignKey) {
		return false, errUnknownUser(l.UserUUID, err)
	}
	return stored, err
}

// replace stores data unless the row has changed since before was read.
func (l *Link) replace(ctx context.Context, before []byte, data any) (stored bool, err error) {
	blob, err := l.sealData(data)
	if err != nil {
		return false, err
	}
	return l.change(ctx, l.state(true), l.state(true), replaceSQL, before, blob)
}

const replaceSQL = `UPDATE auth_external SET sealed = $4, renewing_until = NULL WHERE user_uuid = $1 AND auth_type = $2 AND sealed = $3`

// takenKey is the key of the digest of a callback's state in its context.
type takenKey struct{}

// errOver is a mistake in a plugin.
var errOver = errors.New("the plugin stores something after the request has ended that its link belongs to, and not with the context of a callback")

var errRemoved = Refuse(http.StatusBadRequest, nil, "This authorization was removed meanwhile, or its user was disabled")

// mayAct refuses a caller who may not act on the user, by the state of c. Whom the external service has sent back has no token:
// their state admits them, as long as nobody has removed it.
func (l *Link) mayAct(ctx context.Context, c store.Conn) error {
	digest, ok := ctx.Value(takenKey{}).([sha256.Size]byte)
	if l.taken != nil { // whatever context the plugin uses
		digest, ok = *l.taken, true
	}
	if ok {
		_, err := l.Host.findDigest(ctx, c, l.Type, digest, true)
		if errors.Is(err, errUnknownState) {
			return errRemoved
		}
		return err
	}
	if l.over.Load() {
		return errOver
	}
	caller := l.request.Principal()
	if caller == nil {
		return apierr.New(apierr.Forbidden, "Nobody may act on a user without a token")
	}
	return l.Host.rights.MayActOn(ctx, c, caller, l.UserUUID)
}

// change runs a statement on the link's row, and keeps it in the audit if it changed anything. $1 and $2 are the row's key. The
// rights are checked again: the user may have been given more since the request came.
func (l *Link) change(ctx context.Context, before, after any, sql string, args ...any) (done bool, err error) {
	err = l.Host.db.InTx(ctx, func(ctx context.Context, tx store.Conn) (err error) {
		if err := l.mayAct(ctx, tx); err != nil {
			return err
		}
		done, err = l.write(ctx, tx, before, after, sql, args...)
		return err
	})
	l.changed = l.changed || done && err == nil
	return done, err
}

// renewed is change for what the external service has done already: the caller's rights do not matter any more.
func (l *Link) renewed(ctx context.Context, after any, sql string, args ...any) (done bool, err error) {
	err = l.Host.db.InTx(ctx, func(ctx context.Context, tx store.Conn) (err error) {
		done, err = l.write(ctx, tx, l.state(true), after, sql, args...)
		return err
	})
	return done, err
}

// write runs a statement on the link's row, and keeps it in the audit if it changed anything.
func (l *Link) write(ctx context.Context, tx store.Conn, before, after any, sql string, args ...any) (done bool, err error) {
	n, err := tx.Exec(ctx, sql, append([]any{l.UserUUID, l.Type}, args...)...)
	if err != nil || n != 1 {
		return false, err
	}
	return true, l.audit(ctx, tx, before, after)
}

// auditBegun records, after a POST that has stored nothing, who began the link: users that the external service sends back have
// no token.
func (l *Link) auditBegun(ctx context.Context) error {
	if l.changed {
		return nil
	}
	return l.Host.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error { return l.audit(ctx, tx, nil, l.state(false)) })
}

// linkState is what the audit shows of a link. Nobody may see the stored data.
type linkState struct {
	UserUUID string `json:"user_uuid"`
	Type     string `json:"type"`
	Linked   bool   `json:"linked"`
}

func (l *Link) audit(ctx context.Context, tx store.Conn, before, after any) error {
	return audit.Write(ctx, tx, l.request, audit.Change{
		Tenant: l.TenantUUID, Resource: "users/external", Object: l.UserUUID + "/" + l.Type, Before: before, After: after,
	})
}

func (l *Link) state(linked bool) any { return linkState{l.UserUUID, l.Type, linked} }

func (l *Link) sealData(data any) ([]byte, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("writing external credentials: %w", err)
	}
	return l.Host.seal(text, linkRow(l.UserUUID, l.Type))
}

// removeAll removes the stored data, and the user's authorizations that are pending or whose callback is running, in one transaction.
// It returns ErrNotLinked if nothing is stored.
func (l *Link) removeAll(ctx context.Context) error {
	var removed bool
	err := l.Host.db.InTx(ctx, func(ctx context.Context, tx store.Conn) (err error) {
		if err := l.mayAct(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM auth_external_pending WHERE user_uuid = $1 AND auth_type = $2`, l.UserUUID, l.Type); err != nil {
			return err
		}
		removed, err = l.write(ctx, tx, l.state(true), nil, `DELETE FROM auth_external WHERE user_uuid = $1 AND auth_type = $2`)
		return err
	})
	if err == nil && !removed {
		return ErrNotLinked
	}
	return err
}

func errUnknownUser(uuid string, cause error) error {
	return &apierr.Error{
		Kind: apierr.NotFound, ID: "unknown-user", Resource: "users", Message: "No such user", Details: map[string]any{"uuid": uuid}, Err: cause,
	}
}

// How long one renewal may take, the interval at which waiting nodes check again, and how long one request waits in all.
const (
	renewalTime  = 15 * time.Second
	renewalLease = renewalTime + 5*time.Second
	renewalLook  = 100 * time.Millisecond
	renewalWait  = 2 * renewalLease
)

// Renew returns what is stored, renewed first if it is stale. Only one renewal runs at a time, on all nodes together: an
// external service that rotates refresh tokens treats an old one as stolen. The others wait for it. If renew returns
// ErrGrantRevoked, what is stored is useless and is removed.
func (l *Link) Renew(ctx context.Context, stale func(data json.RawMessage) bool,
	renew func(ctx context.Context, data json.RawMessage) (any, error),
) (json.RawMessage, error) {
	found, err := l.load(ctx)
	if err != nil || !stale(found.data) {
		return found.data, err
	}
	done := l.Host.renewals.DoChan(linkRow(l.UserUUID, l.Type), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewalWait)
		defer cancel()
		return l.renewInTurn(ctx, stale, renew)
	})
	select {
	case result := <-done:
		data, _ := result.Val.(json.RawMessage)
		return data, result.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// renewInTurn renews, or waits for the node that does. If that node dies, it waits until the lease ends.
func (l *Link) renewInTurn(ctx context.Context, stale func(data json.RawMessage) bool,
	renew func(ctx context.Context, data json.RawMessage) (any, error),
) (json.RawMessage, error) {
	again := time.NewTicker(renewalLook)
	defer again.Stop()
	for {
		found, err := l.load(ctx)
		if err != nil || !stale(found.data) {
			return found.data, err
		}
		mine, err := l.lease(ctx, found.sealed)
		if err != nil {
			return nil, err
		}
		if mine {
			data, stored, err := l.renewNow(ctx, found, renew)
			if err != nil || stored {
				return data, err
			}
			continue // it was removed or authorized anew meanwhile
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lease takes the lease, unless another node has it or the row has changed.
func (l *Link) lease(ctx context.Context, before []byte) (mine bool, err error) {
	now, err := store.Get[time.Time](ctx, l.Host.db, `SELECT now_utc()`)
	if err != nil {
		return false, err
	}
	n, err := l.Host.db.Exec(ctx, `
		UPDATE auth_external SET renewing_until = $4
		WHERE user_uuid = $1 AND auth_type = $2 AND sealed = $3 AND (renewing_until IS NULL OR renewing_until <= $5)`,
		l.UserUUID, l.Type, before, now.Add(renewalLease), now)
	return n == 1, err
}

func (l *Link) renewNow(ctx context.Context, found storedLink,
	renew func(ctx context.Context, data json.RawMessage) (any, error),
) (data json.RawMessage, stored bool, err error) {
	limited, cancel := context.WithTimeout(ctx, renewalTime)
	defer cancel()
	var fresh any
	err = guarded(l.Type, func() (err error) {
		fresh, err = renew(limited, found.data)
		return err
	})
	switch {
	case errors.Is(err, ErrGrantRevoked):
		_, dropErr := l.renewed(ctx, nil, `DELETE FROM auth_external WHERE user_uuid = $1 AND auth_type = $2 AND sealed = $3`, found.sealed)
		return nil, false, errors.Join(err, dropErr)
	case err != nil:
		_, freeErr := l.Host.db.Exec(ctx, `UPDATE auth_external SET renewing_until = NULL WHERE user_uuid = $1 AND auth_type = $2 AND sealed = $3`,
			l.UserUUID, l.Type, found.sealed)
		return nil, false, errors.Join(err, freeErr)
	}
	if data, err = json.Marshal(fresh); err != nil {
		return nil, false, fmt.Errorf("writing external credentials: %w", err)
	}
	blob, err := l.Host.seal(data, linkRow(l.UserUUID, l.Type))
	if err != nil {
		return nil, false, err
	}
	stored, err = l.renewed(ctx, l.state(true), replaceSQL, found.sealed, blob)
	return data, stored, err
}

// guarded runs a plugin's code on a goroutine outside of a server's handler, where a panic would end the process.
func guarded(authType string, run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("an external authentication plugin panicked", "type", authType, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the plugin %s panicked", authType)
		}
	}()
	return run()
}
