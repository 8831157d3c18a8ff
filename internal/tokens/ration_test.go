package tokens_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/tokens"
)

type addressKey struct{}

// from returns the context of a request from an address.
func from(t *testing.T, address string) context.Context {
	t.Helper()
	return context.WithValue(t.Context(), addressKey{}, address)
}

// byAddress rations by the address of the context.
var byAddress = tokens.Options{From: func(ctx context.Context) tokens.From {
	address, _ := ctx.Value(addressKey{}).(string)
	return tokens.FromAddress(address)
}}

func isShed(err error) bool {
	e := apierr.As(err)
	return e != nil && e.Status() == http.StatusTooManyRequests
}

// flood tries random tokens from an address until some are refused unseen.
func (f *fixture) flood(t *testing.T, address string) {
	t.Helper()
	looked := 0
	for throttled := 0; throttled < 20; {
		_, err := f.Principal(from(t, address), tokens.New())
		if isShed(err) {
			throttled++
			continue
		}
		if looked++; looked > 10_000 {
			t.Fatalf("%s: %d random tokens are looked up", address, looked)
		}
	}
}

func (f *fixture) live(t *testing.T) (list []string) {
	t.Helper()
	for range 20 {
		list = append(list, f.issue(alice))
	}
	return list
}

// Random tokens from one network shut out nobody else, and their neighbours only until those come again.
func TestFloodFromOneNetwork(t *testing.T) {
	for _, c := range []struct{ name, flood, other, neighbour string }{
		{"IPv4", "192.0.2.1", "198.51.100.1", "192.0.2.2"},
		{"IPv4 in IPv6", "::ffff:192.0.2.1", "198.51.100.1", "192.0.2.2"},
		{"IPv6", "2001:db8::1", "2001:db8:1::1", "2001:db8:0:1::1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bothWays(t, byAddress, func(t *testing.T, f *fixture) {
				f.flood(t, c.flood)
				for _, address := range []string{c.other, c.neighbour} {
					for _, token := range f.live(t) {
						if _, err := f.Principal(from(t, address), token); err != nil {
							t.Errorf("%s: %v", address, err)
						}
					}
				}
				live := f.live(t)
				for _, token := range live { // nobody can tell these from the flood
					if _, err := f.Principal(from(t, c.flood), token); !isShed(err) {
						t.Errorf("%s: %v", c.flood, err)
					}
				}
				f.clock.forward(600 * time.Millisecond)
				f.flood(t, c.flood)
				throttled := 0
				for _, token := range live { // but clients come again, as the reply tells them
					if _, err := f.Principal(from(t, c.flood), token); isShed(err) {
						throttled++
					} else if err != nil {
						t.Errorf("%s: %v", c.flood, err)
					}
				}
				if throttled > 2 { // by chance, another secret may have taken a slot
					t.Errorf("%s: %d of %d are refused again", c.flood, throttled, len(live))
				}
				f.clock.forward(time.Second)
				if _, err := f.Principal(from(t, c.flood), f.issue(alice)); err != nil {
					t.Errorf("after the flood: %v", err)
				}
			})
		})
	}
}

// An IPv6 /64 is one network, whatever its other bits.
func TestAddressesOfOneNetwork(t *testing.T) {
	f := newFixture(t, byAddress)
	for i := range 1000 {
		if _, err := f.Principal(from(t, fmt.Sprintf("2001:db8::%x:1", i)), tokens.New()); isShed(err) {
			return
		}
	}
	t.Error("1000 random tokens from one /64 are looked up")
}

// A flood from so many networks that it uses up the allowance of all leaves a reserve for networks that send nothing unknown.
func TestFloodFromManyNetworks(t *testing.T) {
	bothWays(t, byAddress, func(t *testing.T, f *fixture) {
		address := func(i int) string { return fmt.Sprintf("10.%d.%d.1", i/200, i%200) }
		for i := range 20 { // each of them with its whole allowance
			f.flood(t, address(i))
		}
		for _, token := range f.live(t) {
			if _, err := f.Principal(from(t, "198.51.100.1"), token); err != nil {
				t.Errorf("a network that is clean: %v", err)
			}
		}
	})
}

// Clients of one network that wait for a slow source do not keep the others from it.
func TestSlowSourceIsShared(t *testing.T) {
	r := tokens.NewRation(200)
	flood, other := tokens.FromAddress("192.0.2.1"), tokens.FromAddress("198.51.100.1")
	release, begun := make(chan struct{}), make(chan struct{})
	var waiting sync.WaitGroup
	for i := range 100 {
		waiting.Go(func() {
			err := r.Look(t.Context(), flood, tokens.DigestOf(fmt.Sprint(i)), func() (bool, error) {
				select {
				case begun <- struct{}{}:
				case <-release:
				}
				<-release
				return false, nil
			})
			if err != nil && !isShed(err) {
				t.Error(err)
			}
		})
	}
	for range 12 {
		<-begun
	}
	for i := range 20 {
		known := false
		if err := r.Look(t.Context(), other, tokens.DigestOf(fmt.Sprint("live", i)), func() (bool, error) {
			known = true
			return true, nil
		}); err != nil || !known {
			t.Errorf("%t, %v", known, err)
		}
	}
	close(release)
	waiting.Wait()
}

// The memory of networks is bounded.
func TestManyNetworks(t *testing.T) {
	r := tokens.NewRation(1_000_000)
	for i := range 100_000 {
		from := tokens.FromAddress(fmt.Sprintf("2001:db8:%x:%x::1", i>>8, i&0xff))
		_ = r.Look(t.Context(), from, tokens.DigestOf(fmt.Sprint(i)), func() (bool, error) { return false, nil })
	}
	if n := r.Origins(); n > 40_000 {
		t.Errorf("%d networks are remembered", n)
	}
}
