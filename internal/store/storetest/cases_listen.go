package storetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/store"
)

// patience is how long a test waits for an event.
const patience = time.Minute

// A Heard is a call of a [Listener]: "ready", "lost" or a payload.
type Heard struct{ Event, Payload string }

// Listen listens until the end of the test, and returns what it hears.
func Listen(t *testing.T, db store.DB, channel string) <-chan Heard {
	t.Helper()
	heard := make(chan Heard, 100)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- db.Listen(ctx, channel, store.Listener{
			Ready:   func() { heard <- Heard{Event: "ready"} },
			Lost:    func(error) { heard <- Heard{Event: "lost"} },
			Deliver: func(payload string) { heard <- Heard{Event: "payload", Payload: payload} },
		})
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Listen answered %v", err)
			}
		case <-time.After(patience):
			t.Error("Listen goes on after its context has ended")
		}
	})
	return heard
}

// Expect waits for the next call. Before a wanted "ready" there may be a "lost": on a busy machine a connection may take too long, and is tried again.
func Expect(t *testing.T, heard <-chan Heard, want Heard) {
	t.Helper()
	for {
		select {
		case got := <-heard:
			if got == want {
				return
			}
			if want.Event != "ready" || got.Event != "lost" {
				t.Fatalf("heard %+v, want %+v", got, want)
			}
		case <-time.After(patience):
			t.Fatalf("heard nothing, want %+v", want)
		}
	}
}

func listen(t *testing.T, db store.DB) {
	heard := Listen(t, db, "st")
	Expect(t, heard, Heard{Event: "ready"})
	select {
	case got := <-heard:
		t.Errorf("heard %+v", got)
	default:
	}
}

func notify(t *testing.T, db store.DB) {
	heard, other := Listen(t, db, "St channel"), Listen(t, db, "st channel")
	Expect(t, heard, Heard{Event: "ready"})
	Expect(t, other, Heard{Event: "ready"})

	say := func(payload string, and error) error {
		return db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
			if err := db.Notify(ctx, tx, "St channel", payload); err != nil {
				return err
			}
			return and
		})
	}
	if err := say("undone", errTest); err == nil {
		t.Fatal("the transaction was not undone")
	}
	for _, payload := range []string{"one", "", "é'; --", strings.Repeat("x", 7999)} {
		if err := say(payload, nil); err != nil {
			t.Fatal(err)
		}
		if db.Engine() == "postgres" { // on SQLite there is nobody to hear from
			Expect(t, heard, Heard{Event: "payload", Payload: payload})
		}
	}
	if err := say(strings.Repeat("x", 8000), nil); err == nil {
		t.Error("a payload of 8,000 bytes was taken")
	}
	if err := db.Notify(t.Context(), db, "st channel", "last"); err != nil {
		t.Fatal(err)
	}
	if db.Engine() == "postgres" {
		Expect(t, other, Heard{Event: "payload", Payload: "last"})
	}
	if len(heard) != 0 || len(other) != 0 {
		t.Errorf("heard more: %d, %d", len(heard), len(other))
	}
}
