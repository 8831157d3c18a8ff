// Package selfsigned keeps one self-signed certificate in a folder: made once, served for ever, renewed early.
//
// The folder holds three files. key.pem is the private key (PKCS #8, mode 0600); it is made once and never replaced.
// certificate.pem is the certificate that this key signs for itself. It lives 397 days and is renewed, with the same
// key, when two thirds of that have passed, so that whoever pinned the key, or compares it, never has to do it again.
// fingerprint is that of the certificate that was served last: when another one takes its place, both are told.
//
// A client accepts a self-signed certificate by an exception for exactly that certificate. It must therefore stay the
// same after every restart and reload, and it is not remade when the host gets another name or address: such a client
// has made its exception for the certificate, whatever names are in it. The next renewal takes the names and addresses
// of that day; to have them at once, delete certificate.pem and restart. A host that the operator names ([Options]) is
// another matter: a certificate that is not for it is remade, with the same key.
//
// What an interruption leaves: each file is written beside its place, synced, renamed and the folder synced, so a file
// is there whole or not at all. The key is written first. A key without a certificate, with a damaged one, or with one
// of another key is kept and gets a new certificate. A damaged key is never replaced silently: Open refuses, since the
// operator may have a backup and the clients know the old key.
//
// The package needs a Unix: file modes protect the key, and flock keeps processes that start together apart.
package selfsigned
