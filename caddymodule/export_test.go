package caddymodule

import (
	"github.com/caddyserver/caddy/v2"

	"github.com/ringfence/ringfence/caddymodule/certificate"
	"github.com/ringfence/ringfence/caddymodule/mended/listener"
	"github.com/ringfence/ringfence/internal/gate"
)

// Shares counts what configurations share, by pool. Everything is released when no configuration is left.
func Shares() map[string]int {
	shares := map[string]int{}
	for name, pool := range map[string]*caddy.UsagePool{
		"engines": engines, "metrics": metricsPool, "remotes": remotes, "sockets": listener.Sockets, "certificates": certificate.Pool,
	} {
		for _, n := range references(pool) {
			shares[name] += n
		}
	}
	return shares
}

// references returns how often each key of a pool is held. It asks for the keys first: Range holds the pool's lock for reading, and
// References wants it too. Where somebody waits between the two to change the pool, a reader that asks a second time waits for him, and
// he for the reader.
func references(pool *caddy.UsagePool) map[any]int {
	var keys []any
	pool.Range(func(key, _ any) bool {
		keys = append(keys, key)
		return true
	})
	held := map[any]int{}
	for _, key := range keys {
		if n, ok := pool.References(key); ok {
			held[key] = n
		}
	}
	return held
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
	for _, n := range references(listener.Sockets) {
		most = max(most, n)
	}
	return most
}

// GateOf returns the handler of a gate.
func GateOf(g *gate.Gate) *Gate { return &Gate{gate: g, app: new(App)} }

// Overdue returns from when on one of some certificates should have been renewed.
var Overdue = overdue
