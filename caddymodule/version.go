package caddymodule

import (
	"runtime"
	"runtime/debug"

	"github.com/caddyserver/caddy/v2"
)

// Version is this program's version. A release sets it at link time; otherwise it is the version of the module in the build, also
// in another Caddy build.
var Version = ""

const modulePath = "github.com/ringfence/ringfence"

func init() {
	if Version == "" {
		info, _ := debug.ReadBuildInfo()
		Version = builtVersion(info)
	}
	caddy.CustomBinaryName = "ringfence"
	caddy.CustomVersion = versionLine()
	caddy.CustomLongDescription = "Ringfence is a gateway that enforces access control in front of a telephony backend.\n" +
		"It is a custom build of Caddy: all of Caddy's commands and configuration work."
}

// builtVersion returns the version of our module in a build, "(devel)" if it was built from a working tree.
func builtVersion(info *debug.BuildInfo) string {
	if info == nil {
		return "(unknown)"
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path != modulePath {
			continue
		}
		if m.Replace != nil && m.Replace.Version != "" {
			m = m.Replace
		}
		if m.Version != "" {
			return m.Version
		}
	}
	return "(devel)"
}

// versionLine returns what `ringfence version` prints, except for its end: Caddy appends its own version.
func versionLine() string { return "ringfence " + Version + ", " + runtime.Version() + ", Caddy" }
