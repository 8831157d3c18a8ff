package tokens

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
)

// From is where a request comes from. The zero value is an unknown origin: it is rationed with all others, and has no allowance
// of its own.
type From struct {
	Network string // an IPv4 address, or an IPv6 /64, which every customer has whole
	Site    string // the /24 or /48 around it
}

// FromAddress returns the From of a client's address.
func FromAddress(address string) From {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return From{Network: address, Site: address}
	}
	network, site := 64, 48
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		network, site = 32, 24
	}
	around := func(bits int) string { return netip.PrefixFrom(ip, bits).Masked().String() }
	return From{around(network), around(site)}
}

const (
	// unseenInFlight is how many look-ups run at once, most of them for one network; some more may wait for their turn.
	unseenInFlight  = 16
	networkInFlight = 12
	unseenWaiting   = 4096
	networkWaiting  = 1024

	// maxOrigins is how many networks and sites are remembered.
	maxOrigins = 1 << 15
	// tainted is how long a network that sent an unknown secret cannot use the reserve.
	tainted = time.Minute
	// A secret that was refused unseen is looked up if it comes again after a while: a sender of random secrets sends others.
	comeBackAfter, comeBackWithin = 500 * time.Millisecond, time.Minute
	// refusedSlots is how many secrets are remembered at most, each in one slot, which another secret may take: the more slots,
	// the faster a flood may be before real clients no longer get back in. They use some 5 MB together.
	refusedSlots = 1 << 16
)

// Ration keeps look-ups of unknown secrets from taking the database away from everybody else. Only secrets that turn out to be
// unknown count, so a node that has just started, and meets all its clients at once, is not held back. It is safe for concurrent
// use.
//
// Each network has an allowance, each site four times that, and all together have one that some ten networks can use up. Beyond
// it there is a reserve for networks that have sent nothing unknown lately. Within a network that has used its allowance up, it
// serves those that come again with the same secret, as clients do and floods do not.
type Ration struct {
	// Now is the clock, time.Now by default. Set it before the Ration is used.
	Now func() time.Time

	perSecond     int
	all           *rate.Limiter
	reserve       *rate.Limiter // beyond the allowance of all
	returning     *rate.Limiter // beyond the allowance of one network
	turns         chan struct{}
	waiting       atomic.Int64 // waiting for a turn, or holding one
	refusedUnseen [refusedSlots]atomic.Pointer[refusedUnseen]

	mu      sync.Mutex
	origins map[string]*origin
}

type origin struct {
	full    time.Time     // when its allowance is full again (the generic cell rate algorithm)
	taint   time.Time     // until then it cannot use the reserve
	turns   chan struct{} // of its look-ups
	waiting int           // waiting for a turn, or holding one
}

type refusedUnseen struct {
	digest Digest
	at     time.Time
}

// NewRation allows so many unknown secrets per second, a tenth of them from one network.
func NewRation(perSecond int) *Ration {
	limiter := func(part int) *rate.Limiter {
		n := max(1, perSecond/part)
		return rate.NewLimiter(rate.Limit(n), n)
	}
	return &Ration{
		Now: time.Now, perSecond: perSecond, all: limiter(1), reserve: limiter(2), returning: limiter(4),
		turns: make(chan struct{}, unseenInFlight), origins: map[string]*origin{},
	}
}

// burst returns how many unknown secrets a network or a site may send at once, and the interval after which it may send one
// more.
func (r *Ration) burst(parts int) (n int, every time.Duration) {
	return max(1, r.perSecond/parts), time.Second * time.Duration(parts) * 10 / 4 / time.Duration(max(1, r.perSecond))
}

// The parts of the rate that a network and a site may use at once.
const (
	networkPart = 4
	sitePart    = 1
)

// Look calls look for a secret, unless too many unknown secrets have come: then the error is an *apierr.Error of kind TooMany.
// look reports whether the secret is known; Look returns its error.
func (r *Ration) Look(ctx context.Context, from From, d Digest, look func() (known bool, err error)) error {
	if !r.left(r.Now(), from, &d) {
		return errThrottled()
	}
	giveBack, err := r.take(ctx, from)
	if err != nil {
		return err
	}
	defer giveBack()
	known, err := look()
	if !known {
		r.spend(r.Now(), from)
	}
	return err
}

