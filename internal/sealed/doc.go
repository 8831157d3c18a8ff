// Package sealed encrypts secrets in the database that must be decrypted again, such as the tokens of an external service:
// XChaCha20-Poly1305 under a key that is in no database and in no backup of one.
//
// A [Box] has the key: given by the operator, or in a file (mode 0600) in the data folder, which is created when the database is
// new. A sealed secret is bound to its row, so a blob that is copied to another row does not open there.
//
// Nonces are random. An import makes the same blobs of the same secrets each time ([Keys.SealSame]): its nonce is an HMAC of the context and the
// text, under a key of its own that is made of the sealing key, as in the SIV modes (RFC 5297). Nobody without the key can foresee or choose it, and
// two different texts, or contexts, have the same one as seldom as two random ones are the same, so it is as safe, but for one thing: who sees the
// blobs of two imports sees whether the secret of a row changed between them. Who may see both may see the rows beside them too. What people change
// is sealed by random nonces.
//
// All nodes on one database need the same key. The database records the ID of each key that was ever used (table sealing_key), so
// that a node without one says so at its start ([Box.Prepare]), and neither seals with a key of its own nor takes a blob of
// another key for a damaged one.
//
// To change the key, put a new one before the old one, one per line, on every node: the first key seals, and all of them open. If
// several nodes run, first add the new key after the old one on all of them, so that every node can open what the first one seals
// with it.
package sealed
