// Package selfsigned keeps one self-signed certificate in a folder: made once, served for ever, renewed early.
//
// The folder holds three files. key.pem is the private key (PKCS #8, mode 0600); it is created once and never replaced.
// certificate.pem is the certificate that this key signs for itself. It is valid for 397 days and is renewed, with the same key,
// after two thirds of that time, so that a client that pinned the key never has to do so again. fingerprint is that of the
// certificate that was served last: when it changes, both fingerprints are reported.
//
// A client accepts a self-signed certificate by an exception for exactly that certificate. So it must stay the same after every
// restart and reload, and it is not reissued when the host gets another name or address: the client's exception is for the
// certificate, whatever names are in it. The next renewal uses the names and addresses at that time; to use them at once, delete
// certificate.pem and restart. A host that the operator names ([Options]) is different: a certificate without it is reissued,
// with the same key.
//
// After an interruption each file is either complete or absent: it is written beside its place, synced and renamed, and the
// folder is synced. The key is written first. A key without a certificate, with a damaged one, or with another key's is kept and
// gets a new certificate. A damaged key is never replaced silently: Open fails, since the operator may have a backup and the
// clients know the old key.
//
// The package needs a Unix: file modes protect the key, and flock keeps processes that start together apart.
package selfsigned
