package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/migrations"
	"github.com/ringfence/ringfence/internal/store/postgres"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func emptyDatabase(t *testing.T) string {
	t.Helper()
	server := os.Getenv(storetest.Variable)
	if server == "" {
		t.Skip(storetest.Variable + " is not set")
	}
	return storetest.NewDatabase(t, server, false)
}

// Ten nodes start at once on an empty database: some in this process, some not.
func TestTenNodesMigrateAtOnce(t *testing.T) {
	const here, elsewhere = 7, 3
	dsn := emptyDatabase(t)
	if version, err := open(t, dsn, postgres.Options{}).Version(t.Context()); err != nil || version != 0 {
		t.Errorf("the version of an empty database is %d, %v", version, err)
	}
	answers := make(chan error, here+elsewhere)
	for range here {
		db := open(t, dsn, postgres.Options{MaxConns: 2})
		go func() { answers <- db.Migrate(t.Context()) }()
	}
	for range elsewhere {
		cmd := childProcess(t, dsn)
		go func() {
			said, err := cmd.CombinedOutput()
			if err != nil {
				err = errors.Join(err, errors.New(string(said)))
			}
			answers <- err
		}()
	}
	for range here + elsewhere {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}

	db := open(t, dsn, postgres.Options{})
	twice, err := store.Select[int64](t.Context(), db, "SELECT version_id FROM "+migrations.Table+" GROUP BY version_id HAVING count(*) > 1")
	if err != nil || len(twice) != 0 {
		t.Errorf("migrations that ran twice: %v, %v", twice, err)
	}
	if version, err := db.Version(t.Context()); err != nil || version < 1 {
		t.Errorf("version %d, %v", version, err)
	}
	if n := get[int](t, db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"); n != 0 {
		t.Errorf("%d locks are left", n)
	}
}

// With nothing to migrate, a node starts while another one has the lock; otherwise it waits.
func TestOnlyMigratingWaitsForTheLock(t *testing.T) {
	locked := func(dsn string, migrate func(ctx context.Context) error) error {
		return open(t, dsn, postgres.Options{}).InReadTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
			if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(0x72696e6766656e63)); err != nil {
				return err
			}
			return migrate(ctx)
		})
	}
	migrated := storetest.PostgresDSN(t)
	if err := locked(migrated, open(t, migrated, postgres.Options{}).Migrate); err != nil {
		t.Errorf("with nothing to do: %v", err)
	}
	empty := emptyDatabase(t)
	db := open(t, empty, postgres.Options{})
	err := locked(empty, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		return db.Migrate(ctx)
	})
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("with the lock taken: %v", err)
	}
	if version, err := db.Version(t.Context()); err != nil || version != 0 {
		t.Errorf("version %d, %v", version, err)
	}
	if err := db.Migrate(t.Context()); err != nil {
		t.Errorf("with the lock given back: %v", err)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	db := open(t, storetest.PostgresDSN(t), postgres.Options{})
	do(t, db, "INSERT INTO "+migrations.Table+" (version_id, is_applied) VALUES (9999, true)")
	err := db.Migrate(t.Context())
	if !errors.Is(err, migrations.ErrNewer) || !strings.Contains(err.Error(), "9999") {
		t.Errorf("migrating answered %v", err)
	}
}

// A role that may not create tables can use a migrated database.
func TestMigratedNeedsNoRights(t *testing.T) {
	dsn := storetest.PostgresDSN(t)
	db := open(t, dsn, postgres.Options{})
	role := "r" + strings.TrimPrefix(get[string](t, db, "SELECT current_database()::text"), "t")
	do(t, db, "CREATE ROLE "+role+" LOGIN PASSWORD 'x'")
	defer func() {
		do(t, db, "DROP OWNED BY "+role)
		do(t, db, "DROP ROLE "+role)
	}()
	do(t, db, "REVOKE CREATE ON SCHEMA public FROM PUBLIC") // as it is from PostgreSQL 15 on
	do(t, db, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+role)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "x")
	limited := open(t, u.String(), postgres.Options{})
	if err := limited.Migrate(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := limited.Exec(t.Context(), "CREATE TABLE forbidden (id int)"); err == nil {
		t.Error("the role may make tables; nothing was tried")
	}
}

func TestUnsuitableDatabaseIsRefused(t *testing.T) {
	server := open(t, emptyDatabase(t), postgres.Options{})
	name := get[string](t, server, "SELECT current_database()::text") + "_latin"
	locale := " LC_COLLATE 'C' LC_CTYPE 'C'"
	if get[bool](t, server, "SELECT current_setting('server_version_num')::int >= 150000") {
		locale += " LOCALE_PROVIDER libc"
	}
	do(t, server, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'LATIN1'"+locale)
	u, err := url.Parse(os.Getenv(storetest.Variable))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	db := open(t, u.String(), postgres.Options{})
	if err := db.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "encoding is LATIN1") {
		t.Errorf("migrating answered %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	do(t, server, "DROP DATABASE "+name)
}

// A database in which somebody else has a table of the same name is left as it is, and the error names the table.
func TestTablesOfSomebodyElse(t *testing.T) {
	for _, foreign := range []string{"CREATE TABLE auth_user (id bigint)", "CREATE VIEW confd_line_protocol AS SELECT 1 AS x", "CREATE TABLE x (id bigint); CREATE INDEX confd_user_uuid ON x (id)"} {
		dsn := emptyDatabase(t)
		db := open(t, dsn, postgres.Options{})
		for sql := range strings.SplitSeq(foreign, "; ") {
			if _, err := db.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		const all = "SELECT coalesce(string_agg(CAST(relname AS text), ' ' ORDER BY relname), '') FROM pg_class WHERE relnamespace = CAST('public' AS regnamespace)"
		before := get[string](t, db, all)
		name := strings.Fields(strings.Split(foreign, "; ")[strings.Count(foreign, "; ")])[2]
		if err := db.Migrate(t.Context()); !errors.Is(err, postgres.ErrTaken) || !strings.Contains(err.Error(), "the schema public has "+name) {
			t.Errorf("%s: %v", foreign, err)
		}
		if after := get[string](t, db, all); after != before {
			t.Errorf("%s: the schema has %s, and had %s", foreign, after, before)
		}
	}
	// Tables of other names, and of the same name in another schema, are no matter; nor is a second start.
	db := open(t, emptyDatabase(t), postgres.Options{})
	for _, sql := range []string{"CREATE SCHEMA other", "CREATE TABLE other.auth_user (id bigint)", "CREATE TABLE strangers (id bigint)"} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := db.Migrate(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
