package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringfence/ringfence/internal/bench/manyusers"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/sqlite"
)

// The budgets on PostgreSQL, and of a search on SQLite.
const (
	longestSearch = 10 * time.Millisecond
	longestLite   = 15 * time.Millisecond
	longestPage   = 15 * time.Millisecond
	longestRead   = 2 * time.Millisecond
	// leastNested is how many users with a line, a number and a voicemail are created in a second.
	leastNested = 200
)

// search is one question about many users, and the statements that find the same and throw it away. Their $1 is the tenant.
type search struct {
	what   string
	asks   string // what follows the path of the users
	bare   []string
	budget time.Duration // on PostgreSQL
}

var searches = []search{
	{
		what: "list, the first 100 by last name", asks: "?order=lastname&limit=100",
		bare: []string{
			`SELECT * FROM confd_user WHERE tenant_uuid = $1 ORDER BY fold(lastname), id LIMIT 100`,
			`SELECT sum(n) FROM row_count WHERE table_name = 'confd_user' AND tenant_uuid = $1`,
		},
		budget: longestPage,
	},
	{
		what: "one user", asks: "/50000",
		bare: []string{`SELECT * FROM confd_user WHERE id = 50000 AND tenant_uuid = $1`}, budget: longestRead,
	},
	{
		what: "search by name, the first 100 of 1,000 by last name", asks: "?search=martin&order=lastname&limit=100",
		bare: []string{
			`SELECT count(*) FROM confd_user WHERE tenant_uuid = $1 AND search_text LIKE '%martin%'`,
			`SELECT * FROM confd_user WHERE tenant_uuid = $1 AND search_text LIKE '%martin%' ORDER BY fold(lastname) || '', id LIMIT 100`,
		},
		budget: longestSearch,
	},
	{
		what: "search by number, one user", asks: "?search=150123&order=lastname&limit=100",
		bare: []string{byNumber("x.search_text LIKE '%150123%'")}, budget: longestSearch,
	},
	{
		what: "search by part of a number, 100 users", asks: "?search=1501&order=lastname&limit=100",
		bare: []string{byNumber("x.search_text LIKE '%1501%'")}, budget: longestSearch,
	},
	{
		what: "filter by number (exten=), one user", asks: "?exten=150123",
		bare: []string{byNumber("x.exten = '150123'")}, budget: longestSearch,
	},
}

// byNumber finds users whose extension fulfils a condition.
func byNumber(condition string) string {
	return `SELECT u.* FROM confd_extension x JOIN confd_line_extension lx ON lx.extension_id = x.id
		JOIN confd_user_line ul ON ul.line_id = lx.line_id JOIN confd_user u ON u.id = ul.user_id
		WHERE u.tenant_uuid = $1 AND ` + condition + ` LIMIT 100`
}

// searchRows asks confd of the release binary, through the gate and over TLS, and the database alone, by turns.
func (b *bench) searchRows() (rows []row, err error) {
	release, err := b.build("./cmd/ringfence", true)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	if server := os.Getenv(dsnVariable); server == "" {
		rows = append(rows, row{"search among users on PostgreSQL", dsnVariable + " is not set: run `make bench`", "", skipped})
	} else {
		found, err := b.postgresSearches(ctx, release, server)
		if rows = append(rows, found...); err != nil {
			return rows, err
		}
	}
	found, err := b.sqliteSearches(ctx, release)
	return append(rows, found...), err
}

func (b *bench) postgresSearches(ctx context.Context, release, server string) (rows []row, err error) {
	t, err := b.newTown(ctx, release, server, "search-town")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if err := fillUsers(ctx, t.db, "PostgreSQL"); err != nil {
		return nil, err
	}
	return b.measureSearches(ctx, t.node, t.admin, t.db, "PostgreSQL", 101)
}

// sqliteSearches asks two databases that have the same users: a gateway has its own for itself alone.
func (b *bench) sqliteSearches(ctx context.Context, release string) (rows []row, err error) {
	data, copied := filepath.Join(b.folder, "search"), filepath.Join(b.folder, "searched.db")
	start := func() (*node, error) {
		n, err := b.startNode(release, data, "", "RINGFENCE_ADMIN_PASSWORD="+adminPassword)
		if err == nil {
			err = n.answers("/readyz")
		}
		return n, err
	}
	n, err := start()
	if err != nil {
		return nil, err
	}
	admin, err := n.logIn("admin", adminPassword)
	n.stop()
	if err != nil {
		return nil, err
	}
	if err := fillCopied(ctx, filepath.Join(data, "ringfence.db"), copied); err != nil {
		return nil, err
	}
	if n, err = start(); err != nil {
		return nil, err
	}
	defer n.stop()
	db, err := sqlite.Open(ctx, copied)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return b.measureSearches(ctx, n, admin, db, "SQLite", 21)
}

// fillCopied makes the users in a database of SQLite, and a copy of it.
func fillCopied(ctx context.Context, path, copied string) (err error) {
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := fillUsers(ctx, db, "SQLite"); err != nil {
		return err
	}
	_, err = db.Exec(ctx, `VACUUM INTO $1`, copied)
	return err
}

// fillUsers makes users in the first tenant.
func fillUsers(ctx context.Context, db store.DB, engine string) error {
	tenant, err := firstTenant(ctx, db)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := manyusers.Add(ctx, db, tenant); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "bench: %d users on %s, in %s\n", manyusers.Count, engine, time.Since(began).Round(time.Millisecond))
	return nil
}

