// Package caddymodule is all that knows Caddy: the app, the gate, one thin handler
// for each service, the certificate, and the guest modules.
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
//	certificate.go  tls.get_certificate.ringfence_self_signed
//	command_*.go    ringfence certificate, ringfence admin
//	logging.go      no token in any log
package caddymodule
