package authsvc

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// maxJobs is how many jobs may run at once; more are refused.
	maxJobs = 64
	// jobTimeout bounds one job, closeTimeout the wait for jobs when the service ends.
	jobTimeout   = time.Minute
	closeTimeout = 5 * time.Second
)

// background runs jobs after the response, so that the time of the response does not reveal what had to be done.
type background struct {
	ctx    context.Context //nolint:containedctx // outlives the requests that start jobs
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	work   errgroup.Group
}

func newBackground() *background {
	b := new(background)
	b.work.SetLimit(maxJobs)
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// start runs a job, or returns false if too many are running.
func (b *background) start(do func(ctx context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	return b.work.TryGo(func() error {
		ctx, cancel := context.WithTimeout(b.ctx, jobTimeout)
		defer cancel()
		do(ctx)
		return nil
	})
}

// close accepts no more jobs, and waits for those that run. After closeTimeout it cancels them.
func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	defer b.cancel()
	defer time.AfterFunc(closeTimeout, b.cancel).Stop()
	_ = b.work.Wait() // jobs return no errors
}
