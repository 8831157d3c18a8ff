package selfsigned_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/selfsigned"
)

const (
	day      = 24 * time.Hour
	lifetime = 397 * day
)

var start = time.Date(2027, time.March, 1, 12, 0, 0, 0, time.UTC)

// clock is a clock that stands still until it is moved.
type clock struct{ nanos atomic.Int64 }

func newClock(at time.Time) *clock {
	c := new(clock)
	c.set(at)
	return c
}

func (c *clock) set(at time.Time) { c.nanos.Store(at.UnixNano()) }

func (c *clock) now() time.Time { return time.Unix(0, c.nanos.Load()).UTC() }

func open(t *testing.T, dir string, o selfsigned.Options) *selfsigned.Store {
	t.Helper()
	s, err := selfsigned.Open(dir, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

func at(c *clock) selfsigned.Options { return selfsigned.Options{Now: c.now} }

func leafOf(s *selfsigned.Store) *x509.Certificate { return s.Certificate().Leaf }

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func sameKey(a, b *selfsigned.Store) bool {
	return leafOf(a).PublicKey.(*ecdsa.PublicKey).Equal(leafOf(b).PublicKey)
}
