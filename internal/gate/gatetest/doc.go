// Package gatetest holds what is thrown at a gate: hostile requests
// as raw bytes and as HTTP/2 frames, the means to send them, and
// the check of what arrives behind the gate. The gate's own tests run it over net/http, those of
// package caddymodule over a real Caddy.
//
// The invariant is that nothing arrives that the token may not do: [World.Check] derives the access again,
// by other code than the gate's, from the bytes that the service or the upstream received.
package gatetest
