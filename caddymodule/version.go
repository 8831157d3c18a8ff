package caddymodule

import (
	"runtime"

	"github.com/caddyserver/caddy/v2"
)

// Version is this program's. A release sets it when it is linked.
var Version = "0.1.0-dev"

func init() {
	caddy.CustomBinaryName = "ringfence"
	caddy.CustomVersion = versionLine()
	caddy.CustomLongDescription = "Ringfence is a gateway that enforces access control in front of a telephony backend.\n" +
		"It is a custom build of Caddy: all of Caddy's commands and configuration work."
}

// versionLine is what `ringfence version` prints, but for its end: Caddy puts its own version behind it.
func versionLine() string { return "ringfence " + Version + ", " + runtime.Version() + ", Caddy" }
