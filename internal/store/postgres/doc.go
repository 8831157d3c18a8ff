// Package postgres is store.DB on PostgreSQL, by pgx's native pool. It is the
// only package that imports pgx.
//
// Transactions are SERIALIZABLE, as those of SQLite are by nature: one SQL text
// means the same on both. What loses against another transaction runs again. A
// statement outside of them is READ COMMITTED: decide and write in one InTx.
//
// A failover is followed by itself: with several hosts in the address only one
// that accepts writes is taken, and an error that says that the server is
// going away, or has become a standby, empties the pool.
package postgres
