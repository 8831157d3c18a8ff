package caddymodule

import (
	"fmt"
	"net"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// Version is this program's. A release sets it when it is linked.
var Version = "0.1.0-dev"

func init() {
	caddy.CustomBinaryName = "ringfence"
	caddy.CustomVersion = versionLine()
	caddy.CustomLongDescription = "Ringfence is a gateway that enforces access control in front of a telephony backend.\n" +
		"It is a custom build of Caddy: all of Caddy's commands and configuration work."
}

// versionLine is what `ringfence version` prints: ours, Caddy's and the compiler's.
func versionLine() string {
	line := "ringfence " + Version
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return line
	}
	i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == "github.com/caddyserver/caddy/v2" })
	if i >= 0 {
		line += " (Caddy " + info.Deps[i].Version + ", " + info.GoVersion + ")"
	}
	return line
}

// urls are where the sites of this configuration can be opened, as far as its listeners tell.
func (a *App) urls() []string {
	app, err := a.ctx.AppIfConfigured("http")
	if err != nil {
		return nil
	}
	var out []string
	for _, server := range app.(*caddyhttp.App).Servers {
		scheme := "http"
		if len(server.TLSConnPolicies) > 0 {
			scheme = "https"
		}
		for _, listen := range server.Listen {
			address, err := caddy.ParseNetworkAddress(listen)
			if err != nil || !strings.HasPrefix(address.Network, "tcp") {
				continue
			}
			out = append(out, fmt.Sprintf("%s://%s", scheme, net.JoinHostPort("localhost", fmt.Sprint(address.StartPort))))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