func firstTenant(ctx context.Context, db store.DB) (string, error) {
	return store.Get[string](ctx, db, `SELECT CAST(uuid AS text) FROM auth_tenant`)
}

func (b *bench) measureSearches(ctx context.Context, n *node, admin string, db store.DB, engine string, times int) ([]row, error) {
	tenant, err := firstTenant(ctx, db)
	if err != nil {
		return nil, err
	}
	c, err := dial(n.address())
	if err != nil {
		return nil, err
	}
	defer c.conn.Close()
	if b.quick {
		times = min(times, 9)
	}
	var rows []row
	for _, s := range searches {
		found, err := s.measure(ctx, c, admin, db, tenant, times)
		if err != nil {
			return rows, fmt.Errorf("%s, %s: %w", s.what, engine, err)
		}
		line := row{what: "100,000 users: " + s.what + ", " + engine + " / the bare SELECTs", measured: found.String()}
		budget, judged := s.budget, db.Engine() == "postgres"
		if !judged && budget == longestSearch {
			budget, judged = longestLite, true
		}
		if judged {
			line.budget, line.verdict = millis(budget), judge(median(found.api) < budget)
		}
		rows = append(rows, line)
	}
	created, err := b.nestedRow(n, admin, engine)
	return append(rows, created), err
}

const (
	confdUsers   = "/api/confd/1.1/users"
	confdClients = 16
)

// nestedRow creates users with a line, a number and a voicemail in one request each.
func (b *bench) nestedRow(n *node, admin, engine string) (row, error) {
	create, err := creator(n, admin, func(i int64) string {
		exten := 300_000 + i
		return fmt.Sprintf(`{"firstname": "Nested%d", "lines": [{"context": "many", "endpoint_sip": {}, "extensions": [{"exten": "%d"}]}],
			"voicemail": {"name": "Nested%d", "number": "%d", "context": "many"}}`, i, exten, i, exten)
	})
	if err != nil {
		return row{}, err
	}
	each := 1000
	if b.quick {
		each = 200
	}
	var next atomic.Int64
	began := time.Now()
	if err := atOnce(confdClients, each, func() error { return create(next.Add(1)) }); err != nil {
		return row{}, err
	}
	rate := float64(each) / time.Since(began).Seconds()
	what := fmt.Sprintf("100,000 users: create one with a line, a number and a voicemail, %d clients, %s", confdClients, engine)
	line := row{what: what, measured: fmt.Sprintf("%.0f a second", rate)}
	if engine == "PostgreSQL" {
		line.budget, line.verdict = fmt.Sprintf("%d a second", leastNested), judge(rate > leastNested)
	}
	return line, nil
}

// creator creates users through the API, on as many connections as there are workers.
func creator(n *node, token string, user func(i int64) string) (func(i int64) error, error) {
	clients := make(chan *client, confdClients)
	for range confdClients {
		c, err := dial(n.address())
		if err != nil {
			return nil, err
		}
		clients <- c
	}
	return func(i int64) error {
		c := <-clients
		defer func() { clients <- c }()
		status, answer, err := c.call(http.MethodPost, confdUsers, user(i), "X-Auth-Token: "+token)
		if err == nil && status != http.StatusCreated {
			err = fmt.Errorf("creating a user: answered %d: %s", status, answer)
		}
		return err
	}, nil
}

// atOnce makes workers call do so many times in total.
func atOnce(workers, times int, do func() error) error {
	var (
		left   atomic.Int64
		failed = make(chan error, workers)
		work   sync.WaitGroup
	)
	left.Store(int64(times))
	for range workers {
		work.Go(func() {
			for left.Add(-1) >= 0 {
				if err := do(); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	work.Wait()
	close(failed)
	return <-failed
}

// asked is how long the API and the bare statements took, by turns.
type asked struct{ api, bare []time.Duration }

func (a asked) String() string {
	ratios := make([]float64, len(a.api))
	for i := range ratios {
		ratios[i] = float64(a.api[i]) / float64(a.bare[i])
	}
	return fmt.Sprintf("%s (best %s); %.2f x the bare SELECTs, %s", millis(median(a.api)), millis(percentile(a.api, 0)), median(ratios), millis(median(a.bare)))
}

func (s search) measure(ctx context.Context, c *client, admin string, db store.DB, tenant string, times int) (found asked, err error) {
	for i := range times + 1 {
		began := time.Now()
		status, answer, err := c.call(http.MethodGet, confdUsers+s.asks, "", "X-Auth-Token: "+admin)
		if err != nil {
			return found, err
		}
		if status != http.StatusOK || !strings.Contains(string(answer), `"member`) {
			return found, fmt.Errorf("answered %d: %.200s", status, answer)
		}
		api := time.Since(began)
		began = time.Now()
		for _, sql := range s.bare {
			if err := readAll(ctx, db, sql, tenant); err != nil {
				return found, err
			}
		}
		if bare := time.Since(began); i > 0 { // the first fills caches
			found.api, found.bare = append(found.api, api), append(found.bare, bare)
		}
	}
	return found, nil
}

// readAll reads what a statement finds, and throws it away.
func readAll(ctx context.Context, db store.DB, sql string, args ...any) error {
	found, err := db.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	for found.Next() {
	}
	return errors.Join(found.Err(), found.Close())
}
