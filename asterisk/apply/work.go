package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringfence/ringfence/asterisk/check"
	"github.com/ringfence/ringfence/asterisk/generation"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/asterisk/leftout"
)

// work ends an interrupted change, and does the jobs that wait.
func (s *Service) work(ctx context.Context) error {
	for ctx.Err() == nil {
		row, err := s.queue.next(ctx)
		interrupted := s.recover(ctx) // the jobs that wait say so too, when they fail; tried after the next job was asked for, which may follow a mend
		if err != nil || row == nil {
			return errors.Join(err, interrupted)
		}
		job, err := row.decode()
		if err != nil {
			return err
		}
		if err := s.do(ctx, row.Kind, &run{
			job: &job, interrupted: interrupted, save: s.saver(ctx, s.queue.save),
			end: s.saver(ctx, func(ctx context.Context, job *jobs.Job) error { return s.queue.end(ctx, row.Kind, job) }),
		}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *Service) recover(ctx context.Context) error {
	if pending, err := s.store.Interrupted(); !pending {
		return err
	}
	asterisk, err := s.reach(ctx)
	if err != nil {
		return fmt.Errorf("taking back an interrupted change: %w", err)
	}
	s.reloading.Lock()
	defer s.reloading.Unlock()
	interrupted, err := s.store.Recover(ctx, asterisk)
	if interrupted && err == nil {
		slog.Warn("an interrupted change of Asterisk's configuration was taken back")
		s.Changed() // it is made again
	}
	return err
}

// saver returns a function that stores a job, also when the work on it has been cancelled.
func (s *Service) saver(ctx context.Context, save func(context.Context, *jobs.Job) error) func(*jobs.Job) error {
	return func(job *jobs.Job) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		defer s.tell()
		return save(ctx, job)
	}
}

// run is a job that is being done.
type run struct {
	job       *jobs.Job
	save, end func(*jobs.Job) error
	undone    []error // what fails the job although the files are live
	// interrupted is why a change before could not be taken back.
	interrupted error
}

func (r *run) logf(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "..."
	}
	switch {
	case len(r.job.Log) < maxLog-1:
	case len(r.job.Log) == maxLog-1:
		message = "the rest of the log is left out"
	default:
		return
	}
	r.job.Log = append(r.job.Log, jobs.JobEntry{At: time.Now().UTC(), Message: message})
}

// do does one job and stores what became of it. An error is one of storing it, or says that Asterisk reads another folder: otherwise the
// job itself may fail without one.
func (s *Service) do(ctx context.Context, kind string, r *run) error {
	defer s.store.Forget()
	now := time.Now().UTC()
	r.job.State, r.job.StartedAt = jobs.Running, &now
	if err := r.save(r.job); err != nil {
		return fmt.Errorf("beginning a job: %w", err)
	}
	var err error
	if kind == kindStates {
		err = s.reconcile(ctx)
	} else if number, is := strings.CutPrefix(kind, kindBack); is {
		err = s.goBack(ctx, number, r)
	} else {
		err = s.generate(ctx, kind, r)
		if err == nil && len(r.undone) > 0 {
			err = fmt.Errorf("the files are live, but %w", errors.Join(r.undone...))
		}
	}
	r.job.State = jobs.Done
	if err != nil {
		r.job.State = jobs.Failed
		if _, back := errors.AsType[*generation.RolledBackError](err); back {
			r.job.State = jobs.RolledBack
		}
		r.logf("%s", err)
		r.job.Message = r.job.Log[len(r.job.Log)-1].Message
		slog.Error("the configuration of Asterisk was not applied", "job", r.job.UUID, "state", r.job.State, "error", err)
	}
	for i := range r.job.Modules {
		if m := &r.job.Modules[i]; m.State == moduleWaiting {
			m.State, m.Message = moduleSkipped, "it was not reached"
		}
	}
	ended := time.Now().UTC()
	r.job.EndedAt = &ended
	if err := r.end(r.job); err != nil {
		return fmt.Errorf("ending a job: %w", err)
	}
	if other, is := errors.AsType[*otherFolderError](err); is {
		return other // the next jobs are for the node that has the right folder
	}
	return nil
}

// The states of a module.
const (
	moduleWaiting = "waiting"
	moduleDone    = "done"
	moduleFailed  = "failed"
	moduleSkipped = "skipped"
)

// faultsError says that the check has found faults.
type faultsError struct{ found []check.Finding }

func (e *faultsError) Error() string {
	return fmt.Sprintf("the generated configuration has %d faults, the first: %s", len(e.found), e.found[0])
}

