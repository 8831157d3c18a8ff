package ami

import "time"

// MaxListed is the limit of lists.
const MaxListed = maxListed

// NewWaits returns the function that tells a client with these waits how long to wait after an error of a connection that lasted so long.
func NewWaits(least, most, login time.Duration) func(lasted time.Duration, err error) time.Duration {
	o := Options{RetryMin: least, RetryMax: most, RetryLogin: login}
	w := o.waits()
	return func(lasted time.Duration, err error) time.Duration { return w.after(lasted, err, o) }
}
