package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/sqlite"
)

const (
	confdUsers   = "/api/confd/1.1/users"
	confdClients = 16
)

// confdRows measures creates in confd of the release binary, through the gate and over TLS, beside the bare statements.
func (b *bench) confdRows() ([]row, error) {
	release, err := b.build("./cmd/ringfence", true)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	rows, err := b.sqliteCreates(ctx, release)
	if err != nil {
		return rows, err
	}
	server := os.Getenv(dsnVariable)
	if server == "" {
		return append(rows, row{"confd on PostgreSQL", dsnVariable + " is not set: run `make bench`", "", skipped}), nil
	}
	more, err := b.postgresCreates(ctx, release, server)
	return append(rows, more...), err
}

// creates holds the rates of the API and of the bare statement, by round.
type creates struct{ api, bare []float64 }

func (b *bench) measureCreates(api, bare func(n int64) error) (found creates, err error) {
	rounds, each := 5, 2000
	if b.quick {
		rounds, each = 2, 500
	}
	var next atomic.Int64
	for range rounds {
		for _, side := range []struct {
			create func(n int64) error
			rates  *[]float64
		}{{api, &found.api}, {bare, &found.bare}} {
			began := time.Now()
			if err := atOnce(confdClients, each, func() error { return side.create(next.Add(1)) }); err != nil {
				return found, err
			}
			*side.rates = append(*side.rates, float64(each)/time.Since(began).Seconds())
		}
	}
	return found, nil
}

func (c creates) row(engine string, least float64) row {
	ratios := make([]float64, len(c.api))
	for i := range ratios {
		ratios[i] = c.bare[i] / c.api[i]
	}
	return row{
		what: fmt.Sprintf("confd create, %d clients, %s / the bare INSERT", confdClients, engine),
		measured: fmt.Sprintf("%.0f a second (best %.0f); %.2f x the time of the bare INSERT, %.0f a second",
			median(c.api), percentile(c.api, 100), median(ratios), median(c.bare)),
		budget: fmt.Sprintf("%.0f a second", least), verdict: judge(median(c.api) > least),
	}
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

// plainUser is the body of the user i.
func plainUser(i int64) string {
	return fmt.Sprintf(`{"firstname": "First%d", "lastname": "Last", "email": "user%d@example.org"}`, i, i)
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

// insertUser is the bare statement.
func insertUser(ctx context.Context, db store.Conn, tenant string) func(i int64) error {
	return func(i int64) error {
		_, err := db.Exec(ctx, `
			INSERT INTO confd_user (uuid, tenant_uuid, firstname, lastname, email, caller_id, mobile_fallback_enabled,
				call_record_outgoing_external_enabled, call_record_outgoing_internal_enabled, call_record_incoming_internal_enabled,
				call_record_incoming_external_enabled, subscription_type, enabled)
			VALUES ($1, $2, $3, 'Last', $4, $5, false, false, false, false, false, 0, true)`,
			uuid.NewString(), tenant, fmt.Sprintf("First%d", i), fmt.Sprintf("user%d@example.org", i), fmt.Sprintf(`"First%d Last"`, i))
		return err
	}
}

func (b *bench) sqliteCreates(ctx context.Context, release string) (rows []row, err error) {
	bare, err := sqlite.Open(ctx, filepath.Join(b.folder, "bare.db"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bare.Close()) }()
	if err := bare.Migrate(ctx); err != nil {
		return nil, err
	}
	tenant := uuid.NewString()
	if _, err := bare.Exec(ctx, `INSERT INTO auth_tenant (uuid, parent_uuid, slug) VALUES ($1, $1, 'bench')`, tenant); err != nil {
		return nil, err
	}
	n, err := b.startNode(release, filepath.Join(b.folder, "confd"), "", "RINGFENCE_ADMIN_PASSWORD="+adminPassword)
	if err != nil {
		return nil, err
	}
	defer n.stop()
	if err := n.answers("/readyz"); err != nil {
		return nil, err
	}
	admin, err := n.logIn("admin", adminPassword)
	if err != nil {
		return nil, err
	}
	api, err := creator(n, admin, plainUser)
	if err != nil {
		return nil, err
	}
	found, err := b.measureCreates(api, insertUser(ctx, bare, tenant))
	if err != nil {
		return nil, err
	}
	return []row{found.row("SQLite", 500)}, nil
}

func (b *bench) postgresCreates(ctx context.Context, release, server string) (rows []row, err error) {
	t, err := b.newTown(ctx, release, server, "confd-town")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	api, err := creator(t.node, t.admin, plainUser)
	if err != nil {
		return nil, err
	}
	found, err := b.measureCreates(api, insertUser(ctx, t.db, t.tenant))
	if err != nil {
		return nil, err
	}
	return []row{found.row("PostgreSQL", 1000)}, nil
}
