// Package sqlite implements store.DB on one SQLite file, with modernc.org/sqlite. It is the only package that imports SQLite.
//
// One connection writes and several read. Exec, InTx, and Query of a statement that writes (INSERT ... RETURNING) use the
// writer. Every other Query and InReadTx use a reader, which sees everything that was committed before it began. A writer does
// not block it.
//
// A commit is on disk when the call returns (WAL with synchronous=FULL). The file belongs to one process: a lock file keeps out
// a second one.
//
// Times are stored as text in UTC with microseconds, which sorts like the times. They scan into time.Time from columns declared
// timestamp and from expressions; booleans are 0 and 1 and scan into bool from both.
package sqlite
