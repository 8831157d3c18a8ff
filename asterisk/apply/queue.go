package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// The kinds of jobs.
const (
	kindGenerate = "generate"
	kindApply    = "apply"
	kindAgain    = "again"  // applies, and tries again what was refused
	kindForce    = "force"  // does so, and makes Asterisk read all files
	kindBack     = "back "  // with the number of a generation behind it: makes that one live
	kindStates   = "states" // only the users' states, while changes of the files wait for an apply
)

// Limits of what is kept.
const (
	keptJobs   = 50
	maxLog     = 200 // lines
	maxMessage = 2000
)

// channel is where nodes hear of new jobs.
const channel = "asterisk_job"

// queue has the jobs of one Asterisk.
type queue struct {
	db       store.DB
	asterisk string
}

type jobRow struct {
	ID   int64  `db:"id"`
	Kind string `db:"kind"`
	Job  string `db:"job"`
}

func (r jobRow) decode() (j jobs.Job, err error) {
	j.LeftOut = leftout.Of(nil) // what an older node has stored tells of none
	if err = json.Unmarshal([]byte(r.Job), &j); err != nil {
		return j, fmt.Errorf("reading a job: %w", err)
	}
	return j, nil
}

// ask adds a job, or returns the one that waits already, and records who asked, unless record is nil. It tells the other nodes.
func (q *queue) ask(ctx context.Context, kind string, record jobs.Recorder) (jobs.Job, error) {
	job, err := q.askOnce(ctx, kind, record)
	for range 3 {
		if !store.IsConstraint(err, store.Unique) { // another node has asked for the same at the same time
			break
		}
		job, err = q.askOnce(ctx, kind, record)
	}
	if err != nil {
		return job, fmt.Errorf("asking for a job: %w", err)
	}
	return job, nil
}

func (q *queue) askOnce(ctx context.Context, kind string, record jobs.Recorder) (job jobs.Job, err error) {
	err = q.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := q.add(ctx, tx, kind, &job); err != nil || record == nil {
			return err
		}
		return record(ctx, tx, job.UUID)
	})
	return job, err
}

// add adds a job, or reads the one that waits already.
func (q *queue) add(ctx context.Context, tx store.Conn, kind string, job *jobs.Job) error {
	waiting, err := store.Select[jobRow](ctx, tx, `SELECT id, kind, job FROM asterisk_job WHERE asterisk = $1 AND kind = $2 AND state = $3`,
		q.asterisk, kind, jobs.Waiting)
	if err != nil {
		return err
	}
	if len(waiting) > 0 {
		*job, err = waiting[0].decode()
		return err
	}
	return q.insert(ctx, tx, kind, jobs.Waiting, "", job)
}

// record keeps a job that has failed, and why: something was to be done beside the files.
func (q *queue) record(ctx context.Context, why string) error {
	return q.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		return q.insert(ctx, tx, kindApply, jobs.Failed, why, new(jobs.Job))
	})
}

// insert adds a job that waits, or has ended.
func (q *queue) insert(ctx context.Context, tx store.Conn, kind, state, message string, job *jobs.Job) error {
	now, err := store.Get[time.Time](ctx, tx, `SELECT now_utc()`)
	if err != nil {
		return err
	}
	now = now.UTC()
	*job = jobs.Job{
		UUID: uuid.NewString(), State: state, CreatedAt: now, Message: message,
		Files: []jobs.JobFile{}, Modules: []jobs.JobModule{}, LeftOut: leftout.Of(nil), Log: []jobs.JobEntry{},
	}
	if job.Ended() {
		job.StartedAt, job.EndedAt = &now, &now
	}
	text, err := json.Marshal(job)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO asterisk_job (uuid, asterisk, kind, state, job) VALUES ($1, $2, $3, $4, $5)`,
		job.UUID, q.asterisk, kind, job.State, string(text)); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM asterisk_job WHERE asterisk = $1 AND state NOT IN ($2, $3) AND id <=
			(SELECT max(id) FROM asterisk_job WHERE asterisk = $1) - $4`, q.asterisk, jobs.Waiting, jobs.Running, keptJobs); err != nil {
		return err
	}
	return q.db.Notify(ctx, tx, channel, q.asterisk)
}

