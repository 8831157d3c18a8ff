// Package proxy implements `ringfence_proxy`: Caddy's reverse_proxy, with all its options, and a shorter way for the plainest case.
//
// # Which behaviour of Caddy it mends
//
// For each request, reverse_proxy sets a dozen placeholders, builds a logger and a trace, chooses among upstreams and prepares to try again.
// With one daemon and none of the options that ask for it, this is a fifth of what a gated request costs (docs/performance.md). Package
// proxy sends such a request to the daemon with package direct, and answers as reverse_proxy does: a test compares the two, byte by byte.
// Everything else, and every request that is not plain, is Caddy's own handler.
//
// # When it is no longer needed
//
// When the row of the benchmark that compares the two is 1. Caddy makes its own way cheaper step by step (caddyserver/caddy#7925).
package proxy
