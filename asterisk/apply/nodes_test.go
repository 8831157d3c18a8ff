package apply_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Of two nodes one does the jobs, also those that the other one is asked for; when it stops, the other one does them.
func TestTwoNodes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		first := start(t, db, nil, false)
		do(t, first)
		second := start(t, db, nil, false)
		for range 3 {
			wantState(t, do(t, second), jobs.Done, "")
		}
		if first.times() != 4 || second.times() != 0 {
			t.Errorf("generated: %d by the first, %d by the second", first.times(), second.times())
		}
		if _, err := second.Preview(t.Context()); apierr.As(err) == nil || apierr.As(err).Kind != apierr.Unavailable {
			t.Errorf("Preview: %v", err)
		}
		first.stop()
		wantState(t, do(t, second), jobs.Done, "")
		if first.times() != 4 || second.times() != 1 {
			t.Errorf("generated: %d by the first, %d by the second", first.times(), second.times())
		}
	})
}

// A node that died keeps the lease until it expires, and its job is ended by the next.
func TestDeadNode(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		exec := func(sql string, args ...any) {
			t.Helper()
			if n, err := db.Exec(t.Context(), sql, args...); err != nil || n != 1 {
				t.Fatalf("%s: %d, %v", sql, n, err)
			}
		}
		const left = "0f0e0d0c-0b0a-4000-8000-000000000001"
		exec(`INSERT INTO asterisk_lease (asterisk, holder, expires_at) VALUES ('main', 'dead', $1)`, time.Now().Add(time.Hour))
		exec(`INSERT INTO asterisk_job (uuid, asterisk, kind, state, job) VALUES ($1, 'main', 'apply', 'running', $2)`, left, `{"uuid":"`+left+`","state":"running"}`)
		n := start(t, db, func(s *apply.Settings) { s.Lease = 6 * time.Second }, false)
		job, err := n.Apply(t.Context(), jobs.Options{})
		if err != nil || job.State != jobs.Waiting {
			t.Fatalf("Apply: %+v, %v", job, err)
		}
		same, err := n.Apply(t.Context(), jobs.Options{})
		if err != nil || same.UUID != job.UUID {
			t.Errorf("the same once more: %+v, %v", same, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := n.Apply(ctx, jobs.Options{Wait: true}); !errors.Is(err, context.Canceled) || n.times() != 0 {
			t.Errorf("Apply: %v, generated %d times", err, n.times())
		}
		exec(`UPDATE asterisk_lease SET expires_at = now_utc() WHERE holder = 'dead'`)
		eventually(t, "the other node does the job", func() bool {
			found, err := n.Job(t.Context(), job.UUID)
			return err == nil && found.State == jobs.Done
		})
		abandoned, err := n.Job(t.Context(), left)
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, abandoned, jobs.Failed, "has stopped in between")

		// The lease is lost: nothing more is done until it is back.
		exec(`UPDATE asterisk_lease SET holder = 'thief', expires_at = $1`, time.Now().Add(time.Hour))
		eventually(t, "the loss is noticed", func() bool {
			_, err := n.Preview(t.Context())
			return err != nil
		})
		before := n.times()
		if _, err := n.Apply(t.Context(), jobs.Options{}); err != nil || n.times() != before {
			t.Errorf("Apply: %v, generated %d times more", err, n.times()-before)
		}
	})
}

// A node that has lost the lease while it generated changes nothing.
func TestLeaseLostMeanwhile(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var steals atomic.Bool
		n := start(t, db, nil, false, func(n *system, o *apply.Options) {
			o.Generate = func(ctx context.Context, refused apply.Refused) (apply.Output, error) {
				if steals.Load() {
					if _, err := db.Exec(ctx, `UPDATE asterisk_lease SET holder = 'thief', expires_at = $1`, time.Now().Add(time.Hour)); err != nil {
						return apply.Output{}, err
					}
				}
				return n.generate(ctx, refused)
			}
		})
		wantState(t, do(t, n), jobs.Done, "")
		before, _ := n.liveFile("extensions.conf")
		steals.Store(true)
		n.store("extensions.conf", "[internal]\nexten = 102,1,Dial(PJSIP/alice)\n", "pjsip.conf", telephones("alice"))
		wantState(t, do(t, n), jobs.Failed, "another node configures this Asterisk now")
		if after, _ := n.liveFile("extensions.conf"); after != before {
			t.Errorf("live is %q", after)
		}
	})
}

// A node that cannot tell Asterisk of its files leaves the jobs to one that can, also when it was there first, and while that one is away.
func TestNodeWithoutManager(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var able *system
		s := pbx(t, &able)
		unable := start(t, db, func(o *apply.Settings) { o.Reach = time.Minute }, false) // whatever the machine is busy with
		wantState(t, do(t, unable), jobs.Done, "")
		start(t, db, withManager(s), false, func(n *system, _ *apply.Options) { able = n }) // before it runs: Asterisk is asked at once
		said := func() int {
			n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM asterisk_lease WHERE asterisk = 'main manager'`)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		eventually(t, "the node says that it has a manager interface", func() bool { return said() == 1 })
		eventually(t, "the other node leaves Asterisk to it", func() bool {
			_, err := unable.Preview(t.Context())
			return err != nil && strings.Contains(err.Error(), "RINGFENCE_ASTERISK_NAME")
		})
		before := unable.times()
		for range 2 {
			wantState(t, do(t, unable), jobs.Done, "")
		}
		if able.times() != 2 || unable.times() != before || len(s.Reloads()) != 2 {
			t.Errorf("generated: %d by the one that can, %d by the other; reloads %v", able.times(), unable.times()-before, s.Reloads())
		}
		unable.stop()
		able.stop()
		unable = start(t, db, func(o *apply.Settings) { o.Reach = 20 * time.Millisecond }, false)
		if job, err := unable.Apply(t.Context(), jobs.Options{Wait: true}); err != nil || job.State != jobs.Failed || !strings.Contains(job.Message, "has no manager interface of Asterisk") {
			t.Errorf("alone: %+v", job)
		}
		if _, err := unable.Preview(t.Context()); err == nil || !strings.Contains(err.Error(), "RINGFENCE_ASTERISK_NAME") {
			t.Errorf("Preview: %v", err)
		}
		if unable.times() != 0 {
			t.Errorf("generated %d times", unable.times())
		}
		// It has gone for good.
		if n, err := db.Exec(t.Context(), `UPDATE asterisk_lease SET expires_at = $1 WHERE asterisk = 'main manager'`, time.Now().Add(-time.Second)); n != 1 || err != nil {
			t.Fatalf("%d rows, %v", n, err)
		}
		wantState(t, do(t, unable), jobs.Done, "")
	})
}
