package authsvc_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/store"
)

// The file with the first administrator's password exists as long as the password is valid. It is removed when the password is
// changed here, at the next check when it is changed on another node, or at the next start.
func TestCredentialsGoWithTheirPassword(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		file := filepath.Join(t.TempDir(), "admin-credentials")
		s := newNode(t, db, nil)
		if _, err := s.svc.Bootstrap(t.Context(), authsvc.Admin{Username: "admin", File: file}); err != nil {
			t.Fatal(err)
		}
		kept := func(want bool) {
			t.Helper()
			if _, err := os.Stat(file); (err == nil) != want || err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file is there: %v, want %v", err, want)
			}
		}
		if _, err := s.svc.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		kept(true)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(t.Context(), `UPDATE auth_user SET username = 'root' WHERE username = 'admin'`); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(t.Context(), `UPDATE auth_login SET login = 'root' WHERE login = 'admin'`); err != nil {
			t.Fatal(err)
		}
		if _, err := s.svc.Sweep(t.Context()); err != nil { // renamed by another node
			t.Fatal(err)
		}
		kept(false)

		if err := os.WriteFile(file, text, 0o600); err != nil { // like a node that was down
			t.Fatal(err)
		}
		again := newNode(t, db, nil)
		if _, err := again.svc.Bootstrap(t.Context(), authsvc.Admin{Username: "admin", File: file, Made: true}); err != nil {
			t.Fatal(err)
		}
		kept(false)
	})
}

// A database that had an administrator, and is now empty, gets no new one.
func TestEmptyDatabaseThatWasMade(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		file := filepath.Join(t.TempDir(), "admin-credentials")
		if _, err := newNode(t, db, nil).svc.Bootstrap(t.Context(), authsvc.Admin{Username: "admin", File: file, Made: true}); !errors.Is(err, authsvc.ErrEmpty) {
			t.Errorf("%v", err)
		}
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("credentials were made: %v", err)
		}
	})
}
