package authsvc

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// maxErrands is how much may wait or be at work at once; more is refused.
	maxErrands = 64
	// errandTimeout bounds one, closeTimeout what is still waited for when the service ends.
	errandTimeout = time.Minute
	closeTimeout  = 5 * time.Second
)

// errands are what is done after the answer, so that the answer does not tell by its time what was to be done.
type errands struct {
	ctx    context.Context //nolint:containedctx // outlives the requests that leave something to be done
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	work   errgroup.Group
}

func newErrands() *errands {
	e := new(errands)
	e.work.SetLimit(maxErrands)
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e
}

// start does it in the background, or answers false when there is too much to do already.
func (e *errands) start(do func(ctx context.Context)) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	return e.work.TryGo(func() error {
		ctx, cancel := context.WithTimeout(e.ctx, errandTimeout)
		defer cancel()
		do(ctx)
		return nil
	})
}

// close takes no more errands, and waits for those that there are; after closeTimeout it tells them to stop.
func (e *errands) close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	defer e.cancel()
	defer time.AfterFunc(closeTimeout, e.cancel).Stop()
	_ = e.work.Wait() // errands answer nobody
}
