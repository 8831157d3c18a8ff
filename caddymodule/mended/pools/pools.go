// Package pools tells who shares what in a pool of Caddy's.
package pools

import "github.com/caddyserver/caddy/v2"

// References returns how often each key of pool is held.
//
// It asks for the keys first: Range holds the pool's lock for reading, and References wants it too. Where somebody waits between
// the two to change the pool, a reader that asks a second time waits for him, and he for the reader.
func References(pool *caddy.UsagePool) map[any]int {
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
