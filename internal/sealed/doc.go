// Package sealed keeps secrets that must be read again, such as the tokens of an external service, encrypted
// in the database: XChaCha20-Poly1305 under a key that is in no database and in no backup of one.
//
// A [Box] has the key: given by the operator, or in a file (mode 0600) under the data folder, which is made
// when the database is new. What is sealed is bound to what it belongs to, so that a blob that somebody copies to another
// row does not open there.
//
// All nodes on one database need the same key. The database knows the id of each key that was ever used
// (table sealing_key), so that a node without it says so at its start ([Box.Prepare]), and neither seals with a key of its
// own nor takes a blob of another key for a damaged one.
//
// To change the key, put a new one before the old one, a line each, on every node: the first
// seals, and all of them open. Where several nodes run, put it behind the old one everywhere first, so that
// all can open what the first of them seals.
package sealed
