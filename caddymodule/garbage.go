package caddymodule

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"

	"github.com/ringfence/ringfence/caddymodule/logs"
)

const (
	// garbageTarget lets the heap grow to five times what is live before it is collected. A gateway's live heap is small and
	// its garbage is short-lived, so this buys a good part of its CPU for some tens of megabytes.
	garbageTarget = 400
	// garbageFloor is up to where garbageTarget alone decides, in bytes. Password hashes take 19 MiB each and a thousand connections as much
	// as everything else: five times that would be most of a gigabyte.
	garbageFloor = 200 << 20
	// garbageRoom is how often what is live fits into what may be used beyond the floor.
	garbageRoom = 2
)

// TuneGarbage sets the target of the garbage collector, and bounds what garbage may add to a heap that has
// grown: beyond 200 MiB, memory is collected before it is twice what is live. It keeps under the limit that the machine or GOMEMLIMIT
// sets. GOGC in the environment decides instead of all this when it is set. It is called once, by the program.
func TuneGarbage() {
	if os.Getenv("GOGC") != "" {
		return
	}
	logs.OwnMemoryLimit.Store(true)
	debug.SetGCPercent(garbageTarget)
	ended := make(chan struct{}, 1)
	afterCollection(ended)
	go func() {
		for bound := (garbageBound{ceiling: math.MaxInt64}); ; <-ended {
			bound.follow()
		}
	}()
}

// sentinel is garbage at once. It has a pointer, so that it shares its memory with nothing.
type sentinel struct{ _ *sentinel }

// afterCollection tells of the end of each collection from now on.
func afterCollection(ended chan<- struct{}) {
	runtime.AddCleanup(new(sentinel), func(ended chan<- struct{}) {
		select {
		case ended <- struct{}{}:
		default:
		}
		afterCollection(ended)
	}, ended)
}

// garbageBound is the memory limit, which follows what is live.
type garbageBound struct {
	set     int64 // by us
	ceiling int64 // what others have set
}

func (b *garbageBound) follow() {
	changed := false
	if now := debug.SetMemoryLimit(-1); now != b.set { // by Caddy, which finds out what the machine has
		b.ceiling, changed = now, true
	}
	live := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(live)
	want := memoryLimit(live[0].Value.Uint64(), b.ceiling)
	// To set it stops the world, so that small changes are not worth it.
	if changed || want > b.set+b.set/8 || want < b.set-b.set/8 {
		debug.SetMemoryLimit(want)
		b.set = want
	}
}

// memoryLimit is the limit for so many live bytes.
func memoryLimit(live uint64, ceiling int64) int64 {
	if live > math.MaxInt64/garbageRoom {
		return ceiling
	}
	return min(max(garbageFloor, garbageRoom*int64(live)), ceiling)
}