// next returns the oldest job that waits, or nil.
func (q *queue) next(ctx context.Context) (*jobRow, error) {
	rows, err := store.Select[jobRow](ctx, q.db, `SELECT id, kind, job FROM asterisk_job WHERE asterisk = $1 AND state = $2 ORDER BY id LIMIT 1`,
		q.asterisk, jobs.Waiting)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// unfinished returns the id of the oldest job that waits or runs, or 0.
func (q *queue) unfinished(ctx context.Context) (int64, error) {
	return store.Get[int64](ctx, q.db, `SELECT coalesce(min(id), 0) FROM asterisk_job WHERE asterisk = $1 AND state IN ($2, $3)`,
		q.asterisk, jobs.Waiting, jobs.Running)
}

// save stores a job as it is now.
func (q *queue) save(ctx context.Context, job *jobs.Job) error { return put(ctx, q.db, job) }

func put(ctx context.Context, c store.Conn, job *jobs.Job) error {
	text, err := json.Marshal(job)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, `UPDATE asterisk_job SET state = $1, job = $2 WHERE uuid = $3`, job.State, string(text), job.UUID)
	return err
}

// end stores a job that has ended, and records that.
func (q *queue) end(ctx context.Context, kind string, job *jobs.Job) error {
	return q.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := put(ctx, tx, job); err != nil || kind == kindStates {
			return err
		}
		master, err := tenant.Master(ctx, tx)
		if errors.Is(err, store.ErrNotFound) { // so nobody can read it
			return nil
		}
		if err != nil {
			return err
		}
		if kind == kindAgain || kind == kindForce || strings.HasPrefix(kind, kindBack) {
			kind = kindApply
		}
		return audit.Note(ctx, tx, "sysconfd", kind, audit.Change{
			Tenant: master, Resource: "apply", Object: job.UUID, Before: map[string]string{"state": jobs.Waiting},
			After: map[string]any{"state": job.State, "generation": job.Generation},
		})
	})
}

// find returns a job.
func (q *queue) find(ctx context.Context, id string) (jobs.Job, error) {
	rows, err := store.Select[jobRow](ctx, q.db, `SELECT id, kind, job FROM asterisk_job WHERE asterisk = $1 AND uuid = $2`, q.asterisk, id)
	if err != nil {
		return jobs.Job{}, err
	}
	if len(rows) == 0 {
		return jobs.Job{}, apierr.New(apierr.NotFound, "Not found")
	}
	return rows[0].decode()
}

// abandon ends the jobs that a node has left running.
func (q *queue) abandon(ctx context.Context) error {
	return q.fail(ctx, jobs.Running, 0, "the node that did it has stopped in between")
}

// refuse ends the jobs that have waited for so long.
func (q *queue) refuse(ctx context.Context, patience time.Duration, why string) error {
	return q.fail(ctx, jobs.Waiting, patience, why)
}

// fail ends the jobs that are in a state and were asked for so long ago.
func (q *queue) fail(ctx context.Context, state string, age time.Duration, why string) error {
	rows, err := store.Select[jobRow](ctx, q.db, `SELECT id, kind, job FROM asterisk_job WHERE asterisk = $1 AND state = $2`, q.asterisk, state)
	if err != nil || len(rows) == 0 {
		return err
	}
	now, err := store.Get[time.Time](ctx, q.db, `SELECT now_utc()`)
	if err != nil {
		return err
	}
	for _, r := range rows {
		job, err := r.decode()
		if err != nil {
			return err
		}
		if age > 0 && now.Sub(job.CreatedAt) < age {
			continue
		}
		ended := now.UTC()
		job.State, job.EndedAt, job.Message = jobs.Failed, &ended, why
		if err := q.end(ctx, r.Kind, &job); err != nil {
			return err
		}
	}
	return nil
}
