package tenant

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
)

// ofRemote is Of for a principal from another auth server. Only the gate can have asked that server, so without the gate's word
// the principal acts in its own tenant only.
func ofRemote(ctx context.Context, c store.Conn, p *principal.Principal, lines []string) (string, error) {
	asked, err := Asked(p, lines)
	if err != nil {
		return "", err
	}
	if asked != p.TenantUUID && asked != principal.Tenant(ctx) || !isUUID(asked) {
		return "", Unauthorized()
	}
	if isUUID(p.TenantUUID) { // that server's own daemons may have none
		if err := ensure(ctx, c, p.TenantUUID, ""); err != nil {
			return "", err
		}
	}
	if asked == p.TenantUUID {
		return asked, nil
	}
	return asked, ensure(ctx, c, asked, p.TenantUUID)
}

func isUUID(text string) bool {
	id, err := uuid.Parse(text)
	return err == nil && id.String() == text
}

// ensure adds a tenant of another auth server, if it is not known here, below a parent that is; otherwise below the master tenant.
func ensure(ctx context.Context, c store.Conn, tenantUUID, parent string) error {
	for range slugAttempts {
		known, err := store.Get[int](ctx, c, `SELECT count(*) FROM auth_tenant WHERE uuid = $1`, tenantUUID)
		if err != nil || known > 0 {
			return err
		}
		if !isUUID(parent) {
			if parent, err = Master(ctx, c); errors.Is(err, store.ErrNotFound) {
				return ErrNoMaster()
			} else if err != nil {
				return err
			}
		}
		added, err := c.Exec(ctx, `
			INSERT INTO auth_tenant (uuid, parent_uuid, name, slug, remote) VALUES ($1, $2, 'of another auth server', $3, true)
			ON CONFLICT DO NOTHING`, tenantUUID, parent, newSlug())
		switch {
		case store.IsConstraint(err, store.Unique):
			return Unauthorized() // it was here and was deleted; a UUID is never used twice
		case err != nil:
			return fmt.Errorf("adding a tenant of another auth server: %w", err)
		case added > 0:
			return nil
		}
	}
	return errors.New("adding a tenant of another auth server: every slug that was drawn is taken")
}

// slugAttempts is how often another slug is drawn because one is taken, or because another request has added the tenant.
const slugAttempts = 3

// newSlug draws the slug of a tenant; tests replace it.
var newSlug = func() string { return strings.ToLower(rand.Text()[:slugLength]) }

// ErrNoMaster returns the error of what needs the master tenant before the first start has made it.
func ErrNoMaster() error {
	e := apierr.New(apierr.Unavailable, "There is no master tenant yet")
	e.ID, e.RetryAfter = "top-tenant-not-initialized", time.Second
	return e
}

// slugLength is the longest slug, in characters.
const slugLength = 10

// askedAtOnce is how many questions about tenants run at once for one request.
const askedAtOnce = 8

// Follow makes the tenants of another auth server that are known here lie where that server has them, as far as a request depends
// on it: what the principal sees here below its own tenant is below it there, and the tenant in which it acts, which the server has
// confirmed, lies below its own. within asks that server whether a tenant is the principal's own or below it.
//
// Tenants that were made here stay where they are. A move is one transaction, and what is left undone if the process dies the next
// request does.
func Follow(ctx context.Context, db store.DB, p *principal.Principal, actsIn string, within func(context.Context, string) (bool, error)) error {
	own := p.TenantUUID
	master, err := Master(ctx, db)
	switch {
	case errors.Is(err, store.ErrNotFound) || own == master:
		return nil // there are no tenants; or all are below it
	case err != nil:
		return err
	case actsIn == master:
		return Unauthorized() // what is below it here is not below it there
	case !isUUID(own):
		return nil
	}
	below, err := store.Select[node](ctx, db, `SELECT CAST(uuid AS text) AS uuid, CAST(parent_uuid AS text) AS parent_uuid FROM auth_tenant
		WHERE remote AND uuid NOT IN ($1, $2) AND (`+Below("uuid", "$1")+` OR `+Below("uuid", "$2")+`)`, own, actsIn)
	if err != nil {
		return err
	}
	left, err := whoLeft(ctx, below, within)
	if err != nil {
		return err
	}
	for _, one := range below {
		if !left[one.UUID] || left[one.ParentUUID] { // what is below one that left has gone with it
			continue
		}
		if _, err := db.Exec(ctx, `UPDATE auth_tenant SET parent_uuid = $2 WHERE uuid = $1 AND remote`, one.UUID, master); err != nil {
			return fmt.Errorf("following a tenant of another auth server: %w", err)
		}
	}
	for _, one := range below { // but need not have
		if !left[one.UUID] && len(left) > 0 {
			if err := attach(ctx, db, one.UUID, own, master, within); err != nil {
				return err
			}
		}
	}
	return attach(ctx, db, actsIn, own, master, within)
}

type node struct {
	UUID       string `db:"uuid"`
	ParentUUID string `db:"parent_uuid"`
}

// whoLeft returns those tenants that are no longer below the principal's own.
func whoLeft(ctx context.Context, tenants []node, within func(context.Context, string) (bool, error)) (map[string]bool, error) {
	var mu sync.Mutex
	left := map[string]bool{}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(askedAtOnce)
	for _, one := range tenants {
		all.Go(func() error {
			stays, err := within(ctx, one.UUID)
			if err == nil && !stays {
				mu.Lock()
				defer mu.Unlock()
				left[one.UUID] = true
			}
			return err
		})
	}
	return left, all.Wait()
}

// attach moves a tenant of another auth server below own, where that server has it, unless it is there or was made here. If tenants
// above it are below own as well, the highest of these is moved.
func attach(ctx context.Context, db store.DB, one, own, master string, within func(context.Context, string) (bool, error)) error {
	if there, err := Within(ctx, db, one, own); err != nil || there {
		return err
	}
	for {
		parent, err := store.Get[string](ctx, db, `SELECT CAST(parent_uuid AS text) FROM auth_tenant WHERE uuid = $1 AND remote`, one)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil
		case err != nil:
			return err
		}
		if parent == master {
			break
		}
		if ok, err := within(ctx, parent); err != nil {
			return err
		} else if !ok {
			break
		}
		one = parent
	}
	if err := ensure(ctx, db, own, ""); err != nil {
		return err
	}
	return db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if loop, err := Within(ctx, tx, own, one); err != nil {
			return err
		} else if loop { // own was below it
			moved, err := tx.Exec(ctx, `UPDATE auth_tenant SET parent_uuid = $2 WHERE uuid = $1 AND remote`, own, master)
			if err != nil || moved == 0 {
				return err
			}
		}
		_, err := tx.Exec(ctx, `UPDATE auth_tenant SET parent_uuid = $2 WHERE uuid = $1 AND remote`, one, own)
		return err
	})
}
