// Package transport implements `transport ringfence` of Caddy's reverse_proxy: its HTTP transport, with a shorter way to a daemon nearby.
//
// # Which behaviour of Caddy it mends
//
// Caddy's transport is that of net/http, which hands each request to two goroutines of the connection. In front of a daemon on the same
// machine this is a good part of what a proxy costs (docs/performance.md). Package direct stays on the request's goroutine for the common
// case; everything else, with all options, is Caddy's own transport.
//
// # When it is no longer needed
//
// When the row of the benchmark that compares ringfence_proxy and reverse_proxy is 1. No issue of Go asks for a transport on the request's goroutine.
package transport
