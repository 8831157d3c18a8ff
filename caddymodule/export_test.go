package caddymodule

import (
	"github.com/caddyserver/caddy/v2"

	"github.com/ringfence/ringfence/caddymodule/certificate"
	"github.com/ringfence/ringfence/caddymodule/mended/listener"
	"github.com/ringfence/ringfence/internal/gate"
)

// Pools are what configurations share. Everything is released when no configuration is left.
func Pools() map[string]*caddy.UsagePool {
	return map[string]*caddy.UsagePool{
		"engines": engines, "metrics": metricsPool, "remotes": remotes, "sockets": listener.Sockets, "certificates": certificate.Pool,
	}
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

// GateOf returns the handler of a gate.
func GateOf(g *gate.Gate) *Gate { return &Gate{gate: g, app: new(App)} }

// Overdue returns from when on one of some certificates should have been renewed.
var Overdue = overdue