// generate does what a job of either kind begins with, and the rest of one that applies.
func (s *Service) generate(ctx context.Context, kind string, r *run) error {
	if kind != kindGenerate {
		s.meet(ctx)
	}
	if s.unsure.Load() || kind == kindAgain || kind == kindForce { // what was refused before may be accepted now
		s.mu.Lock()
		clear(s.refusals)
		s.mu.Unlock()
	}
	out, err := s.attempt(ctx, kind, r)
	for range maxAttempts - 1 {
		refused, is := errors.AsType[*refusedError](err)
		if !is || !s.refuse(refused.sections, out.Files) {
			break
		}
		slog.Warn("a part of Asterisk's configuration is refused, and is left out", "job", r.job.UUID, "what", refused)
		r.logf("%s", err)
		r.logf("what is refused is left out, and the rest is tried again")
		out, err = s.attempt(ctx, kind, r)
	}
	if err != nil || kind == kindGenerate {
		return err
	}
	if err := s.reconcile(ctx); err != nil {
		return fmt.Errorf("the files are live, but %w", err)
	}
	return nil
}

// goBack makes a generation live that was made before, as an apply does: what Asterisk has is read back, and what fails is taken back.
func (s *Service) goBack(ctx context.Context, number string, r *run) error {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return fmt.Errorf("reading the number of a generation: %w", err)
	}
	s.meet(ctx)
	if r.interrupted != nil {
		return r.interrupted
	}
	r.job.Generation = n
	if err := s.apply(ctx, n, r, nil); err != nil {
		return err
	}
	if err := s.assure(ctx, r); err != nil {
		return fmt.Errorf("the files are live, but Asterisk has not all of them: %w", err)
	}
	return nil
}

// maxAttempts is how often a job tries to apply: each time without what was refused before.
const maxAttempts = 10

// attempt generates, and applies if the job is one that does.
func (s *Service) attempt(ctx context.Context, kind string, r *run) (out Output, err error) {
	r.undone = nil
	chosen, err := s.chosen(ctx) // the files have these, or newer ones of confd
	if err != nil {
		return out, err
	}
	if out, err = s.output(ctx, s.id); err != nil {
		return out, err
	}
	r.job.LeftOut = leftout.Of(out.LeftOut)
	if found := s.check(out.Files); len(found) > 0 {
		for _, f := range found {
			r.logf("%s", f)
		}
		err := error(&faultsError{found})
		if refused := blamed(out.Files, found); len(refused) > 0 {
			err = errors.Join(err, &refusedError{refused, nil})
		}
		return out, err
	}
	g, err := s.store.Stage(ctx, out.Files, out.Source)
	if err != nil {
		return out, err
	}
	r.job.Generation, s.clean = g.Number, g.Number
	r.logf("generation %d has %d files, from %s", g.Number, len(out.Files), out.Source)
	if kind == kindGenerate {
		return out, nil
	}
	if r.interrupted != nil {
		return out, r.interrupted
	}
	unsure := s.unsure.Load()
	if err = s.apply(ctx, g.Number, r, chosen); err != nil {
		return out, err
	}
	if kind == kindForce {
		err = s.readAll(ctx, r)
	} else {
		err = s.assure(ctx, r)
	}
	if err != nil {
		return out, fmt.Errorf("the files are live, but Asterisk has not all of them: %w", err)
	}
	for _, o := range out.LeftOut {
		changed := slices.ContainsFunc(r.job.Files, func(f jobs.JobFile) bool { return f.Name == o.Key })
		if s.client != nil && o.Unread() && unasked[o.Key] && (unsure || changed) {
			s.unsure.Store(true)
			r.undone = append(r.undone, errors.New(o.String()))
		}
	}
	return out, nil
}

// check returns what is wrong with files, beside their stamps, of which there are others each time. Those that are live were checked as a whole,
// or in parts.
func (s *Service) check(files generation.Files) []check.Finding {
	if number, err := s.store.Live(); err == nil && number == s.clean {
		if _, live, err := s.store.Read(number); err == nil {
			return check.Changed(unstamped(live), unstamped(files))
		}
	}
	return check.Files(files)
}

// output generates the files, with their stamps, without what was refused and is as it was then.
func (s *Service) output(ctx context.Context, id string) (Output, error) {
	out, err := s.options.Generate(ctx, nil)
	if err == nil {
		out.Files = stamped(out.Files, id)
		if still := s.stillRefused(out.Files); len(still) > 0 {
			out, err = s.options.Generate(ctx, still)
			out.Files = stamped(out.Files, id)
		}
	}
	if err != nil {
		return out, fmt.Errorf("generating: %w", err)
	}
	return out, nil
}

// apply makes a generation live. chosen are the PINs of telephones that were stored before it was generated.
func (s *Service) apply(ctx context.Context, n int64, r *run, chosen map[Mailbox]string) error {
	change, err := s.store.Plan(n)
	if err != nil {
		return err
	}
	if change.From == change.To || len(change.Files) == 0 && change.From != 0 {
		r.job.Generation = change.From
		r.logf("generation %d is live already, with the same files", change.From)
		gone, err := s.forgetPINs(ctx, r, change, chosen)
		if err != nil {
			return err
		}
		s.reloading.Lock()
		defer s.reloading.Unlock()
		return s.forgotten(ctx, change, gone)
	}
	s.tellOf(r, change)
	return s.reload(ctx, r, func(asterisk generation.Asterisk) error { return s.swap(ctx, n, r, change, chosen, asterisk) })
}

