package authsvc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/private"
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
// A generated password is in File before it is committed. Whoever finds the file there takes its password: a start after one that was
// interrupted, and other nodes that begin in the same folder.
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
		if password, err = a.generate(); err != nil {
			return first, fmt.Errorf("writing the administrator's credentials: %w", err)
		}
		first.Password = password
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
		tenant, user := uuid.NewString(), uuid.NewString()
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{`INSERT INTO auth_tenant (uuid, parent_uuid, name, slug) VALUES ($1, $1, 'master', 'master')`, []any{tenant}},
			{`INSERT INTO auth_user (uuid, tenant_uuid, username, purpose, enabled, authentication_method, password_hash, created_at)
			  VALUES ($1, $2, $3, 'internal', true, 'native', $4, now_utc())`, []any{user, tenant, username, hash}},
			{`INSERT INTO auth_login (login, user_uuid) VALUES ($1, $2)`, []any{key, user}},
		} {
			if _, err := tx.Exec(ctx, step.sql, step.args...); err != nil {
				return err
			}
		}
		if err := createAllUsers(ctx, tx, tenant); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO auth_group_user (group_uuid, user_uuid) VALUES ($1, $2)`, tenant, user); err != nil {
			return err
		}
		return giveAdministratorPolicy(ctx, tx, user, "Every access. Made at the first start, for the first administrator.")
	})
	return created, err
}

// maxCredentials is the largest file of credentials, in bytes.
const maxCredentials = 1 << 10

// generate returns the password of a.File, which it makes if there is none of this administrator, mode 0600.
func (a Admin) generate() (string, error) {
	for {
		password := rand.Text()
		err := private.Create(a.File, fmt.Appendf(nil, "username: %s\npassword: %s\n", a.Username, password))
		if !errors.Is(err, fs.ErrExist) {
			return password, err
		}
		text, err := private.Read(a.File, maxCredentials)
		if c := parseCredentials(text); err == nil && c.login == a.Username && c.password != "" {
			return c.password, nil
		}
		if err := os.Remove(a.File); err != nil && !errors.Is(err, fs.ErrNotExist) { // another installation's, or others could read it
			return "", err
		}
	}
}

// parseCredentials reads what generate has written.
func parseCredentials(text []byte) credentials {
	name, password, _ := strings.Cut(string(text), "\n")
	return credentials{strings.TrimPrefix(name, "username: "), strings.TrimPrefix(strings.TrimSuffix(password, "\n"), "password: ")}
}

// keptCredentials is the file with the first administrator's password, kept as long as the password is valid.
type keptCredentials struct {
	mu   sync.Mutex
	file string
	// user and hash are what its password was last verified against, empty if there is no file.
	user string
	hash string
}

// dropStaleCredentials removes the file if its password has been changed, or its user renamed, disabled or deleted.
//
// It is called at the start, after a change of the user on this node, and every minute for changes by other nodes. If the process
// dies between the change and the removal, the next start removes the file. If the user cannot be looked up, the file stays until
// the next call.
func (s *Service) dropStaleCredentials(ctx context.Context) error {
	s.kept.mu.Lock()
	defer s.kept.mu.Unlock()
	if s.kept.file == "" {
		return nil
	}
	text, err := os.ReadFile(s.kept.file)
	if errors.Is(err, os.ErrNotExist) {
		s.kept.user, s.kept.hash = "", ""
		return nil
	}
	if err == nil {
		err = s.dropIfStale(ctx, parseCredentials(text))
	}
	if err != nil {
		return fmt.Errorf("comparing %s with the database: %w", s.kept.file, err)
	}
	return nil
}

func (s *Service) dropIfStale(ctx context.Context, c credentials) error {
	k, err := findAccount(ctx, s.db, c.login)
	if err != nil {
		return err
	}
	if k.PasswordHash != nil && k.UserUUID == s.kept.user && *k.PasswordHash == s.kept.hash {
		return nil // unchanged since it was verified
	}
	id, err := s.authenticate(ctx, c)
	switch e := apierr.As(err); {
	case err == nil:
		s.kept.user, s.kept.hash = id.UserUUID, orEmpty(k.PasswordHash)
		return nil
	case e == nil || e.Kind != apierr.Unauthorized:
		return err
	}
	if err := os.Remove(s.kept.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	s.kept.user, s.kept.hash = "", ""
	slog.InfoContext(ctx, "the first administrator's password is no longer what the file said: the file was removed", "file", s.kept.file)
	return nil
}

// concerns reports whether the file's user may be among those that a change has touched.
func (k *keptCredentials) concerns(what []forget) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.user == "" {
		return false
	}
	return slices.ContainsFunc(what, func(f forget) bool { return f.user == k.user || f.user == everybody })
}

// credentialsTime bounds how long a change of the administrator waits for the check of the file.
const credentialsTime = 10 * time.Second

// recheckCredentials calls dropStaleCredentials after a committed change. Its failure does not undo the change.
func (s *Service) recheckCredentials(what []forget) {
	if !s.kept.concerns(what) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), credentialsTime)
	defer cancel()
	if err := s.dropStaleCredentials(ctx); err != nil {
		slog.Warn("the first administrator's credentials may be out of date; they are checked again in a minute", "error", err)
	}
}
