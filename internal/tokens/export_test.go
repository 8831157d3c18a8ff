package tokens

import (
	"time"

	"github.com/ringfence/ringfence/internal/principal"
)

// Settle waits until ristretto has applied what was written to it.
func (c *Cache) Settle() { c.known.Load().entries.Wait() }

// CloseNow closes the cache and ends ristretto's goroutines at once. Nobody may be using the cache.
func (c *Cache) CloseNow() {
	if k := c.known.Swap(nil); k != nil {
		k.entries.Close()
	}
}

// Plant puts a principal into ristretto under a digest, as if it had been looked up now.
func (c *Cache) Plant(d Digest, p *principal.Principal) {
	c.keep(c.newEntry(p, &d, c.options.Now(), c.marks.next()), &d)
	c.Settle()
}

// LateWrite returns a function that writes to ristretto again what it holds now for a digest, like a delayed write.
func (c *Cache) LateWrite(d Digest) func() {
	e := c.find(&d)
	return func() {
		c.keep(e, &d)
		c.Settle()
	}
}

// Sleep makes the cache believe that the machine slept for a while: the wall clock advanced and the monotonic clock did not.
func (c *Cache) Sleep(d time.Duration) { c.step.Add(-int64(d)) }

// Len returns how many different sets are in use.
func (a *ACLs) Len() int {
	a.sets.mu.Lock()
	defer a.sets.mu.Unlock()
	return len(a.sets.known)
}

// Origins returns how many networks and sites are remembered.
func (r *Ration) Origins() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.origins)
}
