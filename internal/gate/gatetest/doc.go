// Package gatetest attacks a gate: it has hostile requests as raw bytes and as HTTP/2 frames, the means to send them, and the
// check of the requests that arrive behind the gate. The gate's own tests run it over net/http, those of package caddymodule over
// a real Caddy.
//
// The invariant is that no request arrives that the token does not allow: [World.Check] derives the access again, with code of
// its own, from the bytes that the service or the upstream received.
package gatetest
