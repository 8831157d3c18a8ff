package authsvc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// crowd is how many users, each with a policy, a tenant has beside those of a test's requests.
const crowd = 2000

// A request about one user, or about the users of a small tenant, does not read the policies of all others.
func TestNobodysPoliciesAreReadButTheirsWhoAreAskedFor(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		watch := new(watch)
		box := sealed.New(sealed.Options{File: filepath.Join(t.TempDir(), "sealing-key")})
		if err := box.Prepare(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		s := newNode(t, storetest.Watch(db, watch.see), box)
		if _, err := s.svc.Bootstrap(t.Context(), authsvc.Admin{
			Username: "admin", Password: adminPassword, File: filepath.Join(t.TempDir(), "admin-credentials"),
		}); err != nil {
			t.Fatal(err)
		}
		s.svc.UseRequirements(requirements)
		admin := s.admin()
		small := s.tenant(admin, "small")
		addCrowd(t, db, s.tenant(admin, "crowded"))
		user, policy, token := s.account(admin, "target", "confd.users.read", "!confd.users.delete")
		_, _, operator := s.account(admin, "operator", "auth.#", "confd.#")
		group := s.do("POST", "/groups", admin, `{"name":"Night shift"}`).Want(200).Text("uuid")
		s.do("PUT", "/groups/"+group+"/policies/"+policy, admin, "").Want(204)
		watch.take()

		for _, c := range []struct {
			name, method, path, token, body string
			in                              string // a tenant; "": the caller's own
			status                          int
		}{
			{name: "a token", method: "GET", path: "/explain?method=GET&path=/api/confd/1.1/lines", token: token, status: 200},
			{name: "why a user may", method: "GET", path: "/explain?method=GET&path=/api/confd/1.1/users&user_uuid=" + user, token: admin, status: 200},
			{name: "who of a tenant may", method: "GET", path: "/access/holders?access=confd.users.read", token: admin, status: 200},
			{name: "a user is changed", method: "PUT", path: "/users/" + user, token: operator, body: `{"firstname":"Ann"}`, status: 200},
			{name: "a user is given a policy", method: "PUT", path: "/users/" + user + "/policies/" + policy, token: operator, status: 204},
			{name: "a user joins a group", method: "PUT", path: "/groups/" + group + "/users/" + user, token: operator, status: 204},
			{name: "a tenant's method is changed", method: "PUT", path: "/tenants/" + small, token: operator, body: `{"default_authentication_method":"ldap"}`, status: 200},
			{name: "a directory is set", method: "PUT", path: "/backends/ldap", token: operator, in: small, status: 200, body: `{"host":"ldap.example.org","port":389,
				"user_base_dn":"dc=example","user_login_attribute":"uid","user_email_attribute":"mail"}`},
			{name: "a tenant is deleted", method: "DELETE", path: "/tenants/" + small, token: operator, status: 204},
			{name: "an administrator is deleted", method: "DELETE", path: "/users/" + user, token: admin, status: 204},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := s.in(t)
				if c.token == token {
					s.cache.ForgetAll()
				}
				s.do(c.method, c.path, c.token, c.body, func(r *http.Request) {
					if c.in != "" {
						resttest.In(c.in)(r)
					}
				}).Want(c.status)
				asked := watch.take()
				if len(asked) == 0 {
					t.Fatal("nothing was asked of what users hold")
				}
				for _, q := range asked {
					if read := readAll(t, db, q); read != "" {
						t.Errorf("%s:\n%s\n%v", read, q.sql, q.args)
					}
				}
			})
		}
	})
}

