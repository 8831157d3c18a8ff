package authsvc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
)

// AdministratorPolicy is the policy of the first administrator: every access. Only the master tenant sees it, and gives it to its users and to
// those below. The name is in lower case, as slug_key is.
const AdministratorPolicy = "ringfence_administrator"

// Admin says who the first administrator is.
type Admin struct {
	Username string
	// Password, when empty, is generated, shown once, and kept in File.
	Password string
	// File is where a generated password is kept, with mode 0600, as long as it is valid.
	File string
	// Made is set if the database is known to have had its first administrator: creating another one would mean beginning anew.
	Made bool
}

// ErrEmpty says that a database is empty and was not empty before.
var ErrEmpty = errors.New("the database is empty")

// FirstStart is the result of Bootstrap.
type FirstStart struct {
	// Created is true on the one start, of the one node, that created the administrator.
	Created bool
	// Password is the generated one, to be shown once; empty if the operator chose it.
	Password string
}

// Bootstrap creates, once in the life of a database, this installation's identity, the master tenant, and the first
// administrator. Ten nodes may call it at once: one of them creates them. Afterwards it changes nothing, whatever Admin says.
//
// A generated password concerns the database and a file: it is written beside File first, then committed, then renamed. If the
// process dies before the commit, nothing exists and the next start begins anew; if it dies after the commit, the next start
// renames the file.
func (s *Service) Bootstrap(ctx context.Context, a Admin) (FirstStart, error) {
	server, err := s.serverUUID(ctx)
	var first FirstStart
	if errors.Is(err, store.ErrNotFound) {
		if a.Made {
			return first, ErrEmpty
		}
		if first, err = s.firstStart(ctx, a); err == nil {
			server, err = s.serverUUID(ctx)
		}
	}
	if err != nil {
		return FirstStart{}, fmt.Errorf("setting up the authentication service: %w", err)
	}
	s.server.Store(&server)
	if err := s.settleCredentials(ctx, a.File); err != nil {
		return first, err
	}
	s.kept.mu.Lock()
	s.kept.file = a.File
	s.kept.mu.Unlock()
	if err := s.dropStaleCredentials(ctx); err != nil { // the next check tries again
		slog.WarnContext(ctx, "the first administrator's credentials may be out of date", "error", err)
	}
	if err := s.expectHashes(ctx); err != nil { // the next minute tries again
		slog.WarnContext(ctx, "failed logins may tell by their time how a password is stored", "error", err)
	}
	return first, nil
}

// firstStart tries to create the first administrator.
func (s *Service) firstStart(ctx context.Context, a Admin) (first FirstStart, err error) {
	key, err := a.check()
	if err == nil && a.Password != "" {
		err = s.checkPassword("the administrator's password (RINGFENCE_ADMIN_PASSWORD)", a.Password)
	}
	if err != nil {
		return first, err
	}
	password := a.Password
	if password == "" {
		password = rand.Text()
		first.Password = password
		if err := writePending(a, password); err != nil {
			return first, err
		}
	}
	hash, err := s.hasher.Hash(ctx, password)
	if err != nil {
		return first, fmt.Errorf("hashing the administrator's password: %w", err)
	}
	if first.Created, err = s.createFirst(ctx, a.Username, key, hash); err != nil {
		return first, fmt.Errorf("creating the first administrator: %w", err)
	}
	if !first.Created { // another node was first, and its operator has the password
		return FirstStart{}, nil
	}
	return first, nil
}

// check refuses an administrator who could never log in, and returns the canonical form of the name.
func (a Admin) check() (key string, err error) {
	tidy, key, err := checkName("username", a.Username)
	switch {
	case err != nil:
		return "", fmt.Errorf("the administrator's name: %w", err)
	case tidy != a.Username || len(tidy) > maxUsername || strings.ContainsFunc(tidy, unicode.IsControl) || strings.Contains(tidy, ":"):
		// A colon ends the name in HTTP Basic authentication.
		return "", errors.New("the administrator's name may not have spaces around it, a colon, control characters, or more than 256 bytes")
	}
	return key, nil
}

// maxUsername is the length of the longest username.
const maxUsername = 256

// Installation returns this installation's UUID, or "" before Bootstrap.
func (s *Service) Installation() string {
	if uuid := s.server.Load(); uuid != nil {
		return *uuid
	}
	return ""
}

func (s *Service) serverUUID(ctx context.Context) (string, error) {
	return store.Get[string](ctx, s.db, `SELECT uuid FROM auth_server`)
}

// createFirst returns false if another node has created the administrator. The row of auth_server decides: its insertion waits
// for a concurrent transaction.
func (s *Service) createFirst(ctx context.Context, username, key, hash string) (created bool, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		n, err := tx.Exec(ctx, `INSERT INTO auth_server (id, uuid) VALUES (1, $1) ON CONFLICT (id) DO NOTHING`, uuid.NewString())
		if created = n == 1; err != nil || !created {
			return err
		}
		now := `now_utc()`
		tenant, user, policy := uuid.NewString(), uuid.NewString(), uuid.NewString()
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{`INSERT INTO auth_tenant (uuid, parent_uuid, name, slug) VALUES ($1, $1, 'master', 'master')`, []any{tenant}},
			{`INSERT INTO auth_user (uuid, tenant_uuid, username, purpose, enabled, authentication_method, password_hash, created_at)
			  VALUES ($1, $2, $3, 'internal', true, 'native', $4, ` + now + `)`, []any{user, tenant, username, hash}},
			{`INSERT INTO auth_login (login, user_uuid) VALUES ($1, $2)`, []any{key, user}},
			{
				`INSERT INTO auth_policy (uuid, tenant_uuid, name, name_key, slug, slug_key, description, shared, config_managed)
			  VALUES ($1, $2, $3, $4, $3, $4, 'Every access. Made at the first start, for the first administrator.', false, true)`,
				[]any{policy, tenant, AdministratorPolicy, AdministratorPolicy},
			},
			{`INSERT INTO auth_policy_access (policy_uuid, access) VALUES ($1, '#')`, []any{policy}},
			{`INSERT INTO auth_user_policy (user_uuid, policy_uuid) VALUES ($1, $2)`, []any{user, policy}},
			{
				`INSERT INTO auth_group (uuid, tenant_uuid, name, name_key, slug, slug_key, system_managed) VALUES ($1, $1, $2, $2, $2, $2, true)`,
				[]any{tenant, allUsersName(tenant)},
			},
			{`INSERT INTO auth_group_user (group_uuid, user_uuid) VALUES ($1, $2)`, []any{tenant, user}},
		} {
			if _, err := tx.Exec(ctx, step.sql, step.args...); err != nil {
				return err
			}
		}
		return nil
	})
	return created, err
}
