package caddymodule

import "github.com/caddyserver/caddy/v2"

// Shares counts what is shared between configurations, by pool. All of it is given back when none is left.
func Shares() map[string]int {
	shares := map[string]int{}
	for name, pool := range map[string]*caddy.UsagePool{
		"engines": engines, "metrics": metricsPool, "remotes": remotes, "certificates": certificates, "sockets": keptSockets,
	} {
		pool.Range(func(key, _ any) bool {
			n, _ := pool.References(key)
			shares[name] += n
			return true
		})
	}
	return shares
}

// MemoryLimit is the limit for so many live bytes.
func MemoryLimit(live uint64, ceiling int64) int64 { return memoryLimit(live, ceiling) }
