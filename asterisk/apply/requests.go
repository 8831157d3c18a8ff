package apply

import (
	"context"
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

// Preview returns how the live files would change. It changes nothing.
func (s *Service) Preview(ctx context.Context) (jobs.Preview, error) {
	preview := jobs.Preview{Files: []jobs.PreviewFile{}, LeftOut: leftout.Of(nil)}
	s.mu.Lock()
	files, id, held, useless := s.store, s.id, s.held, s.useless
	s.mu.Unlock()
	if held {
		state, err := s.lease.look(ctx)
		if err != nil {
			return preview, err
		}
		held = state.own
	}
	if useless != nil {
		return preview, apierr.New(apierr.Unavailable, "This node cannot configure Asterisk: %s", useless)
	}
	if !held || files == nil {
		return preview, apierr.New(apierr.Unavailable, "Another node configures this Asterisk: ask that one")
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
