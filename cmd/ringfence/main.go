// Command ringfence is a custom build of Caddy with the ringfence modules in it:
// everything that Caddy does, behind a gate.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/ringfence/ringfence/caddymodule"
)

// garbageTarget lets the heap grow to five times what is live before it is
// collected. A gateway's live heap is small and its garbage is short-lived, so this buys a
// good part of its CPU for some tens of megabytes; Caddy sets a memory limit from
// the machine's, which the collector obeys first. GOGC in the environment decides instead when it is set.
const garbageTarget = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbageTarget)
	}
	if err := prepare(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ringfence:", err)
		os.Exit(1)
	}
	caddycmd.Main()
}

// prepare gives the admin socket its default, which depends on another variable as no Caddyfile can
// say, and makes its folder: Caddy opens the socket before any module of ours is asked.
func prepare(args []string) error {
	data := os.Getenv("RINGFENCE_DATA")
	if data == "" {
		data = "data"
	}
	if os.Getenv("RINGFENCE_ADMIN_SOCKET") == "" {
		if err := os.Setenv("RINGFENCE_ADMIN_SOCKET", filepath.Join(data, "admin.sock")); err != nil {
			return err
		}
	}
	if len(args) > 0 && slices.Contains([]string{"run", "start"}, args[0]) {
		if err := os.MkdirAll(data, 0o700); err != nil {
			return fmt.Errorf("making the data folder: %w", err)
		}
	}
	return nil
}
