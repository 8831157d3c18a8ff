// Package direct is an http.RoundTripper that sends a request and reads the answer on the goroutine of its caller.
//
// The transport of net/http hands each request to a goroutine that writes and the answer to one that reads, and back: for a proxy in front of a
// daemon on the same machine that is a quarter of its work. Direct does the common case and nothing else: HTTP/1.1 without TLS, a request
// without a body or with one whose length is known and small. Everything else it passes on to another RoundTripper.
//
// # What it promises
//
//   - A connection is kept only after an answer that was read to its end, exactly: with bytes left over it is closed. Before it is used
//     again the kernel is asked whether the daemon has sent anything, or has closed it meanwhile.
//   - A request is sent again only if the daemon cannot have acted on it, or if it may be repeated (RFC 9110, section 9.2.2) and not one byte
//     of an answer came; and only after a failure of a kept connection. These are the rules of net/http.
//   - What http.ReadResponse refuses is an error, and closes the connection.
//   - When the request's context ends, its connection is closed, wherever the request is.
//
// # What differs from net/http
//
//   - A small body is read to its end before anything is sent. A daemon never sees a part of it, so it cannot answer to a part.
//   - It is read once there is a connection: a request whose connection is refused can be sent elsewhere with its body. If the connection ends
//     while the body is awaited, there is a new one; if that is refused, the request has failed for good.
//   - A connection that the daemon closes while nobody uses it stays until somebody wants it, or until it is too old.
//   - No compression is asked for, and nothing is decompressed. Caddy's option `compression` has no effect here.
//   - Of httptrace only Got1xxResponse is called.
package direct
