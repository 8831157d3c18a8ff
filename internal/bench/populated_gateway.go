package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/postgres"
	"github.com/ringfence/ringfence/internal/tokens"
)

// town is a gateway on its own PostgreSQL database, with many users.
type town struct {
	node *node
	db   *postgres.DB
	// tenant is the master tenant, which all users belong to.
	tenant string
	// live are tokens of users scattered among the others, with as many sessions as the others have.
	live []string
	// admin is a token of the administrator.
	admin string
	close func() error
}

const (
	// adminPassword is the administrator's, and that of everybody who has one.
	adminPassword = "correct horse battery staple"
	// tokensEach is how many live tokens a user has.
	tokensEach = 10
	// benchClient is the client of the refresh tokens.
	benchClient = "bench"
)

// newTown starts a release binary on an empty database of the server.
func (b *bench) newTown(ctx context.Context, release, server, name string, env ...string) (t *town, err error) {
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
	if t.node, err = b.startNode(release, b.folder+"/"+name, address, append(env, "RINGFENCE_ADMIN_PASSWORD="+adminPassword)...); err != nil {
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

// settle creates users of one policy with so many live tokens in total, and keeps the texts of some.
func (t *town) settle(ctx context.Context, count, remembered int) error {
	began := time.Now()
	users := max(1, count/tokensEach)
	t.live = make([]string, remembered)
	digests, order := make([][]byte, remembered), make([]int, remembered)
	for i := range t.live {
		t.live[i] = tokens.New()
		d := tokens.DigestOf(t.live[i])
		digests[i], order[i] = d[:], i*users/remembered
	}
	c, err := t.db.Pool().Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	policy := uuid.NewString()
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO auth_policy (uuid, tenant_uuid, name, name_key, slug, slug_key, shared, config_managed)
			VALUES ($1, $2, 'bench', 'bench', 'bench', 'bench', false, false)`, []any{policy, t.tenant}},
		{`INSERT INTO auth_policy_access (policy_uuid, access) SELECT $1, unnest(CAST($2 AS text[]))`, []any{policy, benchPolicy()}},
		{`CREATE TABLE bench_user AS SELECT n - 1 AS n, gen_random_uuid() AS uuid FROM generate_series(1, CAST($1 AS integer)) n`, []any{users}},
		{`INSERT INTO auth_user (uuid, tenant_uuid, username, purpose, enabled, authentication_method, password_hash, created_at)
			SELECT b.uuid, $1, 'bench' || b.n, 'external_api', true, 'native', a.password_hash, now_utc()
			FROM bench_user b, auth_user a WHERE a.username = 'admin'`, []any{t.tenant}},
		{`INSERT INTO auth_login (login, user_uuid) SELECT 'bench' || n, uuid FROM bench_user`, nil},
		{`INSERT INTO auth_user_policy (user_uuid, policy_uuid) SELECT uuid, $1 FROM bench_user`, []any{policy}},
		{`SET session_replication_role = replica`, nil}, // foreign keys hold without being looked at
		{`INSERT INTO auth_token (digest, session_uuid, user_uuid, issued_at, expires_at, mobile, user_agent, remote_addr)
			SELECT sha256(uuid_send(gen_random_uuid())), gen_random_uuid(), b.uuid, now_utc(), now_utc() + interval '1 day', false, 'bench', '127.0.0.1'
			FROM generate_series(1, CAST($1 AS integer)) k JOIN bench_user b ON b.n = k % (SELECT count(*) FROM bench_user) ORDER BY 1`, []any{count - remembered}},
		{`INSERT INTO auth_token (digest, session_uuid, user_uuid, issued_at, expires_at, mobile, user_agent, remote_addr)
			SELECT l.digest, gen_random_uuid(), b.uuid, now_utc(), now_utc() + interval '1 day', false, 'bench', '127.0.0.1'
			FROM unnest(CAST($1 AS bytea[]), CAST($2 AS integer[])) l(digest, k) JOIN bench_user b ON b.n = l.k`, []any{digests, order}},
		{`RESET session_replication_role`, nil},
		{`DROP TABLE bench_user`, nil},
		{`VACUUM ANALYZE`, nil},
		{`CHECKPOINT`, nil},
	} {
		if _, err := c.Exec(ctx, step.sql, step.args...); err != nil {
			return fmt.Errorf("making %d tokens: %s: %w", count, firstLine(step.sql), err)
		}
	}
	fmt.Fprintf(os.Stderr, "bench: %d live tokens of %d users, in %s\n", count, users, time.Since(began).Round(time.Millisecond))
	return nil
}

// refreshTokens gives so many users refresh tokens of the client benchClient. Only a login with a password would read their
// sealed values, and nobody makes one.
func (t *town) refreshTokens(ctx context.Context, n int) ([]string, error) {
	all, digests := make([]string, n), make([][]byte, n)
	for i := range all {
		all[i] = tokens.New()
		d := tokens.DigestOf(all[i])
		digests[i] = d[:]
	}
	_, err := t.db.Pool().Exec(ctx, `
		INSERT INTO auth_refresh_token (uuid, digest, sealed, client_id, user_uuid, mobile, user_agent, remote_addr, created_at)
		SELECT gen_random_uuid(), r.digest, r.digest, $2, u.uuid, false, 'bench', '127.0.0.1', now_utc()
		FROM unnest(CAST($1 AS bytea[])) WITH ORDINALITY r(digest, n)
		JOIN (SELECT uuid, row_number() OVER (ORDER BY uuid) AS n FROM auth_user WHERE purpose = 'external_api') u ON u.n = r.n`, digests, benchClient)
	if err != nil {
		return nil, fmt.Errorf("making refresh tokens: %w", err)
	}
	return all, nil
}

func firstLine(sql string) string {
	line, _, _ := strings.Cut(sql, "\n")
	return line
}
