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
	// garbageTarget lets the heap grow to five times the live heap before a collection. A gateway's live heap is small and its
	// garbage is short-lived, so this saves much CPU time for some tens of megabytes.
	garbageTarget = 400
	// garbageFloor, in bytes, is the heap size up to which garbageTarget alone decides. Password hashes take 19 MiB each, and a
	// thousand connections as much as everything else: five times that would be most of a gigabyte.
	garbageFloor = 200 << 20
	// garbageRoom is the memory limit beyond the floor, as a multiple of the live heap.
	garbageRoom = 2
)

// TuneGarbage sets the target of the garbage collector, and bounds the garbage in a large heap: beyond 200 MiB, memory is
// collected before it is twice the live heap. The bound stays below the limit that the machine or GOMEMLIMIT sets. If GOGC is set
// in the environment, it decides instead. The program calls TuneGarbage once.
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

// sentinel becomes garbage at once. It has a pointer, so that it shares its memory with nothing.
type sentinel struct{ _ *sentinel }

// afterCollection signals the end of each collection from now on.
func afterCollection(ended chan<- struct{}) {
	runtime.AddCleanup(new(sentinel), func(ended chan<- struct{}) {
		select {
		case ended <- struct{}{}:
		default:
		}
		afterCollection(ended)
	}, ended)
}

// garbageBound is the memory limit that follows the live heap.
type garbageBound struct {
	set     int64 // by us
	ceiling int64 // what others have set
}

func (b *garbageBound) follow() {
	changed := false
	if now := debug.SetMemoryLimit(-1); now != b.set { // changed by Caddy, which detects the machine's memory
		b.ceiling, changed = now, true
	}
	live := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(live)
	want := memoryLimit(live[0].Value.Uint64(), b.ceiling)
	// Setting the limit stops the world, so small changes are not worth it.
	if changed || want > b.set+b.set/8 || want < b.set-b.set/8 {
		debug.SetMemoryLimit(want)
		b.set = want
	}
}

// memoryLimit returns the limit for so many live bytes.
func memoryLimit(live uint64, ceiling int64) int64 {
	if live > math.MaxInt64/garbageRoom {
		return ceiling
	}
	return min(max(garbageFloor, garbageRoom*int64(live)), ceiling)
}
