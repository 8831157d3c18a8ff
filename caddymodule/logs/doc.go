// Package logs keeps tokens, passwords and cookies out of every log that a configuration opens, in whichever format.
//
//	encoder.go  caddy.logging.encoders.ringfence: redacts, then has another encoder write
//	protect.go  the same around the encoder of every other log
//	probe.go    asks each log whether it would write a token
//	edit.go     what Caddy's own entries say: the request's id, and the cause first
//	file.go     caddy.logging.writers.ringfence_file
//
// # Which behaviour of Caddy it mends
//
// Caddy clones each request before any handler runs and puts the clone, headers and target, into its access log, its error log and the
// debug logs of reverse_proxy and rewrite. Of the headers it redacts Authorization and Cookie, by a list in its own code, and not
// X-Auth-Token; the target it logs as it came. No handler can reach that clone, so the redaction has to sit where all logs meet: at the
// encoder. A configuration that names another encoder, or none, is not a reason to leak, so Protect puts the same redaction around the
// encoder of every log that was opened. docs/adr/0006-every-log-is-redacted.md has the reasons.
//
// The file writer is there because Caddy opens the logs of a configuration that is only validated too, and leaves empty files behind.
//
// # When it is no longer needed
//
// Protect: when Caddy lets a module wrap the core of all logs (an option of its `logging` app, beside `core`); then it is that module.
// The list of headers: when the server's logging has one that a module can add to. The file writer: when `ringfence validate` with
// `output file` makes no file. TestNoTokenInAnyLog without this package shows what leaks today.
package logs
