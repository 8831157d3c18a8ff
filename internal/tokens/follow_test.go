package tokens_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

// wire is the part of a database that Follow uses. The test drives it.
type wire struct {
	store.DB
	channel string
	on      chan store.Listener
	calls   chan func()
}

func newWire() *wire {
	return &wire{on: make(chan store.Listener, 1), calls: make(chan func())}
}

func (w *wire) Listen(ctx context.Context, channel string, on store.Listener) error {
	w.channel = channel
	w.on <- on
	for {
		select {
		case f := <-w.calls:
			f()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// do runs f as the listener's goroutine does, and waits for it.
func (w *wire) do(f func()) {
	done := make(chan struct{})
	w.calls <- func() {
		f()
		close(done)
	}
	<-done
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// TestFollow goes through the life of a listener: no known token is used before it listens, while it is lost, and after it has
// ended.
func TestFollow(t *testing.T) {
	f := newFixture(t, tokens.Options{Logger: quiet()})
	token := f.issue(alice)
	ask := func(asked int) {
		t.Helper()
		f.asks(t, asked, 0, func() {
			f.mustKnow(t, token)
			f.mustKnow(t, token)
		})
	}
	ask(1)

	w := newWire()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- tokens.Follow(ctx, w, "revocations", f.Cache) }()
	on := <-w.on
	if w.channel != "revocations" {
		t.Errorf("it listens on %q", w.channel)
	}
	ask(2)
	w.do(on.Ready)
	ask(1)
	ask(0)
	w.do(func() { on.Deliver(tokens.ForgetUserMessage(alice)) })
	ask(1)
	w.do(func() { on.Lost(errors.New("connection reset")) })
	ask(2)
	f.book.set(token, nil) // nobody is told
	f.mustRefuse(t, token, tokens.ErrUnknown)
	f.book.set(token, f.principal(token, alice))
	w.do(on.Ready)
	f.mustKnow(t, token)
	ask(0)

	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	ask(2)
}

// TestUnlistened: a missing message delays a revocation by at most the staleness.
func TestUnlistened(t *testing.T) {
	f := newFixture(t, tokens.Options{})
	token := f.issue(alice)
	f.mustKnow(t, token)
	f.book.set(token, nil)
	f.clock.forward(tokens.MaxStaleness)
	f.mustRefuse(t, token, tokens.ErrUnknown)
}

func TestReceive(t *testing.T) {
	d := tokens.DigestOf(tokens.New())
	const all, none = 3, 0
	tests := []struct {
		name    string
		message func(f *fixture, token string) string
		asked   int // of mine, of another of alice's, of one of bob's
	}{
		{"my token", func(_ *fixture, token string) string { return tokens.ForgetTokenMessage(tokens.DigestOf(token)) }, 1},
		{"alice", func(*fixture, string) string { return tokens.ForgetUserMessage(alice) }, 2},
		{"all", func(*fixture, string) string { return tokens.ForgetAllMessage() }, all},
		{"another token", func(*fixture, string) string { return tokens.ForgetTokenMessage(d) }, none},
		{"without a time", func(*fixture, string) string { return "u:" + alice }, 2},
		{"time is no number", func(*fixture, string) string { return "u:" + alice + ";soon" }, 2},
		{"empty", func(*fixture, string) string { return "" }, all},
		{"unknown kind", func(*fixture, string) string { return "g:" + alice + ";1" }, all},
		{"digest too short", func(*fixture, string) string { return "t:abcd;1" }, all},
		{"digest too long", func(*fixture, string) string { return "t:" + strings.Repeat("ab", 33) + ";1" }, all},
		{"digest is not hexadecimal", func(*fixture, string) string { return "t:" + strings.Repeat("xy", 32) + ";1" }, all},
		{"user is no UUID", func(*fixture, string) string { return "u:alice;1" }, all},
		{"user's UUID in capitals", func(*fixture, string) string { return "u:" + strings.ToUpper(alice) + ";1" }, all},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, tokens.Options{})
			mine, hers, his := f.issue(alice), f.issue(alice), f.issue(bob)
			know := func() {
				f.mustKnow(t, mine)
				f.mustKnow(t, hers)
				f.mustKnow(t, his)
			}
			know()
			f.Receive(tt.message(f, mine))
			f.asks(t, tt.asked, 0, know)
		})
	}
}

func TestLag(t *testing.T) {
	var lags []time.Duration
	c, err := tokens.NewCache(newBook(), tokens.Options{OnLag: func(lag time.Duration) { lags = append(lags, lag) }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Receive(tokens.ForgetAllMessage())
	c.Receive("*;4102444800000000") // from a node whose clock is ahead
	c.Receive("*;1000000")
	c.Receive("*")
	if len(lags) != 3 || lags[0] > time.Minute || lags[1] != 0 || lags[2] < time.Hour {
		t.Errorf("lags %v", lags)
	}
	for _, m := range []string{
		tokens.ForgetAllMessage(), tokens.ForgetUserMessage(alice), tokens.ForgetTokenMessage(tokens.Digest{}),
	} {
		if len(m) >= 8000 {
			t.Errorf("a message of %d bytes does not fit", len(m))
		}
	}
}
