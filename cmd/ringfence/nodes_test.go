package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/store"
)

// heard is shorter than the half minute after which a node checks a cached token again: a node that knows of a revocation by then
// was told.
const heard = 15 * time.Second

func TestRevocationReachesTheOtherNode(t *testing.T) {
	t.Parallel()
	address, db := emptyDatabase(t)
	a := gatewaytest.Start(t, gatewaytest.Settings{Database: address}).Ready(t)
	b := gatewaytest.Start(t, gatewaytest.Settings{Database: address}).Ready(t)
	admin := a.Login(t, "admin", gatewaytest.Password)
	known := func(token string, status int) func() error {
		return b.Status(t.Context(), "GET", "/api/confd/1.1/users", token, status)
	}
	revoke := func(t *testing.T) time.Duration {
		t.Helper()
		token := a.Login(t, "admin", gatewaytest.Password)
		for range 20 { // certainly in B's cache
			b.Do(t, "GET", "/api/confd/1.1/users", token, "").Want(200)
		}
		a.Do(t, "DELETE", "/api/auth/0.1/token/"+token, "", "").Want(200)
		start := time.Now()
		gatewaytest.Eventually(t, patience, known(token, 401))
		return time.Since(start)
	}
	for range 5 {
		if late := revoke(t); late > heard {
			t.Errorf("B refused the token %s after A had answered", late)
		}
	}

	_, policy, token := a.Account(t, admin, "client", "confd.#")
	gatewaytest.Eventually(t, patience, known(token, 200))
	a.Do(t, "PUT", "/api/auth/0.1/policies/"+policy, admin, `{"name": "client", "acl": ["confd.voicemails.read"]}`).Want(200)
	gatewaytest.Eventually(t, heard, known(token, 403))

	listeners := `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN "' || '` + authsvc.RevocationChannel + `"'`
	gatewaytest.Eventually(t, patience, func() error {
		n, err := store.Get[int](t.Context(), db, listeners)
		if err == nil && n != 2 {
			err = fmt.Errorf("%d connections listen", n)
		}
		return err
	})
	killed, err := store.Get[int](t.Context(), db, strings.Replace(listeners, "count(*)", "count(pg_terminate_backend(pid))", 1))
	if err != nil || killed != 2 {
		t.Fatalf("%d connections were ended, %v", killed, err)
	}
	if late := revoke(t); late > heard { // a node that cannot hear of revocations does not trust its cache meanwhile
		t.Errorf("with its listener gone B refused the token %s after A had answered", late)
	}
}

// Ten nodes that start at once on an empty database make one administrator between them.
func TestTenNodesStartAtOnce(t *testing.T) {
	address, db := emptyDatabase(t)
	nodes := make([]*gatewaytest.Process, 10)
	for i := range nodes {
		nodes[i] = gatewaytest.Start(t, gatewaytest.Settings{Database: address, Env: []string{"RINGFENCE_ADMIN_PASSWORD="}})
	}
	created := 0
	for _, n := range nodes {
		n.Ready(t)
		created += strings.Count(n.Output(), "the first administrator was created")
	}
	if created != 1 {
		t.Errorf("%d nodes say that they made the administrator", created)
	}
	for _, what := range []struct {
		sql  string
		want int
	}{
		{`SELECT count(*) FROM auth_user`, 1},
		{`SELECT count(*) FROM auth_tenant`, 1},
		{`SELECT count(*) FROM auth_policy`, 2}, // the administrator's, and the default policy of all users
		{`SELECT count(*) FROM auth_server`, 1},
		{`SELECT count(*) - count(DISTINCT version_id) FROM ringfence_migration`, 0},
	} {
		if n, err := store.Get[int](t.Context(), db, what.sql); err != nil || n != what.want {
			t.Errorf("%s: %d, %v", what.sql, n, err)
		}
	}
}