// swap makes a generation live, as apply does, in an Asterisk that is reached, or without one.
func (s *Service) swap(ctx context.Context, n int64, r *run, change generation.Change, chosen map[Mailbox]string, asterisk generation.Asterisk) error {
	var gone []Mailbox
	_, err := s.store.Apply(ctx, n, asterisk, func() error {
		if err := s.stillLeads(ctx); err != nil {
			return err
		}
		if asterisk, ok := asterisk.(*running); ok && change.From != 0 {
			if err := asterisk.checkFolder(ctx); err != nil {
				return err
			}
		}
		var err error
		gone, err = s.forgetPINs(ctx, r, change, chosen)
		return err
	}, func(module string, err error) {
		i := slices.IndexFunc(r.job.Modules, func(m jobs.JobModule) bool { return m.Module == module })
		if r.job.Modules[i].State = moduleDone; err != nil {
			r.job.Modules[i].State, r.job.Modules[i].Message = moduleFailed, err.Error()
		}
		_ = r.save(r.job) // its last state is stored with the end of the job
	})
	if err != nil {
		return err
	}
	if change.From == 0 { // it has read all
		s.unsure.Store(false)
	}
	r.logf("generation %d is live", n)
	s.elsewhere = elsewhere{}
	return s.forgotten(ctx, change, gone)
}

// readAll makes Asterisk read all live files once more.
func (s *Service) readAll(ctx context.Context, r *run) error {
	return s.reload(ctx, r, func(asterisk generation.Asterisk) error {
		if asterisk == nil {
			return nil
		}
		err := s.store.Reload(ctx, asterisk)
		if err == nil {
			s.unsure.Store(false)
			r.logf("Asterisk has read all files once more")
		}
		return err
	})
}

// reload does what makes Asterisk read files, once it can be reached, while nothing else does. The job tells what Asterisk is not asked for, and what
// its log says meanwhile. do gets nil if there is no Asterisk.
func (s *Service) reload(ctx context.Context, r *run, do func(asterisk generation.Asterisk) error) error {
	asterisk, err := s.reach(ctx)
	if err != nil {
		return err
	}
	if s.compare.Load() { // it was away until now, and calls need the states first
		s.meet(ctx)
	}
	complaints := s.overhear(r)
	if asterisk, ok := asterisk.(*running); ok {
		asterisk.complaints = complaints
		asterisk.warn = func(message string) {
			slog.Warn(message)
			r.logf("%s", message)
		}
	}
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if err = do(asterisk); err != nil {
		s.unsure.Store(true)
		complaints(ctx) // a reload that failed had none read, and the way back may have some
	}
	return err
}

// assure makes Asterisk read what is live once more, if it has not got that, or cannot be asked: it may have started while a file of its own
// was broken.
func (s *Service) assure(ctx context.Context, r *run) error {
	return s.reload(ctx, r, func(asterisk generation.Asterisk) error {
		if asterisk == nil || !s.unsure.Load() {
			return nil
		}
		number, err := s.store.Live()
		if err != nil {
			return err
		}
		_, files, err := s.store.Read(number)
		if err != nil {
			return err
		}
		again := slices.Collect(maps.Keys(files))
		if missing := asterisk.Verify(ctx, nil, files); missing == nil {
			again = slices.DeleteFunc(again, func(name string) bool { return !unasked[name] })
		} else {
			if _, other := errors.AsType[*otherFolderError](missing); other {
				return missing
			}
			r.logf("Asterisk has not what is live, and reads it once more: %s", missing)
		}
		if len(again) > 0 {
			if err := s.store.Reload(ctx, asterisk, again...); err != nil {
				return err
			}
		}
		s.unsure.Store(false)
		return nil
	})
}

// tellOf lists in a job what it is going to change.
func (s *Service) tellOf(r *run, change generation.Change) {
	r.job.Files, r.job.Modules = []jobs.JobFile{}, []jobs.JobModule{}
	for _, f := range change.Files {
		r.job.Files = append(r.job.Files, jobs.JobFile{Name: f.Name, Change: f.Change})
	}
	state, why := moduleWaiting, ""
	if s.client == nil {
		state, why = moduleSkipped, "no Asterisk is configured"
	}
	for _, m := range change.Modules {
		r.job.Modules = append(r.job.Modules, jobs.JobModule{Module: m, State: state, Message: why})
	}
}

var errLeaseLost = errors.New("another node configures this Asterisk now")

// stillLeads returns an error unless this node has the lease, now and for a while.
func (s *Service) stillLeads(ctx context.Context) error {
	held, err := s.lease.renew(ctx)
	if err == nil && !held {
		return errLeaseLost
	}
	return err
}

// reach returns the Asterisk, if it can be reached, or nil if there is none.
func (s *Service) reach(ctx context.Context) (generation.Asterisk, error) {
	if s.client == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.settings.Reach)
	defer cancel()
	conn, err := s.client.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("reaching Asterisk over its manager interface: %w", err)
	}
	if err := conn.Booted(ctx); err != nil {
		return nil, err
	}
	return &running{s.client, func(message string) { slog.Warn(message) }, nil, s.settings.Folder, s.id, !s.unsure.Load(), false}, nil
}
