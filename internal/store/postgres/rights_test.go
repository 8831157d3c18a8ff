package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/postgres"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A right that the user lacks is told at once: waiting does not help.
func TestMissingRights(t *testing.T) {
	user := "rights-" + uuid.NewString()
	quoted := `"` + user + `"`
	server := open(t, storetest.Server(t), postgres.Options{MaxConns: 1})
	execute := func(db store.Conn, statement string) {
		t.Helper()
		if _, err := db.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	t.Cleanup(func() {
		if _, err := server.Exec(context.Background(), "DROP ROLE "+quoted); err != nil {
			t.Error(err)
		}
	})
	execute(server, "CREATE ROLE "+quoted+" LOGIN PASSWORD 'x'")
	dsn := storetest.NewDatabase(t, storetest.Server(t), false)
	admin := open(t, dsn, postgres.Options{MaxConns: 1})
	execute(admin, "REVOKE CREATE ON SCHEMA public FROM public")
	execute(admin, "REVOKE ALL ON DATABASE "+strings.Trim(mustURL(t, dsn).Path, "/")+" FROM public")

	as := mustURL(t, dsn)
	as.User = url.UserPassword(user, "x")
	var db *postgres.DB
	connect := func() (err error) {
		opened, err := postgres.Open(t.Context(), as.String(), postgres.Options{MaxConns: 2})
		if err == nil {
			db = opened
			t.Cleanup(func() { _ = opened.Close() })
		}
		return err
	}
	if err := connect(); !errors.Is(err, postgres.ErrRefused) || !strings.Contains(err.Error(), "permission denied for database") {
		t.Fatalf("connecting: %v", err)
	}
	execute(admin, "GRANT CONNECT ON DATABASE "+strings.Trim(mustURL(t, dsn).Path, "/")+" TO "+quoted)
	if err := connect(); err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context()); errors.Is(err, store.ErrUnavailable) || err == nil || !strings.Contains(err.Error(), "permission denied for schema public") {
		t.Errorf("migrating: %v", err)
	}
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
