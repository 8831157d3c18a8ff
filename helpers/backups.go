package helpers

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// backups is the making of backups, one at a time. A backup goes on when the request that asked for it has been answered, and ends with the
// process: then there is none.
type backups struct {
	mu   sync.Mutex
	last *Making
}

// The states of a backup that is made.
const (
	makingRuns   = "running"
	makingDone   = "done"
	makingFailed = "failed"
)

// Making is how far the making of a backup is.
type Making struct {
	Name      string     `json:"name" example:"ringfence-2026-11-28-051348" doc:"The name that the backup gets."`
	State     string     `json:"state" enum:"running,done,failed"`
	Message   string     `json:"message" example:"no space left on device" doc:"Why it failed; empty otherwise."`
	Done      int64      `json:"done" example:"1000" doc:"How many rows of the database it has."`
	Of        int64      `json:"of" example:"20000" doc:"How many rows there are; 0 until that is known."`
	StartedAt time.Time  `json:"started_at" doc:"When it was begun."`
	EndedAt   *time.Time `json:"ended_at"`
}

type backupList struct {
	Total  int           `json:"total" doc:"How many there are."`
	Items  []backup.Kept `json:"items" doc:"The backups, the newest first."`
	Making *Making       `json:"making" doc:"The backup that is made, or was made last since the node was started; null if there was none."`
}

// begin takes the turn to make a backup.
func (b *backups) begin(name string) (Making, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last != nil && b.last.State == makingRuns {
		return Making{}, apierr.New(apierr.Conflict, "A backup is being made: wait for its end")
	}
	b.last = &Making{Name: name, State: makingRuns, StartedAt: time.Now().UTC()}
	return *b.last, nil
}

// change changes what is known of the backup that is made.
func (b *backups) change(edit func(m *Making)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	edit(b.last)
}

func (b *backups) state() *Making {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		return nil
	}
	last := *b.last
	return &last
}

// backupOperations are those of the backups of the node that answers. A backup has all secrets of the installation: to read one takes a
// right that no pattern for reading stands for, and the token of somebody who may do everything.
func (e *endpoints) backupOperations() []rest.Operation {
	const one = "/backups/{backup}"
	ops := []rest.Operation{
		{
			Method: http.MethodGet, Path: "/backups", Access: "sysconfd.backups.read", ID: "list_backups",
			Summary: "The backups that the node keeps, and the one that is made", Success: http.StatusOK, Reply: rest.SchemaOf[backupList](),
			Handle: e.ofBackups(func(_ context.Context, _ *rest.Request, _ scope, i *Installation) (rest.Reply, error) {
				kept, err := i.Backups.List()
				return rest.Reply{Body: backupList{len(kept), kept, e.made.state()}}, err
			}),
		},
		{
			Method: http.MethodPost, Path: "/backups", Access: "sysconfd.backups.create", ID: "make_backup", Summary: "Begin to make a backup",
			Description: "It has what is committed when it begins. One is made at a time; the list of the backups tells how far it is.",
			Success:     http.StatusOK, Reply: rest.SchemaOf[Making](), Statuses: []int{http.StatusConflict, http.StatusServiceUnavailable},
			Handle: e.ofBackups(e.makeBackup),
		},
		{
			Method: http.MethodGet, Path: one + "/file", Access: "sysconfd.backups.{backup}.download", ID: "download_backup", Summary: "Read a backup",
			Description: "It has all keys and password hashes of the installation. Only a token that may do everything (`#`) reads it.",
			Success:     http.StatusOK, Produces: "application/zip", Statuses: []int{http.StatusNotFound}, Handle: e.ofBackups(e.downloadBackup),
		},
		{
			Method: http.MethodDelete, Path: one, Access: "sysconfd.backups.{backup}.delete", ID: "delete_backup", Summary: "Delete a backup",
			Success: http.StatusOK, Reply: doneSchema(), Statuses: []int{http.StatusNotFound}, Handle: e.ofBackups(e.deleteBackup),
		},
	}
	for i := range ops {
		ops[i].Tag, ops[i].Statuses = "system", append(ops[i].Statuses, http.StatusNotImplemented)
	}
	return ops
}

