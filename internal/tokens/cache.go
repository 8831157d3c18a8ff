package tokens

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/ristretto/v2"
	"golang.org/x/sync/singleflight"

	"github.com/ringfence/ringfence/internal/principal"
)

const (
	// MaxStaleness is the longest time for which a result may be used before the source is asked again.
	MaxStaleness = 30 * time.Second

	defaultCapacity    = 200_000
	defaultLoadTimeout = 3 * time.Second
	defaultUnknownRate = 200

	// countersPerToken is how many access counters ristretto keeps for each token. Its manual recommends 10; a cache that seldom
	// fills up needs fewer, and each costs 3 bytes per token.
	countersPerToken = 4

	// countOneIn is the sampling rate: ristretto sees one in so many uses of a token. Eviction depends only on which tokens are
	// used more than others.
	countOneIn = 8

	// clockStep is a difference between the wall clock and the monotonic clock that means that the machine slept or that its
	// clock was set.
	clockStep = int64(time.Second)
)

// Options configure a Cache. The zero value is ready for use.
type Options struct {
	// Capacity is how many known tokens are kept, 200,000 by default.
	Capacity int
	// Staleness is the longest time for which a result is used before the source is asked again: at most MaxStaleness, which is
	// the default. If the source is Bounded by less, its bound applies.
	Staleness time.Duration
	// LoadTimeout ends a look-up at the source, 3 s by default. It does not limit how long the request waits: the request's own
	// context does.
	LoadTimeout time.Duration
	// UnknownRate is how many look-ups per second may find unknown tokens before tokens that this node has never seen are refused
	// with 429, 200 by default.
	UnknownRate int
	// From returns where a request comes from, by its context. It is called only for tokens that this node has never seen. Each
	// network gets a part of UnknownRate. By default all requests count as one network.
	From func(context.Context) From
	// Complete returns a principal as it is kept: with what the source does not know of its accesses. It is called for principals who are
	// denied anything. By default they are kept as they come.
	Complete func(ctx context.Context, p *principal.Principal) (*principal.Principal, error)
	// Now is the clock, time.Now by default.
	Now func() time.Time
	// OnLag is called for each revocation that another node announced, with the time since then.
	OnLag func(time.Duration)
	// Logger reports when this node can no longer hear of revocations and when it can again; slog.Default by default.
	Logger *slog.Logger
}

// Cache returns the principal of a token. It is safe for concurrent use. See the package comment for its guarantees.
type Cache struct {
	source    Source
	options   Options
	staleness int64
	start     time.Time
	step      atomic.Int64 // wall clock minus monotonic clock, when last looked at

	known    atomic.Pointer[known]
	deaf     atomic.Bool
	marks    *marks
	unknowns unknowns
	seen     seen
	ration   *Ration
	flights  singleflight.Group
	tenants  seenTenants
	shared   affiliations
	count    counters

	tenantFlights singleflight.Group
}

// known wraps ristretto, which must not be closed while it is read: the last reader to release the wrapper closes it.
type known struct {
	recent  recent
	entries *ristretto.Cache[uint64, *entry]
}

// NewCache makes a Cache in front of source.
func NewCache(source Source, o Options) (*Cache, error) {
	if o.Capacity < 0 || o.Staleness < 0 || o.LoadTimeout < 0 || o.UnknownRate < 0 {
		return nil, fmt.Errorf("token cache: capacity, staleness, timeout and rate cannot be negative")
	}
	if o.Staleness > MaxStaleness {
		return nil, fmt.Errorf("token cache: a staleness of %s is over the limit of %s", o.Staleness, MaxStaleness)
	}
	o = o.withDefaults()
	if b, ok := source.(Bounded); ok {
		bound := b.Staleness()
		if bound <= 0 {
			return nil, fmt.Errorf("token cache: the source's staleness of %s is not positive", bound)
		}
		o.Staleness = min(o.Staleness, bound)
	}
	entries, err := ristretto.NewCache(&ristretto.Config[uint64, *entry]{
		NumCounters:        int64(o.Capacity) * countersPerToken,
		MaxCost:            int64(o.Capacity),
		BufferItems:        64,
		IgnoreInternalCost: true,
	})
	if err != nil {
		return nil, fmt.Errorf("making the token cache: %w", err)
	}
	c := &Cache{
		source:    source,
		options:   o,
		staleness: int64(o.Staleness),
		start:     o.Now(),
		marks:     newMarks(),
		ration:    NewRation(o.UnknownRate),
	}
	c.ration.Now = o.Now
	k := &known{recent: newRecent(o.Capacity), entries: entries}
	runtime.AddCleanup(k, func(r *ristretto.Cache[uint64, *entry]) { r.Close() }, entries)
	c.known.Store(k)
	return c, nil
}

