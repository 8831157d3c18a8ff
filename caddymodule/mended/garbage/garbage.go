// Package garbage sets the garbage collector.
//
// # Which behaviour of Caddy it mends
//
// Caddy sets GOMEMLIMIT to nine tenths of the machine's memory (caddyserver/caddy#6809) and leaves GOGC at 100: a gateway whose live heap is small
// collects all the time, and with a higher GOGC a thousand logins take most of a gigabyte. No fixed target saves both (docs/performance.md, The
// garbage collector), so the limit follows the live heap.
//
// # When it is no longer needed
//
// When Go has a target that grows with the idle memory, or Caddy an option for a limit that follows the live heap. No issue asks for either.
package garbage

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"

	"github.com/ringfence/ringfence/caddymodule/mended/logs"
)

const (
	// target lets the heap grow to five times the live heap before a collection. A gateway's live heap is small and its
	// garbage is short-lived, so this saves much CPU time for some tens of megabytes.
	target = 400
	// floor, in bytes, is the heap size up to which target alone decides. Password hashes take 19 MiB each, and a
	// thousand connections as much as everything else: five times that would be most of a gigabyte.
	floor = 200 << 20
	// room is the memory limit beyond the floor, as a multiple of the live heap.
	room = 2
)

// Tune sets the target of the garbage collector, and bounds the garbage in a large heap: beyond 200 MiB, memory is
// collected before it is twice the live heap. The bound stays below the limit that the machine or GOMEMLIMIT sets. If GOGC is set
// in the environment, it decides instead. The program calls Tune once.
func Tune() {
	if os.Getenv("GOGC") != "" {
		return
	}
	logs.OwnMemoryLimit.Store(true)
	debug.SetGCPercent(target)
	ended := make(chan struct{}, 1)
	afterCollection(ended)
	go func() {
		for b := (bound{ceiling: math.MaxInt64}); ; <-ended {
			b.follow()
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

// bound is the memory limit that follows the live heap.
type bound struct {
	set     int64 // by us
	ceiling int64 // what others have set
}

func (b *bound) follow() {
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
	if live > math.MaxInt64/room {
		return ceiling
	}
	return min(max(floor, room*int64(live)), ceiling)
}
