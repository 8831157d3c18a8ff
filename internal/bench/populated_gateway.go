package main

import (
	"context"
	"errors"
	"time"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/postgres"
)

// town is a gateway on its own PostgreSQL database.
type town struct {
	node *node
	db   *postgres.DB
	// tenant is the master tenant, which all users belong to.
	tenant string
	// admin is a token of the administrator.
	admin string
	close func() error
}

// adminPassword is the administrator's.
const adminPassword = "correct horse battery staple"

// newTown starts a release binary on an empty database of the server.
func (b *bench) newTown(ctx context.Context, release, server, name string) (t *town, err error) {
	address, drop, err := newDatabase(ctx, server)
	if err != nil {
		return nil, err
	}
	t = &town{close: drop}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	if t.node, err = b.startNode(release, b.folder+"/"+name, address, "RINGFENCE_ADMIN_PASSWORD="+adminPassword); err != nil {
		return nil, err
	}
	t.close = func() error {
		t.node.stop()
		return drop()
	}
	if err := t.node.answers("/readyz"); err != nil {
		return nil, err
	}
	if t.db, err = postgres.Open(ctx, address, postgres.Options{StatementTimeout: 10 * time.Minute}); err != nil {
		return nil, err
	}
	t.close = func() error {
		t.node.stop()
		return errors.Join(t.db.Close(), drop())
	}
	issued, err := issueTokens(ctx, address, 1)
	if err != nil {
		return nil, err
	}
	t.admin = issued[0]
	t.tenant, err = store.Get[string](ctx, t.db, `SELECT CAST(uuid AS text) FROM auth_tenant`)
	return t, err
}
