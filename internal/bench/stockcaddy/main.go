// Command stockcaddy is Caddy with its standard modules and nothing of ours: no modules, no profile, no garbage collection
// target. The benchmarks compare the release build with it.
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
)

func main() { caddycmd.Main() }