func (o Options) withDefaults() Options {
	o.Capacity = cmp.Or(o.Capacity, defaultCapacity)
	o.Staleness = cmp.Or(o.Staleness, MaxStaleness)
	o.LoadTimeout = cmp.Or(o.LoadTimeout, defaultLoadTimeout)
	o.UnknownRate = cmp.Or(o.UnknownRate, defaultUnknownRate)
	if o.From == nil {
		o.From = func(context.Context) From { return From{} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.OnLag == nil {
		o.OnLag = func(time.Duration) {}
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}

// Close frees what is known. Calls that are running or come later still get their results, from the source. ristretto's
// goroutines end with the next garbage collection.
func (c *Cache) Close() { c.known.Store(nil) }

// Staleness returns the longest time for which a result is used before the source is asked again.
func (c *Cache) Staleness() time.Duration { return time.Duration(c.staleness) }

// Shape reports whether the text could be a token. It looks nothing up.
func (c *Cache) Shape(token string) bool { return c.source.Shape(token) }

// Principal returns the principal of the token. The error is ErrUnknown (401) if the token is unknown, expired or revoked, and
// ErrMalformed, which wraps it, if the token has the wrong shape. It is an *apierr.Error of kind TooMany (429) if too many
// unknown tokens are being tried and this node has never seen this one. Otherwise it is store.ErrUnavailable (503) or a fault
// (500), and says nothing about the token.
//
// A known token costs no allocation. The principal is shared and must not be changed.
func (c *Cache) Principal(ctx context.Context, token string) (*principal.Principal, error) {
	if len(token) > maxText {
		return nil, ErrMalformed
	}
	d := DigestOf(token)
	now := c.options.Now()
	instant := c.instant(now)
	e := c.find(&d)
	if e != nil && instant < e.until && !c.deaf.Load() && c.holds(e, &d) {
		c.count.hits.add()
		if e.until-instant <= c.early(&d) && e.claimRefresh() {
			c.refresh(ctx, token, d)
		}
		return &e.principal, nil
	}
	if !c.source.Shape(token) { // a known token had the right shape
		return nil, ErrMalformed
	}
	c.count.misses.Add(1)
	return c.lookUp(ctx, token, d, e != nil || c.seen.has(&d))
}

// instant returns the time on the cache's clock, in nanoseconds, which never jumps or goes back. That clock stands still while
// the machine sleeps and others revoke tokens; and if the wall clock is set, the expiry of tokens shifts. In both cases
// everything is forgotten.
func (c *Cache) instant(now time.Time) int64 {
	instant := int64(now.Sub(c.start))
	step := now.UnixNano() - c.start.UnixNano() - instant
	if last := c.step.Load(); step-last > clockStep || last-step > clockStep {
		c.step.Store(step)
		c.ForgetAll()
	}
	return instant
}

// find returns what is known of a token, which may be too old or revoked.
func (c *Cache) find(d *Digest) *entry {
	k := c.known.Load()
	if k == nil {
		return nil
	}
	e := k.recent.find(d)
	if e != nil && rand.Uint32()%countOneIn != 0 { //nolint:gosec // chooses a sample; no secret
		return e
	}
	stored, ok := k.entries.Get(key(d))
	switch {
	case e != nil && !ok:
		k.entries.Set(key(d), e, 1) // it was evicted, and is in use
	case e == nil && ok && stored.is(d):
		e = stored
		k.recent.add(d, e)
	}
	runtime.KeepAlive(k)
	return e
}

// until returns when a result must be renewed: when it becomes stale, counted from when the source was asked, or when the token
// expires.
func (c *Cache) until(asked time.Time, expires principal.Instant) int64 {
	return c.instant(asked) + min(c.staleness, int64(expires)-asked.UnixNano())
}

// early returns how long before its end an entry is refreshed, if it is in use: between a third and a half of the staleness. Each
// token has another value, so that tokens which became known together are not all due together.
func (c *Cache) early(d *Digest) int64 {
	return c.staleness/3 + c.staleness/6*int64(d[25])/math.MaxUint8
}

// holds reports whether the entry still counts: none of the things that it says was forgotten.
func (c *Cache) holds(e *entry, d *Digest) bool {
	n, userSlot := e.learnt()
	return c.marks.holds(n, d, userSlot)
}

// ForgetToken makes sure that no call of Principal that begins after ForgetToken returned uses older knowledge of the token.
// Call it after the change was committed.
func (c *Cache) ForgetToken(d Digest) {
	c.count.forgets.Add(1)
	raise(c.marks.token(&d), c.marks.next())
}

// ForgetUser does the same for all tokens of a user. The UUID is written as in Principal.UserUUID.
func (c *Cache) ForgetUser(userUUID string) {
	c.count.forgets.Add(1)
	n := c.marks.next()
	raise(&c.marks.users[c.marks.userSlot(userUUID)], n)
	raise(&c.marks.unknownFloor, n)
}

// ForgetAll does the same for all tokens.
func (c *Cache) ForgetAll() {
	c.count.forgets.Add(1)
	raise(&c.marks.floor, c.marks.next())
}

// Issued says that this node has just issued the token. A recent "unknown" for it is forgotten, and its first look-up is not
// rationed.
func (c *Cache) Issued(d Digest) {
	raise(c.marks.token(&d), c.marks.next())
	c.seen.add(&d)
}

// Distrust says that this node may miss revocations by other nodes from now on. Everything is forgotten, and each request asks
// the source until Trust is called.
func (c *Cache) Distrust() {
	c.deaf.Store(true)
	c.ForgetAll()
}

// Trust says that this node hears of every revocation from now on. Everything from before is forgotten.
func (c *Cache) Trust() {
	c.ForgetAll()
	c.deaf.Store(false)
}

// slots is the size of the tables of marks. With 100,000 cached tokens, one Forget causes about three other tokens to be looked
// up again.
const (
	slotBits = 15
	slots    = 1 << slotBits
)

// marks says which results still count (see the package comment). It does not grow, and it never blocks.
type marks struct {
	seq atomic.Uint64
	_   [56]byte // the counter changes with each look-up; each hit reads the fields below

	floor        atomic.Uint64 // no older result counts
	unknownFloor atomic.Uint64 // nor does any older "unknown"
	tokens       [slots]atomic.Uint64
	users        [slots]atomic.Uint64
	seed         maphash.Seed
}

func newMarks() *marks { return &marks{seed: maphash.MakeSeed()} }

// next takes a number: for a look-up before it asks, for a Forget after its change was committed.
func (m *marks) next() uint64 { return m.seq.Add(1) }

func (m *marks) token(d *Digest) *atomic.Uint64 {
	return &m.tokens[binary.LittleEndian.Uint32(d[8:])%slots]
}

func (m *marks) userSlot(uuid string) uint64 { return maphash.String(m.seed, uuid) % slots }

// holds reports whether a principal that was loaded under number n still counts.
func (m *marks) holds(n uint64, d *Digest, userSlot uint64) bool {
	return n >= m.floor.Load() && n >= m.token(d).Load() && n >= m.users[userSlot%slots].Load()
}

// holdsUnknown reports whether "unknown" still counts. Nobody knows to which user such a token would belong, so any change to a
// user ends it.
func (m *marks) holdsUnknown(n uint64, d *Digest) bool {
	return n >= m.floor.Load() && n >= m.unknownFloor.Load() && n >= m.token(d).Load()
}

// raise records n, unless a later number is there already.
func raise(slot *atomic.Uint64, n uint64) {
	for {
		old := slot.Load()
		if old >= n || slot.CompareAndSwap(old, n) {
			return
		}
	}
}

// Stats counts what a Cache has done since it was made, for metrics. Each number only grows.
type Stats struct {
	Hits         uint64 // found in the cache
	Misses       uint64 // not found: the source was asked, or its last "unknown" was repeated
	NegativeHits uint64 // of the misses: refused from the short memory of unknown tokens
	Throttled    uint64 // of the misses: refused because too many unknown tokens were tried
	Loads        uint64 // look-ups at the source, also those in the background
	LoadErrors   uint64 // of the loads: the source was unreachable or failed
	Unknown      uint64 // of the loads: the source does not know the token
	Refreshes    uint64 // of the loads: started early, in the background
	Retries      uint64 // look-ups repeated because something was forgotten meanwhile
	Forgets      uint64 // calls of the Forget methods, also those for messages of other nodes
}

type counters struct {
	hits spread

	misses, negativeHits, throttled                atomic.Uint64
	loads, loadErrors, unknown, refreshes, retries atomic.Uint64
	forgets                                        atomic.Uint64
}

// spread is a counter in pieces, so that processors that count hits at once do not wait for one another.
type spread [16]struct {
	n atomic.Uint64
	_ [56]byte
}

func (s *spread) add() {
	s[rand.Uint32()%uint32(len(s))].n.Add(1) //nolint:gosec // chooses a piece of a counter, no secret
}

func (s *spread) sum() (n uint64) {
	for i := range s {
		n += s[i].n.Load()
	}
	return n
}

// Stats reads the counters, one by one: sums may be off by what happens meanwhile.
func (c *Cache) Stats() Stats {
	n := &c.count
	return Stats{
		Hits:         n.hits.sum(),
		Misses:       n.misses.Load(),
		NegativeHits: n.negativeHits.Load(),
		Throttled:    n.throttled.Load(),
		Loads:        n.loads.Load(),
		LoadErrors:   n.loadErrors.Load(),
		Unknown:      n.unknown.Load(),
		Refreshes:    n.refreshes.Load(),
		Retries:      n.retries.Load(),
		Forgets:      n.forgets.Load(),
	}
}
