package caddymodule

import (
	"github.com/caddyserver/caddy/v2"

	"github.com/ringfence/ringfence/caddymodule/certificate"
	"github.com/ringfence/ringfence/caddymodule/mended/listener"
	"github.com/ringfence/ringfence/caddymodule/mended/pools"
	"github.com/ringfence/ringfence/internal/gate"
)

// Shares counts what configurations share, by pool. Everything is released when no configuration is left.
func Shares() map[string]int {
	shares := map[string]int{}
	for name, pool := range map[string]*caddy.UsagePool{
		"engines": engines, "metrics": metricsPool, "remotes": remotes,
	} {
		for _, n := range pools.References(pool) {
			shares[name] += n
		}
	}
	if n := certificate.Shares(); n > 0 {
		shares["certificates"] = n
	}
	for _, n := range listener.Shares() {
		shares["sockets"] += n
	}
	return shares
}

// Mounted returns a pointer to each service of the engines.
func Mounted() []any {
	var all []any
	engines.Range(func(_, value any) bool {
		e := value.(*engine)
		all = append(all, e.confd, e.helpers.REST(), e.auth.REST())
		return true
	})
	return all
}

// Listening returns how many configurations have a socket open: more than one while the old configuration of a reload ends, which
// Caddy does not wait for.
func Listening() int {
	most := 0
	for _, n := range listener.Shares() {
		most = max(most, n)
	}
	return most
}

// GateOf returns the handler of a gate.
func GateOf(g *gate.Gate) *Gate { return &Gate{gate: g, app: new(App)} }

// Overdue returns from when on one of some certificates should have been renewed.
var Overdue = overdue