// addCrowd gives a tenant its users, each with a policy that grants and denies, of their own and through a group, and one more
// for all of them through the tenant's group. PostgreSQL plans by size: with few large groups it would rightly read them all.
func addCrowd(t *testing.T, db store.DB, tenantUUID string) {
	t.Helper()
	err := db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
		for range crowd / 100 {
			args, rows := []any{tenantUUID}, []string{}
			for range 100 {
				args = append(args, uuid.NewString())
				rows = append(rows, fmt.Sprintf("($%d, $1, 'user', true, 'default', now_utc())", len(args)))
			}
			if _, err := tx.Exec(ctx, `INSERT INTO auth_user (uuid, tenant_uuid, purpose, enabled, authentication_method, created_at) VALUES `+
				strings.Join(rows, ", "), args...); err != nil {
				return err
			}
		}
		for _, sql := range []string{
			`INSERT INTO auth_policy (uuid, tenant_uuid, name, name_key, slug, slug_key, shared, config_managed)
			 SELECT uuid, tenant_uuid, CAST(uuid AS text), CAST(uuid AS text), CAST(uuid AS text), CAST(uuid AS text), false, false
			 FROM auth_user WHERE tenant_uuid = $1`,
			`INSERT INTO auth_policy_access (policy_uuid, access) SELECT uuid, 'calld.#' FROM auth_policy WHERE tenant_uuid = $1`,
			`INSERT INTO auth_policy_access (policy_uuid, access) SELECT uuid, '!calld.calls.create' FROM auth_policy WHERE tenant_uuid = $1`,
			`INSERT INTO auth_user_policy (user_uuid, policy_uuid) SELECT uuid, uuid FROM auth_user WHERE tenant_uuid = $1`,
			`INSERT INTO auth_group_user (group_uuid, user_uuid) SELECT tenant_uuid, uuid FROM auth_user WHERE tenant_uuid = $1`,
			`INSERT INTO auth_group (uuid, tenant_uuid, name, name_key, slug, slug_key, system_managed)
			 SELECT uuid, tenant_uuid, CAST(uuid AS text), CAST(uuid AS text), CAST(uuid AS text), CAST(uuid AS text), false
			 FROM auth_user WHERE tenant_uuid = $1`,
			`INSERT INTO auth_group_user (group_uuid, user_uuid) SELECT uuid, uuid FROM auth_user WHERE tenant_uuid = $1`,
			`INSERT INTO auth_group_policy (group_uuid, policy_uuid) SELECT uuid, uuid FROM auth_user WHERE tenant_uuid = $1`,
			`INSERT INTO auth_group_policy (group_uuid, policy_uuid) SELECT $1, uuid FROM auth_policy WHERE tenant_uuid = $1 ORDER BY uuid LIMIT 1`,
		} {
			if _, err := tx.Exec(ctx, sql, tenantUUID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if db.Engine() == "postgres" { // it plans by its statistics, which it would otherwise gather later
		if _, err := db.Exec(t.Context(), "ANALYZE"); err != nil {
			t.Fatal(err)
		}
	}
}

// asked is a query that was run.
type asked struct {
	sql  string
	args []any
}

// watch records the queries about what users hold. Statements that write are none.
type watch struct{ asked []asked }

func (w *watch) see(sql string, args []any) {
	if strings.HasPrefix(strings.TrimSpace(sql), "SELECT") && strings.Contains(sql, "auth_user_policy") {
		w.asked = append(w.asked, asked{sql, args})
	}
}

// take returns the queries since the last call.
func (w *watch) take() []asked {
	defer func() { w.asked = nil }()
	return w.asked
}

// readAll returns the part of the query's plan that reads a whole table, or "".
func readAll(t *testing.T, db store.DB, q asked) string {
	t.Helper()
	if db.Engine() == "postgres" {
		return readByPostgres(t, db, q)
	}
	return scannedBySQLite(t, db, q)
}

// derived matches what SQLite scans that is not a table but the result of another part of the query, and the index of the few
// policies that allow everything.
var derived = regexp.MustCompile(`^SCAN (h|m|powerful|h LEFT-JOIN|\(subquery-\d+\)|CONSTANT ROW|.* INDEX auth_policy_access_everything)$`)

func scannedBySQLite(t *testing.T, db store.DB, q asked) string {
	t.Helper()
	steps, err := store.Select[struct {
		ID      int
		Parent  int
		Notused int
		Detail  string
	}](t.Context(), db, "EXPLAIN QUERY PLAN "+q.sql, q.args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if strings.HasPrefix(step.Detail, "SCAN ") && !derived.MatchString(step.Detail) {
			return step.Detail
		}
	}
	return ""
}

// node is a node of a PostgreSQL plan, after it has run.
type node struct {
	Type    string  `json:"Node Type"`
	Table   string  `json:"Relation Name"`
	Rows    float64 `json:"Actual Rows"`
	Removed float64 `json:"Rows Removed by Filter"`
	Loops   float64 `json:"Actual Loops"`
	Plans   []node  `json:"Plans"`
}

func readByPostgres(t *testing.T, db store.DB, q asked) string {
	t.Helper()
	text, err := store.Get[string](t.Context(), db, "EXPLAIN (ANALYZE, FORMAT JSON) "+q.sql, q.args...)
	if err != nil {
		t.Fatal(err)
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal([]byte(text), &plans); err != nil || len(plans) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	return plans[0].Plan.readAll()
}

func (n node) readAll() string {
	if read := (n.Rows + n.Removed) * n.Loops; read >= crowd {
		return fmt.Sprintf("%s %s read %v rows", n.Type, n.Table, read)
	}
	for _, below := range n.Plans {
		if read := below.readAll(); read != "" {
			return read
		}
	}
	return ""
}
