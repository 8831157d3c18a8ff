package authsvc_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/postgres"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// credentials reads the file that a first start keeps.
func credentials(t *testing.T, file string) (username, password string) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("%s has mode %s", file, info.Mode())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) != 3 || lines[2] != "" {
		t.Fatalf("%d lines in %s", len(lines), file)
	}
	return strings.TrimPrefix(lines[0], "username: "), strings.TrimPrefix(lines[1], "password: ")
}

// files returns the names of the files in a folder.
func files(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestBootstrap(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newNode(t, db, nil)
		folder := filepath.Join(t.TempDir(), "data")
		admin := authsvc.Admin{Username: "Big Boss", File: filepath.Join(folder, "admin-credentials")}
		first, err := s.svc.Bootstrap(t.Context(), admin)
		if err != nil || !first.Created || len(first.Password) < 20 {
			t.Fatalf("%v, created %t, a password of %d characters", err, first.Created, len(first.Password))
		}
		if name, password := credentials(t, admin.File); name != "Big Boss" || password != first.Password {
			t.Error("the file holds something else than was shown")
		}
		if names := files(t, folder); len(names) != 1 {
			t.Errorf("in the data folder: %q", names)
		}
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder has mode %v, %v", info.Mode(), err)
		}
		token := s.login("big boss", first.Password)
		s.do("HEAD", "/token/"+token+"?scope=anything.at.all", "", "").Want(204)
		record := s.do("GET", "/token/"+token, "", "").Want(200)
		if record.Text("data.metadata.purpose") != "internal" || len(record.Text("data.xivo_uuid")) != 36 {
			t.Errorf("the administrator's token: %s", record.Body)
		}

		// Later starts change nothing, whatever their settings; another node has the same identity.
		for _, other := range []authsvc.Admin{admin, {Username: "other", Password: "chosen", File: admin.File}, {Username: ":", File: admin.File}} {
			again := newNode(t, db, nil)
			if second, err := again.svc.Bootstrap(t.Context(), other); err != nil || second != (authsvc.FirstStart{}) {
				t.Errorf("a second start: %+v, %v", second, err)
			}
			if got := again.do("GET", "/token/"+token, "", "").Text("data.xivo_uuid"); got != record.Text("data.xivo_uuid") {
				t.Error("another node is another installation")
			}
			again.do("POST", "/token", "", "{}", resttest.Basic("other", "chosen")).Want(401)
		}
		s.login("Big Boss", first.Password)
		if _, password := credentials(t, admin.File); password != first.Password {
			t.Error("a later start has changed the file")
		}
	})
}

func TestBootstrapWithChosenPassword(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newNode(t, db, nil)
		file := filepath.Join(t.TempDir(), "admin-credentials")
		first, err := s.svc.Bootstrap(t.Context(), authsvc.Admin{Username: "root", Password: "chosen", File: file})
		if err != nil || first != (authsvc.FirstStart{Created: true}) {
			t.Fatalf("%+v, %v", first, err)
		}
		if names := files(t, filepath.Dir(file)); len(names) != 0 {
			t.Errorf("a chosen password was written down: %q", names)
		}
		s.login("root", "chosen")
	})
}

