// Package mended has no code. The packages below it mend or replace something of Caddy's, or of what Caddy is made with. The documentation of
// each says what, and when it is no longer needed:
//
//	direct     a RoundTripper on the request's goroutine, in place of net/http's
//	garbage    a memory limit that follows the live heap, in place of nine tenths of the machine's memory
//	listener   a network on which a reload loses no connection
//	logs       redaction in every log, whatever its format
//	proxy      ringfence_proxy: reverse_proxy with a shorter way for the plainest case
//	transport  the transport of both, on direct
package mended