// ofBackups is the handler of something with the node's folder of backups.
func (e *endpoints) ofBackups(handle func(ctx context.Context, r *rest.Request, s scope, i *Installation) (rest.Reply, error)) rest.Handler {
	return e.installation(func(ctx context.Context, r *rest.Request, s scope) (rest.Reply, error) {
		i := e.installed.Load()
		if i.Backups == "" {
			return rest.Reply{}, apierr.New(apierr.NotImplemented, "This gateway keeps no backups: its operator can name a folder for them")
		}
		reply, err := handle(ctx, r, s, i)
		if errors.Is(err, fs.ErrNotExist) {
			err = notFound()
		}
		return reply, err
	})
}

func (e *endpoints) makeBackup(ctx context.Context, r *rest.Request, s scope, i *Installation) (reply rest.Reply, err error) {
	if e.closing.Err() != nil {
		return reply, &apierr.Error{Kind: apierr.Unavailable, Message: "The gateway is stopping", RetryAfter: time.Second}
	}
	m, err := e.made.begin(i.Backups.Next(time.Now()))
	if err != nil {
		return reply, err
	}
	if err := s.change(ctx, r, audit.Change{Resource: "backups", Object: m.Name, After: map[string]string{"state": m.State}})(); err != nil {
		e.made.change(func(m *Making) { m.end(err) })
		return reply, err
	}
	e.recovery.Go(func() { e.write(i, m.Name, r.Op().ID) })
	return rest.Reply{Body: m}, nil
}

// end says that the making has ended, with this error or none.
func (m *Making) end(err error) {
	now := time.Now().UTC()
	if m.EndedAt, m.State = &now, outcome(err); err != nil {
		m.Message = err.Error()
	}
}

// write makes a backup, and records what became of it.
func (s *Service) write(i *Installation, name, action string) {
	err := i.Backups.Make(name, func(to io.Writer) error {
		return i.Backup(s.closing, to, func(done, of int64) { s.made.change(func(m *Making) { m.Done, m.Of = done, of }) })
	})
	if err != nil {
		slog.Error("a backup could not be made", "backup", name, "error", err)
	}
	s.note(action, audit.Change{Resource: "backups", Object: name, After: map[string]string{"state": outcome(err)}})
	s.made.change(func(m *Making) { m.end(err) })
}

func outcome(err error) string {
	if err != nil {
		return makingFailed
	}
	return makingDone
}

func (e *endpoints) downloadBackup(ctx context.Context, r *rest.Request, s scope, i *Installation) (reply rest.Reply, err error) {
	if !r.Principal().Covers("#") {
		return reply, apierr.New(apierr.Forbidden, "A backup has all secrets: only a token that may do everything (#) reads it")
	}
	file, k, err := i.Backups.Open(r.Param("backup"))
	if err != nil {
		return reply, err
	}
	reply.Header = http.Header{
		"Content-Length": {strconv.FormatInt(k.Size, 10)}, "Content-Disposition": {"attachment; filename=" + k.Name + ".zip"}, "Cache-Control": {"no-store"},
	}
	reply.Stream = func(w io.Writer) error {
		_, err := io.CopyN(w, file, k.Size)
		return errors.Join(err, file.Close())
	}
	if r.HTTP.Method == http.MethodHead { // nothing is streamed
		return reply, file.Close()
	}
	if err := s.change(ctx, r, audit.Change{Resource: "backups", Object: k.Name})(); err != nil {
		return rest.Reply{}, errors.Join(err, file.Close())
	}
	return reply, nil
}

// deleteBackup deletes the file as the last step of the transaction that records it: if the process ends before the commit, the backup is gone
// without an entry, and never there with one.
func (e *endpoints) deleteBackup(ctx context.Context, r *rest.Request, s scope, i *Installation) (rest.Reply, error) {
	name := r.Param("backup")
	return done, e.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := s.record(ctx, tx, r, audit.Change{Resource: "backups", Object: name, Before: map[string]string{"state": makingDone}}); err != nil {
			return err
		}
		return i.Backups.Remove(name)
	})
}
