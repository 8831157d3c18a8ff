package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/postgres"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// An error for a right that the user lacks says which one it is, and what gives it.
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
	execute(admin, "CREATE TABLE of_another (n int)")
	execute(admin, "CREATE VIEW seen AS SELECT 1 AS n")

	as := mustURL(t, dsn)
	as.User = url.UserPassword(user, "x")
	var db *postgres.DB
	run := func(statement string) func() error {
		return func() error {
			_, err := db.Exec(t.Context(), statement)
			return err
		}
	}
	read := func(from string) func() error {
		return func() error {
			_, err := store.Select[int](t.Context(), db, "SELECT n FROM "+from)
			return err
		}
	}
	for _, step := range []struct {
		name, want string
		do         func() error
	}{
		{"connect", "GRANT ALL ON DATABASE", func() (err error) {
			opened, err := postgres.Open(t.Context(), as.String(), postgres.Options{MaxConns: 2})
			if err == nil {
				db = opened
				t.Cleanup(func() { _ = opened.Close() })
			}
			return err
		}},
		{"migrate", `GRANT ALL ON SCHEMA "public" TO ` + quoted, func() error { return db.Migrate(t.Context()) }},
		{"read", `GRANT ALL ON TABLE "of_another" TO ` + quoted, read("of_another")},
		{"read a view", `GRANT ALL ON TABLE "seen" TO ` + quoted, read("seen")},
		{"change", `ALTER TABLE "of_another" OWNER TO ` + quoted, run("ALTER TABLE of_another ADD COLUMN m int")},
	} {
		err := step.do()
		lacking, ok := errors.AsType[*postgres.RightError](err)
		if !ok || errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("%s: %v", step.name, err)
		}
		says := regexp.MustCompile(`^the database user ` + user + ` lacks a right: [^;]+; run (.+), as a superuser`).FindStringSubmatch(lacking.Error())
		if says == nil || !strings.HasPrefix(says[1], step.want) || step.name != "connect" && err.Error() != lacking.Error() {
			t.Fatalf("%s: it says %v", step.name, err)
		}
		execute(admin, says[1])
		if err := step.do(); err != nil {
			t.Errorf("%s, after %s: %v", step.name, says[1], err)
		}
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