// An administrator who could never log in is refused before anything is created.
func TestBootstrapRefusals(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	folder := t.TempDir()
	for _, a := range []authsvc.Admin{
		{},
		{Username: " "},
		{Username: " admin"},
		{Username: "a:b"},
		{Username: "ad\u200bmin"},
		{Username: "a\nb"},
		{Username: strings.Repeat("a", 257)},
		{Username: "admin", Password: strings.Repeat("x", 1025)},
	} {
		a.File = filepath.Join(folder, "admin-credentials")
		if _, err := newNode(t, db, nil).svc.Bootstrap(t.Context(), a); err == nil || strings.Contains(err.Error(), "xxx") {
			t.Errorf("%q: %v", a.Username, err)
		}
	}
	if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_tenant`); err != nil || n != 0 || len(files(t, folder)) != 0 {
		t.Errorf("%d tenants, files %q, %v", n, files(t, folder), err)
	}
}

// Ten nodes start at once on one database, each with its own data folder, or all with one.
func TestBootstrapRace(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		name := map[bool]string{false: "folders", true: "folder"}[shared]
		t.Run(name, func(t *testing.T) {
			dsn := storetest.PostgresDSN(t)
			one := t.TempDir()
			type outcome struct {
				first authsvc.FirstStart
				err   error
				file  string
			}
			outcomes := make([]outcome, 10)
			var all sync.WaitGroup
			for i := range outcomes {
				db, err := postgres.Open(t.Context(), dsn, postgres.Options{MaxConns: 2})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = db.Close() })
				folder := one
				if !shared {
					folder = t.TempDir()
				}
				node := newNode(t, db, nil)
				all.Go(func() {
					o := &outcomes[i]
					o.file = filepath.Join(folder, "admin-credentials")
					o.first, o.err = node.svc.Bootstrap(t.Context(), authsvc.Admin{Username: "admin", File: o.file})
				})
			}
			all.Wait()
			winners := 0
			for _, o := range outcomes {
				switch names := files(t, filepath.Dir(o.file)); {
				case o.err != nil:
					t.Error(o.err)
				case o.first.Created:
					winners++
					if _, password := credentials(t, o.file); password != o.first.Password || len(names) != 1 {
						t.Errorf("the winner's folder: %q", names)
					}
					db, err := postgres.Open(t.Context(), dsn, postgres.Options{MaxConns: 2})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = db.Close() })
					newNode(t, db, nil).login("admin", o.first.Password)
				case o.first.Password != "" || !shared && len(names) != 0:
					t.Errorf("a loser keeps %q", names)
				}
			}
			if winners != 1 {
				t.Errorf("%d nodes made the administrator", winners)
			}
		})
	}
}

// stopped is a database that fails before, or after, the first transaction commits, as in a crash at that moment.
type stopped struct {
	store.DB
	committed bool
}

var errCrash = errors.New("the power has gone")

func (d stopped) InTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	if d.committed {
		if err := d.DB.InTx(ctx, fn); err != nil {
			return err
		}
	}
	return errCrash
}

func TestBootstrapInterrupted(t *testing.T) {
	for name, committed := range map[string]bool{"before the commit": false, "after the commit": true} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, db store.DB) {
				folder := t.TempDir()
				admin := authsvc.Admin{Username: "the admin", File: filepath.Join(folder, "admin-credentials")}
				if _, err := newNode(t, stopped{db, committed}, nil).svc.Bootstrap(t.Context(), admin); !errors.Is(err, errCrash) {
					t.Fatalf("%v", err)
				}
				left := files(t, folder)
				if len(left) != 1 || left[0] != "admin-credentials" {
					t.Fatalf("the crash left %q", left)
				}
				if info, err := os.Stat(filepath.Join(folder, left[0])); err != nil || info.Mode() != 0o600 {
					t.Errorf("the file: %v, %v", info, err)
				}
				// A start that cannot tell whose password it is keeps the file.
				if _, err := newNode(t, unreachable{}, nil).svc.Bootstrap(t.Context(), admin); !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("without a database: %v", err)
				}
				if committed {
					busy := newNode(t, db, nil)
					places, _ := busy.svc.Places()
					release := make(chan struct{})
					busy.svc.UseHash(func(_, _ []byte, _, _ uint32, _ uint8, n uint32) []byte {
						<-release
						return make([]byte, n)
					})
					ctx, cancel := context.WithCancel(t.Context())
					var taken sync.WaitGroup
					for range places {
						taken.Go(func() { _, _ = busy.svc.NewHash(ctx, "x") })
					}
					for n, _ := busy.svc.Hashing(); n < places; n, _ = busy.svc.Hashing() {
						continue
					}
					if _, err := busy.svc.Bootstrap(t.Context(), admin); err != nil {
						t.Errorf("while all places are taken: %v", err)
					}
					cancel()
					taken.Wait()
					close(release)
				}
				if now := files(t, folder); len(now) != 1 || now[0] != left[0] {
					t.Fatalf("the password is gone: %q", now)
				}

				s := newNode(t, db, nil)
				first, err := s.svc.Bootstrap(t.Context(), admin)
				if err != nil || first.Created == committed {
					t.Fatalf("%+v, %v", first, err)
				}
				_, password := credentials(t, admin.File)
				s.login("the admin", password)
				if now := files(t, folder); len(now) != 1 {
					t.Errorf("left over: %q", now)
				}
			})
		})
	}
}

// A file of another administrator, or one that others could read, is replaced.
func TestBootstrapReplacesCredentials(t *testing.T) {
	for name, other := range map[string]struct {
		text string
		mode fs.FileMode
	}{
		"of another administrator": {"username: root\npassword: an old one\n", 0o600},
		"that others could read":   {"username: admin\npassword: an old one\n", 0o644},
		"without a password":       {"username: admin\n", 0o600},
	} {
		t.Run(name, func(t *testing.T) {
			s := newNode(t, storetest.SQLite(t), nil)
			file := filepath.Join(t.TempDir(), "admin-credentials")
			if err := os.WriteFile(file, []byte(other.text), other.mode); err != nil {
				t.Fatal(err)
			}
			first, err := s.svc.Bootstrap(t.Context(), authsvc.Admin{Username: "admin", File: file})
			if err != nil || !first.Created || first.Password == "an old one" {
				t.Fatalf("%+v, %v", first, err)
			}
			if name, password := credentials(t, file); name != "admin" || password != first.Password {
				t.Errorf("the file is of %s", name)
			}
		})
	}
}

// No password is ever logged, nor any part of a hash.
func TestBootstrapLogsNoPassword(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(func() { slog.SetDefault(before) })
	s := newNode(t, storetest.SQLite(t), nil)
	first, err := s.svc.Bootstrap(t.Context(), authsvc.Admin{Username: "admin", File: filepath.Join(t.TempDir(), "c")})
	if err != nil {
		t.Fatal(err)
	}
	token := s.login("admin", first.Password)
	s.do("POST", "/token", "", "{}", resttest.Basic("admin", "a wrong one")).Want(401)
	if _, err := s.db.Exec(t.Context(), `UPDATE auth_user SET password_hash = 'a stored hash'`); err != nil {
		t.Fatal(err)
	}
	s.do("POST", "/token", "", "{}", resttest.Basic("admin", first.Password)).Want(401)
	for _, secret := range []string{first.Password, "a wrong one", "a stored hash", token} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
	if !strings.Contains(log.String(), "user_uuid") {
		t.Errorf("an unreadable hash was not logged: %s", log.String())
	}
}

func TestInstallationIsKnownFromBootstrapOn(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		fresh, err := authsvc.New(authsvc.Options{DB: db, Settings: cheapest})
		if err != nil {
			t.Fatal(err)
		}
		if got := fresh.Installation(); got != "" {
			t.Errorf("before: %q", got)
		}
		s := newServer(t, db)
		want, err := store.Get[string](t.Context(), db, `SELECT uuid FROM auth_server`)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.svc.Installation(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
