package apply

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/ringfence/ringfence/asterisk/generation"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/internal/apierr"
)

func (s *Service) ask(ctx context.Context, kind string, record jobs.Recorder) (jobs.Job, error) {
	job, err := s.queue.ask(ctx, kind, record)
	poke(s.wake)
	return job, err
}

// tell wakes those who wait for a job.
func (s *Service) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.news)
	s.news = make(chan struct{})
}

// await returns a job when it has ended.
func (s *Service) await(ctx context.Context, id string) (jobs.Job, error) {
	for {
		s.mu.Lock()
		news := s.news
		s.mu.Unlock()
		job, err := s.queue.find(ctx, id)
		if err != nil || job.Ended() {
			return job, err
		}
		select {
		case <-ctx.Done():
			return job, ctx.Err()
		case <-news:
		case <-time.After(s.settings.Poll): // another node tells nobody how its jobs go on
		}
	}
}

// Generate makes a generation of files from what is stored, by a job, and returns when it has ended. It does not touch what is live.
func (s *Service) Generate(ctx context.Context, asked jobs.Recorder) error {
	job, err := s.ask(ctx, kindGenerate, asked)
	if err != nil {
		return err
	}
	if job, err = s.await(ctx, job.UUID); err != nil {
		return err
	}
	if job.State != jobs.Done {
		return apierr.New(apierr.Internal, "can't generate the configuration: %s", job.Message)
	}
	return nil
}

// Apply asks for a job that makes what is stored live, and returns it, or the one that waits already to do the same. It goes on when ctx ends.
func (s *Service) Apply(ctx context.Context, o jobs.Options) (jobs.Job, error) {
	kind := kindAgain
	if o.Force {
		kind = kindForce
	}
	job, err := s.ask(ctx, kind, o.Asked)
	if err != nil || !o.Wait {
		return job, err
	}
	return s.await(ctx, job.UUID)
}

// Job returns a job that is kept.
func (s *Service) Job(ctx context.Context, id string) (jobs.Job, error) {
	return s.queue.find(ctx, id)
}

// Undone keeps a job that has failed, and why: what was to be done to Asterisk's files beside the generated ones was not.
func (s *Service) Undone(ctx context.Context, why string) error {
	defer s.tell()
	return s.queue.record(ctx, why)
}

// own returns the generations, and the name of their folder, if this node configures Asterisk.
func (s *Service) own(ctx context.Context) (*generation.Store, string, error) {
	s.mu.Lock()
	files, id, held, useless := s.store, s.id, s.held, s.useless
	s.mu.Unlock()
	if held {
		state, err := s.lease.look(ctx)
		if err != nil {
			return nil, "", err
		}
		held = state.own
	}
	if useless != nil {
		return nil, "", apierr.New(apierr.Unavailable, "This node cannot configure Asterisk: %s", useless)
	}
	if !held || files == nil {
		return nil, "", apierr.New(apierr.Unavailable, "Another node configures this Asterisk: ask that one")
	}
	return files, id, nil
}

// Generations returns the generations that are kept.
func (s *Service) Generations(ctx context.Context) (jobs.Generations, error) {
	found := jobs.Generations{Items: []jobs.Generation{}}
	files, _, err := s.own(ctx)
	if err != nil {
		return found, err
	}
	live, err := files.Live()
	if err != nil {
		return found, err
	}
	all, failed, err := files.List()
	for _, g := range all {
		found.Items = append(found.Items, jobs.Generation{
			Number: g.Number, CreatedAt: g.Created, Source: g.Source, Live: g.Number == live, Failed: failed[g.Number],
		})
	}
	found.Total = len(found.Items)
	return found, err
}

// GoBack asks for a job that makes a generation live that is kept, and was not taken back.
func (s *Service) GoBack(ctx context.Context, n int64, asked jobs.Recorder) (jobs.Job, error) {
	kept, err := s.Generations(ctx)
	if err != nil {
		return jobs.Job{}, err
	}
	i := slices.IndexFunc(kept.Items, func(g jobs.Generation) bool { return g.Number == n })
	if i < 0 {
		return jobs.Job{}, apierr.New(apierr.NotFound, "Not found")
	}
	if kept.Items[i].Failed != "" {
		return jobs.Job{}, apierr.New(apierr.Conflict, "Asterisk has refused this generation: the list of all says why")
	}
	return s.ask(ctx, kindBack+strconv.FormatInt(n, 10), asked)
}

// Preview returns how the live files would change. It changes nothing.
func (s *Service) Preview(ctx context.Context) (jobs.Preview, error) {
	preview := jobs.Preview{Files: []jobs.PreviewFile{}, LeftOut: leftout.Of(nil)}
	files, id, err := s.own(ctx)
	if err != nil {
		return preview, err
	}
	out, err := s.output(ctx, id)
	if err != nil {
		return preview, err
	}
	preview.LeftOut = leftout.Of(out.LeftOut)
	number, err := files.Live()
	if err != nil {
		return preview, err
	}
	defer files.Forget()
	_, from, err := files.Read(number)
	if err != nil {
		return preview, err
	}
	for _, c := range generation.Compare(from, out.Files) {
		preview.Changed = true
		preview.Files = append(preview.Files, jobs.PreviewFile{Name: c.Name, Change: c.Change, Diff: generation.Diff(c.Name, from[c.Name], out.Files[c.Name])})
	}
	return preview, nil
}
