package pools_test

import (
	"maps"
	"sync"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/ringfence/ringfence/caddymodule/mended/pools"
)

type nothing struct{}

func (nothing) Destruct() error { return nil }

// TestReferences counts what a pool holds while it changes.
func TestReferences(t *testing.T) {
	pool := caddy.NewUsagePool()
	hold := func(key string) {
		_, _, err := pool.LoadOrNew(key, func() (caddy.Destructor, error) { return nothing{}, nil })
		if err != nil {
			t.Error(err)
		}
	}
	hold("kept")
	hold("kept")
	var changing sync.WaitGroup
	for range 4 {
		changing.Go(func() {
			for range 2000 {
				hold("fleeting")
				if _, err := pool.Delete("fleeting"); err != nil {
					t.Error(err)
				}
				if n := pools.References(pool)["kept"]; n != 2 {
					t.Errorf("kept is held %d times, want 2", n)
				}
			}
		})
	}
	changing.Wait()
	if got := pools.References(pool); !maps.Equal(got, map[any]int{"kept": 2}) {
		t.Errorf("References = %v", got)
	}
}
