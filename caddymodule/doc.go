// Package caddymodule is the only package that knows Caddy. It has the app, the gate, one thin handler for each service, and the
// guest modules.
//
//	app.go          the ringfence app: what an operator configures
//	engine.go       what outlives a reload: database, services, token cache
//	gate.go         http.handlers.ringfence_gate
//	services.go     http.handlers.ringfence_{auth,confd,helpers}
//	authsettings.go settings of the authentication service
//	tokens.go       ringfence.tokens.{local,remote}: the sources of tokens
//	backends.go     ringfence.auth.backends.{database,ldap}: backends that check logins
//	health.go       /healthz and /readyz
//	operatorsocket.go  what the commands that manage ask of a gateway that runs
//	metrics.go      counters that survive a reload
//	command_*.go    ringfence admin
//
//	certificate/    the self-signed certificate, and the command that shows it
//	mended/         what mends or replaces something of Caddy: each package says what, and what would end it
package caddymodule
