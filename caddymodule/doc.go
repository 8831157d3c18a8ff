// Package caddymodule is what knows Caddy: the app, the gate, one thin handler for each service, and the guest modules. It
// brings three plugins of Caddy that would stand alone, each in a folder of its own, which says what of Caddy it mends.
//
//	app.go          the ringfence app: what an operator configures
//	engine.go       what outlives a reload: database, services, token cache
//	gate.go         http.handlers.ringfence_gate
//	services.go     http.handlers.ringfence_{auth,confd,helpers}
//	mail.go         how mails are sent; who may register
//	tokens.go       ringfence.tokens.{local,remote}: where tokens come from
//	backends.go     ringfence.auth.backends.{database,ldap}: who checks a login
//	health.go       /healthz and /readyz
//	metrics.go      counters that survive a reload
//	command_*.go    ringfence admin
//
//	listener/       a network on which a reload loses no connection
//	logs/           no token in any log
//	certificate/    the self-signed certificate, and the command that shows it
package caddymodule
