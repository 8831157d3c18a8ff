package authsvc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/private"
)

// pendingEnding ends the names of the files that a first start writes before it commits. Each has
// a name of its own, so that processes that share a folder do not write into each other's.
const pendingEnding = ".new"

// writePending writes a generated password to a new file beside a.File, mode 0600.
func writePending(a Admin, password string) error {
	content := fmt.Appendf(nil, "username: %s\npassword: %s\n", a.Username, password)
	if _, err := private.Temp(filepath.Dir(a.File), filepath.Base(a.File)+".*"+pendingEnding, content); err != nil {
		return fmt.Errorf("writing the administrator's credentials: %w", err)
	}
	return nil
}

// settleCredentials deals with the pending files of first starts, this one's and those that were interrupted: one whose
// password is the administrator's becomes file, the others are removed.
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
	text, err := os.ReadFile(pending) //nolint:gosec // below the data folder
	if err != nil {
		return err
	}
	name, password, _ := strings.Cut(string(text), "\n")
	c := credentials{strings.TrimPrefix(name, "username: "), strings.TrimPrefix(strings.TrimSuffix(password, "\n"), "password: ")}
	_, err = s.authenticate(ctx, c)
	if e := apierr.As(err); e != nil && e.Kind == apierr.Unauthorized {
		return os.Remove(pending)
	}
	if err != nil { // nobody knows whose password it is
		return err
	}
	return os.Rename(pending, file)
}
