// Package gate decides whether a request may go on, and as whom. It knows nothing of Caddy: package caddymodule puts a [Gate] in
// front of services and of reverse proxies.
//
// The life of a request, in [Gate.Admit]: headers that only the gate may write are deleted; the target is read strictly, once,
// and the parsed target replaces the original; a [Router] says what the target needs; the token becomes a principal; the
// principal must hold the access. So the gate checks exactly what a service or an upstream receives: deriving the access again
// from that gives the same access.
//
// net/http makes some refusals before the gate sees a request: it refuses two lengths, two hosts and malformed headers, and in a
// request with both Content-Length and Transfer-Encoding it deletes the length, so that neither the gate nor an upstream can see
// it. The body is then framed anew for the upstream.
package gate
