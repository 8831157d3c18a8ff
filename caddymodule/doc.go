// Package caddymodule is the only package that knows Caddy. It has the app, the gate, one thin handler for each service, and the
// guest modules.
//
//	app.go          the ringfence app: what an operator configures
//	engine.go       what outlives a reload: database, services, token cache
//	gate.go         http.handlers.ringfence_gate
//	services.go     http.handlers.ringfence_{auth,confd,helpers,call_records,local,console,health}
//	authsettings.go settings of the authentication service
//	guests.go       ringfence.tokens, ringfence.auth.backends and ringfence.auth.external: sources of tokens, backends that
//	                check logins, and plugins that link users to external services
//	operatorsocket.go  what the commands that manage ask of a gateway that runs
//	metrics.go      counters that survive a reload
//	command_*.go    ringfence admin
//
//	certificate/    the self-signed certificate, and the command that shows it
//	mended/         what mends or replaces something of Caddy: each package says what, and what would end it
package caddymodule
