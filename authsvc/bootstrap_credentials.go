package authsvc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/private"
)

// pendingEnding ends the names of the files that a first start writes before it commits. Each file has a unique name, so that
// processes that share a folder do not write into each other's files.
const pendingEnding = ".new"

// writePending writes a generated password to a new file beside a.File, mode 0600.
func writePending(a Admin, password string) error {
	content := fmt.Appendf(nil, "username: %s\npassword: %s\n", a.Username, password)
	if _, err := private.Temp(filepath.Dir(a.File), filepath.Base(a.File)+".*"+pendingEnding, content); err != nil {
		return fmt.Errorf("writing the administrator's credentials: %w", err)
	}
	return nil
}

// settleCredentials settles the pending files of first starts, this one's and interrupted ones: the file with the administrator's
// password becomes file, the others are removed.
func (s *Service) settleCredentials(ctx context.Context, file string) error {
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("looking for unfinished credentials: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), filepath.Base(file)+".") || !strings.HasSuffix(e.Name(), pendingEnding) {
			continue
		}
		pending := filepath.Join(filepath.Dir(file), e.Name())
		if err := s.settle(ctx, pending, file); err != nil && !errors.Is(err, os.ErrNotExist) { // another process was quicker
			return fmt.Errorf("settling the administrator's credentials: %w", err)
		}
	}
	return nil
}

func (s *Service) settle(ctx context.Context, pending, file string) error {
	c, err := readCredentials(pending)
	if err != nil {
		return err
	}
	_, err = s.authenticate(ctx, c)
	if e := apierr.As(err); e != nil && e.Kind == apierr.Unauthorized {
		return os.Remove(pending)
	}
	if err != nil { // it is unknown whose password it is
		return err
	}
	return os.Rename(pending, file)
}

// readCredentials reads a file that writePending has written.
func readCredentials(file string) (credentials, error) {
	text, err := os.ReadFile(file) //nolint:gosec // below the data folder
	name, password, _ := strings.Cut(string(text), "\n")
	return credentials{strings.TrimPrefix(name, "username: "), strings.TrimPrefix(strings.TrimSuffix(password, "\n"), "password: ")}, err
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
	c, err := readCredentials(s.kept.file)
	if errors.Is(err, os.ErrNotExist) {
		s.kept.user, s.kept.hash = "", ""
		return nil
	}
	if err == nil {
		err = s.dropIfStale(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("comparing %s with the database: %w", s.kept.file, err)
	}
	return nil
}

func (s *Service) dropIfStale(ctx context.Context, c credentials) error {
	a, err := findAccount(ctx, s.db, c.login)
	if err != nil {
		return err
	}
	if a.PasswordHash != nil && a.UserUUID == s.kept.user && *a.PasswordHash == s.kept.hash {
		return nil // unchanged since it was verified
	}
	id, err := s.authenticate(ctx, c)
	switch e := apierr.As(err); {
	case err == nil && a.PasswordHash != nil:
		s.kept.user, s.kept.hash = id.UserUUID, *a.PasswordHash
		return nil
	case err == nil:
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
