// Package caddymodule is the only package that knows Caddy. It has the app, the gate, one thin handler for each service, and the
// guest modules. Four plugins that would stand alone have a folder each, whose package comment says which behaviour of Caddy
// they mend.
//
//	app.go          the ringfence app: what an operator configures
//	engine.go       what outlives a reload: database, services, token cache
//	gate.go         http.handlers.ringfence_gate
//	proofs.go       what is refused because no authority could give its certificate
//	services.go     http.handlers.ringfence_{auth,confd,helpers}
//	mail.go         mails, and who may register
//	tokens.go       ringfence.tokens.{local,remote}: the sources of tokens
//	backends.go     ringfence.auth.backends.{database,ldap}: backends that check logins
//	health.go       /healthz and /readyz
//	operatorsocket.go  what the commands that manage ask of a gateway that runs
//	metrics.go      counters that survive a reload
//	overview.go     what the overview of the authentication service says of this node
//	command_*.go    ringfence admin
//
//	listener/       a network on which a reload loses no connection
//	logs/           no token in any log
//	certificate/    the self-signed certificate, and the command that shows it
//	transport/      a shorter way from reverse_proxy to a daemon nearby
package caddymodule
