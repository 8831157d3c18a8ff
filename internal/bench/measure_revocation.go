package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/postgres"
	"github.com/ringfence/ringfence/internal/tokens"
)

const dsnVariable = "TEST_POSTGRES_DSN"

// revocationRows measures with two gateways on one PostgreSQL, from the response to a revocation on one to the moment that the
// other refuses the token.
func (b *bench) revocationRows() (rows []row, err error) {
	const what, most = "revocation on one node, refused on another (PostgreSQL)", 50 * time.Millisecond
	budget := "p99 " + millis(most)
	server := os.Getenv(dsnVariable)
	if server == "" {
		return []row{{what, dsnVariable + " is not set: run `make bench`", budget, skipped}}, nil
	}
	release, err := b.build("./cmd/ringfence", true)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	address, drop, err := newDatabase(ctx, server)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	var nodes []*node
	for _, name := range []string{"node-a", "node-b"} {
		n, err := b.startNode(release, filepath.Join(b.folder, name), address)
		if err != nil {
			return nil, err
		}
		defer n.kill()
		if err := n.answers("/readyz"); err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	times := 500
	if b.quick {
		times = 100
	}
	issued, err := issueTokens(ctx, address, times)
	if err != nil {
		return nil, err
	}
	lags, late := make([]time.Duration, 0, times), 0
	for _, token := range issued {
		lag, stale, err := revoke(nodes[0], nodes[1], token)
		if err != nil {
			return nil, err
		}
		lags = append(lags, lag)
		if stale > 0 {
			late++
		}
	}
	return []row{{
		what,
		fmt.Sprintf("p99 %s, median %s, worst %s of %d; %d were still let through when the revocation had been answered",
			millis(percentile(lags, 99)), millis(median(lags)), millis(percentile(lags, 100)), len(lags), late),
		budget, judge(percentile(lags, 99) < most),
	}}, nil
}

// revoke revokes a token at one node. It returns how long the other node still accepted it, and how many requests it let through
// meanwhile.
func revoke(at, other *node, token string) (lag time.Duration, stale int, err error) {
	const path = "/api/sysconfd/status_check"
	for range 2 { // the second is from the cache
		if status, err := other.ask(http.MethodGet, path, token); err != nil || status != http.StatusOK {
			return 0, 0, fmt.Errorf("using a token: status %d: %w", status, err)
		}
	}
	status, err := at.ask(http.MethodDelete, "/api/auth/0.1/token/"+token, "")
	if err != nil || status != http.StatusOK {
		return 0, 0, fmt.Errorf("revoking a token: status %d: %w", status, err)
	}
	answered := time.Now()
	for ; ; stale++ {
		status, err := other.ask(http.MethodGet, path, token)
		switch {
		case err != nil:
			return 0, 0, err
		case status == http.StatusUnauthorized && stale == 0:
			return 0, 0, nil // it was refused before the first question
		case status == http.StatusUnauthorized:
			return time.Since(answered), stale, nil
		case time.Since(answered) > time.Minute:
			return 0, 0, errors.New("a revoked token is still taken after a minute")
		}
	}
}

// newDatabase creates an empty database on a server, named after the run.
func newDatabase(ctx context.Context, server string) (address string, drop func() error, err error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return "", nil, errors.New(dsnVariable + " is not of the form postgres://user:password@host/database")
	}
	admin, err := postgres.Open(ctx, server, postgres.Options{MaxConns: 1})
	if err != nil {
		return "", nil, err
	}
	name := "bench_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		return "", nil, errors.Join(err, admin.Close())
	}
	u.Path = "/" + name
	return u.String(), func() error {
		_, err := admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
		return errors.Join(err, admin.Close())
	}, nil
}

// issueTokens creates tokens of the administrator, without the login and its slow hash.
func issueTokens(ctx context.Context, address string, n int) (issued []string, err error) {
	db, err := postgres.Open(ctx, address, postgres.Options{MaxConns: 1})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	user, err := store.Get[string](ctx, db, `SELECT uuid FROM auth_user`)
	if err != nil {
		return nil, err
	}
	for range n {
		token := tokens.New()
		d := tokens.DigestOf(token)
		if _, err := db.Exec(ctx, `
			INSERT INTO auth_token (digest, session_uuid, user_uuid, issued_at, expires_at, mobile, user_agent, remote_addr)
			VALUES ($1, $2, $3, $4, $5, false, 'bench', '127.0.0.1')`,
			d[:], uuid.NewString(), user, time.Now().UTC(), time.Now().Add(time.Hour).UTC()); err != nil {
			return nil, err
		}
		issued = append(issued, token)
	}
	return issued, nil
}
