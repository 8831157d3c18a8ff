// Package redact keeps secrets out of logs: tokens, passwords and whatever else lets its holder in.
//
// A token meets a log in three forms, and each needs another means.
//
//   - Under a name: a header or field such as X-Auth-Token, Authorization or Cookie. The name decides, whatever the
//     value looks like, since the tokens of a remote auth server are plain UUIDs.
//   - In a text that has a syntax: /token/<token> in a path, ?token=<token> in a query, user:password@ in a URL, also
//     percent-encoded, also in a Referer, an error or a message.
//   - By its shape: this gateway's own tokens start with rft_ and are recognised anywhere, in the encoded entry too, so
//     that a format nobody thought of does not leak them.
//
// A token that is a plain UUID, under a name and in a place that say nothing, cannot be told from any other UUID. Code
// of this project therefore never logs one, and a configuration that copies the header into a field of another name
// (Caddy's log_append) gets what it asks for.
package redact
