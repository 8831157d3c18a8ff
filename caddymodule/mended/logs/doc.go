// Package logs keeps tokens, passwords and cookies out of every log that a configuration opens, whatever its format.
//
//	encoder.go  caddy.logging.encoders.ringfence: redacts, edits Caddy's own entries, and has another encoder write
//	protect.go  the same around the encoder of every other log, which is then asked whether it would write a token
//	file.go     caddy.logging.writers.ringfence_file
//
// # Which behaviour of Caddy it mends
//
// Caddy clones each request before any handler runs, and writes the clone, with its headers and target, to its access log, its
// error log and the debug logs of reverse_proxy and rewrite. It redacts only the headers in a fixed list, which has Authorization
// and Cookie but not X-Auth-Token, and logs the target as it came. No handler can reach that clone, so the redaction must sit
// where all logs meet: at the encoder. A configuration that names another encoder, or none, must not leak either, so Protect puts
// the same redaction around the encoder of every open log. docs/adr/0006-every-log-is-redacted.md has the reasons.
//
// The file writer exists because Caddy also opens the logs of a configuration that is only validated, and leaves empty files
// behind.
//
// # When it is no longer needed
//
// Caddy made its list of headers (caddyserver/caddy#4438) and leaves others to the filters of each log (#3694). That it opens files while it
// validates is caddyserver/caddy#6818, closed without a change.
//
// Protect: when Caddy lets a module wrap the core of all logs (an option of its `logging` app, beside `core`), use such a module.
// The list of headers: when a module can extend the server's own list. The file writer: when `ringfence validate` with `output
// file` creates no file. TestNoTokenInAnyLog without this package shows what leaks today.
package logs
