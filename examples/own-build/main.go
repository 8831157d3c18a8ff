// Command own-build is a Caddy of one's own with Ringfence's modules in it, as `xcaddy build` makes one. More modules, of Caddy or of
// one's own, are more imports. It takes the same Caddyfile, environment variables and defaults as the program ringfence; only Go's
// GOGC and GOMEMLIMIT are left to whoever starts it (docs/configuration.md, Memory).
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/ringfence/ringfence/caddymodule"
)

func main() { caddycmd.Main() }
