// Package postgres implements store.DB on PostgreSQL, with pgx's native pool. It is the only package that imports pgx.
//
// Transactions are SERIALIZABLE, as SQLite's always are: one SQL text means the same on both. A transaction that loses against
// another runs again. A statement outside of a transaction is READ COMMITTED: decide and write in one InTx.
//
// A failover is followed by itself: with several hosts in the address only one
// that accepts writes is taken, and an error that says that the server is
// going away, or has become a standby, empties the pool.
package postgres