// left reports whether another secret that this node has never seen may be looked up.
func (r *Ration) left(now time.Time, from From, d *Digest) bool {
	if r.waiting.Load() >= unseenWaiting+unseenInFlight {
		return false
	}
	r.mu.Lock()
	network, site := r.origins[from.Network], r.origins[from.Site]
	full := network != nil && network.waiting >= networkWaiting+networkInFlight
	own := r.has(network, now, networkPart) && r.has(site, now, sitePart)
	clean := from.Network != "" && network.clean(now) && site.clean(now)
	r.mu.Unlock()
	switch {
	case full:
		return false
	case !own:
		return r.cameBack(now, d) && r.returning.TokensAt(now) >= 1
	}
	return r.all.TokensAt(now) >= 1 || clean && r.reserve.TokensAt(now) >= 1
}

// has reports whether an origin has any of its allowance left.
func (r *Ration) has(o *origin, now time.Time, parts int) bool {
	n, every := r.burst(parts)
	return o == nil || o.full.Sub(now) <= time.Duration(n-1)*every
}

func (o *origin) clean(now time.Time) bool { return o == nil || !now.Before(o.taint) }

// cameBack reports whether a secret was refused unseen a while ago. If not, it remembers that it is refused now.
func (r *Ration) cameBack(now time.Time, d *Digest) bool {
	slot := &r.refusedUnseen[binary.LittleEndian.Uint32(d[12:])%refusedSlots]
	before := slot.Load()
	if before == nil || before.digest != *d || now.Sub(before.at) > comeBackWithin {
		slot.Store(&refusedUnseen{*d, now})
		return false
	}
	return now.Sub(before.at) >= comeBackAfter
}

// spend counts a secret that turned out to be unknown.
func (r *Ration) spend(now time.Time, from From) {
	own := r.spendOwn(now, from.Network, networkPart)
	own = r.spendOwn(now, from.Site, sitePart) && own
	switch {
	case !own:
		r.returning.AllowN(now, 1)
	case !r.all.AllowN(now, 1):
		r.reserve.AllowN(now, 1)
	}
}

// spendOwn takes one from an origin's allowance, if any is left.
func (r *Ration) spendOwn(now time.Time, name string, parts int) bool {
	if name == "" {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.origin(name, now)
	o.taint = now.Add(tainted)
	left := r.has(o, now, parts)
	if left {
		if o.full.Before(now) {
			o.full = now
		}
		_, every := r.burst(parts)
		o.full = o.full.Add(every)
	}
	return left
}

// origin returns the record of a network or a site. If there are too many, it drops those that it can, and then any.
func (r *Ration) origin(name string, now time.Time) *origin {
	if o := r.origins[name]; o != nil {
		return o
	}
	if len(r.origins) >= maxOrigins {
		for name, o := range r.origins {
			if o.waiting == 0 && o.clean(now) && o.full.Before(now) {
				delete(r.origins, name)
			}
		}
		for name, o := range r.origins {
			if len(r.origins) < maxOrigins*3/4 {
				break
			}
			if o.waiting == 0 {
				delete(r.origins, name)
			}
		}
	}
	o := &origin{turns: make(chan struct{}, networkInFlight)}
	r.origins[name] = o
	return o
}

// take waits for a turn until ctx ends; the caller returns it. A caller that waits behind others of its network holds up nobody
// else.
func (r *Ration) take(ctx context.Context, from From) (giveBack func(), err error) {
	r.waiting.Add(1)
	taken, turns := []func(){func() { r.waiting.Add(-1) }}, []chan struct{}{r.turns}
	giveBack = func() {
		for _, back := range slices.Backward(taken) {
			back()
		}
	}
	if from.Network != "" {
		r.mu.Lock()
		o := r.origin(from.Network, r.Now())
		o.waiting++
		r.mu.Unlock()
		taken = append(taken, func() {
			r.mu.Lock()
			o.waiting--
			r.mu.Unlock()
		})
		turns = []chan struct{}{o.turns, r.turns}
	}
	for _, turn := range turns {
		select {
		case turn <- struct{}{}:
			taken = append(taken, func() { <-turn })
		case <-ctx.Done():
			giveBack()
			return nil, fmt.Errorf("waiting to look up a secret: %w", store.ErrUnavailable)
		}
	}
	return giveBack, nil
}

// errThrottled refuses a secret that this node has never seen while too many unknown ones are tried.
func errThrottled() error {
	return &apierr.Error{
		Kind:       apierr.TooMany,
		Message:    "Too many unknown tokens are being tried; try again in a moment",
		RetryAfter: time.Second,
	}
}
