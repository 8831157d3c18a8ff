package authsvc

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
)

// AdministratorPolicy is the policy of the first administrator: every access.
const AdministratorPolicy = "ringfence_administrator"

// Admin says who the first administrator is.
type Admin struct {
	Username string
	// Password, when empty, is generated, shown once, and kept in File.
	Password string
	// File is where a generated password is kept, mode 0600.
	File string
}

// FirstStart is what Bootstrap did.
type FirstStart struct {
	// Created is true on the one start, of the one node, that made the administrator.
	Created bool
	// Password is the generated one, to be shown once; empty when the operator chose it.
	Password string
}

// Bootstrap makes, once in the life of a database, this installation's identity, the master tenant,
// and the first administrator. Ten nodes may call it at once: one of them makes them. Afterwards it
// changes nothing, whatever Admin says.
//
// A generated password touches the database and a file: it is written beside File first, then committed, then
// renamed. Interrupted before the commit, nothing exists and the next start begins anew;
// interrupted after it, the next start finishes the rename.
func (s *Service) Bootstrap(ctx context.Context, a Admin) (FirstStart, error) {
	server, err := s.serverUUID(ctx)
	if err == nil {
		s.server.Store(&server)
		return FirstStart{}, s.settleCredentials(ctx, a.File)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return FirstStart{}, fmt.Errorf("reading this installation's identity: %w", err)
	}
	first := FirstStart{}
	password := a.Password
	if password == "" {
		password = generatePassword()
		first.Password = password
		if err := writePending(a, password); err != nil {
			return FirstStart{}, err
		}
	}
	hash, err := s.hasher.hash(ctx, password)
	if err != nil {
		return FirstStart{}, fmt.Errorf("hashing the administrator's password: %w", err)
	}
	if first.Created, err = s.createFirst(ctx, a.Username, hash); err != nil {
		return FirstStart{}, fmt.Errorf("creating the first administrator: %w", err)
	}
	if server, err = s.serverUUID(ctx); err != nil {
		return FirstStart{}, err
	}
	s.server.Store(&server)
	switch {
	case !first.Created: // another node was first; its operator has the password
		return FirstStart{}, removePending(a.File)
	case first.Password != "":
		return first, finishCredentials(a.File)
	}
	return first, nil
}

func (s *Service) serverUUID(ctx context.Context) (string, error) {
	return store.Get[string](ctx, s.db, `SELECT uuid FROM auth_server`)
}

// createFirst answers false when another node has done it. The row of auth_server
// decides: its insertion waits for a rival's transaction.
func (s *Service) createFirst(ctx context.Context, username, hash string) (created bool, err error) {
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
			{`INSERT INTO auth_login (login, user_uuid) VALUES ($1, $2)`, []any{canonical(username), user}},
			{`INSERT INTO auth_policy (uuid, tenant_uuid, name, name_key, slug, slug_key, description, shared, config_managed)
			  VALUES ($1, $2, $3, $4, $3, $4, 'Every access. Made at the first start, for the first administrator.', false, true)`,
				[]any{policy, tenant, AdministratorPolicy, canonical(AdministratorPolicy)}},
			{`INSERT INTO auth_policy_access (policy_uuid, access) VALUES ($1, '#')`, []any{policy}},
			{`INSERT INTO auth_user_policy (user_uuid, policy_uuid) VALUES ($1, $2)`, []any{user, policy}},
			{`INSERT INTO auth_group (uuid, tenant_uuid, name, name_key, slug, slug_key, system_managed) VALUES ($1, $1, $2, $2, $2, $2, true)`,
				[]any{tenant, allUsersName(tenant)}},
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

// generatePassword answers 144 random bits, in characters that a terminal selects as one word.
func generatePassword() string {
	b := make([]byte, 18)
	_, _ = rand.Read(b) // never fails: it ends the program instead
	return base64.RawURLEncoding.EncodeToString(b)
}

func pending(file string) string { return file + ".new" }

func writePending(a Admin, password string) error {
	if err := os.MkdirAll(filepath.Dir(a.File), 0o700); err != nil {
		return fmt.Errorf("making the folder of the administrator's credentials: %w", err)
	}
	f, err := os.OpenFile(pending(a.File), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("writing the administrator's credentials: %w", err)
	}
	_, err = fmt.Fprintf(f, "username: %s\npassword: %s\n", a.Username, password)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return fmt.Errorf("writing the administrator's credentials: %w", err)
	}
	return nil
}

// finishCredentials puts a pending file in its place, if there is one.
func finishCredentials(file string) error {
	if err := os.Rename(pending(file), file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("keeping the administrator's credentials: %w", err)
	}
	return nil
}

// settleCredentials deals with a pending file that an interrupted first start left: it is kept when its
// password is the administrator's, and removed when another node's was taken.
func (s *Service) settleCredentials(ctx context.Context, file string) error {
	var username, password string
	text, err := os.ReadFile(pending(file))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading unfinished credentials: %w", err)
	}
	if _, err := fmt.Sscanf(string(text), "username: %s\npassword: %s\n", &username, &password); err != nil {
		return removePending(file)
	}
	switch _, err := s.authenticate(ctx, credentials{username, password}); {
	case err == nil:
		return finishCredentials(file)
	case apierr.As(err) != nil:
		return removePending(file)
	default:
		return err
	}
}

func removePending(file string) error {
	if err := os.Remove(pending(file)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing unused credentials: %w", err)
	}
	return nil
}
