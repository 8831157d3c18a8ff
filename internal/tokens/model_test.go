package tokens_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

// history is the model of one token: every state that it ever had. Version n is states[n]; forgotten is the newest version after
// which a Forget has returned.
type history struct {
	token, user string

	mu     sync.Mutex
	states []bool // whether the token was good

	forgotten atomic.Int64
}

func (h *history) now() (version int, good bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.states) - 1, h.states[len(h.states)-1]
}

func (h *history) change(good bool) (version int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.states = append(h.states, good)
	return len(h.states) - 1
}

// wasUnknown reports whether the token was bad in one of the versions.
func (h *history) wasUnknown(from, to int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, good := range h.states[from : to+1] {
		if !good {
			return true
		}
	}
	return false
}

// archive is a Source of the histories. It puts the version into the session, where the readers find it.
type archive struct {
	all   map[string]*history
	set   *acl.Set
	clock *clock
}

func (a *archive) Shape(token string) bool { return tokens.WellFormed(token) }

func (a *archive) Load(_ context.Context, token string, d tokens.Digest) (*principal.Principal, error) {
	if rand.IntN(50) == 0 {
		return nil, store.ErrUnavailable
	}
	h := a.all[token]
	version, good := h.now()
	for range rand.IntN(20) {
		runtime.Gosched() // others change things meanwhile
	}
	if !good {
		return nil, tokens.ErrUnknown
	}
	return &principal.Principal{
		TokenID: tokens.ID(d), UserUUID: h.user, SessionUUID: strconv.Itoa(version), ACL: a.set,
		ExpiresAt: principal.At(a.clock.Now().Add(tokens.MaxStaleness)),
	}, nil
}

// TestModel lets readers and writers loose on a few tokens and compares every result with the model: it must be a state that the
// token had between the last Forget that returned before the call began and the call's end.
func TestModel(t *testing.T) {
	for _, cached := range []bool{true, false} {
		t.Run(fmt.Sprintf("cached=%t", cached), func(t *testing.T) { runModel(t, cached) })
	}
}

func runModel(t *testing.T, cached bool) {
	const (
		readers, reads   = 4, 4000
		writers, changes = 3, 300
	)
	clock := newClock()
	source := &archive{all: make(map[string]*history), clock: clock}
	var all []*history
	for i := range 12 {
		h := &history{token: tokens.New(), user: fmt.Sprintf("user-%d", i%4), states: []bool{i%2 == 0}}
		all = append(all, h)
		source.all[h.token] = h
	}
	c, err := tokens.NewCache(source, tokens.Options{Capacity: 10, Now: clock.Now, UnknownRate: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !cached {
		c.Close()
	}

	// The scheduler decides how much happens at once. So the run lasts until everybody has done their part and a change has
	// overtaken a load, which is the case to test.
	var work sync.WaitGroup
	var changed atomic.Int64
	enough := func() bool { return changed.Load() >= writers*changes && c.Stats().Retries > 0 }
	for w := range writers {
		work.Go(func() {
			for !enough() {
				change(c, all, w)
				changed.Add(1)
				clock.forward(tokens.MaxStaleness / 1000)
				for range 50 {
					runtime.Gosched() // gives readers some peace
				}
			}
		})
	}
	var answered [3]atomic.Int64
	for range readers {
		work.Go(func() {
			for n := 0; n < reads || !enough(); n++ {
				h := all[rand.IntN(len(all))]
				kind, err := check(t.Context(), c, h)
				if err != nil {
					t.Error(err)
					return
				}
				answered[kind].Add(1)
				runtime.Gosched() // gives writers a processor, also if there is only one
			}
		})
	}
	work.Wait()
	stats := c.Stats()
	t.Logf("known %d, unknown %d, no answer %d; %+v", answered[0].Load(), answered[1].Load(), answered[2].Load(), stats)
	if answered[0].Load() == 0 || answered[1].Load() == 0 || cached && stats.Hits == 0 {
		t.Error("the run proves nothing")
	}
}

// change does one random change to tokens of this writer, and tells the cache.
func change(c *tokens.Cache, all []*history, writer int) {
	mine := func(h *history) bool { return h.user == fmt.Sprintf("user-%d", writer) }
	h := all[rand.IntN(len(all))]
	for !mine(h) {
		h = all[rand.IntN(len(all))]
	}
	good := rand.IntN(2) == 0
	switch rand.IntN(8) {
	case 0: // all tokens of the user
		versions := make(map[*history]int)
		for _, other := range all {
			if mine(other) {
				versions[other] = other.change(good)
			}
		}
		c.ForgetUser(h.user)
		for other, version := range versions {
			other.forgotten.Store(int64(version))
		}
	case 1:
		version := h.change(good)
		c.ForgetAll()
		h.forgotten.Store(int64(version))
	case 2:
		version := h.change(good)
		c.Distrust()
		h.forgotten.Store(int64(version))
		c.Trust()
	case 3:
		version := h.change(true)
		c.Issued(tokens.DigestOf(h.token))
		h.forgotten.Store(int64(version))
	default:
		version := h.change(good)
		c.ForgetToken(tokens.DigestOf(h.token))
		h.forgotten.Store(int64(version))
	}
}

// check asks for the token once. It returns 0 for known, 1 for unknown, 2 for neither, or an error if the model does not allow
// the result.
func check(ctx context.Context, c *tokens.Cache, h *history) (kind int, err error) {
	from := int(h.forgotten.Load())
	p, err := c.Principal(ctx, h.token)
	to, _ := h.now()
	switch {
	case errors.Is(err, tokens.ErrUnknown):
		if !h.wasUnknown(from, to) {
			return 0, fmt.Errorf("unknown, but it was good from version %d to %d", from, to)
		}
		return 1, nil
	case errors.Is(err, store.ErrUnavailable):
		return 2, nil
	case err != nil:
		return 0, err
	}
	version, err := strconv.Atoi(p.SessionUUID)
	if err != nil {
		return 0, err
	}
	if version < from || version > to {
		return 0, fmt.Errorf("version %d, but version %d was forgotten before", version, from)
	}
	return 0, nil
}
