package authsvc

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/authsvc/throttle"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
)

// credentials are a login and a password as they were typed.
type credentials struct{ login, password string }

// basicCredentials reads HTTP Basic credentials in UTF-8, or else in Latin-1, since existing clients send either. Missing,
// malformed and half-empty credentials all count as none, and so do two: what is before the gateway may read the other ones.
func basicCredentials(r *http.Request) (credentials, bool) {
	lines := r.Header["Authorization"]
	if len(lines) != 1 {
		return credentials{}, false
	}
	scheme, encoded, ok := strings.Cut(lines[0], " ")
	if !ok || !strings.EqualFold(scheme, "Basic") {
		return credentials{}, false
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return credentials{}, false
	}
	text := string(raw)
	if !utf8.ValidString(text) {
		runes := make([]rune, len(raw))
		for i, b := range raw {
			runes[i] = rune(b) // Latin-1 is the first 256 code points
		}
		text = string(runes)
	}
	login, password, ok := strings.Cut(text, ":")
	if !ok || login == "" || password == "" || len(password) > MaxPassword {
		return credentials{}, false
	}
	return credentials{login, password}, true
}

// findAccount finds an enabled user by a confirmed address or by username. An unknown login, or a disabled user's, returns an
// empty credential: it costs the same hash and gets the same response.
func findAccount(ctx context.Context, c store.Conn, login string) (credential, error) {
	key, ok := Canonical(login)
	if !ok {
		return credential{}, nil
	}
	k, err := store.Get[credential](ctx, c, selectCredential+`
		JOIN auth_login l ON l.user_uuid = u.uuid LEFT JOIN auth_email e ON e.uuid = l.email_uuid
		WHERE l.login = $1 AND u.enabled AND (l.email_uuid IS NULL OR e.confirmed) AND `+methodOf+` = 'native'`, key)
	return k, missing(err, nil)
}

// authenticate returns the user's identity, with the hashes that are the password's. A login that fails costs the same, whether there
// is such a user or not and however the password is stored (see password.Hasher.Verify).
func (s *Service) authenticate(ctx context.Context, c credentials) (Identity, error) {
	k, err := findAccount(ctx, s.db, c.login)
	if err != nil {
		return Identity{}, err
	}
	hash := orEmpty(k.PasswordHash)
	ok, err := s.hasher.Verify(ctx, k.UserUUID, hash, c.password)
	if err != nil {
		return Identity{}, err
	}
	if !ok {
		return Identity{}, errNoLogin()
	}
	rehashed, lost := s.rehash(ctx, k.UserUUID, hash, c.password)
	if lost {
		return s.authenticate(ctx, c)
	}
	return Identity{UserUUID: k.UserUUID, hash: hash, rehashed: rehashed}, nil
}

// rehash stores a password that has just been verified as new ones are stored, if its stored hash is outdated (PBKDF2, or other
// parameters). Its failure does not fail the login: the next login tries again. It returns the hash that may be stored now instead,
// and reports whether the stored one was replaced in the meantime: by another login, or with another password.
func (s *Service) rehash(ctx context.Context, user, stored, password string) (hash string, lost bool) {
	if s.hasher.Current(stored) {
		return stored, false
	}
	hash, err := s.hasher.Hash(ctx, password)
	if err == nil {
		var n int64
		n, err = s.db.Exec(ctx, `UPDATE auth_user SET password_hash = $3 WHERE uuid = $1 AND password_hash = $2`, user, stored, hash)
		lost = err == nil && n == 0
	}
	if err != nil && apierr.As(err) == nil && ctx.Err() == nil {
		slog.WarnContext(ctx, "a password's old hash was not replaced", "user_uuid", user, "error", err)
	}
	return hash, lost
}

// hashLooks bounds the looks for kinds of stored hash.
const hashLooks = 16

// expectHashes tells the hasher which kinds of outdated hash are stored. Until then an import shows in the time of a failed login, so
// Sweep calls it each minute.
func (s *Service) expectHashes(ctx context.Context) error {
	var outdated []password.Kind
	sql, known := `SELECT password_hash FROM auth_user WHERE password_hash NOT LIKE $1`, []any{string(s.hasher.CurrentKind()) + "%"}
	for range hashLooks {
		found, err := store.Select[string](ctx, s.db, sql+` LIMIT 1`, known...)
		if err != nil {
			return fmt.Errorf("looking for outdated hashes of passwords: %w", err)
		}
		if len(found) == 0 {
			break
		}
		kind, ok := s.hasher.KindOf(found[0])
		if ok && strings.HasPrefix(found[0], string(kind)) {
			outdated, known = append(outdated, kind), append(known, string(kind)+"%")
			sql += fmt.Sprintf(` AND password_hash NOT LIKE $%d`, len(known))
		} else { // nobody can log in with it
			known = append(known, found[0])
			sql += fmt.Sprintf(` AND password_hash <> $%d`, len(known))
		}
	}
	s.hasher.Expect(outdated)
	return nil
}

// loginKey returns the key of a login as it was typed.
func loginKey(login string) throttle.Key {
	if name, ok := Canonical(login); ok {
		return throttle.KeyOf("login", name)
	}
	return throttle.KeyOf("no login", strings.ToLower(login))
}

// guardedLogin makes an attempt to log in (see throttle.Attempt.Try), unless it comes too soon, the backend that is asked first
// has no free place, or the login was left undecided too often. Refusing those costs only a read.
func (s *Service) guardedLogin(ctx context.Context, a Attempt, network string, try func() error) error {
	guess, err := s.throttle.Admit(ctx, &s.settings.Load().Limits, loginKey(a.Login), network)
	if err != nil {
		return err
	}
	if err := s.mayStayUndecided(ctx, a); err != nil {
		return err
	}
	if first := *s.backends.Load(); len(first) == 0 || first[0].Name() != databaseName {
		return guess.Try(ctx, try)
	}
	// The attempt has a place while it is counted, so that the database's writer has a bounded queue. It gives the place back
	// before it asks the backends: the database backend takes one again, and a hanging backend must hold none.
	leave, err := s.hasher.Enter()
	if err != nil {
		return err
	}
	leave = sync.OnceFunc(leave)
	defer leave()
	return guess.Try(ctx, func() error {
		leave()
		return try()
	})
}

// guarded makes an attempt at a password (see throttle.Attempt.Try), unless it comes too soon or there is no free place. Refusing
// those costs only a read.
func (s *Service) guarded(ctx context.Context, subject throttle.Key, network string, try func() error) error {
	a, err := s.throttle.Admit(ctx, &s.settings.Load().Limits, subject, network)
	if err != nil {
		return err
	}
	leave, err := s.hasher.Enter()
	if err != nil {
		return err
	}
	defer leave()
	return a.Try(ctx, try)
}
