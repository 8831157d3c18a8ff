// Command ringfence is a custom build of Caddy with the ringfence modules: everything that Caddy does, behind a gate.
package main

import (
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	"github.com/ringfence/ringfence/caddymodule"
)

func main() { caddymodule.Main() }
