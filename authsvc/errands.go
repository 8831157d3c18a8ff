package authsvc

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// maxErrands is how many errands may wait or run at once; more are refused.
	maxErrands = 64
	// errandTimeout bounds one errand, closeTimeout the wait for errands when the service ends.
	errandTimeout = time.Minute
	closeTimeout  = 5 * time.Second
)

// errands is work that is done after the response, so that the time of the response does not reveal what had to be done.
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

// start does the work in the background, or returns false if there is too much to do already.
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

// close accepts no more errands, and waits for those that are running; after closeTimeout it tells them to stop.
func (e *errands) close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	defer e.cancel()
	defer time.AfterFunc(closeTimeout, e.cancel).Stop()
	_ = e.work.Wait() // nobody gets the errands' errors
}
