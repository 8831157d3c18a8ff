// Package certificate serves the installation's self-signed certificate (internal/selfsigned) for every name and address.
//
//	certificate.go  tls.get_certificate.ringfence_self_signed, tls.permission.ringfence_self_signed
//	command.go      ringfence certificate
//	page.go         http.handlers.ringfence_certificate: /certificate and /certificate.pem; all certificates that are served
//
// # Which behaviour of Caddy it mends
//
// `tls internal` creates its own authority, whose leaf certificates are valid for twelve hours: a browser's exception for one is
// void the next day. A handshake without a server name, as in access by address, gets no certificate without further options. And
// with a `get_certificate` module alone Caddy warns at each start that on-demand TLS has no permission module, so this package
// has one.
//
// # When it is no longer needed
//
// When Caddy has an issuer that signs a certificate with its own key, keeps the key at a renewal, and needs no name: then the
// Caddyfile names that issuer, and this package goes. Today, with `tls internal` in its place, TestSelfSignedIsServedForAnyName
// and TestSelfSignedStaysTheSame fail.
package certificate
