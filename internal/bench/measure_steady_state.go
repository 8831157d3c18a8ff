package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/sqlite"
	"github.com/ringfence/ringfence/internal/tokens"
)

// steadyRows measures the release binary with its own tokens in SQLite, while all of them are in constant use: each entry is
// looked up again within its 30 seconds, which is not part of a cache hit and not free either.
func (b *bench) steadyRows() ([]row, error) {
	const what = "steady state: 100,000 tokens of SQLite in constant use / reverse_proxy"
	if b.quick {
		return []row{{what, "takes over a minute: run without -quick", "", skipped}}, nil
	}
	s := new(stage)
	defer s.close()
	upstreamAddress, _, _, err := b.back(s)
	if err != nil {
		return nil, err
	}
	release, err := b.build("./cmd/ringfence", true)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(b.folder, "steady")
	if err := fillDatabase(context.Background(), data, b.tokenFile); err != nil {
		return nil, fmt.Errorf("filling the database: %w", err)
	}
	sites := gatedSites(upstreamAddress)[:2]
	ports, err := freeAddresses(len(sites))
	if err != nil {
		return nil, err
	}
	config, err := write(b.folder, "steady.caddyfile", caddyConfig("\t\tdata "+data+"\n", "off", b.certificate, sites, ports))
	if err != nil {
		return nil, err
	}
	gateway, err := s.start(ports[0], "the gateway", []string{"RINGFENCE_DATA=" + data}, release, "run", "--config", config, "--adapter", "caddyfile")
	if err != nil {
		return nil, err
	}
	load := func(i, requests int, seconds float64) (perRequest time.Duration, rate float64, err error) {
		counted := []*process{gateway}
		before, err := cpu(counted)
		if err != nil {
			return 0, 0, err
		}
		f, err := s.generator.run(job{Address: ports[i], Paths: sites[i].paths, Requests: requests, Connections: 16, Seconds: seconds})
		if err != nil {
			return 0, 0, fmt.Errorf("%w\n%s", err, gateway.log)
		}
		after, err := cpu(counted)
		return (after - before) / time.Duration(f.Requests), float64(f.Requests) / f.Seconds, err
	}
	if _, _, err := load(0, crowdSize, 0); err != nil { // every token is asked for once
		return nil, err
	}
	gated, rate, err := load(0, 10*crowdSize, 45)
	if err != nil {
		return nil, err
	}
	plain, _, err := load(1, 20_000, 0)
	if err != nil {
		return nil, err
	}
	const most = 1.2
	ratio := float64(gated) / float64(plain)
	return []row{{
		what: what, measured: fmt.Sprintf("%.2f x: %s against %s, at %.0f requests/s", ratio, micros(gated), micros(plain), rate),
		budget: fmt.Sprintf("%.2f x", most), verdict: judge(ratio <= most),
	}}, nil
}

// fillDatabase creates a database in which every token of the file belongs to another user, with the one policy.
func fillDatabase(ctx context.Context, data, tokenFile string) (err error) {
	all, err := readTokens(tokenFile)
	if err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, filepath.Join(data, "ringfence.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	auth, err := authsvc.New(authsvc.Options{DB: db})
	if err != nil {
		return err
	}
	if _, err := auth.Bootstrap(ctx, authsvc.Admin{Username: "admin", File: filepath.Join(data, "admin-credentials")}); err != nil {
		return err
	}
	return db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		tenant, err := store.Get[string](ctx, tx, `SELECT uuid FROM auth_tenant`)
		if err != nil {
			return err
		}
		const policy = "5f4bd3bb-62a6-4d0e-a2a5-6e2e6f5d6a0b"
		if _, err := tx.Exec(ctx, `
			INSERT INTO auth_policy (uuid, tenant_uuid, name, name_key, slug, slug_key, shared, config_managed)
			VALUES ($1, $2, 'bench', 'bench', 'bench', 'bench', false, false)`, policy, tenant); err != nil {
			return err
		}
		for _, access := range benchPolicy() {
			if _, err := tx.Exec(ctx, `INSERT INTO auth_policy_access (policy_uuid, access) VALUES ($1, $2)`, policy, access); err != nil {
				return err
			}
		}
		now := time.Now().UTC()
		const batch = 1000
		for len(all) > 0 {
			n := min(batch, len(all))
			if err := insertTokens(ctx, tx, all[:n], tenant, policy, now); err != nil {
				return err
			}
			all = all[n:]
		}
		return nil
	})
}

func insertTokens(ctx context.Context, tx store.Conn, some []string, tenant, policy string, now time.Time) error {
	users, grants, rows := []any{tenant, benchPurpose, now}, []any{policy}, []any{now, now.Add(24 * time.Hour)}
	var userValues, grantValues, tokenValues []string
	for _, token := range some {
		d := tokens.DigestOf(token)
		user, session := owner(d)
		users, grants, rows = append(users, user), append(grants, user), append(rows, d[:], session, user)
		userValues = append(userValues, fmt.Sprintf("($%d, $1, $2, true, 'native', $3)", len(users)))
		grantValues = append(grantValues, fmt.Sprintf("($%d, $1)", len(grants)))
		tokenValues = append(tokenValues, fmt.Sprintf("($%d, $%d, $%d, $1, $2, false, 'bench', '127.0.0.1')", len(rows)-2, len(rows)-1, len(rows)))
	}
	for _, insert := range []struct {
		sql    string
		values []string
		args   []any
	}{
		{`INSERT INTO auth_user (uuid, tenant_uuid, purpose, enabled, authentication_method, created_at) VALUES `, userValues, users},
		{`INSERT INTO auth_user_policy (user_uuid, policy_uuid) VALUES `, grantValues, grants},
		{`INSERT INTO auth_token (digest, session_uuid, user_uuid, issued_at, expires_at, mobile, user_agent, remote_addr) VALUES `, tokenValues, rows},
	} {
		if _, err := tx.Exec(ctx, insert.sql+strings.Join(insert.values, ", "), insert.args...); err != nil {
			return fmt.Errorf("inserting "+strconv.Itoa(len(some))+" tokens: %w", err)
		}
	}
	return nil
}
