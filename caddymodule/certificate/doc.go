// Package certificate serves the installation's self-signed certificate (internal/selfsigned) for every name and address.
//
//	certificate.go  tls.get_certificate.ringfence_self_signed, tls.permission.ringfence_self_signed
//	command.go      ringfence certificate
//
// # Which behaviour of Caddy it mends
//
// `tls internal` makes an authority of its own, whose leaf certificates live for twelve hours: an exception that somebody makes in a browser
// for one is void the next day. A handshake without a server name, as by address, gets no certificate without further options. And a
// `get_certificate` module alone has Caddy warn at each start that on-demand TLS has nobody to ask, which the permission module
// answers.
//
// # When it is no longer needed
//
// When Caddy has an issuer that signs a certificate with its own key, keeps the key at a renewal, and needs no name: then the Caddyfile
// names that issuer, and this package goes. With `tls internal` in its place TestSelfSignedIsServedForAnyName and
// TestSelfSignedStaysTheSame fail today.
package certificate
