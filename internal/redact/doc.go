// Package redact keeps secrets out of logs: tokens, passwords and other credentials.
//
// A token appears in a log in three forms, and each needs its own means.
//
//   - Under a name: a header or field such as X-Auth-Token, Authorization or Cookie. The name decides, whatever the
//     value looks like, since the tokens of a remote auth server are plain UUIDs.
//   - In a text with a syntax: /token/<token> in a path, ?token=<token> in a query, user:password@ in a URL, also
//     percent-encoded, also in a Referer, an error or a message.
//   - By its form: this gateway's own tokens start with rft_ and are recognised anywhere, even in the encoded entry, so
//     that an unforeseen format does not leak them.
//
// A token that is a plain UUID, under a name and in a place without meaning, cannot be distinguished from any other UUID. So this
// project's code never logs one. A configuration that copies the header into a field of another name (Caddy's log_append) does
// leak it.
package redact
